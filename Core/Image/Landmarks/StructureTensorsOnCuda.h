#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LaunchShape.h"
#include "Core/Image/ImageGeometry.h"
#include "Core/Image/Landmarks/Keypoints.h"
#include "Core/Image/Landmarks/StructureTensors.h"

#include <span>

// A block of threads searches for one landmark. It goes through the slices of parts, and keeps the sums of
// one slice and the distances of all candidates in shared memory. The functions of one task are here, so that
// a test can do a block's work on the host.
namespace tessera::structuretensors {

/// The features of an image on a CUDA device, eight numbers a voxel, of which the last is 0.
struct FeatureImage {
  const float* features = nullptr;
  Size<3> size{};
};

/// `features` gets eight numbers for each voxel. Reads 8 bytes a voxel if the caches hold neighbours, writes
/// 32.
TESSERA_CUDA_ONLY void computeFeaturesOnCuda(const Context&, const Size<3>&, const float* smoothed,
                                             const float* mean, float* features);

/// The shared memory that a block of the device may have.
TESSERA_CUDA_ONLY std::size_t sharedBytesOfBlock(const Context&);

/// Assigns what was found for each keypoint.
TESSERA_CUDA_ONLY void searchOnCuda(const Context&, const FeatureImage& here, const FeatureImage& there,
                                    std::span<const Voxel> keypoints, std::span<const Voxel> startsThere,
                                    const Window&, std::span<Found> found);

/// Does as searchOnCuda does, with all arrays on the device.
TESSERA_CUDA_ONLY void enqueueSearch(const Context&, const FeatureImage& here, const FeatureImage& there,
                                     std::size_t count, const Voxel* keypoints, const Voxel* startsThere,
                                     const Window&, Found* found);

/// The launch of enqueueSearch for so many landmarks.
TESSERA_CUDA_ONLY LaunchShape searchShape(std::size_t landmarks, const Window&);

/// Shared memory of a block: sums of a slice, distances of candidates, and a landmark's eight factors.
struct BlockMemory {
  Window window;
  float* sums;      // [entry][y][x] over the window's voxels, replaced in place step by step
  float* distances; // of candidates, x fastest
  float* reference; // [part][entry], parts x fastest

