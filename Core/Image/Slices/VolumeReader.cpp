#include "Core/Image/Slices/VolumeReader.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Image/Files/ImageFile.h"

namespace tessera {

template <int D>
VolumeReader<D>::VolumeReader(const std::string& path, const ReadingOptions& reading, int threads)
    : reader_(path, reading, VoxelsAs::intensities), geometry_(geometryOfVolumes<D>(header())),
      notes_(header().notes)
{
  if (!reader_.whyNot().empty()) {
    notes_.clear();
    whole_ = readVolumes<D>(path, reading, notes_, threads);
  } else if (reader_.mayBeNonFinite()) {
    reader_.found({}); // a volume with such voxels has no result, and the others do
  } else {
    reader_.survey(threads);
  }
  notes_.insert(notes_.end(), reader_.notes().begin(), reader_.notes().end());
}

template <int D>
ImagePointer<D> VolumeReader<D>::read(std::size_t volume, int threads)
{
  if (!whole_.empty())
    return whole_[volume];
  const auto image = std::make_shared<Image<D>>(
      Image<D>{geometry_, largeVector<float>(Context{{}, threads}, geometry_.voxelCount())});
  float* const voxels = image->voxels.data();
  reader_.read(volume, 1, {&voxels, 1}, nullptr, threads);
  if (volume + 1 == volumes())
    reader_.finish(threads);
  return image;
}

TESSERA_INSTANTIATE_CLASS(VolumeReader);

}
