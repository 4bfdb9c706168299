#include "Tools/Transform/LargeImageOnCuda.h"

#include "Core/Compute/DeviceMemory.h"
#include "Core/Compute/Memory.h"
#include "Core/Image/Voxels/ImageToCuda.h"
#include "Core/Registration/Reporter.h"
#include "Tools/Transform/BatchSources.h"
#include "Tools/Transform/LargeImageRun.h"

#include <deque>

namespace tessera {
namespace {

template <int D>
class LargeImageOnCuda : LargeImageRun<D> {
public:
  LargeImageOnCuda(const ImageBatch<D>& batch, const LargeImage& large)
      : LargeImageRun<D>(batch, large), context_{batch.context.device, threads_, batch.context.stream}
  {
  }

  LargeImageReport run();

private:
  using LargeImageRun<D>::allSlices, LargeImageRun<D>::batch_, LargeImageRun<D>::geometry_,
      LargeImageRun<D>::large_, LargeImageRun<D>::read, LargeImageRun<D>::reader_,
      LargeImageRun<D>::resultSliceBytes, LargeImageRun<D>::threads_;

  [[noreturn]] void failAsAWhole(const std::string& why) const
  {
    LargeImageRun<D>::failAsAWhole("it cannot go to " + deviceName(context_.device) + " in slices: " + why);
  }
  void requireResult() const;
  std::size_t slicesOfResult() const;
  std::size_t slicesOfImage() const;
  void prepareInterpolators();
  void addSources(std::size_t slicesAtOnce);
  void bringMask();

  Context context_; // with the threads that may read
  std::deque<SliceReader<D>>
      others_; // one for each image behind the first, so that each goes through the file once
  std::deque<VoxelsToCuda<D>> voxels_;
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators_;
  std::vector<ResampleSource<D>> sources_;
  MaskPointer<D> valid_;
  std::shared_ptr<const Buffer<std::uint8_t>> validOnCuda_;
};

/// Whichever way the image goes, the host's memory must hold the least of the result.
template <int D>
void LargeImageOnCuda<D>::requireResult() const
{
  LargeImage ofResult = large_;
  ofResult.movingBytes = 0;
  const double least = leastResultBytes<D>(batch_, ofResult, reader_.imageCount());
  if (least <= large_.budget.bytes)
    return;
  requireSlabs<D>(batch_, ofResult, reader_.imageCount());
  large_.fail("a slice of its result takes " + memoryText(least), "", least);
}

/// In the host's memory at a time.
template <int D>
std::size_t LargeImageOnCuda<D>::slicesOfResult() const
{
  const double fitting = large_.budget.bytes / resultSliceBytes();
  return fitting < static_cast<double>(allSlices()) ? static_cast<std::size_t>(fitting) : allSlices();
}

/// On the device at a time.
template <int D>
std::size_t LargeImageOnCuda<D>::slicesOfImage() const
{
  const bool hasInvalidVoxels = reader_.nonFiniteVoxels() > 0;
  const double usable = usableDeviceMemory(context_),
               ofEach = usable / static_cast<double>(reader_.imageCount())
                        - VoxelsToCuda<D>::deviceBytes(reader_.header());
  const SlicesThatFit fit = batch_.resampler.slicesThatFit(batch_.chain, *interpolators_.front(),
                                                           hasInvalidVoxels, batch_.lattice, ofEach);
  if (fit.atOnce > 0)
    return fit.atOnce;
  DeviceMemory asAWhole; // by way of the host's memory
  for (std::size_t i = 0; i < reader_.imageCount(); ++i)
    asAWhole.add(
        batch_.resampler.deviceMemory(batch_.chain, reader_.geometry(), hasInvalidVoxels, batch_.lattice));
  if (asAWhole.bytes() <= usable)
    failAsAWhole(fit.whyNot + " (of its memory " + memoryText(usable) + " are free)");
  failForDevice<D>(batch_, large_.given(), {asAWhole, usable}, fit.whyNot);
}

template <int D>
void LargeImageOnCuda<D>::prepareInterpolators()
{
  Context host{{}, threads_};
  const auto image = std::make_shared<Image<D>>(Image<D>{geometry_, {}}); // the host has none of its voxels
  for (std::size_t i = 0; i < reader_.imageCount(); ++i) {
    voxels_.emplace_back(context_, i == 0 ? reader_ : others_.emplace_back(this->opened()));
    interpolators_.push_back(batch_.makeInterpolator(large_.task.isLabels));
    if (interpolators_.back()->readsVoxels())
      interpolators_.back()->prepareForLevel(host, image, 0);
  }
}

template <int D>
void LargeImageOnCuda<D>::bringMask()
{
  if (reader_.nonFiniteVoxels() == 0)
    return;
  Buffer<std::uint8_t> finite(context_, geometry_.voxelCount());
  read([&] { voxels_.front().bring(0, finite.size(), {}, finite.span().data(), nullptr); });
  valid_ = std::make_shared<Mask<D>>(geometry_, std::vector<std::uint8_t>());
  validOnCuda_ = shareVoxelsOnCuda<D>(context_, valid_, std::move(finite));
}

template <int D>
void LargeImageOnCuda<D>::addSources(std::size_t slicesAtOnce)
{
  const std::size_t ofSlice = geometry_.voxelCount() / geometry_.size[D - 1];
  for (std::size_t i = 0; i < interpolators_.size(); ++i) {
    const auto bring = [this, ofSlice, i](const Context&, std::size_t first, std::size_t count,
                                          float* voxels) {
      std::vector<float*> images(interpolators_.size(), nullptr);
      images[i] = voxels;
      read([&] { voxels_[i].bring(first * ofSlice, (first + count) * ofSlice, images, nullptr, nullptr); });
    };
    sources_.push_back({interpolators_[i].get(), valid_,
                        std::make_shared<SliceWindowOnCuda<D>>(geometry_, slicesAtOnce, bring)});
  }
}

template <int D>
LargeImageReport LargeImageOnCuda<D>::run()
{
  if (const std::string why = reader_.whyNot(); !why.empty())
    failAsAWhole(why);
  read([&] { reader_.survey(threads_); });
  if (reader_.isNumbered())
    failAsAWhole("labels that floats do not hold are numbered by the host");
  if (large_.movingBytes == 0) // it goes there as a whole
    requireResult();
  prepareInterpolators();
  const std::size_t ofImage = slicesOfImage();
  requireResult();
  const std::size_t ofResult = slicesOfResult();
  bringMask();
  addSources(ofImage);
  return this->written(sources_, ofResult,
                       "; " + deviceName(context_.device) + " has " + std::to_string(ofImage)
                           + " of the image's " + std::to_string(geometry_.size[D - 1]) + " at a time",
                       [](const SliceRange&) {}); // sources bring slices as they are asked for
}

}

template <int D>
LargeImageReport resampleLargeImageOnCuda(const ImageBatch<D>& batch, const LargeImage& large)
{
  return LargeImageOnCuda<D>(batch, large).run();
}

template LargeImageReport resampleLargeImageOnCuda(const ImageBatch<2>&, const LargeImage&);
template LargeImageReport resampleLargeImageOnCuda(const ImageBatch<3>&, const LargeImage&);

}
