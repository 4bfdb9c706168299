#include "Tools/Bench/Calibration/RateScene.h"

#include "Core/Compute/Math/Median.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Image/Filters/BSplinePrefilterOnCuda.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/OptimizableTransform.h"
#include "Tools/Bench/Images/ResampleCases.h"

#include <algorithm>

namespace tessera {
namespace {

const char* componentOf(const std::string& interpolator)
{
  return interpolator == "nearest"  ? "NearestNeighborInterpolator"
         : interpolator == "linear" ? "LinearInterpolator"
         : interpolator == "cubic"  ? "BSplineInterpolator"
                                    : "LabelMajorityInterpolator";
}

/// Landmarks scattered over the grid, each moved by up to 2 mm.
template <int D>
PointPairs<D> landmarks(const ImageGeometry<D>& grid, std::size_t count)
{
  PointPairs<D> pairs;
  const AffineMap<D> pointFromIndex = grid.pointFromIndex();
  for (std::size_t i = 0; i < count; ++i) {
    Vec<D> index{}, shiftMm{};
    for (int d = 0; d < D; ++d) {
      const auto words =
          randomWords(Draw{}, static_cast<std::uint32_t>(D * i + static_cast<std::size_t>(d)), 0);
      index[d] = unitUniform(words[0]) * static_cast<double>(grid.size[d]);
      shiftMm[d] = 4 * unitUniform(words[1]) - 2;
    }
    pairs.fixedMm.push_back(pointFromIndex(index));
    pairs.movingMm.push_back(pairs.fixedMm.back());
    for (int d = 0; d < D; ++d)
      pairs.movingMm.back()[d] += shiftMm[d];
  }
  return pairs;
}

}

double shortestMilliseconds(const std::function<void()>& work)
{
  constexpr int repeats = 3;
  work();
  std::vector<double> times(repeats);
  for (double& time : times)
    addMilliseconds(time, work);
  return *std::min_element(times.begin(), times.end());
}

template <int D>
RateScene<D>::RateScene(const Registry& registry, const Context& context, const Size<D>& size)
    : registry_(registry), image_(benchImage<D>(context, benchGrid<D>(size))),
      resampler_(registry.create<Resampler<D>>("DefaultResampler", benchParameters("", "Resampler0", D),
                                               "calibration"))
{
}

template <int D>
std::shared_ptr<const TransformChain<D>> RateScene<D>::chain(const std::string& word) const
{
  if (word != "landmarks")
    return benchChain<D>(registry_, word, image_);
  const PointPairs<D> pairs = landmarks<D>(grid(), landmarkCount);
  std::shared_ptr<Transform<D>> transform = registry_.create<Transform<D>>(
      "SplineKernelTransform", benchParameters("", "Transform0", D), "calibration");
  Context host;
  auto link = std::make_shared<TransformChain<D>>();
  link->parameters =
      optimizable(*transform).initialize(host, {image_, image_, nullptr, nullptr, nullptr, &pairs});
  link->transform = transform;
  return link;
}

template <int D>
std::unique_ptr<Interpolator<D>> RateScene<D>::interpolator(const std::string& name) const
{
  return std::move(registry_
                       .create<ResampleInterpolator<D>>(
                           componentOf(name), benchParameters("", "ResampleInterpolator0", D), "calibration")
                       ->interpolator);
}

template <int D>
double RateScene<D>::kernels(Context& context, const std::string& word, const std::string& name) const
{
  const auto transforms = chain(word);
  const auto prepared = interpolator(name);
  prepare(context, *prepared);
  const ResampleSource<D> source{prepared.get(), nullptr, {}};
  std::vector<float> result(image_->voxels.size());
  const PixelsOut out(result.data());
  std::vector<double> times;
  for (int i = 0; i < 3; ++i)
    times.push_back(
        resampler_->timePhases(context, *transforms, std::span(&source, 1), grid(), std::span(&out, 1))
            .front()
            .milliseconds);
  return median(times);
}

template <int D>
double RateScene<D>::resampling(Context& context, const std::string& word, const std::string& name) const
{
  const auto transforms = chain(word);
  const auto prepared = interpolator(name);
  prepare(context, *prepared);
  return shortestMilliseconds([&] { resample(context, *transforms, *prepared); });
}

template <int D>
double RateScene<D>::whole(Context& context, const std::string& word, const std::string& name) const
{
  const auto transforms = chain(word);
  return shortestMilliseconds([&] {
    const auto prepared = interpolator(name);
    prepared->prepareForLevel(context, image_, 0);
    resample(context, *transforms, *prepared);
  });
}

template <int D>
double RateScene<D>::prefilterKernels(Context& context) const
{
  constexpr int order = 3;
  Buffer<float> voxels;
  voxels.fromHost(context, image_->voxels);
  std::vector<double> times;
  for (int i = 0; i < 4; ++i) {
    context.stream->startTimer();
    const Buffer<float> coefficients =
        bsplineCoefficientsOnCuda<D>(context, std::as_const(voxels).span().data(), grid().size, order);
    times.push_back(context.stream->stopTimerMilliseconds());
  }
  return median(times);
}

template <int D>
double RateScene<D>::field(Context& context, std::size_t components) const
{
  const auto transforms = chain("B");
  const FieldMethods<D> methods(registry_, *transforms, grid(), "auto", "calibration");
  const auto method = methods.choose(context.device.kind, components == D ? FieldQuantity::displacements
                                                                          : FieldQuantity::derivatives);
  return shortestMilliseconds([&] {
    if (components == 1)
      jacobianDeterminants<D>(context, *transforms, grid(), method);
    else if (components == D)
      displacementField<D>(context, *transforms, grid(), method);
    else
      jacobianMatrices<D>(context, *transforms, grid(), method);
  });
}

TESSERA_INSTANTIATE_CLASS(RateScene);

}
