#include "Tools/Bench/Benches.h"

#include "Core/Compute/Cuda/Marks.h"
#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Median.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Memory/PinnedRange.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Registration/Phase.h"
#include "Core/Registration/Resampler.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Images/ResampleCases.h"
#include "Tools/Bench/Rivals/ItkResample.h"

#include <charconv>
#include <map>
#include <optional>

namespace tessera {
namespace {

constexpr double bytesAVoxel = 8; // one read and one write of 4 bytes

struct BenchInterpolator {
  const char *name, *component;
};
constexpr BenchInterpolator benchInterpolators[] = {{"nearest", "NearestNeighborInterpolator"},
                                                    {"linear", "LinearInterpolator"},
                                                    {"cubic", "BSplineInterpolator"}};

const BenchInterpolator& benchInterpolator(const std::string& name)
{
  for (const BenchInterpolator& known : benchInterpolators)
    if (known.name == name)
      return known;
  failAs(ExitCode::usage, "--method", "\"" + name + "\": no such interpolator here",
         "nearest, linear, cubic");
}

/// The number behind the letter z of a word such as "z1.5"; 1 for words of other letters.
double zoomOf(const std::string& transform)
{
  const auto factor = transform.starts_with('z') ? numberIn<double>(transform.substr(1)) : 1;
  if (!factor || !(*factor >= 0.1 && *factor <= 10))
    failAs(ExitCode::usage, "--transform", "\"" + transform + "\": no zoom", "z0.1 to z10");
  return *factor;
}

/// A grid of about as many mm, with smaller voxels.
template <int D>
ImageGeometry<D> zoomed(ImageGeometry<D> grid, double factor)
{
  for (std::size_t d = 0; d < D; ++d) {
    grid.spacingMm[d] /= factor;
    grid.size[d] = static_cast<std::size_t>(static_cast<double>(grid.size[d]) * factor);
  }
  return grid;
}

/// An image that is resampled onto its own grid, or onto a finer one.
template <int D>
class Case {
public:
  Case(const Registry& registry, Context& context, const ImagePointer<D>& moving,
       const std::string& transform, const std::string& interpolator)
      : context_(context), moving_(moving),
        compositeOfOne_(transform.starts_with('[') && transform.ends_with(']')),
        output_(zoomed<D>(moving->geometry, zoomOf(transform))),
        chain_(benchChain<D>(registry,
                             compositeOfOne_              ? transform.substr(1, transform.size() - 2)
                             : transform.starts_with('z') ? "T" // a zoom may begin anywhere
                                                          : transform,
                             moving)),
        interpolatorName_(interpolator),
        name_(extentsName(moving->geometry.size) + " " + transform + " " + interpolator),
        values_(output_.voxelCount())
  {
    const std::string outside = "(DefaultPixelValue " + std::to_string(Agreement::outsideValue) + ")\n";
    interpolator_ = std::move(
        registry
            .create<ResampleInterpolator<D>>(benchInterpolator(interpolator).component,
                                             benchParameters("", "ResampleInterpolator0", D), "benchmark")
            ->interpolator);
    resampler_ = registry.create<Resampler<D>>("DefaultResampler", benchParameters(outside, "Resampler0", D),
                                               "benchmark");
  }

  void measure(BenchClock& clock, const ResampleSettings& settings, double copyMs,
               std::vector<BenchResult>& results)
  {
    copyMs_ = copyMs;
    const std::size_t first = results.size();
    std::optional<PinnedRange> pinned[2];
    if (context_.onCuda()) {
      results.push_back(row("whole, pageable memory", clock.time([&] { whole(PixelType::float32); })));
      pinned[0].emplace(context_, moving_->voxels.data(), moving_->voxels.size() * sizeof(float));
      pinned[1].emplace(context_, values_.data(), values_.size() * sizeof(float));
      results.push_back(row("whole as short, pinned memory", clock.time([&] { whole(PixelType::int16); })));
    }
    results.push_back(row(context_.onCuda() ? "whole, pinned memory" : "whole",
                          clock.time([&] { whole(PixelType::float32); })));
    measureParts(clock, settings.repeats, results);
    if (settings.withItk)
      compareWithItk(settings.repeats, results, first);
  }

private:
  void prepare()
  {
    interpolator_->prepareForLevel(context_, moving_, 0);
    if (context_.onCuda())
      context_.stream->wait();
  }
  PixelsOut as(PixelType type) { return {reinterpret_cast<std::byte*>(values_.data()), type}; }
  void whole(PixelType type)
  {
    prepare();
    const ResampleSource<D> source{interpolator_.get(), nullptr};
    const PixelsOut out = as(type);
    resampler_->resampleInto(context_, *chain_, std::span(&source, 1), output_, {}, std::span(&out, 1));
    interpolator_->endLevel();
  }

  /// Measures the preparation of the interpolator and the parts of the resampler; reports medians.
  void measureParts(BenchClock& clock, std::size_t repeats, std::vector<BenchResult>& results)
  {
    results.push_back(row("prepare interpolator", clock.time([&] {
      interpolator_->endLevel();
      prepare();
    })));
    std::vector<std::string> names;
    std::map<std::string, std::vector<double>> times;
    keepMarks(context_);
    for (const Phase& phase : timedPhases()) // the first run gives only the names
      names.push_back(phase.name);
    for (std::size_t i = 0; i < repeats; ++i)
      for (const Phase& phase : timedPhases())
        times[phase.name].push_back(phase.milliseconds);
    interpolator_->endLevel();
    for (const std::string& name : names) {
      const double ms = median(times[name]);
      results.push_back(row(name, {ms, ms}).besideLimit(copyMs_, "copy"));
    }
  }

