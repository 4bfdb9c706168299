#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineField.h"

// The work of one block of voxels of a SplineFieldPlan, cut into tasks. On CUDA a block of threads shares
// them; the CPU does them one after the other.
namespace tessera {

namespace splinefield {

constexpr int side = SplineFieldPlan::blockVoxels, tileLandmarks = 128, middleLanes = 32;

/// A landmark for one block: its place from the middle of the block, its weights, and, for far ones in single
/// precision, its distance from the middle. That is subtracted from the distances of nodes, which leaves
/// small numbers to be added up, and sums of weights times distances are added in double precision at the
/// end.
template <class Number>
struct alignas(16) Near {
  Number x[3], w[3], middle, unused;
};

/// Shared memory of a block, which begins at a multiple of 16 bytes.
template <class Number>
struct BlockMemory {
  unsigned* nearBits; // a bit a landmark
  Near<Number>* tile; // landmarks that are read together; far ones, or with weights of 0
  double* sums;       // [share][component][node]
  double* middles;    // [component][lane]: sums of weights times distances from the middle
  Number* weights;    // [voxel][node], of the plan
  Number* atNodes;    // [component][node z][node y][node x]
  Number* alongX;     // [component][node z][node y][voxel x]
  Number* alongY;     // [component][node z][voxel y][voxel x]

