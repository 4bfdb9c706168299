#include "Core/Image/Landmarks/StructureTensorSearch.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Landmarks/StructureTensorsOnCuda.h"
#include "Core/Image/Voxels/VolumeOnCuda.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace structuretensors {
namespace {

constexpr int laneCount = 8; // numbers side by side along x
using Lanes [[gnu::vector_size(sizeof(float) * laneCount)]] = float;

TESSERA_ALWAYS_INLINE Lanes load(const float* from)
{
  Lanes value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

TESSERA_ALWAYS_INLINE void store(float* to, const Lanes& value)
{
  std::memcpy(to, &value, sizeof value);
}

struct SquareRootOfLanes {
  TESSERA_ALWAYS_INLINE Lanes operator()(const Lanes& value) const
  {
    float numbers[laneCount];
    store(numbers, value);
    for (float& number : numbers)
      number = std::sqrt(number);
    return load(numbers);
  }
};

/// The voxels about a landmark, and what is computed of them. Rows are padded to whole lanes.
struct Work {
  Window window;
  int stride = 0, rows = 0, slices = 0; // voxels
  std::vector<float> image, mean;       // with a border of one voxel on all sides
  std::vector<float> features;          // [feature][z][y][x]
  std::vector<float> sums;              // [entry][y][x], of a slice of parts
  std::vector<float> factors;           // the same, after sums along x and y and the factorization

  void resize(const Window& w)
  {
    if (!image.empty() && window.reach == w.reach)
      return; // what lies beyond the window's voxels stays 0
    window = w;
    stride = (w.voxels(0) + laneCount - 1) / laneCount * laneCount;
    rows = w.voxels(1);
    slices = w.voxels(2);
    const auto slice = static_cast<std::size_t>(stride * rows);
    image.assign(static_cast<std::size_t>((stride + 2) * (rows + 2) * (slices + 2)), 0);
    mean.assign(slice * static_cast<std::size_t>(slices), 0);
    features.assign(featureCount * mean.size(), 0);
    sums.assign(entryCount * slice + laneCount, 0); // the last row is read past its end
    factors.assign(entryCount * slice + laneCount, 0);
  }
  void fill(const StructureTensorImage& from, const Voxel& start);
  void continueFeatures(const Size<3>& size, const Voxel& start);
};

/// Copies a row of voxels from (x, y, z) on; border voxels continue beyond the image.
void copyRow(const Image<3>& image, int x, int y, int z, int count, float* to)
{
  const auto within = [&](int index, std::size_t axis) {
    return std::clamp(index, 0, static_cast<int>(image.geometry.size[axis]) - 1);
  };
  const float* const row = &image.voxels[offsetOf(image.geometry.size, {0, within(y, 1), within(z, 2)})];
  if (x >= 0 && x + count <= static_cast<int>(image.geometry.size[0]))
    std::copy_n(row + x, count, to);
  else
    for (int i = 0; i < count; ++i)
      to[i] = row[within(x + i, 0)];
}

void Work::fill(const StructureTensorImage& from, const Voxel& start)
{
  const Voxel first{start[0] - window.voxels(0) / 2, start[1] - window.voxels(1) / 2,
                    start[2] - window.voxels(2) / 2};
  float* to = image.data();
  for (int z = -1; z <= slices; ++z)
    for (int y = -1; y <= rows; ++y, to += stride + 2)
      copyRow(from.smoothed(), first[0] - 1, first[1] + y, first[2] + z, window.voxels(0) + 2, to);
  to = mean.data();
  for (int z = 0; z < slices; ++z)
    for (int y = 0; y < rows; ++y, to += stride)
      copyRow(from.mean(), first[0], first[1] + y, first[2] + z, window.voxels(0), to);
}

/// Gives the places beyond the image the features of border voxels.
void Work::continueFeatures(const Size<3>& size, const Voxel& start)
{
  const std::array<int, 3> step{1, stride, stride * rows}, extent{stride, rows, slices};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int first = start[axis] - window.voxels(static_cast<int>(axis)) / 2,
              low = std::max(0, -first), // places of the first and last voxel of the image
        high = std::min(extent[axis] - 1, static_cast<int>(size[axis]) - 1 - first);
    if (low == 0 && high == extent[axis] - 1)
      continue;
    for (std::size_t place = 0; place < features.size(); ++place) {
      const auto index = static_cast<int>(place / static_cast<std::size_t>(step[axis])
                                          % static_cast<std::size_t>(extent[axis]));
      const int nearest = std::clamp(index, low, high);
      features[place] = features[place + static_cast<std::size_t>((nearest - index) * step[axis])];
    }
  }
}

TESSERA_MULTIVERSION void featuresOf(Work& work)
{
  const int inRow = work.stride + 2, inSlice = inRow * (work.rows + 2);
  const std::size_t all = work.mean.size();
  for (int z = 0; z < work.slices; ++z)
    for (int y = 0; y < work.rows; ++y)
      for (int x = 0; x < work.stride; x += laneCount) {
        const float* const middle =
            &work.image[static_cast<std::size_t>((z + 1) * inSlice + (y + 1) * inRow + x + 1)];
        const std::size_t place = static_cast<std::size_t>((z * work.rows + y) * work.stride + x);
        Lanes features[featureCount];
        computeFeatures<Lanes>(
            [&](int dx, int dy, int dz) { return load(middle + dz * inSlice + dy * inRow + dx); },
            load(&work.mean[place]), features);
        for (std::size_t feature = 0; feature < featureCount; ++feature)
          store(&work.features[feature * all + place], features[feature]);
      }
}

/// The factors of the parts whose first slice is `first`.
TESSERA_MULTIVERSION void factorsOf(Work& work, int first)
{
  const int slice = work.stride * work.rows;
  const std::size_t all = work.mean.size();
  for (int place = 0; place < slice; place += laneCount) {
    Lanes sums[entryCount]{};
    for (int z = first; z < first + partVoxels(2); ++z) {
      Lanes features[featureCount];
      for (std::size_t feature = 0; feature < featureCount; ++feature)
        features[feature] = load(&work.features[feature * all + static_cast<std::size_t>(z * slice + place)]);
      addProducts(features, sums);
    }
    for (int entry = 0; entry < entryCount; ++entry)
      store(&work.sums[static_cast<std::size_t>(entry * slice + place)], sums[entry]);
  }
  for (int row = 0; row < entryCount * work.rows; ++row)
    for (int x = 0; x < work.stride; x += laneCount) { // what is written is not read again
      float* const at = &work.sums[static_cast<std::size_t>(row * work.stride + x)];
      const auto pair = [&](int i) { return load(at + i) + load(at + i + 1); };
      store(at, sumOfSix<Lanes>(pair(0), pair(2), pair(4)));
    }
  for (int y = 0; y < work.window.places(1); ++y)
    for (int x = 0; x < work.stride; x += laneCount) {
      Lanes entries[entryCount];
      for (int entry = 0; entry < entryCount; ++entry) {
        const float* const at = &work.sums[static_cast<std::size_t>(entry * slice + y * work.stride + x)];
        const auto pair = [&](int i) {
          return load(at + i * work.stride) + load(at + (i + 1) * work.stride);
        };
        entries[entry] = sumOfSix<Lanes>(pair(0), pair(2), pair(4));
      }
      factor(entries, SquareRootOfLanes{});
      for (int entry = 0; entry < entryCount; ++entry)
        store(&work.factors[static_cast<std::size_t>(entry * slice + y * work.stride + x)], entries[entry]);
    }
}

/// Assigns to (upper half: adds to) a slice of candidates the distances of one half of their patches, whose
/// parts have these factors. `reference` has the numbers of the half's four parts.
TESSERA_MULTIVERSION void addHalf(const Work& work, const float* reference, bool isUpper, float* distances)
{
  const int slice = work.stride * work.rows;
  for (int y = 0; y < work.window.candidates(1); ++y)
    for (int x = 0; x < work.window.candidates(0); x += laneCount) {
      const Lanes sum = halfDistance([&](int partX, int partY) {
        const float* const at = &work.factors[static_cast<std::size_t>((y + partStep(1) * partY) * work.stride
                                                                       + x + partStep(0) * partX)];
        return partDistance<Lanes>([&](int entry) { return load(at + entry * slice); },
                                   reference + (2 * partY + partX) * entryCount);
      });
      for (int i = 0; i < std::min(laneCount, work.window.candidates(0) - x); ++i) {
        float& distance = distances[y * work.window.candidates(0) + x + i];
        distance = isUpper ? distance + sum[i] : sum[i];
      }
    }
}

}

