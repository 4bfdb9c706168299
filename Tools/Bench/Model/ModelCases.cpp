#include "Tools/Bench/Model/ModelCases.h"

#include "Components/FieldInterpolators/Shared/SeparableOnCuda.h"
#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Compute/Error.h"
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Tools/Bench/BenchReport.h"
#include "Tools/Bench/Model/CaseParts.h"
#include "Tools/Bench/Model/KernelCounts.h"

#include <memory>

namespace tessera {

using namespace modelcases;

namespace {

Work fieldCase(Context& context, const Volume& volume)
{
  constexpr int tile = 5;
  struct Scene {
    AlignedField<3> field;
    Buffer<float> coefficients, values;
  };
  const auto scene = std::make_shared<Scene>();
  for (int d = 0; d < 3; ++d) {
    FieldAxis& axis = scene->field.axes[d];
    axis.voxels = volume[d];
    axis.points = volume[d] / tile + 4;
    axis.first = 1;
    axis.step = 1.0 / tile;
  }
  scene->field.indexFromOffset = identityMatrix<3>();
  scene->coefficients = noiseOf(context, 3 * scene->field.pointCount(), 4);
  scene->values = Buffer<float>(context, 3 * voxelsOf(volume));
  const auto run = [scene, &context] {
    separableDisplacementsOnCuda<3>(context, scene->field, scene->coefficients.span().data(),
                                    {scene->values.span().data(), FieldLayout::planar, nullptr});
  };
  return {run, [scene] { return std::vector<KernelLaunch>{fieldCounts(scene->field)}; },
          [scene, run, &context] { return bitsWritten(context, run, scene->values); }};
}

Work warpCase(Context& context, const Volume& volume)
{
  struct Scene {
    Buffer<float> fixed, moving, values;
    Field field, gradients;
    SamplesOnCuda<3> samples;
    MovingOnCuda<3> image;
    GatherTarget<3> target;
  };
  const std::size_t count = voxelsOf(volume);
  const auto scene = std::make_shared<Scene>(Scene{noiseOf(context, count, 1000),
                                                   noiseOf(context, count, 1000),
                                                   Buffer<float>(context, count),
                                                   Field(context, volume),
                                                   Field(context, volume),
                                                   {},
                                                   {},
                                                   {}});
  scene->samples = latticeOf(volume, scene->fixed.span().data());
  scene->image.image = InterpolatorOnCuda<3>(scene->moving.span().data(), geometryOf(volume), 1);
  scene->image.gradientMatrix = identityMatrix<3>();
  scene->target.moving = scene->values.span().data();
  scene->target.gradientPerMm = scene->gradients.values();
  const auto run = [scene, &context] {
    warpLatticeOnCuda<3>(context, scene->samples, AffineMap<3>{identityMatrix<3>(), {}},
                         scene->field.constValues(), scene->image, scene->target);
  };
  return {run, [volume] { return std::vector<KernelLaunch>{warpCounts(volume)}; },
          [scene, run, &context] {
            Bits bits;
            run();
            append(context, scene->values, bits);
            for (const Buffer<float>& component : scene->gradients.of)
              append(context, component, bits);
            return bits;
          }};
}

/// The counting of HistogramOnCuda alone.
class Counting final : public HistogramOnCuda {
public:
  using HistogramOnCuda::HistogramOnCuda;
  void finish(Context&, MetricResult*) override {}
};

Work histogramCase(Context& context, const Volume& volume)
{
  constexpr int bins = 64;
  constexpr float highest = 1000;
  struct Scene {
    Buffer<float> fixed, moving;
    std::unique_ptr<Counting> counting;
  };
  const auto scene = std::make_shared<Scene>();
  scene->fixed = noiseOf(context, voxelsOf(volume), highest);
  scene->moving = noiseOf(context, voxelsOf(volume) + 7, highest);
  ParzenWindows windows{.fixed = {bins, 0, highest / (bins - 1), 0},
                        .moving = {bins, 3, highest / (bins - 5), -2},
                        .fixedUpperBound = highest,
                        .movingLimiter = SoftLimiter(0, highest, -1, highest + 1)};
  scene->counting = std::make_unique<Counting>(context, windows);
  scene->counting->begin(context);
  const auto run = [scene, &context] {
    scene->counting->accumulate(
        context, {scene->fixed.span().data(), scene->moving.span().data() + 4, scene->fixed.size()});
  };
  return {
      run,
      [scene] { return std::vector<KernelLaunch>{histogramCounts(*scene->counting, scene->fixed.size())}; },
      [scene, run, &context] {
        Bits bits;
        scene->counting->begin(context);
        run();
        append(context, scene->counting->counts(), bits);
        return bits;
      }};
}

Work adjointCase(Context& context, const Volume& volume)
{
  constexpr int tile = 8;
  struct Scene {
    std::array<Buffer<double>, 3> points;
    std::array<Buffer<float>, 3> covectors;
    Buffer<unsigned long long> sums;
    Buffer<unsigned> largest;
    Buffer<double> gradient;
    SamplesOnCuda<3> samples;
    ChainOnCuda<3> chain;
  };
  const auto scene = std::make_shared<Scene>();
  SamplesOnCuda<3>& samples = scene->samples;
  samples.count = voxelsOf(volume) / 8;
  TransformOnCuda<3>& spline = scene->chain.links[0];
  scene->chain.count = 1;
  spline.kind = TransformKind::bspline;
  spline.pointToIndex.fromOffset = identityMatrix<3>();
  for (int d = 0; d < 3; ++d) {
    spline.points[d] = volume[d] / tile + 4;
    spline.pointToIndex.fromOffset[d][d] = 1.0 / tile;
    spline.pointToIndex.originMm[d] = -1.5 * tile;
    scene->points[d] = Buffer<double>(context, samples.count + 1000003 * d);
    fillWithNoise(context, scene->points[d].size(), 0.0, static_cast<double>(volume[d] - 1),
                  scene->points[d].span().data());
    scene->covectors[d] = noiseOf(context, samples.count, 1);
    samples.pointMm[d] = scene->points[d].span().data() + 1000003 * d;
  }
  const auto parameters = static_cast<std::size_t>(3 * spline.pointCount());
  scene->sums = Buffer<unsigned long long>(context, parameters);
  context.stream->fill(scene->sums.span().data(), 0, scene->sums.span().size_bytes());
  scene->largest = Buffer<unsigned>(context, 1);
  scene->gradient = Buffer<double>(context, parameters);
  const auto run = [scene, &context] {
    pullBackBSplineOnCuda<3>(context, scene->samples, scene->chain,
                             {scene->covectors[0].span().data(), scene->covectors[1].span().data(),
                              scene->covectors[2].span().data()},
                             nullptr, scene->sums.span().data(), scene->largest.span().data(),
                             scene->gradient.span().data(), {true, nullptr});
  };
  return {run,
          [scene, parameters, &context] { return adjointCounts(context, scene->samples.count, parameters); },
          [scene, run, &context] {
            Bits bits;
            run();
            append(context, scene->gradient, bits);
            return bits;
          }};
}

struct TwoImages {
  Buffer<float> from, to;
};

Work prefilterCase(Context& context, const Volume& volume)
{
  const auto scene = std::make_shared<TwoImages>(
      TwoImages{noiseOf(context, voxelsOf(volume), 1000), Buffer<float>(context, voxelsOf(volume))});
  const std::array<std::size_t, 3> size{static_cast<std::size_t>(volume[0]),
                                        static_cast<std::size_t>(volume[1]),
                                        static_cast<std::size_t>(volume[2])};
  const auto run = [scene, size, filter = splineFilter(3), &context] {
    filterLinesOnCuda(context, filter, LineEnds::mirrored, LinesOnCuda::along(size, 0),
                      scene->from.span().data(), scene->to.span().data());
  };
  return {run,
          [size, &context] {
            return std::vector<KernelLaunch>{
                prefilterCounts(context, splineFilter(3), LinesOnCuda::along(size, 0))};
          },
          [scene, run, &context] { return bitsWritten(context, run, scene->to); }};
}

Work tapsCase(Context& context, const Volume& volume)
{
  const auto scene = std::make_shared<TwoImages>(
      TwoImages{noiseOf(context, voxelsOf(volume), 1000), Buffer<float>(context, voxelsOf(volume))});
  const std::array<std::size_t, 3> size{static_cast<std::size_t>(volume[0]),
                                        static_cast<std::size_t>(volume[1]),
                                        static_cast<std::size_t>(volume[2])};
  const AxisTaps taps{std::vector<double>(9, 1.0 / 9), -4, 1, size[1]};
  const auto run = [scene, size, taps, &context] {
    tapLinesOnCuda(context, LinesOnCuda::along(size, 1), taps, scene->from.span().data(),
                   scene->to.span().data());
  };
  return {run,
          [size, taps] { return std::vector<KernelLaunch>{tapCounts(LinesOnCuda::along(size, 1), taps)}; },
          [scene, run, &context] { return bitsWritten(context, run, scene->to); }};
}

Work trilinearCase(Context& context, const Volume& volume)
{
  struct Scene {
    Buffer<float> image, to;
    Field field;
  };
  const auto scene =
      std::make_shared<Scene>(Scene{noiseOf(context, voxelsOf(volume), 1000),
                                    Buffer<float>(context, voxelsOf(volume)), Field(context, volume)});
  const auto run = [scene, volume, &context] {
    trilinearFromFieldOnCuda(context, volume, scene->image.span().data(), scene->field.constValues(),
                             scene->to.span().data());
  };
  return {run, [volume] { return std::vector<KernelLaunch>{trilinearFromFieldLaunch(volume)}; },
          [scene, run, &context] { return bitsWritten(context, run, scene->to); }};
}

struct Maker {
  const char* name;
  std::vector<int> blockThreads;
  double itemsPerVoxel;
  Work (*make)(Context&, const Volume&);
  double bytesUp, bytesDown; // of a voxel, if all arrays came from the host and went back
  bool isAskedForByName = false;
};

const Maker makers[] = {
    {"field", {64, 128, 192, 256, 512, 1024}, 1, fieldCase, 0.2, 12},
    {"warp", {64, 128, 192, 256, 512, 1024}, 1, warpCase, 20, 16},
    {"histogram", {64, 128, 256, 512, 768, 1024}, 1, histogramCase, 8, 0},
    {"adjoint", {32, 64, 96, 128, 192, 256}, 0.125, adjointCase, 4.5, 0.05},
    {"prefilter", {32, 64, 128, 256, 512, 1024}, 1, prefilterCase, 4, 4},
    {"landmarks", {32, 64, 96, 128, 192, 256}, 1, landmarksCase, 12, 12},
    {"splinefield", {64, 96, 128, 160, 192, 256}, 1, splineFieldCase, 0, 12},
    {"sest", {96, 128, 160, 192, 256, 288}, 1.0 / 4096, sestCase, 64, 0.01},
    {"trilinear", {32, 64, 128, 256, 512, 1024}, 1, trilinearCase, 16, 4},
    {"taps", {32, 64, 128, 256, 512, 1024}, 1, tapsCase, 4, 4},
    {"globallandmarks", {32, 64, 128, 256, 512, 1024}, 1, globalLandmarksCase, 0, 12, true},
    {"sharedlandmarks", {32, 64, 128, 256, 512, 1024}, 1, sharedLandmarksCase, 0, 12, true},
};

}

std::vector<std::string> modelKernels()
{
  std::vector<std::string> names;
  for (const Maker& maker : makers)
    if (!maker.isAskedForByName)
      names.push_back(maker.name);
  return names;
}

ModelCase modelCase(Context& context, const std::string& kernel, const Volume& volume)
{
  for (const Maker& maker : makers)
    if (kernel == maker.name) {
      const Work work = maker.make(context, volume);
      return {kernel,
              extentsName(volume),
              maker.itemsPerVoxel * static_cast<double>(voxelsOf(volume)),
              maker.blockThreads,
              work.run,
              work.launches,
              work.result,
              maker.bytesUp * static_cast<double>(voxelsOf(volume)),
              maker.bytesDown * static_cast<double>(voxelsOf(volume))};
    }
  throw Error(ExitCode::usage, "--method: \"" + kernel + "\": no such kernel. Allowed: "
                                   + joined(makers, ", ", &Maker::name) + ".");
}

}
