#include "Components/Transforms/Shared/OnCuda/InverseKernels.h"

#include "Components/Transforms/Shared/OnCuda/ChainRoot.h"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/Cuda.cuh"

#include <climits>

namespace tessera {
namespace {

constexpr int threadsOfRow = 32, rowsOfBlock = 4;
constexpr int threadsOfMany = 128;

template <int D>
__device__ Vec<D> pointOf(const AffineMap<D>& pointFromIndex, const int (&index)[D])
{
  Vec<D> pointMm;
#pragma unroll
  for (int axis = 0; axis < D; ++axis) { // in the CPU's order of additions
    double sum = pointFromIndex.offset[axis];
#pragma unroll
    for (int d = 0; d < D; ++d)
      sum += pointFromIndex.matrix[axis][d] * index[d];
    pointMm[axis] = sum;
  }
  return pointMm;
}

/// The index of item `number` of a lattice, x fastest.
template <int D>
__device__ void indexOf(unsigned number, const std::array<int, D>& size, int (&index)[D])
{
#pragma unroll
  for (int d = 0; d < D; ++d) {
    index[d] = static_cast<int>(d == D - 1 ? number : number % size[d]);
    number /= size[d];
  }
}

template <int D>
__device__ Vec<D> pointOfVoxel(const RootsToFind<D>& r, unsigned voxel)
{
  int index[D];
  indexOf<D>(voxel, r.size, index);
  index[D - 1] += r.firstSlice;
  return pointOf<D>(r.pointFromIndex, index);
}

template <int D>
__device__ void writeRoot(const RootsToFind<D>& r, unsigned voxel, const Root<D>& root)
{
  const std::size_t count = r.voxelCount();
#pragma unroll
  for (int d = 0; d < D; ++d)
    r.rootsMm[d * count + voxel] = root.pointMm[d];
}

/// Raises `largest` to the largest bits of the warp's lanes. Most warps need no atomic.
__device__ void raise(unsigned long long* largest, unsigned long long bits)
{
  for (int offset = 16; offset > 0; offset /= 2)
    bits = max(bits, __shfl_xor_sync(~0u, bits, offset));
  if (threadIdx.x % 32 == 0 && bits > *static_cast<volatile unsigned long long*>(largest))
    atomicMax(largest, bits);
}

/// The search for the root of the thread's voxel; a warp has 32 voxels of a row.
template <int D, class Map>
__device__ __forceinline__ void findRoot(const RootsToFind<D>& r, const Map& map)
{
  int index[D];
  index[0] = blockIdx.x * threadsOfRow + threadIdx.x;
  index[1] = blockIdx.y * rowsOfBlock + threadIdx.y;
  if constexpr (D == 3)
    index[2] = blockIdx.z;
  const int rows = D == 3 ? r.size[1] : r.endSlice - r.firstSlice;
  unsigned long long residualBits = 0;
  if (index[0] < r.size[0] && index[1] < rows) {
    unsigned voxel = index[1] * r.size[0] + index[0];
    if constexpr (D == 3)
      voxel += index[2] * static_cast<unsigned>(r.size[0] * r.size[1]);
    index[D - 1] += r.firstSlice;
    const Vec<D> pointMm = pointOf<D>(r.pointFromIndex, index);
    bool isBroken = false;
    const Root<D> root = rootBy<D>(map, r.rules, pointMm, r.rules.linearInverse(pointMm), isBroken);
    writeRoot<D>(r, voxel, root);
    if (root.kind == RootKind::regular)
      residualBits =
          __double_as_longlong(root.residualMm); // in the order of the numbers, which are not negative
    else
      r.unsettled[atomicAdd(&r.found->unsettled, 1ull)] = voxel;
    if (isBroken)
      atomicAdd(&r.found->broken, 1ull);
  }
  raise(&r.found->residualBits, residualBits);
}

template <int D>
__global__ void __launch_bounds__(threadsOfRow* rowsOfBlock)
    firstRoots(const __grid_constant__ RootsToFind<D> r)
{
  findRoot<D>(r, ChainMap<D>{r.chain});
}

/// 128 registers a thread, so that four blocks share a multiprocessor.
template <int D>
__global__ void __launch_bounds__(threadsOfRow* rowsOfBlock, 4)
    firstRootsBySpline(const __grid_constant__ RootsToFind<D> r, const __grid_constant__ SplineMap<D> spline)
{
  findRoot<D>(r, spline);
}

/// The best root of one point so far, of the searches of a lane.
template <int D>
struct BestRoot {
  Root<D> root;
  int number = INT_MAX; // of the start; INT_MAX: nothing was searched yet