  /// Resamples once more, and times the parts.
  std::vector<Phase> timedPhases()
  {
    const ResampleSource<D> source{interpolator_.get(), nullptr};
    const PixelsOut out = as(PixelType::float32);
    double mapping = 0, all = 0;
    if (!context_.onCuda())
      addMilliseconds(mapping, [&] { resampler_->resampleInto(context_, *chain_, {}, output_, {}, {}); });
    takeMarkedParts(context_); // those of other runs
    addMilliseconds(all, [&] {
      resampler_->resampleInto(context_, *chain_, std::span(&source, 1), output_, {}, std::span(&out, 1));
    });
    if (!context_.onCuda())
      return {{"transform", mapping}, {"interpolation", std::max(0.0, all - mapping)}};
    const double kernels = takeMarkedParts(context_)["kernels"];
    return {{"kernels", kernels}, {"copies to the host", all - kernels}};
  }

  void compareWithItk(std::size_t repeats, std::vector<BenchResult>& results, std::size_t first)
  {
    using Resampling = ItkResampling<D>;
    Resampling resampling;
    resampling.moving = moving_;
    resampling.transforms = itkTransformsOf<D>(*chain_);
    resampling.compositeOfOne = compositeOfOne_;
    resampling.interpolation = interpolatorName_ == "nearest"  ? Resampling::Interpolation::nearest
                               : interpolatorName_ == "linear" ? Resampling::Interpolation::linear
                                                               : Resampling::Interpolation::bspline;
    resampling.output = output_;
    resampling.outside = Agreement::outsideValue;
    resampling.threads = context_.threads;
    ItkResample<D> itk(resampling);
    const BenchTimes times = timesOfLongRuns(repeats, [&] { itk.run(); });
    Agreement agreement;
    agreement.add(values_, itk.voxels(), interpolatorName_ == "nearest");
    for (std::size_t i = first; i < results.size(); ++i)
      if (results[i].method.starts_with("whole")) {
        results[i].ratio = times.ms / results[i].ms;
        agreement.addTo(results[i]);
        results[i].mismatches = static_cast<double>(agreement.mismatches);
      }
    results.push_back(row("ITK", times));
    results.back().device = cpuText(context_.threads);
  }

  BenchResult row(const std::string& method, const BenchTimes& times) const
  {
    const auto items = static_cast<double>(values_.size());
    return measuredRow(context_, name_, method, times, items, bytesAVoxel * items);
  }

  Context& context_;
  ImagePointer<D> moving_;
  bool compositeOfOne_;
  ImageGeometry<D> output_;
  ChainPointer<D> chain_;
  std::string interpolatorName_, name_;
  std::unique_ptr<Interpolator<D>> interpolator_;
  std::unique_ptr<Resampler<D>> resampler_;
  std::vector<float> values_;
  double copyMs_ = 0;
};

template <int D>
void measureVolume(const Registry& registry, Context& context, BenchClock& clock,
                   const ResampleSettings& settings, const Size<D>& size, std::vector<BenchResult>& results)
{
  const ImagePointer<D> moving = benchImage<D>(context, benchGrid<D>(size));
  clock.warmUp(); // the GPU was idle while the CPU made the image
  const BenchTimes copy = clock.timeCopy(moving->voxels.size() * sizeof(float));
  const auto items = static_cast<double>(moving->voxels.size());
  results.push_back(
      measuredRow(context, extentsName(size), "copy of 4 bytes", copy, items, bytesAVoxel * items));
  for (const std::string& transform : settings.transforms)
    for (const std::string& interpolator : settings.interpolators) {
      const double zoom = zoomOf(transform),
                   copyMs = zoom == 1 ? copy.ms
                                      : clock.timeCopy(zoomed<D>(moving->geometry, zoom).voxelCount() * 4).ms;
      Case<D>(registry, context, moving, transform, interpolator).measure(clock, settings, copyMs, results);
    }
}

}

std::vector<std::size_t> extentsOf(const std::string& text)
{
  std::vector<std::size_t> extents;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more;) {
    std::size_t extent = 0;
    const auto [next, failure] = std::from_chars(at, end, extent);
    more = next != end;
    if (failure != std::errc() || extent < 2 || (more && *next != 'x') || extents.size() == 3)
      break;
    extents.push_back(extent);
    at = next + 1;
    if (!more && extents.size() > 1 && extents.size() < 4)
      return extents;
  }
  failAs(ExitCode::usage, "--volume", "\"" + text + "\": not a size",
         "two or three whole numbers from 2, such as 512x512x256");
}

std::vector<BenchResult> resampleBench(const Registry& registry, Context& context,
                                       const ResampleSettings& settings)
{
  BenchClock clock(context, settings.repeats);
  std::vector<BenchResult> results;
  forEachSize(settings.volumes, [&](auto dimension, const auto& size) {
    measureVolume<dimension>(registry, context, clock, settings, size, results);
  });
  return results;
}

}