std::vector<float> distances(const StructureTensorImage& here, const StructureTensorImage& there,
                             const Voxel& keypoint, const Voxel& startThere, const Window& window)
{
  thread_local Work work, ofKeypoint;
  float reference[2][4 * entryCount];
  ofKeypoint.resize({{0, 0, 0}});
  ofKeypoint.fill(here, keypoint);
  featuresOf(ofKeypoint);
  ofKeypoint.continueFeatures(here.size(), keypoint);
  for (int half = 0; half < 2; ++half) {
    factorsOf(ofKeypoint, half * partStep(2));
    for (int part = 0; part < 4; ++part)
      for (int entry = 0; entry < entryCount; ++entry)
        reference[half][part * entryCount + entry] = ofKeypoint.factors[static_cast<std::size_t>(
            (entry * ofKeypoint.rows + part / 2 * partStep(1)) * ofKeypoint.stride + part % 2 * partStep(0))];
  }
  work.resize(window);
  work.fill(there, startThere);
  featuresOf(work);
  work.continueFeatures(there.size(), startThere);
  std::vector<float> found(static_cast<std::size_t>(window.candidateCount()));
  const int perSlice = window.candidates(0) * window.candidates(1);
  for (int z = 0; z < window.places(2); ++z) {
    factorsOf(work, z);
    if (z < window.candidates(2))
      addHalf(work, reference[0], false, &found[static_cast<std::size_t>(z * perSlice)]);
    if (z >= partStep(2))
      addHalf(work, reference[1], true, &found[static_cast<std::size_t>((z - partStep(2)) * perSlice)]);
  }
  return found;
}

}

