#include "Core/Image/Voxels/VoxelPlace.h"

#include "Core/Image/Voxels/VoxelRanges.h"

#include <algorithm>

namespace tessera {
namespace {

/// Writes values of the file, the first of which has the number `first`, to their voxels.
template <class T>
void interleave(const VoxelPlace& place, std::uint64_t first, std::span<const T> values, T* voxels)
{
  const std::uint64_t count = place.byteCount / sizeof(T) / place.components;
  while (!values.empty()) {
    const std::uint64_t component = first / count, voxel = first % count;
    const std::size_t length = std::min<std::uint64_t>(values.size(), count - voxel);
    const bool negated = place.towardsRas && component < 2;
    T* const out = voxels + voxel * place.components + component;
    for (std::size_t i = 0; i < length; ++i)
      out[i * place.components] = negated ? static_cast<T>(-values[i]) : values[i];
    first += length;
    values = values.subspan(length);
  }
}

}

void readVoxels(const VoxelPlace& place, const std::string& name, int threads, const VoxelConsumer& consumer)
{
  VoxelRanges ranges(place, name);
  ranges.read(0, place.byteCount, threads, consumer);
  ranges.finish(threads);
}

void readVoxels(const VoxelPlace& place, const std::string& name, int threads, std::byte* voxels)
{
  if (place.apart) {
    withPixelType(place.type, [&]<class T>(std::type_identity<T>) {
      readVoxels(place, name, threads, [&](std::uint64_t firstByte, std::span<const std::byte> bytes) {
        interleave(place, firstByte / sizeof(T),
                   std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)),
                   reinterpret_cast<T*>(voxels));
      });
    });
    return;
  }
  VoxelRanges ranges(place, name);
  ranges.read(0, {voxels, place.byteCount}, threads);
  ranges.finish(threads);
}

}
