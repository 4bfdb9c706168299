#include "Tools/Bench/Benches.h"

#include "Core/Compute/Log.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/CostTerm.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Images/ResampleCases.h"

#include <cmath>

namespace tessera {
namespace {

enum class Content { noise, background };

/// An image with intensities from 0 to 1000. The pattern is shifted along x by `shiftVoxels`. With a
/// background, everything outside of a ball, about half of the volume, is constant.
ImagePointer<3> imageOf(const Context& context, const std::array<int, 3>& volume, Content content,
                        int shiftVoxels)
{
  auto image = std::make_shared<Image<3>>();
  image->geometry = {{}, {1, 1, 1}, {}, identityMatrix<3>()};
  for (int d = 0; d < 3; ++d)
    image->geometry.size[d] = static_cast<std::size_t>(volume[d]);
  image->voxels.resize(image->geometry.voxelCount());
  forEachChunk(Context{{}, context.threads}, static_cast<std::size_t>(volume[2]), [&](std::size_t z) {
    for (int y = 0; y < volume[1]; ++y)
      for (int x = 0; x < volume[0]; ++x) {
        const double r[3] = {2.0 * x / volume[0] - 1, 2.0 * y / volume[1] - 1,
                             2.0 * static_cast<double>(z) / volume[2] - 1};
        const int at = x + shiftVoxels;
        const double smooth =
            std::sin(0.05 * at) * std::sin(0.06 * y) * std::sin(0.07 * static_cast<double>(z));
        const std::uint32_t key = static_cast<std::uint32_t>((z * volume[1] + y) * volume[0] + at);
        const double noise = unitUniform(randomWords(Draw{}, key, 0)[0]);
        const bool inside = content == Content::noise || r[0] * r[0] + r[1] * r[1] + r[2] * r[2] < 1;
        image->voxels[(z * volume[1] + y) * volume[0] + x] =
            inside ? static_cast<float>(400 + 300 * smooth + 300 * noise) : 0.0f;
      }
  });
  return image;
}

/// The objects that evaluating a cost needs.
class Scene {
public:
  Scene(const Registry& registry, Context& context, const ImagePointer<3>& fixed,
        const ImagePointer<3>& moving, const std::string& metric, double tile, const CostSettings& settings)
      : context_(context), samples_(VoxelLattice<3>{fixed, nullptr, {}, {1, 1, 1}, fixed->geometry.size})
  {
    const std::string spacing = "(FinalGridSpacingInVoxels " + significant(tile, 6) + ")\n";
    std::shared_ptr<Transform<3>> transform = registry.create<Transform<3>>(
        "BSplineTransform", benchParameters(spacing, "Transform0", 3), "benchmark");
    chain_.parameters =
        optimizable(*transform).initialize(context, {fixed, moving, nullptr, nullptr, nullptr});
    optimizable(*transform).prepareForLevel(context, 0, chain_.parameters);
    for (std::size_t i = 0; i < chain_.parameters.size(); ++i)
      chain_.parameters[i] = 4 * unitUniform(randomWords(Draw{}, static_cast<std::uint32_t>(i), 0)[0]) - 2;
    chain_.transform = transform;
    interpolator_ = registry.create<Interpolator<3>>("LinearInterpolator",
                                                     benchParameters("", "Interpolator0", 3), "benchmark");
    interpolator_->prepareForLevel(context, moving, 0);
    std::string ofMetric = "(NumberOfHistogramBins " + std::to_string(settings.bins) + ")\n";
    if (settings.sigma > 0)
      ofMetric += "(LocalWindowSigma " + significant(settings.sigma, 6) + ")\n";
    term_ = registry.create<CostTerm<3>>(metric, benchParameters(ofMetric, "Metric0", 3), "benchmark");
    TermLevel<3> level;
    level.fixed = fixed;
    level.moving = moving;
    level.interpolator = interpolator_.get();
    level.chain = &chain_;
    level.registry = &registry;
    term_->prepareForLevel(context, level);
    const Context vectors = vectorContext<3>(context, *transform);
    position_.fromHost(vectors, chain_.parameters);
    gradient_ = Buffer<double>(vectors, chain_.parameters.size());
  }

  void evaluate(bool withGradient)
  {
    term_->evaluate(context_, samples_, std::as_const(position_).span(),
                    withGradient ? gradient_.span() : std::span<double>());
  }
  /// The parts of an evaluation with its gradient.
  std::vector<Phase> phases()
  {
    return term_->timePhases(context_, samples_, std::as_const(position_).span(), gradient_.span());
  }

private:
  Context& context_;
  SampleSet<3> samples_;
  TransformChain<3> chain_;
  std::unique_ptr<Interpolator<3>> interpolator_;
  std::unique_ptr<CostTerm<3>> term_;
  Buffer<double> position_, gradient_;
};

}

std::vector<BenchResult> costBench(const Registry& registry, Context& context, const CostSettings& settings)
{
  BenchClock clock(context, settings.repeats);
  std::vector<BenchResult> results;
  for (const auto& volume : settings.volumes) {
    const std::string name = extentsName(volume);
    const auto voxels = static_cast<double>(volume[0]) * volume[1] * volume[2];
    const BenchTimes copy = clock.timeCopy(static_cast<std::size_t>(voxels) * sizeof(float));
    const auto add = [&](const std::string& caseName, const std::string& method,
                         const BenchTimes& times) -> BenchResult& {
      return results.emplace_back(measuredRow(context, caseName, method, times, voxels, 8 * voxels));
    };
    add(name, "copy of 4 bytes", copy); // it copies as many bytes as both images have
    for (const Content content : {Content::noise, Content::background}) {
      const std::string caseName = name + (content == Content::noise ? " noise" : " background");
      const ImagePointer<3> fixed = imageOf(context, volume, content, 0),
                            moving = imageOf(context, volume, content, 1);
      for (const double tile : settings.tiles)
        for (const std::string& metric : settings.metrics) {
          Scene scene(registry, context, fixed, moving, metric, tile, settings);
          const std::string ofTile = caseName + " tile " + significant(tile, 6);
          for (const bool withGradient : {false, true})
            add(ofTile, metric + (withGradient ? " value and gradient" : " value"), clock.time([&] {
              scene.evaluate(withGradient);
            })).besideLimit(copy.ms, "copy of both images");
          for (const Phase& phase : scene.phases())
            add(ofTile, metric + " " + phase.name, {phase.milliseconds, phase.milliseconds});
        }
    }
  }
  return results;
}

}