using namespace structuretensors;

// On CUDA: eight features, and on the way there the image and filtered ones.
constexpr double bytesOfVoxel = sizeof(float) * (8 + 4);

StructureTensorImage::StructureTensorImage(Context& context, const ImagePointer<3>& image)
    : size_(image->geometry.size)
{
  if (!context.onCuda()) {
    smoothed_ = smoothRecursively<3>(context, *image, {1, 1, 1});
    mean_ = smoothRecursively<3>(context, *image, meanSigmaVoxels);
    return;
  }
  const auto there = voxelsOnCuda<3>(context, image);
  const auto smoothed = [&](const Vec<3>& sigmaVoxels) {
    VolumeOnCuda<3> volume(context, size_, there);
    for (int axis = 2; axis >= 0; --axis)
      volume.filter(axis, sigmaVoxels[static_cast<std::size_t>(axis)],
                    {{1.0}, 0, 1, size_[static_cast<std::size_t>(axis)]});
    return volume.releaseVoxels();
  };
  const Buffer<float> narrow = smoothed({1, 1, 1}), wide = smoothed(meanSigmaVoxels);
  features_ = Buffer<float>(context, 8 * image->geometry.voxelCount());
  computeFeaturesOnCuda(context, size_, narrow.span().data(), wide.span().data(), features_.span().data());
}

std::string whyNoTensorSearchOnCuda(const Context& context, const Window& window, double voxels)
{
  if (const std::size_t needed = BlockMemory::bytes(window), there = sharedBytesOfBlock(context);
      there < needed)
    return "structure tensors need " + memoryText(static_cast<double>(needed))
           + " of shared memory a block for this reach, the GPU has "
           + memoryText(static_cast<double>(there));
  const double needed = bytesOfVoxel * voxels, usable = usableDeviceMemory(context);
  return needed <= usable ? ""
                          : "structure tensors need " + memoryText(needed) + " of the GPU's memory, "
                                + memoryText(usable) + " are free";
}

std::vector<LeastCost> searchStructureTensors(const Context& context, const StructureTensorImage& here,
                                              const StructureTensorImage& there,
                                              std::span<const Voxel> keypoints,
                                              std::span<const Voxel> startsThere, const Window& window)
{
  std::vector<Found> found(keypoints.size());
  if (context.onCuda())
    searchOnCuda(context, {here.features(), here.size()}, {there.features(), there.size()}, keypoints,
                 startsThere, window, found);
  else
    forEachChunk(context, keypoints.size(), [&](std::size_t i) {
      const std::vector<float> all = distances(here, there, keypoints[i], startsThere[i], window);
      Best best = Best::of(window, window.candidateCount() / 2, all[all.size() / 2]);
      for (int number = 0; number < window.candidateCount(); ++number) {
        const Best other = Best::of(window, number, all[static_cast<std::size_t>(number)]);
        if (other.isBetterThan(best))
          best = other;
      }
      found[i] = foundAt(window, best.number, all.data());
    });

  std::vector<LeastCost> results;
  for (const Found& place : found) {
    LeastCost result{{}, {}, place.distance};
    int rest = place.number;
    for (int d = 0; d < 3; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const int index = rest % window.candidates(d);
      rest /= window.candidates(d);
      result.displacement[axis] = index - window.reach[axis];
      if (index > 0 && index + 1 < window.candidates(d))
        refine(result, d, 1, place.before[d], place.after[d]);
    }
    results.push_back(result);
  }
  return results;
}

}
