#include "Tools/Transform/LargeImage.h"

#include "Core/Compute/Memory.h"
#include "Core/Image/LayerWindow.h"
#include "Core/Registration/LayerInterpolator.h"
#include "Core/Registration/Reporter.h"
#include "Tools/Transform/LargeImageOnCuda.h"

#include <algorithm>
#include <chrono>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// How many layers are in memory at a time.
struct LayerPlan {
  std::size_t ofResult = 0, ofImage = 0;
};

/// The most that any slab of so many layers asks for.
std::size_t mostAskedFor(const LayersAskedFor& asked, std::size_t all, std::size_t ofSlab)
{
  std::size_t most = 0;
  for (std::size_t first = 0; first < all; first += ofSlab)
    most = std::max(most, asked.by({first, std::min(ofSlab, all - first)}).count);
  return most;
}

template <int D>
bool writesSlabs(const ImageBatch<D>& batch, const LargeImage& large, int components)
{
  return ImageFileSlabs<D>::writes(large.path, batch.output, components);
}

template <int D>
class LargeImageRun {
public:
  LargeImageRun(const ImageBatch<D>& batch, const LargeImage& large)
      : batch_(batch), large_(large), reader_(opened(large.task, batch.resampler.outsideValue())),
        geometry_(batch.useDirectionCosines ? reader_.geometry() : withIdentityDirection<D>(reader_.geometry()))
  {
  }

  LargeImageReport run();

private:
  static LayerReader<D> opened(const ImageTask& task, double outside)
  {
    return withOption(
        task, [&] { return LayerReader<D>(task.input, task.isLabels ? VoxelsAs::labels : VoxelsAs::intensities, outside); });
  }

  LayersAskedFor layersAskedFor() const;
  LayerPlan planned(const LayersAskedFor&) const;
  [[noreturn]] void failAsAWhole(const std::string& why) const;
  template <class Action>
  void read(Action&&);
  void tell(const LayerPlan&);

  std::size_t allLayers() const { return batch_.lattice.size[D - 1]; }
  double resultLayerBytes() const { return large_.resultBytes / static_cast<double>(allLayers()); }

  const ImageBatch<D>& batch_;
  const LargeImage& large_;
  LayerReader<D> reader_;
  ImageGeometry<D> geometry_;
  LargeImageReport report_;
};

/// By the clock, and with the option in errors.
template <int D>
template <class Action>
void LargeImageRun<D>::read(Action&& action)
{
  const auto start = Clock::now();
  withOption(large_.task, action);
  report_.readSeconds += secondsSince(start);
}

template <int D>
void LargeImageRun<D>::failAsAWhole(const std::string& why) const
{
  tessera::failAsAWhole<D>(batch_, large_, static_cast<int>(reader_.imageCount()), "it cannot be read in layers: " + why);
}

template <int D>
LayersAskedFor LargeImageRun<D>::layersAskedFor() const
{
  if (const std::string why = reader_.whyNot(); !why.empty())
    failAsAWhole(why);
  LayersAskedFor asked =
      batch_.resampler.layersAskedFor(batch_.chain, *batch_.makeInterpolator(large_.task.isLabels), geometry_, batch_.lattice);
  if (!asked.by)
    failAsAWhole(asked.whyNot);
  requireSlabs<D>(batch_, large_, static_cast<int>(reader_.imageCount()));
  return asked;
}

template <int D>
LayerPlan LargeImageRun<D>::planned(const LayersAskedFor& asked) const
{
  const double layerBytes = LayerWindow<D>::layerBytes(reader_), beside = reader_.besideBytes();
  LayerPlan plan;
  double bytes = 0;
  for (plan.ofResult = allLayers(); plan.ofResult > 0; --plan.ofResult) {
    plan.ofImage = mostAskedFor(asked, allLayers(), plan.ofResult);
    bytes = beside + static_cast<double>(plan.ofImage) * layerBytes + static_cast<double>(plan.ofResult) * resultLayerBytes();
    if (bytes <= large_.budget.bytes)
      return plan;
  }
  throw Error(ExitCode::outOfMemory,
              large_.given() + "a layer of its result takes " + memoryText(resultLayerBytes()) + " and asks for "
                  + std::to_string(plan.ofImage) + " of the image's " + std::to_string(geometry_.size[D - 1]) + " layers, of "
                  + memoryText(layerBytes) + " each"
                  + (beside > 0 ? ", and " + memoryText(beside) + " to inflate its components side by side" : "") + ", "
                  + large_.budget.text + ". Allowed: at least "
                  + memoryText(std::min(bytes, large_.movingBytes + resultLayerBytes())) + "."); // or as a whole
}

