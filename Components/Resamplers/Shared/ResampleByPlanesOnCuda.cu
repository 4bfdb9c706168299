#include "Components/Resamplers/Shared/BoxCopies.cuh"
#include "Components/Resamplers/Shared/ResamplingKernels.cuh"

#include <cmath>
#if CUDART_VERSION >= 12050
#include <cudaTypedefs.h>
#endif

namespace tessera {
namespace {

using namespace resampling;

constexpr int rowsOfWarp = 2, warps = 8, rowsOfTile = rowsOfWarp * warps; // of 32 voxels
constexpr int boxX = 40, boxY = 20, planes = 16; // voxels of the image; `planes` of them are held at a time
constexpr unsigned bytesOfRow = sizeof(float) * boxX, bytesOfPlane = bytesOfRow * boxY;
constexpr int slicesAtOnce = 4; // of the lattice, a group: planes for the next one are on their way meanwhile
constexpr float slack = 1.0f / 256; // voxels: more than roundings
static_assert(bytesOfPlane % 128 == 0 && (planes & (planes - 1)) == 0 && boxX % voxelsOfPiece == 0);

/// The part of the image that a block asks for: planes from `z` on, of which number n of its runs needs those
/// from z + floor(lowest + n * step) to z + floor(highest + n * step) + 1.
struct Box {
  int x, y, z;
  float lowest, highest;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

constexpr auto Kind = Interpolation::order1;

/// By the first warp.
__device__ __forceinline__ void findBox(const LatticeToResample<3>& r, const IndexMap<3>& map,
                                        const RunShape& shape, Box& box)
{
  const int axis = min(static_cast<int>(threadIdx.x), 2);
  const int first[3] = {static_cast<int>(blockIdx.x) * 32, static_cast<int>(blockIdx.y) * rowsOfTile,
                        ((r.firstSlice >> shape.bitsOfVoxels) + static_cast<int>(blockIdx.z))
                            << shape.bitsOfVoxels};
  double lowest = map.offset[axis];
  float extent = 0;
  for (int e = 0; e < 3; ++e) {
    const int last = min((e == 0 ? 32 : rowsOfTile), r.size[e] - first[e]) - 1;
    const double step = map.matrix[axis][e], along = e < 2      ? step * last
                                                     : axis < 2 ? step * (shape.voxelsALane() - 1)
                                                                : 0;
    lowest = fma(step, static_cast<double>(first[e]), lowest) + fmin(along, 0.0);
    if (e < 2)
      extent += fabsf(static_cast<float>(along));
  }
  int whole = __double2int_rd(lowest - slack);
  if (axis == 2) {
    box.z = whole;
    box.lowest = static_cast<float>(lowest - whole) - slack;
    box.highest = static_cast<float>(lowest - whole) + extent + slack;
  } else {
    whole = max(0, min(whole, r.image.size[axis] - (axis == 0 ? boxX : boxY)));
    (axis == 0 ? box.x : box.y) = axis == 0 ? whole & -voxelsOfPiece : whole;
  }
}

/// What is asked of a warp's runs, one above the other.
struct Groups {
  int firstInside = 0,
      endInside = INT_MAX; // first <= group < end: groups whose voxels all have their knots in the image
  bool areOutside = true;  // all voxels of the runs

  __device__ __forceinline__ void add(const LatticeToResample<3>& r, const IndexMap<3>& map,
                                      const Run<3>& run, const MiddleOfRun<3>& middle,
                                      const Window<3>& window)
  {
    const float reach = map.reach[middle.axis], belt = beltOfSpans<3, Kind>(r);
    const RunIs where = whereRunIs<3>(r, middle, middle.fraction - reach, middle.fraction + reach, belt);
    int first = run.firstNumber, end = where == RunIs::outside || run.isEmpty ? first : run.endNumber;
    if (where == RunIs::atBorder) {
      const StraightPath<3> path(map, run, middle);
      const LaneSpans<3> spans(path.start, path.step, window, {}, {}, belt, run.isInLattice);
      first = max(first, static_cast<int>(spans.allInside.first));
      end = min(end, static_cast<int>(spans.allInside.end));
    }
    firstInside = max(firstInside, (first + slicesAtOnce - 1) / slicesAtOnce);
    endInside = min(endInside, end / slicesAtOnce);
    areOutside = areOutside && (where == RunIs::outside || run.isEmpty);
  }
};

/// A lane's way through the planes in shared memory, where voxels lie at addresses of 32 bits.
struct PathInPlanes {
  StraightPath<3> path;
  unsigned start;    // address of the voxel whose numbers are bitsOfWholeNumbers in x and y, in plane 0
  float wholePlanes; // wholeNumbers, and planes from where the path counts to where they have numbers that go
                     // round
  float front[4];    // the corners of the last voxel's cell in its farther plane,
  unsigned atFront;  // and their address

