#include "Core/Runs/Resampling/ResultFiles.h"

#include "Core/Image/Files/ImageFile.h"

namespace tessera {
namespace {

template <int D>
class FileStream final : public ResultStream {
public:
  FileStream(std::string path, ResultImage<D> image, bool compress, int threads)
      : path_(std::move(path)), image_(std::move(image)), compress_(compress), threads_(threads)
  {
    checkWritable(formatOf(path_), D, image_.type, image_.components);
    if (ImageFileSlabs<D>::writes(path_, image_.geometry, image_.components))
      slabs_ = std::make_unique<ImageFileSlabs<D>>(path_, image_.geometry, image_.type, image_.components,
                                                   compress_, threads_);
  }

  void write(std::unique_ptr<std::byte[]> voxels, std::size_t bytes) override
  {
    if (slabs_)
      slabs_->writeStored({voxels.get(), bytes});
    else
      writeStoredImage<D>(path_, image_.geometry, image_.type, image_.components, {voxels.get(), bytes},
                          compress_, threads_);
  }

  void commit() override
  {
    if (slabs_)
      slabs_->commit();
  }

private:
  std::string path_;
  ResultImage<D> image_;
  bool compress_;
  int threads_;
  std::unique_ptr<ImageFileSlabs<D>> slabs_; // null: the format can only be written as a whole
};

}

template <int D>
bool ResultFiles<D>::takesSlabs(const ImageTask& task, const ImageGeometry<D>& geometry, int components) const
{
  return ImageFileSlabs<D>::writes(nameOf(task), geometry, components);
}

template <int D>
std::unique_ptr<ResultStream> ResultFiles<D>::open(const ImageTask& task, ResultImage<D> image, int threads)
{
  return std::make_unique<FileStream<D>>(nameOf(task), std::move(image), settings.compress, threads);
}

template class ResultFiles<2>;
template class ResultFiles<3>;

}
