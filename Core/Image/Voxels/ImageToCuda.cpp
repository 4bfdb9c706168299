#include "Core/Image/Voxels/ImageToCuda.h"

#include <algorithm>

namespace tessera {
namespace {

std::size_t bytesAVoxel(const ImageHeader& header)
{
  return static_cast<std::size_t>(header.components) * pixelTypeSize(header.typeInFile);
}

/// Bytes of a piece, whole voxels: long enough for the full rate of the bus. For a small image a quarter of
/// it, because allocating pinned memory takes time.
std::size_t bytesAtOnce(const ImageHeader& header)
{
  constexpr std::size_t shortest = std::size_t(1) << 20;
  const std::size_t voxels = header.voxelCount(), bytesOfVoxel = bytesAVoxel(header),
                    bytes = std::clamp(voxels * bytesOfVoxel / 4, shortest, CopiesToHost::usualBytes);
  return std::min(std::max<std::size_t>(bytes / bytesOfVoxel, 1), voxels) * bytesOfVoxel;
}

}

template <int D>
double VoxelsToCuda<D>::deviceBytes(const ImageHeader& header)
{
  return static_cast<double>(PiecesToDevice::pieces * bytesAtOnce(header));
}

template <int D>
VoxelsToCuda<D>::VoxelsToCuda(const Context& context, SliceReader<D>& reader)
    : context_(context), reader_(reader), bytesAtOnce_(bytesAtOnce(reader.header())),
      pieces_(context, bytesAtOnce_)
{
}

/// For each piece, calls read(first voxel, voxels, piece on the host) and then convert(first voxel, voxels,
/// piece on the device).
template <int D>
template <class Read, class Convert>
void VoxelsToCuda<D>::inPieces(std::size_t bytesAVoxel, std::size_t first, std::size_t end, Read&& read,
                               Convert&& convert)
{
  const std::size_t atOnce = bytesAtOnce_ / bytesAVoxel;
  for (std::size_t at = first; at < end; at += atOnce) {
    const std::size_t length = std::min(atOnce, end - at);
    read(at, length, pieces_.next());
    turn_ = (turn_ + 1) % PiecesToDevice::pieces;
    std::byte* const stored = grown(context_, stored_[turn_], bytesAtOnce_);
    pieces_.send(stored, length * bytesAVoxel);
    convert(at, length, stored);
  }
  pieces_.finish();
}

template <int D>
void VoxelsToCuda<D>::read(std::size_t first, std::size_t end, std::span<float* const> images,
                           std::uint8_t* finite, VoxelCounts* counts)
{
  const auto read = [&](std::size_t at, std::size_t length, std::byte* piece) {
    reader_.readStored(at, length, piece, context_.threads);
  };
  inPieces(bytesAVoxel(reader_.header()), first, end, read,
           [&](std::size_t at, std::size_t length, const std::byte* stored) {
             const StoredLayout layout = reader_.layout(length);
             const std::size_t before = at - first;
             std::uint8_t* const itsFinite = finite ? finite + before : nullptr;
             if (itsFinite || counts)
               storedToFloatsOnCuda(context_, stored, layout, 0, length, nullptr, itsFinite, counts);
             for (std::size_t i = 0; i < images.size(); ++i)
               if (images[i])
                 storedToFloatsOnCuda(context_, stored, layout, i, length, images[i] + before, nullptr,
                                      nullptr);
           });
}

template <int D>
void VoxelsToCuda<D>::readComponents(std::span<float* const> images, std::uint8_t* finite,
                                     VoxelCounts* counts)
{
  StoredLayout ofOne;
  ofOne.type = reader_.header().typeInFile;
  for (std::size_t c = 0; c < images.size(); ++c) {
    const auto read = [&](std::size_t at, std::size_t length, std::byte* piece) {
      reader_.readComponent(c, at, length, piece, context_.threads);
    };
    VoxelCounts* const countsOfAll = c + 1 == images.size() ? counts : nullptr;
    inPieces(pixelTypeSize(ofOne.type), 0, reader_.header().voxelCount(), read,
             [&](std::size_t at, std::size_t length, const std::byte* stored) {
               storedToFloatsOnCuda(context_, stored, ofOne, 0, length, images[c] + at,
                                    finite ? finite + at : nullptr, countsOfAll, c > 0);
             });
  }
}

template <int D>
ImageToCuda<D>::ImageToCuda(const Context& context, SliceReader<D>& reader, const ImageGeometry<D>& geometry)
    : context_(context), reader_(reader), geometry_(geometry)
{
  for (std::size_t i = 0; i < reader.imageCount(); ++i)
    voxels_.emplace_back(context, geometry.voxelCount());
  if (reader.mayBeNonFinite())
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
  VoxelCounts* const found = counts.size() > 0 ? counts.span().data() : nullptr;
  VoxelsToCuda<D> pieces(context_, reader_);
  if (reader_.isComponentwise())
    pieces.readComponents(images, finite, found);
  else
    pieces.read(0, geometry_.voxelCount(), images, finite, found);
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

TESSERA_INSTANTIATE_CLASS_TO_4(VoxelsToCuda);
TESSERA_INSTANTIATE_CLASS_TO_4(ImageToCuda);

}
