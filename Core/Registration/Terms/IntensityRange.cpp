#include "Core/Registration/Terms/IntensityRange.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Voxels/ImageOnCuda.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tessera {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

struct Extremes {
  float lowest = infinity, highest = -infinity;

  void take(float value)
  {
    lowest = value < lowest ? value : lowest; // the comparison is false for NaN
    highest = value > highest ? value : highest;
  }
  void merge(const Extremes& other)
  {
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
  }
};

/// Keeps eight independent pairs of extremes, so that a comparison need not wait for the one before.
Extremes extremesOf(const float* values, std::size_t count)
{
  Extremes lanes[8];
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int lane = 0; lane < 8; ++lane)
      lanes[lane].take(values[i + lane]);
  for (; i < count; ++i)
    lanes[0].take(values[i]);
  for (const Extremes& lane : lanes)
    lanes[0].merge(lane);
  return lanes[0];
}

template <int D>
Extremes extremesInMask(const Image<D>& image, const Mask<D>& mask, std::size_t row)
{
  const std::size_t length = image.geometry.size[0];
  const float* values = image.voxels.data() + row * length;
  Extremes found;
  if (mask.geometry == image.geometry) {
    const std::uint8_t* inside = mask.voxels.data() + row * length;
    for (std::size_t i = 0; i < length; ++i)
      if (inside[i])
        found.take(values[i]);
    return found;
  }
  const AffineMap<D> pointFromIndex = image.geometry.pointFromIndex();
  Vec<D> index = indexOfVoxel<D>(image.geometry.size, row * length);
  for (std::size_t i = 0; i < length; ++i) {
    index[0] = static_cast<double>(i);
    if (mask.contains(pointFromIndex(index)))
      found.take(values[i]);
  }
  return found;
}

}

template <int D>
IntensityRange intensityRange(const Context& context, const ImagePointer<D>& image, const Mask<D>* mask,
                              const std::string& name)
{
  if (!mask)
    if (const std::optional<VoxelExtremes> onCuda = extremesOnCuda<D>(context, image);
        onCuda && onCuda->least <= onCuda->greatest)
      return {onCuda->least, onCuda->greatest};
  constexpr std::size_t rowsPerChunk = 256;
  const std::size_t length = image->geometry.size[0],
                    rows = length == 0 ? 0 : hostVoxels<D>(image).size() / length;
  std::vector<Extremes> found((rows + rowsPerChunk - 1) / rowsPerChunk);
  forEachRange(context, rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
    Extremes chunk;
    for (std::size_t row = first; row < last; ++row)
      chunk.merge(mask ? extremesInMask<D>(*image, *mask, row)
                       : extremesOf(image->voxels.data() + row * length, length));
    found[first / rowsPerChunk] = chunk;
  });

  Extremes all;
  for (const Extremes& chunk : found)
    all.merge(chunk);
  if (all.lowest > all.highest)
    failAs(ExitCode::unreadableInput, name,
           std::string("no voxel with a value") + (mask ? " lies inside its mask" : ""),
           "an image with values and a mask that overlaps it");
  return {all.lowest, all.highest};
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(intensityRange<D>);

}