  static TESSERA_HOST_DEVICE constexpr std::size_t numbers(const Window& window)
  {
    return static_cast<std::size_t>(entryCount * window.voxels(0) * window.voxels(1) + window.candidateCount()
                                    + 8 * entryCount);
  }
  /// With what the kernel has beside it.
  static constexpr std::size_t bytes(const Window& window) { return numbers(window) * sizeof(float) + 1024; }
  TESSERA_HOST_DEVICE BlockMemory(const Window& w, float* memory)
      : window(w), sums(memory), distances(sums + entryCount * w.voxels(0) * w.voxels(1)),
        reference(distances + w.candidateCount())
  {
  }
};

struct alignas(16) FourFloats {
  float x, y, z, w;
};

/// Task: a voxel of the window. Sums products over the slices of the parts that begin in slice `first`.
TESSERA_HOST_DEVICE inline void sumAlongZ(const Window& window, float* toSums, const FeatureImage& image,
                                          const std::array<int, 3>& corner, int first, int task)
{
  const int width = window.voxels(0), slice = width * window.voxels(1);
  const auto within = [&](int index, int axis) {
    const int last = static_cast<int>(image.size[axis]) - 1;
    return index < 0 ? 0 : index > last ? last : index;
  };
  const int x = within(corner[0] + task % width, 0), y = within(corner[1] + task / width, 1);
  float sums[entryCount]{};
  for (int step = 0; step < partVoxels(2); ++step) {
    const int z = within(corner[2] + first + step, 2);
    const FourFloats* const at = reinterpret_cast<const FourFloats*>(
        image.features
        + 8
              * (static_cast<std::size_t>(x)
                 + image.size[0] * (y + image.size[1] * static_cast<std::size_t>(z))));
    const FourFloats low = at[0], high = at[1];
    const float features[featureCount]{low.x, low.y, low.z, low.w, high.x, high.y, high.z};
    addProducts(features, sums);
  }
  TESSERA_UNROLL
  for (int entry = 0; entry < entryCount; ++entry)
    toSums[entry * slice + task] = sums[entry];
}

/// Replaces a line of numbers by the sums of six from each on; the last five are left.
TESSERA_HOST_DEVICE inline void sumLine(float* line, int stride, int sumCount)
{
  float pairs[4], last = line[4 * stride]; // pairs[k] begins at k
  for (int k = 0; k < 4; ++k)
    pairs[k] = line[k * stride] + line[(k + 1) * stride];
  for (int i = 0; i < sumCount; ++i) {
    const float next = line[(i + 5) * stride], pair = last + next;
    line[i * stride] = sumOfSix(pairs[0], pairs[2], pair);
    pairs[0] = pairs[1];
    pairs[1] = pairs[2];
    pairs[2] = pairs[3];
    pairs[3] = pair;
    last = next;
  }
}

/// Task: a row of an entry.
TESSERA_HOST_DEVICE inline void sumAlongX(const Window& window, float* sums, int task)
{
  sumLine(sums + task * window.voxels(0), 1, window.places(0));
}

/// Task: a column of an entry.
TESSERA_HOST_DEVICE inline void sumAlongY(const Window& window, float* sums, int task)
{
  const int width = window.voxels(0), places = window.places(0);
  sumLine(sums + task / places * width * window.voxels(1) + task % places, width, window.places(1));
}

/// Task: a place of the slice.
TESSERA_HOST_DEVICE inline void factorPlace(const Window& window, float* sums, int task)
{
  const int width = window.voxels(0), slice = width * window.voxels(1);
  float* const at = sums + task / window.places(0) * width + task % window.places(0);
  float entries[entryCount];
  TESSERA_UNROLL
  for (int entry = 0; entry < entryCount; ++entry)
    entries[entry] = at[entry * slice];
  factor(entries, SquareRoot{});
  TESSERA_UNROLL
  for (int entry = 0; entry < entryCount; ++entry)
    at[entry * slice] = entries[entry];
}

/// Task: a number of the landmark's factors of a half, whose window has no reach.
TESSERA_HOST_DEVICE inline void takeReference(const float* sums, int half, int task, float* reference)
{
  const Window none{{0, 0, 0}};
  const int entry = task % entryCount, part = task / entryCount;
  reference[half * 4 * entryCount + task] =
      sums[entry * none.voxels(0) * none.voxels(1) + part / 2 * partStep(1) * none.voxels(0)
           + part % 2 * partStep(0)];
}

/// Task: a candidate whose lower half begins in the slice of parts, then those whose upper half does.
TESSERA_HOST_DEVICE inline void addDistance(const BlockMemory& memory, int slice, int task)
{
  const Window& window = memory.window;
  const int perSlice = window.candidates(0) * window.candidates(1), half = task / perSlice,
            candidate = task % perSlice, z = slice - half * partStep(2);
  if (z < 0 || z >= window.candidates(2))
    return;
  const int width = window.voxels(0), voxels = width * window.voxels(1);
  const float* const at =
      memory.sums + candidate / window.candidates(0) * width + candidate % window.candidates(0);
  const float* const reference = memory.reference + half * 4 * entryCount;
  const float sum = halfDistance([&](int partX, int partY) {
    const float* const part = at + partStep(1) * partY * width + partStep(0) * partX;
    return partDistance<float>([&](int entry) { return part[entry * voxels]; },
                               reference + (2 * partY + partX) * entryCount);
  });
  float& distance = memory.distances[z * perSlice + candidate];
  distance = half == 0 ? sum : distance + sum;
}

/// The work of a block for one landmark, up to the distances: forEach(count, body) calls body(task) for all
/// tasks and waits until all are done.
template <class ForEach>
TESSERA_HOST_DEVICE void computeDistances(const ForEach& forEach, const BlockMemory& memory,
                                          const FeatureImage& here, const FeatureImage& there,
                                          const std::array<int, 3>& keypoint,
                                          const std::array<int, 3>& startThere)
{
  const auto factors = [&](const Window& window, const FeatureImage& image, const std::array<int, 3>& middle,
                           int slice) {
    const std::array<int, 3> corner{middle[0] - window.voxels(0) / 2, middle[1] - window.voxels(1) / 2,
                                    middle[2] - window.voxels(2) / 2};
    float* const sums = memory.sums;
    forEach(window.voxels(0) * window.voxels(1),
            [&](int task) { sumAlongZ(window, sums, image, corner, slice, task); });
    forEach(entryCount * window.voxels(1), [&](int task) { sumAlongX(window, sums, task); });
    forEach(entryCount * window.places(0), [&](int task) { sumAlongY(window, sums, task); });
    forEach(window.places(0) * window.places(1), [&](int task) { factorPlace(window, sums, task); });
  };
  for (int half = 0; half < 2; ++half) {
    factors(Window{{0, 0, 0}}, here, keypoint, half * partStep(2));
    forEach(4 * entryCount, [&](int task) { takeReference(memory.sums, half, task, memory.reference); });
  }
  for (int slice = 0; slice < memory.window.places(2); ++slice) {
    factors(memory.window, there, startThere, slice);
    forEach(2 * memory.window.candidates(0) * memory.window.candidates(1),
            [&](int task) { addDistance(memory, slice, task); });
  }
}

}
