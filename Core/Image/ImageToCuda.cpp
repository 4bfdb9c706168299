#include "Core/Image/ImageToCuda.h"

#include <algorithm>

namespace tessera {
namespace {

std::size_t bytesAVoxel(const ImageHeader& header)
{
  return static_cast<std::size_t>(header.components) * pixelTypeSize(header.componentType);
}

/// A piece is long enough for the bus; of a small image it is a quarter, since it takes time to pin it.
std::size_t voxelsAtOnce(const ImageHeader& header)
{
  constexpr std::size_t shortest = std::size_t(1) << 20;
  const std::size_t voxels = header.voxelCount(),
                    bytes = std::clamp(voxels * bytesAVoxel(header) / 4, shortest, CopiesToHost::usualBytes);
  return std::min(std::max<std::size_t>(bytes / bytesAVoxel(header), 1), voxels);
}

bool mayBeNoNumber(PixelType type)
{
  return withPixelType(type, []<class T>(std::type_identity<T>) { return std::is_floating_point_v<T>; });
}

}

template <int D>
double VoxelsToCuda<D>::deviceBytes(const ImageHeader& header)
{
  return static_cast<double>(PiecesToDevice::pieces * voxelsAtOnce(header) * bytesAVoxel(header));
}

template <int D>
VoxelsToCuda<D>::VoxelsToCuda(const Context& context, LayerReader<D>& reader)
    : context_(context), reader_(reader), atOnce_(voxelsAtOnce(reader.header())),
      pieces_(context, atOnce_ * bytesAVoxel(reader.header()))
{
}

template <int D>
void VoxelsToCuda<D>::bring(std::size_t first, std::size_t end, std::span<float* const> images, std::uint8_t* finite,
                            VoxelCounts* counts)
{
  for (std::size_t at = first; at < end; at += atOnce_) {
    const std::size_t length = std::min(atOnce_, end - at), before = at - first;
    const StoredLayout layout = reader_.layout(length);
    reader_.readStored(at, length, pieces_.next(), context_.threads);
    turn_ = (turn_ + 1) % PiecesToDevice::pieces;
    std::byte* const stored = grown(context_, stored_[turn_], atOnce_ * bytesAVoxel(reader_.header()));
    pieces_.send(stored, length * bytesAVoxel(reader_.header()));
    std::uint8_t* const itsFinite = finite ? finite + before : nullptr;
    if (itsFinite || counts)
      storedToFloatsOnCuda(context_, stored, layout, 0, length, nullptr, itsFinite, counts);
    for (std::size_t i = 0; i < images.size(); ++i)
      if (images[i])
        storedToFloatsOnCuda(context_, stored, layout, i, length, images[i] + before, nullptr, nullptr);
  }
  pieces_.finish();
}

template <int D>
ImageToCuda<D>::ImageToCuda(const Context& context, LayerReader<D>& reader, const ImageGeometry<D>& geometry)
    : context_(context), reader_(reader), geometry_(geometry)
{
  for (std::size_t i = 0; i < reader.imageCount(); ++i)
    voxels_.emplace_back(context, geometry.voxelCount());
  if (mayBeNoNumber(reader.header().componentType))
    finite_ = Buffer<std::uint8_t>(context, geometry.voxelCount());
}

template <int D>
std::optional<ImagesOnCuda<D>> ImageToCuda<D>::run()
{
  std::vector<float*> images;
  for (Buffer<float>& voxels : voxels_)
    images.push_back(voxels.span().data());
  std::uint8_t* const finite = finite_.size() > 0 ? finite_.span().data() : nullptr;
  Buffer<VoxelCounts> counts;
  if (reader_.needsCounts())
    counts.fromHost(context_, std::vector<VoxelCounts>(1));
  VoxelsToCuda<D>(context_, reader_)
      .bring(0, geometry_.voxelCount(), images, finite, counts.size() > 0 ? counts.span().data() : nullptr);
  reader_.finish(context_.threads);
  reader_.found(counts.size() > 0 ? counts.toHost(context_).front() : VoxelCounts{});
  if (reader_.isNumbered())
    return std::nullopt;
  ImagesOnCuda<D> brought;
  for (Buffer<float>& voxels : voxels_) {
    brought.images.push_back(std::make_shared<Image<D>>(Image<D>{geometry_, {}}));
    brought.voxels.push_back(shareVoxelsOnCuda<D>(context_, brought.images.back(), std::move(voxels)));
  }
  if (reader_.nonFiniteVoxels() > 0) {
    brought.valid = std::make_shared<Mask<D>>(geometry_, std::vector<std::uint8_t>());
    brought.validVoxels = shareVoxelsOnCuda<D>(context_, brought.valid, std::move(finite_));
  }
  return brought;
}

template class VoxelsToCuda<2>;
template class VoxelsToCuda<3>;
template class ImageToCuda<2>;
template class ImageToCuda<3>;

}