  __device__ __forceinline__ PathInPlanes(const IndexMap<3>& map, const Run<3>& run, const Window<3>& window,
                                          const MiddleOfRun<3>& middle, const Box& box, unsigned ring)
      : path(map, run, middle), front(), atFront(~0u)
  {
    const int x = window.whole[0] - box.x, y = window.whole[1] - box.y;
    start = ring + sizeof(float) * (x - bitsOfWholeNumbers) + bytesOfRow * (y - bitsOfWholeNumbers);
    wholePlanes = wholeNumbers + static_cast<float>(window.whole[2] - box.z);
  }
  static __device__ __forceinline__ void load(float (&corners)[4], unsigned address)
  {
    asm volatile("ld.shared.f32 %0, [%4];\n"
                 "ld.shared.f32 %1, [%4 + 4];\n"
                 "ld.shared.f32 %2, [%4 + %5];\n"
                 "ld.shared.f32 %3, [%4 + %5 + 4];"
                 : "=f"(corners[0]), "=f"(corners[1]), "=f"(corners[2]), "=f"(corners[3])
                 : "r"(address), "n"(bytesOfRow));
  }
  /// Unless they are what was loaded from `known`: a jump would take longer than loads that are not done.
  static __device__ __forceinline__ void loadUnless(float (&corners)[4], unsigned address, unsigned known)
  {
    asm volatile("{\n"
                 ".reg .pred other;\n"
                 "setp.ne.u32 other, %4, %6;\n"
                 "@other ld.shared.f32 %0, [%4];\n"
                 "@other ld.shared.f32 %1, [%4 + 4];\n"
                 "@other ld.shared.f32 %2, [%4 + %5];\n"
                 "@other ld.shared.f32 %3, [%4 + %5 + 4];\n"
                 "}"
                 : "+f"(corners[0]), "+f"(corners[1]), "+f"(corners[2]), "+f"(corners[3])
                 : "r"(address), "n"(bytesOfRow), "r"(known));
  }
  static __device__ __forceinline__ float inPlane(const float (&corners)[4], float x, float y)
  {
    return between(between(corners[0], corners[1], x), between(corners[2], corners[3], x), y);
  }
  /// Of an index whose cell is of these whole numbers, in x and y from wholeNumbers on, in z from wholePlanes
  /// on.
  __device__ __forceinline__ float valueOfCell(const float (&index)[3], const float (&whole)[3])
  {
    const float x = index[0] - (whole[0] - wholeNumbers), y = index[1] - (whole[1] - wholeNumbers),
                z = index[2] - (whole[2] - wholePlanes);
    const unsigned inAnyPlane =
        start + sizeof(float) * __float_as_uint(whole[0]) + bytesOfRow * __float_as_uint(whole[1]);
    loadUnless(front, inAnyPlane + __float_as_uint(whole[2]) % planes * bytesOfPlane, atFront);
    atFront = inAnyPlane + (__float_as_uint(whole[2]) + 1) % planes * bytesOfPlane;
    float back[4];
    load(back, atFront);
    const float value = between(inPlane(front, x, y), inPlane(back, x, y), z);
#pragma unroll
    for (int corner = 0; corner < 4; ++corner)
      front[corner] = back[corner];
    return value;
  }
  /// Of a voxel whose knots are in the image.
  __device__ __forceinline__ float valueInside(float number)
  {
    float index[3];
    path.at(number, index);
    const float whole[3] = {__fadd_rd(index[0], wholeNumbers), __fadd_rd(index[1], wholeNumbers),
                            __fadd_rd(index[2], wholePlanes)};
    return valueOfCell(index, whole);
  }
  /// Of any voxel: what resampleAt answers at the border, for images that repeat theirs and constant
  /// extrapolation.
  __device__ __forceinline__ void resampleAnywhere(const LatticeToResample<3>& r, const Window<3>& window,
                                                   float number, float* to)
  {
    float index[3], whole[3];
    path.at(number, index);
    const float beyond = fold<3>(r, window, index);
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const float zero = d == 2 ? wholePlanes : wholeNumbers;
      whole[d] = fminf(__fadd_rd(index[d], zero), window.high[d] + (zero - 1));
    }
    const float value = valueOfCell(index, whole);
    const bool isPlain = beyond <= -r.plainDepth;
    *to = isPlain ? value : r.outside;
    if (!isPlain && !(beyond > beltOf(Kind) + r.margin))
      markUnsure<3>(r, to);
  }
};

#endif

__global__ void __launch_bounds__(32 * warps, 4)
    resampleTile(const __grid_constant__ LatticeToResample<3> r, const __grid_constant__ IndexMap<3> map,
                 const __grid_constant__ RunShape shape, const __grid_constant__ BoxesOfVolume boxes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char ring[];
  __shared__ Box boxOfBlock;
  __shared__ BoxBarrier barriers[2]; // in turn
  const bool asks = threadIdx.x == 0 && threadIdx.y == 0;
  if (asks) {
    barriers[0].start();
    barriers[1].start();
  }
  if (threadIdx.y == 0)
    findBox(r, map, shape, boxOfBlock);

  const int column = static_cast<int>(blockIdx.x), length = static_cast<int>(blockIdx.z),
            firstRow = static_cast<int>(blockIdx.y) * rowsOfTile + static_cast<int>(threadIdx.y) * rowsOfWarp;
  const Run<3> runs[rowsOfWarp] = {{r, shape, column, firstRow, length},
                                   {r, shape, column, firstRow + 1, length}};
  const MiddleOfRun<3> middles[rowsOfWarp] = {{map, runs[0]}, {map, runs[1]}};
  const Window<3> windows[rowsOfWarp] = {{r, middles[0]}, {r, middles[1]}};
  Groups groups;
#pragma unroll
  for (int row = 0; row < rowsOfWarp; ++row)
    groups.add(r, map, runs[row], middles[row], windows[row]);
  if (__syncthreads_and(groups.areOutside)) {
#pragma unroll 1
    for (int row = 0; row < rowsOfWarp; ++row) {
      const Run<3> run(r, shape, column, firstRow + row, length);
      if (!run.isEmpty)
        fillRun<3>(r, run);
    }
    return;
  }

  const Box box = boxOfBlock;
  const float planesASlice = map.step[2][2];
  const int firstGroup = runs[0].firstNumber / slicesAtOnce,
            endGroup = (runs[0].endNumber + slicesAtOnce - 1) / slicesAtOnce;
  const int endPlane = r.image.size[2] - box.z;
  int next =
      static_cast<int>(floorf(fmaf(static_cast<float>(firstGroup * slicesAtOnce), planesASlice, box.lowest)));
  next = max(min(next, endPlane - 2), -box.z);
  const auto ask = [&](int group) {
    const float last = static_cast<float>(group * slicesAtOnce + slicesAtOnce - 1);
    const int end =
        min(max(static_cast<int>(floorf(fmaf(last, planesASlice, box.highest))), -box.z) + 2, endPlane);
    BoxBarrier& barrier = barriers[(group - firstGroup) & 1];
    barrier.expect(max(end - next, 0) * bytesOfPlane);
#pragma unroll 1
    for (; next < end; ++next)
      bringBox(inShared(ring) + static_cast<unsigned>(next) % planes * bytesOfPlane, boxes, box.x, box.y,
               box.z + next, barrier);
  };
  if (asks)
    ask(firstGroup);
  PathInPlanes paths[rowsOfWarp] = {{map, runs[0], windows[0], middles[0], box, inShared(ring)},
                                    {map, runs[1], windows[1], middles[1], box, inShared(ring)}};
  const std::ptrdiff_t stride = runs[0].stride(r);
  float* to = runs[0].target(r, firstGroup * slicesAtOnce);
  float number = static_cast<float>(firstGroup * slicesAtOnce);
#pragma unroll 1
  for (int group = firstGroup; group < endGroup; ++group) {
    if (asks && group + 1 < endGroup)
      ask(group + 1);
    barriers[(group - firstGroup) & 1].wait((group - firstGroup) / 2);
    if (runs[0].isInLattice) {
      if (group >= groups.firstInside && group < groups.endInside) {
#pragma unroll
        for (int slice = 0; slice < slicesAtOnce; ++slice) {
#pragma unroll
          for (int row = 0; row < rowsOfWarp; ++row)
            to[row * r.size[0]] = paths[row].valueInside(number);
          number += 1;
          to = moved(to, stride);
        }
      } else {
#pragma unroll 1
        for (int slice = 0; slice < slicesAtOnce; ++slice) {
          const int whole = group * slicesAtOnce + slice;
          if (whole >= runs[0].firstNumber && whole < runs[0].endNumber) {
#pragma unroll
            for (int row = 0; row < rowsOfWarp; ++row)
              if (!runs[row].isEmpty)
                paths[row].resampleAnywhere(r, windows[row], number, to + row * r.size[0]);
          }
          number += 1;
          to = moved(to, stride);
        }
      }
    }
    __syncthreads(); // planes behind are written over
  }
#endif
}

#if CUDART_VERSION >= 12050

/// False if the driver knows no copy engine, or that is not for this volume. `size`: voxels, x fastest.
bool describeBoxes(BoxesOfVolume& boxes, const float* voxels, const std::array<int, 3>& size)
{
  if (size[0] % voxelsOfPiece != 0
      || reinterpret_cast<std::uintptr_t>(voxels) % (voxelsOfPiece * sizeof(float)) != 0)
    return false;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  checkCuda(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
      "asking the driver for its copy engine");
  if (found != cudaDriverEntryPointSuccess || function == nullptr)
    return false;
  const cuuint64_t row = sizeof(float) * static_cast<cuuint64_t>(size[0]),
                   plane = row * static_cast<cuuint64_t>(size[1]);
  const cuuint64_t extents[3] = {static_cast<cuuint64_t>(size[0]), static_cast<cuuint64_t>(size[1]),
                                 static_cast<cuuint64_t>(size[2])};
  const cuuint64_t strides[2] = {row, plane};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(boxX), static_cast<cuuint32_t>(boxY), 1},
                   everyVoxel[3] = {1, 1, 1};
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function)(
             &boxes.map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, const_cast<float*>(voxels), extents, strides,
             box, everyVoxel, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
         == CUDA_SUCCESS;
}

#else

bool describeBoxes(BoxesOfVolume&, const float*, const std::array<int, 3>&)
{
  return false;
}

#endif

/// Whether the boxes hold what tiles ask for.
bool boxesSuffice(const IndexMap<3>& map, const RunShape& shape)
{
  const double extents[3] = {31, rowsOfTile - 1, shape.voxelsALane() - 1.0};
  const auto cells = [&](int axis, double alongRun) {
    return std::floor(std::abs(map.matrix[axis][0]) * extents[0] + std::abs(map.matrix[axis][1]) * extents[1]
                      + std::abs(map.matrix[axis][2]) * alongRun + 4 * slack)
           + 3;
  };
  constexpr double slicesAskedFor = 2 * slicesAtOnce - 1; // from the first of a group to the last of the next
  return map.matrix[2][2] > 0 && cells(0, extents[2]) + voxelsOfPiece - 1 <= boxX
         && cells(1, extents[2]) <= boxY && cells(2, slicesAskedFor) <= planes;
}

}