  static TESSERA_HOST_DEVICE int shares(int nodes, int threads)
  {
    const int all = nodes * nodes * nodes;
    return all >= threads ? 1 : threads / all < 4 ? threads / all : 4;
  }
  static TESSERA_HOST_DEVICE std::size_t words(int landmarks)
  {
    return static_cast<std::size_t>(landmarks + 63) / 64 * 2;
  }
  static std::size_t bytes(int landmarks, int nodes, int threads)
  {
    const std::size_t n = static_cast<std::size_t>(nodes), all = n * n * n;
    return words(landmarks) * sizeof(unsigned) + tileLandmarks * sizeof(Near<Number>)
           + static_cast<std::size_t>(shares(nodes, threads)) * 3 * all * sizeof(double)
           + 3 * middleLanes * sizeof(double)
           + (side * n + 3 * (all + all % 2 + n * n * side + n * side * side)) * sizeof(Number);
  }
  TESSERA_HOST_DEVICE BlockMemory(int nodes, int threads, double* memory)
  {
    const int all = nodes * nodes * nodes;
    tile = reinterpret_cast<Near<Number>*>(memory);
    sums = reinterpret_cast<double*>(tile + tileLandmarks);
    middles = sums + shares(nodes, threads) * 3 * all;
    weights = reinterpret_cast<Number*>(middles + 3 * middleLanes);
    atNodes = weights + side * nodes;
    alongX = atNodes + 3 * (all + all % 2);
    alongY = alongX + 3 * nodes * nodes * side;
    nearBits = reinterpret_cast<unsigned*>(alongY + 3 * nodes * side * side);
  }
};

TESSERA_HOST_DEVICE inline float multiplyAdd(float a, float b, float c)
{
#ifdef __CUDA_ARCH__
  return fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
TESSERA_HOST_DEVICE inline double multiplyAdd(double a, double b, double c)
{
#ifdef __CUDA_ARCH__
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

/// sum += G(x) w; in single precision sum += (r - middle) w.
template <SplineKernel Kernel>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void addTerm(const double (&x)[3], const double (&w)[3],
                                                       double alpha, double, double (&sum)[3])
{
  Vec<3> result{sum[0], sum[1], sum[2]};
  addKernel<3, Kernel>({x[0], x[1], x[2]}, {w[0], w[1], w[2]}, alpha, result);
  TESSERA_UNROLL
  for (int d = 0; d < 3; ++d)
    sum[d] = result[d];
}
template <SplineKernel Kernel>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void addTerm(const float (&x)[3], const float (&w)[3], double,
                                                       float middle, float (&sum)[3])
{
  const float squared = multiplyAdd(x[2], x[2], multiplyAdd(x[1], x[1], x[0] * x[0]));
#ifdef __CUDA_ARCH__
  const float r = squared * rsqrtf(fmaxf(squared, 1e-30f));
#else
  const float r = std::sqrt(squared);
#endif
  TESSERA_UNROLL
  for (int d = 0; d < 3; ++d)
    sum[d] = multiplyAdd(r - middle, w[d], sum[d]);
}

/// A block's own numbers.
struct Block {
  std::array<int, 3> corner; // its first voxel
  Vec<3> middleMm;

  TESSERA_HOST_DEVICE Block(const SplineFieldPlan& plan, const std::array<int, 3>& number)
  {
    Vec<3> middle;
    TESSERA_UNROLL
    for (int d = 0; d < 3; ++d) {
      corner[d] = number[d] * side;
      middle[d] = corner[d] + (side - 1) / 2.0;
    }
    middleMm = plan.pointFromIndex(middle);
  }
};

/// Task: 32 landmarks, of which it marks the near ones.
TESSERA_HOST_DEVICE inline void markNear(const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                                         const Block& block, int task, unsigned* nearBits)
{
  unsigned bits = 0;
  for (int i = 0; i < 32 && 32 * task + i < spline.count; ++i) {
    const Vec<3> x = minus(spline.landmarkMm(32 * task + i), block.middleMm);
    if (x[0] * x[0] + x[1] * x[1] + x[2] * x[2] < plan.farMm * plan.farMm)
      bits |= 1u << i;
  }
  nearBits[task] = bits;
}

template <class Number>
TESSERA_HOST_DEVICE Near<Number> landmarkOf(const SplineOfLandmarks<3>& spline, const Block& block, int i)
{
  const Vec<3> x = minus(spline.landmarkMm(i), block.middleMm), w = spline.vector(i);
  Near<Number> landmark;
  TESSERA_UNROLL
  for (int d = 0; d < 3; ++d) {
    landmark.x[d] = static_cast<Number>(x[d]);
    landmark.w[d] = static_cast<Number>(w[d]);
  }
  landmark.middle = static_cast<Number>(std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]));
  return landmark;
}

/// Task: a landmark of a tile that begins with landmark `first`.
template <class Number>
TESSERA_HOST_DEVICE void loadFar(const SplineOfLandmarks<3>& spline, const Block& block, int first, int task,
                                 const BlockMemory<Number>& memory)
{
  const int i = first + task;
  memory.tile[task] = i < spline.count && (memory.nearBits[i / 32] >> i % 32 & 1u) == 0
                          ? landmarkOf<Number>(spline, block, i)
                          : Near<Number>{};
}

/// Task: a component of some of a tile's landmarks.
template <class Number>
TESSERA_HOST_DEVICE void addMiddles(bool isFirst, int task, const BlockMemory<Number>& memory)
{
  const int component = task / middleLanes;
  double sum = isFirst ? 0 : memory.middles[task];
  for (int i = task % middleLanes; i < tileLandmarks; i += middleLanes)
    sum += static_cast<double>(memory.tile[i].w[component]) * memory.tile[i].middle;
  memory.middles[task] = sum;
}

/// The place of a node or voxel from the middle of its block, in mm.
template <class Number>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void placeMm(const Matrix<3>& matrix, double x, double y, double z,
                                                       Number (&place)[3])
{
  TESSERA_UNROLL
  for (int d = 0; d < 3; ++d)
    place[d] = static_cast<Number>(matrix[d][0] * x + matrix[d][1] * y + matrix[d][2] * z);
}

/// Task: a node and a share of a tile; sums += the terms of its landmarks. The first tile assigns.
template <SplineKernel Kernel, class Number>
TESSERA_HOST_DEVICE void addFar(const SplineFieldPlan& plan, double alpha, int shares, bool isFirst, int task,
                                const BlockMemory<Number>& memory)
{
  const int n = plan.nodes, all = n * n * n, node = task % all, share = task / all;
  Number place[3], sum[3]{};
  placeMm(plan.pointFromIndex.matrix, plan.nodePlaces[node % n], plan.nodePlaces[node / n % n],
          plan.nodePlaces[node / n / n], place);
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
  for (int i = share; i < tileLandmarks; i += shares) {
    const Near<Number> landmark = memory.tile[i];
    const Number x[3]{place[0] - landmark.x[0], place[1] - landmark.x[1], place[2] - landmark.x[2]};
    addTerm<Kernel>(x, landmark.w, alpha, landmark.middle, sum);
  }
  TESSERA_UNROLL
  for (int d = 0; d < 3; ++d) {
    double& total = memory.sums[(share * 3 + d) * all + node];
    total = isFirst ? sum[d] : total + sum[d];
  }
}

/// Task: a component of a node. Adds up the shares and the displacement of the affine part.
template <class Number>
TESSERA_HOST_DEVICE void finishNode(const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                                    const Block& block, int shares, int task,
                                    const BlockMemory<Number>& memory)
{
  const int n = plan.nodes, all = n * n * n, component = task / all, node = task % all;
  double total = spline.count > 0 ? memory.sums[task] : 0;
  for (int share = 1; share < shares; ++share)
    total += memory.sums[share * 3 * all + task];
  if constexpr (std::is_same_v<Number, float>)
    for (int lane = 0; lane < middleLanes && spline.count > 0; ++lane)
      total += memory.middles[component * middleLanes + lane];
  double offset[3];
  placeMm(plan.pointFromIndex.matrix, plan.nodePlaces[node % n], plan.nodePlaces[node / n % n],
          plan.nodePlaces[node / n / n], offset);
  double affine = spline.vector(spline.count + 3)[component];
  TESSERA_UNROLL
  for (int d = 0; d < 3; ++d)
    affine += (spline.vector(spline.count + d)[component] - (d == component ? 1 : 0))
              * (block.middleMm[d] + offset[d]);
  memory.atNodes[task] = static_cast<Number>(total + affine);
}

/// The sum of a voxel's weights times numbers of nodes that lie `stride` apart.
template <class Number>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE Number weighted(int nodes, const Number* weights,
                                                          const Number* numbers, int stride)
{
  Number sum = 0;
  for (int j = 0; j < nodes; ++j)
    sum = multiplyAdd(weights[j], numbers[j * stride], sum);
  return sum;
}

/// Task: a voxel of a row of nodes.
template <class Number>
TESSERA_HOST_DEVICE void carryAlongX(int nodes, int task, const BlockMemory<Number>& memory)
{
  memory.alongX[task] =
      weighted(nodes, memory.weights + task % side * nodes, memory.atNodes + task / side * nodes, 1);
}

/// Task: a voxel of a slice of nodes.
template <class Number>
TESSERA_HOST_DEVICE void carryAlongY(int nodes, int task, const BlockMemory<Number>& memory)
{
  memory.alongY[task] = weighted(nodes, memory.weights + task / side % side * nodes,
                                 memory.alongX + task / (side * side) * nodes * side + task % side, side);
}

/// Task: half a column of voxels along z. Adds the near landmarks and writes the voxels in slices
/// [first, first + count).
template <SplineKernel Kernel, class Number>
TESSERA_HOST_DEVICE void writeColumn(const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                                     const Block& block, std::size_t first, std::size_t count, int task,
                                     const BlockMemory<Number>& memory, float* displacements)
{
  constexpr int half = side / 2;
  const int x = task % side, y = task / side % side, low = task / (side * side) * half;
  const int voxel[3]{block.corner[0] + x, block.corner[1] + y, block.corner[2] + low};
  if (voxel[0] >= plan.size[0] || voxel[1] >= plan.size[1])
    return;
  Number sums[half][3];
  TESSERA_UNROLL
  for (int z = 0; z < half; ++z) {
    TESSERA_UNROLL
    for (int c = 0; c < 3; ++c)
      sums[z][c] = weighted(plan.nodes, memory.weights + (low + z) * plan.nodes,
                            memory.alongY + c * plan.nodes * side * side + y * side + x, side * side);
  }
  Number start[3], step[3];
  constexpr double middle = (side - 1) / 2.0;
  placeMm(plan.pointFromIndex.matrix, x - middle, y - middle, low - middle, start);
  placeMm(plan.pointFromIndex.matrix, 0, 0, 1, step);
  const int words = (spline.count + 31) / 32;
  for (int word = 0; word < words; ++word)
    for (unsigned bits = memory.nearBits[word], i = 32u * static_cast<unsigned>(word); bits != 0;
         bits >>= 1, ++i) {
      if ((bits & 1u) == 0)
        continue;
      const Near<Number> landmark = landmarkOf<Number>(spline, block, static_cast<int>(i));
      TESSERA_UNROLL
      for (int z = 0; z < half; ++z) {
        Number place[3];
        TESSERA_UNROLL
        for (int d = 0; d < 3; ++d)
          place[d] = multiplyAdd(static_cast<Number>(z), step[d], start[d] - landmark.x[d]);
        addTerm<Kernel>(place, landmark.w, spline.alpha, Number(0), sums[z]);
      }
    }
  TESSERA_UNROLL
  for (int z = 0; z < half; ++z) {
    const std::size_t slice = static_cast<std::size_t>(voxel[2] + z);
    if (voxel[2] + z >= plan.size[2] || slice < first || slice >= first + count)
      continue;
    float* const out = displacements
                       + 3
                             * (static_cast<std::size_t>(voxel[0])
                                + static_cast<std::size_t>(plan.size[0])
                                      * (static_cast<std::size_t>(voxel[1])
                                         + static_cast<std::size_t>(plan.size[1]) * (slice - first)));
    TESSERA_UNROLL
    for (int c = 0; c < 3; ++c)
      out[c] = static_cast<float>(sums[z][c]);
  }
}

/// All tasks of a kind: forEach(count, body) calls body(task) for each, and waits until all are done.
template <class ForEach, class Number>
TESSERA_HOST_DEVICE void markAll(const ForEach& forEach, const SplineFieldPlan& plan,
                                 const SplineOfLandmarks<3>& spline, const Block& block,
                                 const BlockMemory<Number>& memory)
{
  const int n = plan.nodes;
  forEach(side * n,
          [&](int task) { memory.weights[task] = static_cast<Number>(plan.weights[task / n][task % n]); });
  forEach((spline.count + 31) / 32, [&](int task) { markNear(plan, spline, block, task, memory.nearBits); });
}

/// From the sums at nodes to the displacements of voxels.
template <SplineKernel Kernel, class ForEach, class Number>
TESSERA_HOST_DEVICE void carryToVoxels(const ForEach& forEach, int shares, const SplineFieldPlan& plan,
                                       const SplineOfLandmarks<3>& spline, const Block& block,
                                       std::size_t first, std::size_t count,
                                       const BlockMemory<Number>& memory, float* displacements)
{
  const int n = plan.nodes;
  forEach(3 * n * n * n, [&](int task) { finishNode(plan, spline, block, shares, task, memory); });
  forEach(3 * n * n * side, [&](int task) { carryAlongX(n, task, memory); });
  forEach(3 * n * side * side, [&](int task) { carryAlongY(n, task, memory); });
  forEach(2 * side * side, [&](int task) {
    writeColumn<Kernel>(plan, spline, block, first, count, task, memory, displacements);
  });
}

/// The work of a block, for a block of so many threads on CUDA.
template <SplineKernel Kernel, class Number, class ForEach>
TESSERA_HOST_DEVICE void computeBlock(const ForEach& forEach, int threads, const SplineFieldPlan& plan,
                                      const SplineOfLandmarks<3>& spline, const std::array<int, 3>& number,
                                      std::size_t first, std::size_t count, double* shared,
                                      float* displacements)
{
  const Block block(plan, number);
  const BlockMemory<Number> memory(plan.nodes, threads, shared);
  const int all = plan.nodes * plan.nodes * plan.nodes,
            shares = BlockMemory<Number>::shares(plan.nodes, threads);
  markAll(forEach, plan, spline, block, memory);
  for (int from = 0; from < spline.count; from += tileLandmarks) {
    forEach(tileLandmarks, [&](int task) { loadFar(spline, block, from, task, memory); });
    if constexpr (std::is_same_v<Number, float>)
      forEach(3 * middleLanes, [&](int task) { addMiddles(from == 0, task, memory); });
    forEach(all * shares,
            [&](int task) { addFar<Kernel>(plan, spline.alpha, shares, from == 0, task, memory); });
  }
  carryToVoxels<Kernel>(forEach, shares, plan, spline, block, first, count, memory, displacements);
}

}

}