template <int D>
void LargeImageRun<D>::tell(const LayerPlan& plan)
{
  report_.notes = reader_.notes();
  warnOfNonFinite(large_.task.input, reader_.nonFiniteVoxels(), report_.warnings);
  batch_.log.detail("  " + large_.task.input + ": " + std::to_string((allLayers() + plan.ofResult - 1) / plan.ofResult)
                    + " slabs of " + std::to_string(plan.ofResult) + " layers, each of at most " + std::to_string(plan.ofImage)
                    + " of the image's " + std::to_string(geometry_.size[D - 1]));
}

template <int D>
LargeImageReport LargeImageRun<D>::run()
{
  const LayersAskedFor asked = layersAskedFor();
  const int threads = large_.threadsForFiles(batch_.context.threads);
  read([&] { reader_.survey(threads); });
  const LayerPlan plan = planned(asked);
  tell(plan);
  ResultFile<D> file(large_.path, batch_.output, reader_.labels(), static_cast<int>(reader_.imageCount()), batch_.pixelType,
                     batch_.resampler.resultImage().compress, threads);
  LayerWindow<D> window(reader_, geometry_, plan.ofImage);
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators;
  std::vector<ResampleSource<D>> sources;
  for (std::size_t i = 0; i < reader_.imageCount(); ++i) {
    interpolators.push_back(batch_.makeInterpolator(large_.task.isLabels));
    sources.push_back({interpolators.back().get(), nullptr, {}, window.finite()});
  }
  const std::vector<PixelType> types(sources.size(), ResultFile<D>::resampledType(reader_.labels(), batch_.pixelType));
  for (std::size_t first = 0; first < allLayers(); first += plan.ofResult) {
    const LayerRange slab{first, std::min(plan.ofResult, allLayers() - first)}, needed = asked.by(slab);
    read([&] { window.moveTo(needed.first, needed.count, threads); });
    for (std::size_t i = 0; i < interpolators.size(); ++i)
      dynamic_cast<LayerInterpolator<D>&>(*interpolators[i]).prepareForLayers(window.image(i));
    ComponentPixels pixels = batch_.resampler.resamplePixels(batch_.context, batch_.chain, sources, batch_.lattice, types, slab);
    file.write(pixels, batch_.lattice.voxelCount() / allLayers() * slab.count);
  }
  read([&] { reader_.finish(threads); });
  file.commit();
  return report_;
}

}

template <int D>
void requireSlabs(const ImageBatch<D>& batch, const LargeImage& large, int components)
{
  if (!writesSlabs(batch, large, components))
    throw Error(ExitCode::outOfMemory,
                large.given()
                    + (large.movingBytes > 0 ? "the image takes " + memoryText(large.movingBytes) + " and its result "
                                             : "its result takes ")
                    + memoryText(large.resultBytes) + ", " + large.budget.text
                    + ", and files of this kind cannot be written in slabs. Allowed: at least "
                    + memoryText(large.movingBytes + large.resultBytes)
                    + ", or (ResultImageFormat) mha, mhd, nrrd, and for one component a voxel nii and nii.gz.");
}

template <int D>
double leastResultBytes(const ImageBatch<D>& batch, const LargeImage& large, int components)
{
  const auto layers = static_cast<double>(batch.lattice.size[D - 1]);
  return writesSlabs<D>(batch, large, components) ? large.resultBytes / layers : large.resultBytes;
}

template <int D>
void failAsAWhole(const ImageBatch<D>& batch, const LargeImage& large, int components, const std::string& whyNot)
{
  const double ofResult = leastResultBytes<D>(batch, large, components);
  throw Error(ExitCode::outOfMemory, large.given() + "the image takes " + memoryText(large.asAWholeBytes) + " and "
                                         + (ofResult < large.resultBytes ? "a layer of its result " : "its result ")
                                         + memoryText(ofResult) + ", " + large.budget.text + ", and " + whyNot
                                         + ". Allowed: at least " + memoryText(large.asAWholeBytes + ofResult) + ".");
}

template <int D>
LargeImageReport resampleLargeImage(const ImageBatch<D>& batch, const LargeImage& large)
{
  return batch.context.onCuda() ? resampleLargeImageOnCuda<D>(batch, large) : LargeImageRun<D>(batch, large).run();
}

#define TESSERA_INSTANTIATE(D)                                                                                                     \
  template void requireSlabs(const ImageBatch<D>&, const LargeImage&, int);                                                        \
  template double leastResultBytes(const ImageBatch<D>&, const LargeImage&, int);                                                  \
  template void failAsAWhole(const ImageBatch<D>&, const LargeImage&, int, const std::string&);                                    \
  template LargeImageReport resampleLargeImage(const ImageBatch<D>&, const LargeImage&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
