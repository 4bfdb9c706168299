#include "Tools/Bench/Benches.h"

#include "Components/ImagePyramids/GenericImagePyramid.h"
#include "Core/Compute/Memory/PinnedRange.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Core/Image/Voxels/VolumeOnCuda.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Images/ResampleCases.h"
#include "Tools/Bench/Rivals/ItkPyramid.h"

#include <functional>
#include <optional>

namespace tessera {
namespace {

constexpr double sigmaOfFilters = 4; // in voxels
constexpr std::size_t levelCount = 4;
constexpr std::size_t factors[levelCount] = {8, 4, 2, 1};
constexpr double sigmas[levelCount] = {4, 2, 1, 0};

struct PyramidKind {
  const char* name;
  bool rescales, smooths, takesVoxels;
};
constexpr PyramidKind pyramidKinds[] = {{"smooth", false, true, false},
                                        {"rescale", true, false, false},
                                        {"rescale, smooth", true, true, false},
                                        {"rescale by shrinking", true, false, true},
                                        {"rescale by shrinking, smooth", true, true, true}};

template <int D>
std::vector<std::vector<FilterStep<D>>> stepsOf(const PyramidKind& kind, const ImageGeometry<D>& geometry)
{
  std::string rescale, smooth;
  for (std::size_t level = 0; level < levelCount; ++level)
    for (int d = 0; d < D; ++d) {
      rescale += " " + std::to_string(kind.rescales ? factors[level] : 1);
      smooth += " " + std::to_string(kind.smooths ? sigmas[level] : 0);
    }
  const std::string text =
      "(NumberOfResolutions 4)\n(ImagePyramidRescaleSchedule" + rescale + ")\n(ImagePyramidSmoothingSchedule"
      + smooth + ")\n(ImagePyramidUseShrinkImageFilter \"" + (kind.takesVoxels ? "true" : "false") + "\")\n";
  const GenericImagePyramid<D> pyramid(benchParameters(text, "FixedImagePyramid0", D, levelCount),
                                       ImageSide::fixed);
  std::vector<std::vector<FilterStep<D>>> steps;
  for (std::size_t level = 0; level < levelCount; ++level)
    steps.push_back(pyramid.stepsOfLevel(geometry, level));
  return steps;
}

/// The bytes that all passes must move: each reads and writes the volume once.
template <int D>
double bytesOf(Size<D> size, const std::vector<FilterStep<D>>& steps)
{
  double bytes = 0;
  const auto volume = [&] { return sizeof(float) * static_cast<double>(productOf(size)); };
  for (const FilterStep<D>& step : steps)
    for (int axis = D - 1; axis >= 0; --axis) {
      if (leavesAxis(size[axis], step.sigmaVoxels[axis], step.taps[axis]))
        continue;
      bytes += volume();
      size[axis] = step.taps[axis].count;
      bytes += volume();
    }
  return bytes;
}

template <int D>
class Volume {
public:
  Volume(Context& context, const PyramidSettings& settings, BenchClock& clock, const Size<D>& size,
         std::vector<BenchResult>& results)
      : context_(context), settings_(settings), clock_(clock), results_(results), name_(extentsName(size))
  {
    ImageGeometry<D> geometry;
    geometry.size = size;
    geometry.spacingMm.fill(1);
    geometry.direction = identityMatrix<D>();
    image_ = benchImage<D>(context, geometry);
    itk_.emplace(image_, context.threads);
    items_ = static_cast<double>(image_->voxels.size());
  }

  void measure()
  {
    measureCopy();
    if (context_.onCuda())
      onCuda_ = voxelsOnCuda<D>(context_, image_);
    Vec<D> all;
    all.fill(sigmaOfFilters);
    for (int axis = 0; axis < D; ++axis) {
      Vec<D> sigma{};
      sigma[axis] = sigmaOfFilters;
      measureGaussian("gaussian, axis " + std::to_string(axis), sigma,
                      [&] { return itk_->gaussian(axis, sigmaOfFilters); });
    }
    measureGaussian("gaussian", all, [&] { return itk_->level(sigmaOfFilters, 1, false); });
    measurePrefilter();
    for (const PyramidKind& kind : pyramidKinds)
      measurePyramid(kind);
  }

private:
  BenchResult& add(const std::string& method, const BenchTimes& times, double bytes)
  {
    return results_.emplace_back(measuredRow(context_, name_, method, times, items_, bytes));
  }
  /// Adds the row of passes that must move `bytes` bytes.
  BenchResult& addPasses(const std::string& method, const BenchTimes& times, double bytes)
  {
    return add(method, times, bytes).besideLimit(msAByte_ * bytes, "copy");
  }
  void addItk(const std::string& method, double ms, double bytes)
  {
    add("ITK " + method, {ms, ms}, bytes).device = cpuText(context_.threads);
  }

