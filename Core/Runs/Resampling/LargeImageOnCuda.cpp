#include "Core/Runs/Resampling/LargeImage.h"

#include "Core/Image/Voxels/ImageToCuda.h"
#include "Core/Registration/Reporter.h"
#include "Core/Runs/Resampling/BatchSources.h"
#include "Core/Runs/Resampling/LargeImageRun.h"
#include "Core/Runs/Resampling/MemoryOnDevice.h"

#include <deque>

namespace tessera {
namespace {

template <int D>
class LargeImageOnCuda {
public:
  LargeImageOnCuda(const ImageBatch<D>& batch, const LargeImage& large)
      : run_(batch, large), context_{batch.context.device, run_.threads, batch.context.stream}
  {
  }

  LargeImageReport resample()
  {
    if (const std::string why = run_.reader.whyNot(); !why.empty())
      failAsAWhole(why);
    run_.read([&] { run_.reader.survey(run_.threads); });
    if (run_.reader.isNumbered())
      failAsAWhole("labels that floats do not hold are numbered by the host");
    if (run_.large.movingBytes == 0) // the image was meant to be read to the device as a whole
      requireResult();
    prepareInterpolators();
    const std::size_t imageSlices = imageSlicesAtOnce();
    requireResult();
    const std::size_t resultSlices = resultSlicesAtOnce();
    readMask();
    addSources(imageSlices);
    return run_.write(sources_, resultSlices,
                      "; " + deviceName(context_.device) + " has " + std::to_string(imageSlices)
                          + " of the image's " + std::to_string(run_.geometry.size[D - 1]) + " at a time",
                      [](const SliceRange&) {}); // the sources read slices when kernels need them
  }

private:
  [[noreturn]] void failAsAWhole(const std::string& why) const
  {
    run_.failAsAWhole("it cannot go to " + deviceName(context_.device) + " in slices: " + why);
  }

  /// Throws Error(outOfMemory) if the host cannot hold even the smallest part of the result.
  void requireResult() const
  {
    LargeImage withoutImage = run_.large;
    withoutImage.movingBytes = 0;
    const double leastBytes = minResultBytes<D>(run_.batch, withoutImage, run_.reader.imageCount());
    if (leastBytes <= run_.large.budget.bytes)
      return;
    requireSlabs<D>(run_.batch, withoutImage, run_.reader.imageCount());
    run_.large.fail("a slice of its result takes " + memoryText(leastBytes), "", leastBytes);
  }

  /// Slices of the result that fit into the host's memory.
  std::size_t resultSlicesAtOnce() const
  {
    const double fitting = run_.large.budget.bytes / run_.resultSliceBytes();
    return fitting < static_cast<double>(run_.resultSlices()) ? static_cast<std::size_t>(fitting)
                                                              : run_.resultSlices();
  }

  /// Slices of each component of the image that fit into the device's memory.
  std::size_t imageSlicesAtOnce() const
  {
    const ImageBatch<D>& batch = run_.batch;
    SizeOnDevice<D> size =
        sizeOnDevice<D>(*run_.large.task.header, run_.large.task.isLabels, batch.typeOf(run_.large.task));
    size.grid = run_.reader.geometry();
    size.components = run_.reader.imageCount();
    size.hasInvalidVoxels = run_.reader.nonFiniteVoxels() > 0;
    MaskPointer<D> valid;
    if (size.hasInvalidVoxels)
      valid = std::make_shared<Mask<D>>(size.grid, std::vector<std::uint8_t>());
    const double usable = usableDeviceMemory(context_),
                 componentBytes = usable / static_cast<double>(size.components)
                                  - VoxelsToCuda<D>::deviceBytes(run_.reader.header());
    const SlicesThatFit fit = batch.resampler.slicesThatFit(
        batch.chain, {interpolators_.front().get(), valid, {}}, batch.lattice, size.type, componentBytes);
    if (fit.atOnce > 0)
      return fit.atOnce;
    const DeviceMemory wholeImage = memoryOnDevice<D>(batch, size); // if it came from the host's memory
    if (wholeImage.bytes() <= usable)
      failAsAWhole(fit.whyNot + " (of its memory " + memoryText(usable) + " are free)");
    failForDevice<D>(batch, run_.large.errorPrefix(), {wholeImage, usable}, fit.whyNot);
  }

  void prepareInterpolators()
  {
    Context host{{}, run_.threads};
    const auto withoutVoxels = std::make_shared<Image<D>>(Image<D>{run_.geometry, {}});
    for (std::size_t i = 0; i < run_.reader.imageCount(); ++i) {
      voxels_.emplace_back(context_, i == 0 ? run_.reader : otherReaders_.emplace_back(run_.openAgain()));
      interpolators_.push_back(run_.batch.makeInterpolator(run_.large.task.isLabels));
      if (interpolators_.back()->readsVoxels())
        interpolators_.back()->prepareForLevel(host, withoutVoxels, 0);
    }
  }

  void addSources(std::size_t slicesAtOnce)
  {
    const std::size_t voxelsOfSlice = run_.geometry.voxelCount() / run_.geometry.size[D - 1];
    for (std::size_t i = 0; i < interpolators_.size(); ++i) {
      const auto readSlices = [this, voxelsOfSlice, i](const Context&, std::size_t first, std::size_t count,
                                                       float* voxels) {
        std::vector<float*> images(interpolators_.size(), nullptr);
        images[i] = voxels;
        run_.read([&] {
          voxels_[i].read(first * voxelsOfSlice, (first + count) * voxelsOfSlice, images, nullptr, nullptr);
        });
      };
      sources_.push_back({interpolators_[i].get(), valid_,
                          std::make_shared<SliceWindowOnCuda<D>>(run_.geometry, slicesAtOnce, readSlices),
                          run_.outside});
    }
  }

  /// Reads which voxels are finite numbers to the device, if the survey of the file found others.
  void readMask()
  {
    if (run_.reader.nonFiniteVoxels() == 0)
      return;
    Buffer<std::uint8_t> finite(context_, run_.geometry.voxelCount());
    run_.read([&] { voxels_.front().read(0, finite.size(), {}, finite.span().data(), nullptr); });
    valid_ = std::make_shared<Mask<D>>(run_.geometry, std::vector<std::uint8_t>());
    validOnCuda_ = shareVoxelsOnCuda<D>(context_, valid_, std::move(finite));
  }

  LargeImageRun<D> run_;
  Context context_; // with the number of threads for files
  // Readers of the second and later components: each component goes through the file once.
  std::deque<SliceReader<D>> otherReaders_;
  std::deque<VoxelsToCuda<D>> voxels_;
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators_;
  std::vector<ResampleSource<D>> sources_;
  MaskPointer<D> valid_;
  std::shared_ptr<const Buffer<std::uint8_t>> validOnCuda_;
};

}

template <int D>
LargeImageReport resampleLargeImageOnCuda(const ImageBatch<D>& batch, const LargeImage& large)
{
  return LargeImageOnCuda<D>(batch, large).resample();
}

TESSERA_INSTANTIATE_FUNCTIONS(resampleLargeImageOnCuda<D>);

}
