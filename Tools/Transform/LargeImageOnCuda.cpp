#include "Tools/Transform/LargeImageOnCuda.h"

#include "Core/Compute/DeviceMemory.h"
#include "Core/Compute/Memory.h"
#include "Core/Image/ImageToCuda.h"
#include "Core/Registration/Reporter.h"
#include "Tools/Transform/BatchSources.h"

#include <algorithm>
#include <chrono>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

template <int D>
class LargeImageOnCuda {
public:
  LargeImageOnCuda(const ImageBatch<D>& batch, const LargeImage& large)
      : batch_(batch),
        large_(large), context_{batch.context.device, large.threadsForFiles(batch.context.threads), batch.context.stream}
  {
    readers_.push_back(opened());
  }

  LargeImageReport run();

private:
  std::unique_ptr<LayerReader<D>> opened() const
  {
    return withOption(large_.task, [&] {
      return std::make_unique<LayerReader<D>>(large_.task.input, large_.task.isLabels ? VoxelsAs::labels : VoxelsAs::intensities,
                                              batch_.resampler.outsideValue());
    });
  }
  template <class Action>
  void read(Action&&);
  [[noreturn]] void failAsAWhole(const std::string& why) const;
  void requireResult() const;
  std::size_t layersOfResult() const;
  std::size_t layersOfImage(const Interpolator<D>&) const;
  void addSources(std::size_t layersAtOnce);
  void bringMask();

  const LayerReader<D>& reader() const { return *readers_.front(); }
  std::size_t allLayers() const { return batch_.lattice.size[D - 1]; }
  int components() const { return static_cast<int>(reader().imageCount()); }

  const ImageBatch<D>& batch_;
  const LargeImage& large_;
  Context context_;                                      // with the threads that may read
  std::vector<std::unique_ptr<LayerReader<D>>> readers_; // one an image, so that each goes through the file once
  std::vector<std::unique_ptr<VoxelsToCuda<D>>> voxels_;
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators_;
  std::vector<ResampleSource<D>> sources_;
  MaskPointer<D> valid_;
  std::shared_ptr<const Buffer<std::uint8_t>> validOnCuda_;
  LargeImageReport report_;
};

/// By the clock, and with the option in errors.
template <int D>
template <class Action>
void LargeImageOnCuda<D>::read(Action&& action)
{
  const auto start = Clock::now();
  withOption(large_.task, action);
  report_.readSeconds += secondsSince(start);
}

template <int D>
void LargeImageOnCuda<D>::failAsAWhole(const std::string& why) const
{
  tessera::failAsAWhole<D>(batch_, large_, components(),
                           "it cannot go to " + deviceName(batch_.context.device) + " in layers: " + why);
}

/// Whichever way the image goes, the host's memory must hold the least of the result.
template <int D>
void LargeImageOnCuda<D>::requireResult() const
{
  LargeImage ofResult = large_;
  ofResult.movingBytes = 0;
  const double least = leastResultBytes<D>(batch_, ofResult, components());
  if (least <= large_.budget.bytes)
    return;
  requireSlabs<D>(batch_, ofResult, components());
  throw Error(ExitCode::outOfMemory, large_.given() + "a layer of its result takes " + memoryText(least) + ", " + large_.budget.text
                                         + ". Allowed: at least " + memoryText(least) + ".");
}

/// In the host's memory at a time.
template <int D>
std::size_t LargeImageOnCuda<D>::layersOfResult() const
{
  const double fitting = large_.budget.bytes / (large_.resultBytes / static_cast<double>(allLayers()));
  return fitting < static_cast<double>(allLayers()) ? static_cast<std::size_t>(fitting) : allLayers();
}

/// On the device at a time.
template <int D>
std::size_t LargeImageOnCuda<D>::layersOfImage(const Interpolator<D>& interpolator) const
{
  const bool hasInvalidVoxels = reader().nonFiniteVoxels() > 0;
  const double usable = usableDeviceMemory(batch_.context),
               ofEach = usable / static_cast<double>(reader().imageCount()) - VoxelsToCuda<D>::deviceBytes(reader().header());
  const LayersThatFit fit = batch_.resampler.layersThatFit(batch_.chain, interpolator, hasInvalidVoxels, batch_.lattice, ofEach);
  if (fit.atOnce > 0)
    return fit.atOnce;
  DeviceMemory asAWhole; // by way of the host's memory
  for (std::size_t i = 0; i < reader().imageCount(); ++i)
    asAWhole.add(batch_.resampler.deviceMemory(batch_.chain, reader().geometry(), hasInvalidVoxels, batch_.lattice));
  if (asAWhole.bytes() <= usable)
    failAsAWhole(fit.whyNot + " (of its memory " + memoryText(usable) + " are free)");
  failForDevice<D>(batch_, large_.given(), {asAWhole, usable}, fit.whyNot);
}