  void measureCopy()
  {
    const double bytes = 2 * sizeof(float) * items_;
    const BenchTimes times = clock_.timeCopy(image_->voxels.size() * sizeof(float));
    msAByte_ = times.ms / bytes;
    add("copy of 4 bytes", times, bytes);
  }

  void measureGaussian(const std::string& method, const Vec<D>& sigmaVoxels,
                       const std::function<std::vector<float>()>& byItk)
  {
    const auto step = FilterStep<D>::smoothing(image_->geometry, sigmaVoxels, AxisOrder::lastFirst);
    const double bytes = bytesOf<D>(image_->geometry.size, {step});
    std::vector<float> voxels;
    BenchTimes times;
    if (context_.onCuda()) {
      times = clock_.time([&] { filteredOnCuda({step}); });
      voxels = filteredOnCuda({step}).toHost(context_);
    } else {
      times = clock_.time([&] {
        voxels = smoothRecursively<D>(context_, *image_, sigmaVoxels, AxisOrder::lastFirst).voxels;
      });
    }
    compare(addPasses(method, times, bytes), method, bytes, voxels, byItk);
  }

  void measurePrefilter()
  {
    constexpr int order = 3;
    const std::string method = "cubic prefilter";
    std::vector<float> coefficients;
    BenchTimes times;
    if (context_.onCuda()) {
      const Size<D>& size = image_->geometry.size;
      Buffer<float> out(context_, image_->voxels.size());
      for (int axis = 0; axis < D; ++axis)
        addPasses(method + ", axis " + std::to_string(axis), clock_.time([&] {
          filterLinesOnCuda(context_, splineFilter(order), LineEnds::mirrored, LinesOnCuda::along(size, axis),
                            onCuda_->span().data(), out.span().data());
        }),
                  2 * sizeof(float) * items_);
      times =
          clock_.time([&] { bsplineCoefficientsOnCuda<D>(context_, onCuda_->span().data(), size, order); });
      coefficients =
          bsplineCoefficientsOnCuda<D>(context_, onCuda_->span().data(), size, order).toHost(context_);
    } else {
      times = clock_.time([&] { coefficients = bsplineCoefficients<D>(context_, *image_, order); });
    }
    const double bytes = 2 * sizeof(float) * D * items_;
    compare(addPasses(method, times, bytes), method, bytes, coefficients,
            [&] { return itk_->splineCoefficients(order); });
  }

  void compare(BenchResult& result, const std::string& method, double bytes, const std::vector<float>& voxels,
               const std::function<std::vector<float>()>& byItk)
  {
    if (!settings_.withItk)
      return;
    std::vector<float> expected;
    const double ms = medianOfLongRuns(settings_.repeats, [&] {
      expected = byItk();
      return itk_->milliseconds();
    });
    Agreement agreement;
    agreement.add({voxels.data(), expected.size()}, expected.data()); // coefficients are padded
    agreement.addTo(result);
    result.ratio = ms / result.ms;
    addItk(method, ms, bytes);
  }

  Buffer<float> filteredOnCuda(const std::vector<FilterStep<D>>& steps)
  {
    VolumeOnCuda<D> volume(context_, image_->geometry.size, onCuda_);
    for (const FilterStep<D>& step : steps)
      for (int axis = D - 1; axis >= 0; --axis)
        volume.filter(axis, step.sigmaVoxels[axis], step.taps[axis]);
    return volume.releaseVoxels();
  }