bool resampleByPlanes(Context& context, const LatticeToResample<3>& r, const IndexMap<3>& map,
                      const RunShape& shape)
{
  constexpr int ringBytes = planes * bytesOfPlane;
  if (!r.hasPlainValues || r.image.order != 1 || r.extrapolation != Extrapolation::constant
      || !r.image.repeatsBorder || !r.hasAllSlices || shape.bitsOfLanesX != 5 || shape.bitsOfVoxels != 5
      || r.image.size[0] < boxX || r.image.size[1] < boxY || !boxesSuffice(map, shape))
    return false;
  const cudaStream_t stream = cudaStreamOf(context);
  cudaFuncAttributes compiled{};
  checkCuda(cudaFuncGetAttributes(&compiled, resampleTile), "asking for a kernel that resamples");
  BoxesOfVolume boxes;
  if (compiled.ptxVersion < 90 || !describeBoxes(boxes, r.image.coefficients, r.image.size))
    return false;
  checkCuda(cudaFuncSetAttribute(resampleTile, cudaFuncAttributeMaxDynamicSharedMemorySize, ringBytes),
            "shared memory for a kernel that resamples");
  const unsigned bits = static_cast<unsigned>(shape.bitsOfVoxels);
  const dim3 blocks(ceilDiv<unsigned>(r.size[0], 32), ceilDiv<unsigned>(r.size[1], rowsOfTile),
                    ceilDiv<unsigned>(r.endSlice, 1u << bits)
                        - (static_cast<unsigned>(r.firstSlice) >> bits));
  resampleTile<<<blocks, dim3(32, warps), ringBytes, stream>>>(r, map, shape, boxes);
  checkLaunch("resampling by planes");
  return true;
}

}