  __device__ void take(const Root<D>& found, int ofStart, const Vec<D>& startMm)
  {
    if (number != INT_MAX && !isBetterRoot<D>(found, root, startMm))
      return;
    root = found;
    number = ofStart;
  }
  /// Takes the best one of all lanes; of equal ones the one with the lowest number, so the one that a search
  /// in order would have kept.
  __device__ void takeBestOfWarp(const Vec<D>& startMm)
  {
    for (int offset = 16; offset > 0; offset /= 2) {
      BestRoot other;
#pragma unroll
      for (int d = 0; d < D; ++d)
        other.root.pointMm[d] = __shfl_xor_sync(~0u, root.pointMm[d], offset);
      other.root.residualMm = __shfl_xor_sync(~0u, root.residualMm, offset);
      other.root.kind = static_cast<RootKind>(__shfl_xor_sync(~0u, static_cast<int>(root.kind), offset));
      other.number = __shfl_xor_sync(~0u, number, offset);
      const bool isBetter = other.number != INT_MAX
                            && (number == INT_MAX || isBetterRoot<D>(other.root, root, startMm)
                                || (other.number < number && !isBetterRoot<D>(root, other.root, startMm)));
      if (isBetter)
        *this = other;
    }
  }
};

template <int D>
__device__ __noinline__ Root<D> rootFrom(const RootsToFind<D>& r, Vec<D> pointMm, Vec<D> startMm)
{
  bool isBroken = false;
  const Root<D> root = rootBy<D>(ChainMap<D>{r.chain}, r.rules, pointMm, startMm, isBroken);
  if (isBroken)
    atomicAdd(&r.found->broken, 1ull);
  return root;
}

/// The starts of one point's searches that a warp has found and not yet searched from.
struct StartQueue {
  int numbers[64]; // the start of the first search is -1; others are cells
};

/// One voxel of the list a warp. Its lanes look for the cells, and share the searches.
template <int D>
__global__ void __launch_bounds__(threadsOfMany)
    secondRoots(const __grid_constant__ RootsToFind<D> r, const __grid_constant__ CellsOfImages<D> cells,
                const unsigned count)
{
  __shared__ StartQueue queues[threadsOfMany / 32];
  const int lane = threadIdx.x % 32;
  int* const queue = queues[threadIdx.x / 32].numbers;
  const unsigned item = (blockIdx.x * static_cast<unsigned>(threadsOfMany) + threadIdx.x) / 32;
  if (item >= count)
    return;
  const unsigned voxel = r.unsettled[item];
  const Vec<D> pointMm = pointOfVoxel<D>(r, voxel), startMm = r.rules.linearInverse(pointMm);
  BestRoot<D> best;
  best.root.kind = RootKind::outside;
  if (lane == 0)
    queue[0] = -1;
  int waiting = 1;
  const auto searchFromQueue = [&] {
    __syncwarp();
    if (lane < waiting) {
      const int number = queue[lane];
      typename CellsOfImages<D>::Place cell{};
      if (number >= 0)
        cells.cellAt(number / cells.cellsOfBlock, number % cells.cellsOfBlock, cell);
      best.take(rootFrom<D>(r, pointMm, number < 0 ? startMm : cells.centerMm(cell)), number, startMm);
    }
    __syncwarp();
    waiting = max(waiting - 32, 0);
    if (lane < waiting)
      queue[lane] = queue[lane + 32];
    __syncwarp();
  };
  const int blocks = cells.blockCount();
  for (int firstBlock = 0; firstBlock < blocks; firstBlock += 32) {
    unsigned hit =
        __ballot_sync(~0u, firstBlock + lane < blocks && cells.boxes[firstBlock + lane].holds(pointMm));
    for (; hit != 0; hit &= hit - 1) {
      const int block = firstBlock + __ffs(hit) - 1;
      for (int i = lane; i < cells.cellsOfBlock; i += 32) {
        typename CellsOfImages<D>::Place cell;
        const bool mayHold = cells.cellAt(block, i, cell) && cells.boxOf(cell).holds(pointMm);
        const unsigned lanes = __ballot_sync(~0u, mayHold);
        if (mayHold)
          queue[waiting + __popc(lanes & ((1u << lane) - 1))] = block * cells.cellsOfBlock + i;
        waiting += __popc(lanes);
        if (waiting >= 32)
          searchFromQueue();
      }
    }
  }
  searchFromQueue();
  best.takeBestOfWarp(startMm);
  if (lane != 0)
    return;
  writeRoot<D>(r, voxel, best.root);
  atomicAdd(&r.found->ofKind[static_cast<int>(best.root.kind)], 1ull);
  if (isRoot(best.root.kind))
    atomicMax(&r.found->residualBits,
              static_cast<unsigned long long>(__double_as_longlong(best.root.residualMm)));
}

template <int D>
__global__ void __launch_bounds__(threadsOfMany)
    mapLattice(const __grid_constant__ LatticeToMap<D> lattice, const unsigned count, Vec<D>* imagesMm,
               unsigned long long* largestBits)
{
  const unsigned i = blockIdx.x * static_cast<unsigned>(threadsOfMany) + threadIdx.x;
  double largestMm = 0;
  if (i < count) {
    int index[D];
    indexOf<D>(i, lattice.size, index);
    const Vec<D> pointMm = pointOf<D>(lattice.pointFromIndex, index),
                 imageMm = mapChain<D>(lattice.chain, lattice.linearInverse(pointMm));
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const double differenceMm = fabs(imageMm[d] - pointMm[d]);
      largestMm = isfinite(differenceMm) ? fmax(largestMm, differenceMm) : largestMm;
    }
    if (imagesMm != nullptr)
      imagesMm[i] = imageMm;
  }
  raise(largestBits, __double_as_longlong(largestMm));
}

/// One block of cells a warp.
template <int D>
__global__ void __launch_bounds__(threadsOfMany)
    boxBlocks(const __grid_constant__ CellsOfImages<D> cells, PointBox<D>* boxes)
{
  const int lane = threadIdx.x % 32,
            block = static_cast<int>((blockIdx.x * static_cast<unsigned>(threadsOfMany) + threadIdx.x) / 32);
  if (block >= cells.blockCount())
    return;
  PointBox<D> box = PointBox<D>::empty();
  typename CellsOfImages<D>::Place cell;
  for (int i = lane; i < cells.cellsOfBlock; i += 32)
    if (cells.cellAt(block, i, cell))
      box.add(cells.boxOf(cell));
  for (int offset = 16; offset > 0; offset /= 2)
#pragma unroll
    for (int d = 0; d < D; ++d) {
      box.low[d] = fmin(box.low[d], __shfl_xor_sync(~0u, box.low[d], offset));
      box.high[d] = fmax(box.high[d], __shfl_xor_sync(~0u, box.high[d], offset));
    }
  if (lane == 0)
    boxes[block] = box;
}

/// Traffic a voxel: reads 8 D bytes and writes 4 a value.
template <int D, RootQuantity Quantity>
__global__ void __launch_bounds__(threadsOfMany)
    writeQuantity(const __grid_constant__ RootsToFind<D> r, float* values)
{
  constexpr int components = componentsOf<D>(Quantity);
  const unsigned voxel = blockIdx.x * static_cast<unsigned>(threadsOfMany) + threadIdx.x;
  const std::size_t count = r.voxelCount();
  if (voxel >= count)
    return;
  Vec<D> rootMm;
#pragma unroll
  for (int d = 0; d < D; ++d)
    rootMm[d] = r.rootsMm[d * count + voxel];
  float* const to = values + static_cast<std::size_t>(voxel) * components;
  if constexpr (Quantity == RootQuantity::displacements) {
    const Vec<D> pointMm = pointOfVoxel<D>(r, voxel);
#pragma unroll
    for (int d = 0; d < D; ++d)
      to[d] = static_cast<float>(rootMm[d] - pointMm[d]);
  } else {
    Matrix<D> result, adjugate;
    if (isnan(rootMm[0])) {
#pragma unroll
      for (int entry = 0; entry < D * D; ++entry)
        result[entry / D][entry % D] = NAN;
    } else {
      Vec<D> imageMm;
      result = inverseMatrix<D>(ChainMap<D>{r.chain}(rootMm, imageMm));
    }
    if constexpr (Quantity == RootQuantity::determinants)
      to[0] = static_cast<float>(determinantAndAdjugate<D>(result, adjugate));
    else
#pragma unroll
      for (int entry = 0; entry < D * D; ++entry)
        to[entry] = static_cast<float>(result[entry / D][entry % D]);
  }
}

template <int D>
dim3 gridOver(const RootsToFind<D>& r)
{
  const unsigned slices = r.endSlice - r.firstSlice, rows = D == 3 ? r.size[1] : slices;
  return dim3(ceilDiv(r.size[0], threadsOfRow), ceilDiv<unsigned>(rows, rowsOfBlock), D == 3 ? slices : 1);
}

unsigned blocksFor(std::size_t threads)
{
  return static_cast<unsigned>(ceilDiv<std::size_t>(threads, threadsOfMany));
}

}