  void measurePyramid(const PyramidKind& kind)
  {
    const auto levels = stepsOf<D>(kind, image_->geometry);
    double bytes = 0;
    for (const auto& steps : levels)
      bytes += bytesOf<D>(image_->geometry.size, steps);
    const std::string method = std::string("pyramid: ") + kind.name;
    const std::size_t first = results_.size();
    std::vector<ImagePointer<D>> images(levelCount);
    const auto whole = [&] {
      // Brought to the device once for all levels.
      const auto held = context_.onCuda() ? voxelsOnCuda<D>(context_, image_) : nullptr;
      for (std::size_t level = 0; level < levelCount; ++level)
        images[level] = filteredImage<D>(context_, image_, levels[level]);
    };
    if (context_.onCuda()) {
      addPasses(method + ": kernels", clock_.time([&] {
        for (const auto& steps : levels)
          if (!steps.empty())
            filteredOnCuda(steps);
      }),
                bytes);
      onCuda_.reset();
      add(method + ": pinned memory", timePinned(levels), bytes);
      add(method + ": pageable memory", clock_.time(whole), bytes);
      onCuda_ = voxelsOnCuda<D>(context_, image_);
    } else {
      addPasses(method, clock_.time(whole), bytes);
    }
    if (settings_.withItk)
      comparePyramid(kind, method, bytes, images, first);
  }

  BenchTimes timePinned(const std::vector<std::vector<FilterStep<D>>>& levels)
  {
    std::vector<std::vector<float>> voxels;
    for (const auto& steps : levels)
      voxels.emplace_back(steps.empty() ? 0 : steps.back().geometry.voxelCount());
    std::vector<std::unique_ptr<PinnedRange>> pinned;
    for (const std::vector<float>* memory : std::initializer_list<const std::vector<float>*>{
             &image_->voxels, &voxels[0], &voxels[1], &voxels[2], &voxels[3]})
      if (!memory->empty())
        pinned.push_back(
            std::make_unique<PinnedRange>(context_, memory->data(), memory->size() * sizeof(float)));
    return clock_.time([&] {
      onCuda_ = voxelsOnCuda<D>(context_, image_);
      for (std::size_t level = 0; level < levelCount; ++level)
        if (!levels[level].empty()) {
          const Buffer<float> image = filteredOnCuda(levels[level]);
          context_.stream->copyToHost(voxels[level].data(), image.span().data(),
                                      image.size() * sizeof(float));
        }
      onCuda_.reset();
    });
  }

  void comparePyramid(const PyramidKind& kind, const std::string& method, double bytes,
                      const std::vector<ImagePointer<D>>& images, std::size_t first)
  {
    std::vector<float> expected[levelCount];
    const double ms = medianOfLongRuns(settings_.repeats, [&] {
      double sum = 0;
      for (std::size_t level = 0; level < levelCount; ++level)
        if (images[level] != image_) {
          expected[level] = itk_->level(kind.smooths ? sigmas[level] : 0, kind.rescales ? factors[level] : 1,
                                        kind.takesVoxels);
          sum += itk_->milliseconds();
        }
      return sum;
    });
    Agreement agreement;
    for (std::size_t level = 0; level < levelCount; ++level)
      agreement.add({images[level]->voxels.data(), expected[level].size()}, expected[level].data());
    for (std::size_t i = first; i < results_.size(); ++i) {
      agreement.addTo(results_[i]);
      results_[i].ratio = ms / results_[i].ms;
    }
    addItk(method, ms, bytes);
  }

  Context& context_;
  const PyramidSettings& settings_;
  BenchClock& clock_;
  std::vector<BenchResult>& results_;
  std::string name_;
  ImagePointer<D> image_;
  std::optional<ItkFilters<D>> itk_;
  std::shared_ptr<const Buffer<float>> onCuda_;
  double items_ = 0, msAByte_ = 0;
};

}

std::vector<BenchResult> pyramidBench(Context& context, const PyramidSettings& settings)
{
  BenchClock clock(context, settings.repeats);
  std::vector<BenchResult> results;
  forEachSize(settings.volumes, [&](auto dimension, const auto& size) {
    Volume<dimension>(context, settings, clock, size, results).measure();
  });
  return results;
}

}