template <int D>
void LargeImageOnCuda<D>::bringMask()
{
  if (reader().nonFiniteVoxels() == 0)
    return;
  Buffer<std::uint8_t> finite(batch_.context, reader().geometry().voxelCount());
  read([&] { voxels_.front()->bring(0, finite.size(), {}, finite.span().data(), nullptr); });
  valid_ = std::make_shared<Mask<D>>(interpolators_.front()->imageGeometry(), std::vector<std::uint8_t>());
  validOnCuda_ = shareVoxelsOnCuda<D>(batch_.context, valid_, std::move(finite));
}

template <int D>
void LargeImageOnCuda<D>::addSources(std::size_t layersAtOnce)
{
  const std::size_t ofLayer = reader().geometry().voxelCount() / reader().geometry().size[D - 1];
  for (std::size_t i = 0; i < interpolators_.size(); ++i) {
    const auto bring = [this, ofLayer, i](const Context&, std::size_t first, std::size_t count, float* voxels) {
      std::vector<float*> images(interpolators_.size(), nullptr);
      images[i] = voxels;
      read([&] { voxels_[i]->bring(first * ofLayer, (first + count) * ofLayer, images, nullptr, nullptr); });
    };
    const Interpolator<D>& interpolator = *interpolators_[i];
    sources_.push_back(
        {&interpolator, valid_, std::make_shared<LayerWindowOnCuda<D>>(interpolator.imageGeometry(), layersAtOnce, bring)});
  }
}

template <int D>
LargeImageReport LargeImageOnCuda<D>::run()
{
  if (const std::string why = reader().whyNot(); !why.empty())
    failAsAWhole(why);
  Context host{{}, context_.threads};
  read([&] { readers_.front()->survey(host.threads); });
  if (reader().isNumbered())
    failAsAWhole("labels that floats do not hold are numbered by the host");
  if (large_.movingBytes == 0) // it goes there as a whole
    requireResult();
  const ImageGeometry<D>& inFile = reader().geometry();
  const auto image = std::make_shared<Image<D>>(
      Image<D>{batch_.useDirectionCosines ? inFile : withIdentityDirection<D>(inFile), {}}); // the host has none of its voxels
  while (interpolators_.size() < reader().imageCount()) {
    if (readers_.size() == interpolators_.size())
      readers_.push_back(opened());
    voxels_.push_back(std::make_unique<VoxelsToCuda<D>>(context_, *readers_.back()));
    interpolators_.push_back(batch_.makeInterpolator(large_.task.isLabels));
    if (interpolators_.back()->readsVoxels())
      interpolators_.back()->prepareForLevel(host, image, 0);
  }
  const std::size_t ofImage = layersOfImage(*interpolators_.front());
  requireResult();
  const std::size_t ofResult = layersOfResult();
  report_.notes = reader().notes();
  warnOfNonFinite(large_.task.input, reader().nonFiniteVoxels(), report_.warnings);
  batch_.log.detail("  " + large_.task.input + ": " + std::to_string((allLayers() + ofResult - 1) / ofResult) + " slabs of "
                    + std::to_string(ofResult) + " layers; " + deviceName(batch_.context.device) + " has " + std::to_string(ofImage)
                    + " of the image's " + std::to_string(inFile.size[D - 1]) + " at a time");
  bringMask();
  addSources(ofImage);
  ResultFile<D> file(large_.path, batch_.output, reader().labels(), static_cast<int>(sources_.size()), batch_.pixelType,
                     batch_.resampler.resultImage().compress, host.threads);
  const std::vector<PixelType> types(sources_.size(), ResultFile<D>::resampledType(reader().labels(), batch_.pixelType));
  for (std::size_t first = 0; first < allLayers(); first += ofResult) {
    const LayerRange slab{first, std::min(ofResult, allLayers() - first)};
    ComponentPixels pixels = batch_.resampler.resamplePixels(batch_.context, batch_.chain, sources_, batch_.lattice, types, slab);
    file.write(pixels, batch_.lattice.voxelCount() / allLayers() * slab.count);
  }
  read([&] { readers_.front()->finish(host.threads); });
  file.commit();
  return report_;
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
