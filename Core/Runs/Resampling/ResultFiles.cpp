#include "Core/Runs/Resampling/ResultFiles.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageStream.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

template <int D>
class FileStream final : public ResultStream {
public:
  FileStream(std::string path, const ImageTask& task, ResultImage<D> image, bool compress, int threads,
             OutputDigests* digests)
      : path_(std::move(path)), series_(task.series), volume_(task.volume), image_(std::move(image)),
        compress_(compress), threads_(threads), digests_(digests)
  {
    checkWritable(formatOf(path_), D, image_.type, image_.components);
    if (!series_ && ImageFileSlabs<D>::writes(path_, image_.geometry, image_.components))
      slabs_ = std::make_unique<ImageFileSlabs<D>>(path_, image_.geometry, image_.type, image_.components,
                                                   compress_, threads_, digests_);
  }

  void write(std::unique_ptr<std::byte[]> voxels, std::size_t bytes) override
  {
    if (series_)
      writeVolume(voxels.get(), bytes);
    else if (slabs_)
      slabs_->writeStored({voxels.get(), bytes});
    else
      writeStoredImage<D>(path_, image_.geometry, image_.type, image_.components, {voxels.get(), bytes},
                          compress_, threads_, digests_);
  }

  void commit() override
  {
    if (slabs_)
      slabs_->commit();
  }

private:
  /// Keeps a volume. The last one makes the file, on the grid of the results, with the other axes of the
  /// image.
  void writeVolume(const std::byte* voxels, std::size_t bytes)
  {
    const std::lock_guard lock(series_->oneAtATime);
    if (!series_->pixels)
      series_->pixels = std::make_unique_for_overwrite<std::byte[]>(series_->volumes * bytes);
    std::memcpy(series_->pixels.get() + volume_ * bytes, voxels, bytes);
    if (++series_->ready < series_->volumes)
      return;
    ImageHeader header = series_->header, grid = headerOf(path_, image_.geometry, image_.type);
    std::ranges::copy(grid.size, header.size.begin());
    std::ranges::copy(grid.spacingMm, header.spacingMm.begin());
    std::ranges::copy(grid.originMm, header.originMm.begin());
    for (std::size_t row = 0; row < grid.direction.size(); ++row)
      std::ranges::copy(grid.direction[row], header.direction[row].begin());
    header.componentType = image_.type;
    writeVoxels(path_, header, series_->pixels.get(), compress_, threads_, digests_);
  }

  std::string path_;
  std::shared_ptr<ResultSeries> series_; // null: the image is a file of its own
  std::size_t volume_;
  ResultImage<D> image_;
  bool compress_;
  int threads_;
  OutputDigests* digests_;
  std::unique_ptr<ImageFileSlabs<D>> slabs_; // null: the format can only be written as a whole
};

}

template <int D>
bool ResultFiles<D>::takesSlabs(const ImageTask& task, const ImageGeometry<D>& geometry, int components) const
{
  return !task.series && ImageFileSlabs<D>::writes(nameOf(task), geometry, components);
}

template <int D>
std::unique_ptr<ResultStream> ResultFiles<D>::open(const ImageTask& task, ResultImage<D> image, int threads)
{
  return std::make_unique<FileStream<D>>(nameOf(task), task, std::move(image), settings.compress, threads,
                                         digests_);
}

TESSERA_INSTANTIATE_CLASS_TO_4(ResultFiles);

}