template <int D>
void findRootsOnCuda(Context& context, const RootsToFind<D>& r)
{
  firstRoots<D><<<gridOver(r), dim3(threadsOfRow, rowsOfBlock), 0, cudaStreamOf(context)>>>(r);
  checkLaunch("roots of voxels");
}

template <int D>
void findRootsBySplineOnCuda(Context& context, const RootsToFind<D>& r, const SplineMap<D>& spline)
{
  firstRootsBySpline<D>
      <<<gridOver(r), dim3(threadsOfRow, rowsOfBlock), 0, cudaStreamOf(context)>>>(r, spline);
  checkLaunch("roots of voxels by a B-spline");
}

template <int D>
void findSecondRootsOnCuda(Context& context, const RootsToFind<D>& r, const CellsOfImages<D>& cells,
                           std::size_t count)
{
  secondRoots<D><<<blocksFor(32 * count), threadsOfMany, 0, cudaStreamOf(context)>>>(
      r, cells, static_cast<unsigned>(count));
  checkLaunch("roots of voxels from cells");
}

template <int D>
void mapLatticeOnCuda(Context& context, const LatticeToMap<D>& lattice, Vec<D>* imagesMm,
                      unsigned long long* largestBits)
{
  std::size_t count = 1;
  for (const int size : lattice.size)
    count *= static_cast<std::size_t>(size);
  mapLattice<D><<<blocksFor(count), threadsOfMany, 0, cudaStreamOf(context)>>>(
      lattice, static_cast<unsigned>(count), imagesMm, largestBits);
  checkLaunch("images of a lattice");
}

template <int D>
void boxBlocksOnCuda(Context& context, const CellsOfImages<D>& cells, PointBox<D>* boxes)
{
  boxBlocks<D><<<blocksFor(32 * static_cast<std::size_t>(cells.blockCount())), threadsOfMany, 0,
                 cudaStreamOf(context)>>>(cells, boxes);
  checkLaunch("boxes of cells");
}

template <int D>
void writeRootsOnCuda(Context& context, const RootsToFind<D>& r, RootQuantity quantity, float* values)
{
  const auto kernel = quantity == RootQuantity::displacements  ? writeQuantity<D, RootQuantity::displacements>
                      : quantity == RootQuantity::determinants ? writeQuantity<D, RootQuantity::determinants>
                                                               : writeQuantity<D, RootQuantity::matrices>;
  kernel<<<blocksFor(r.voxelCount()), threadsOfMany, 0, cudaStreamOf(context)>>>(r, values);
  checkLaunch("values of roots");
}

TESSERA_INSTANTIATE_FUNCTIONS(findRootsOnCuda<D>, findRootsBySplineOnCuda<D>, findSecondRootsOnCuda<D>,
                              mapLatticeOnCuda<D>, boxBlocksOnCuda<D>, writeRootsOnCuda<D>);

}
