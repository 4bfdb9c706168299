#include "Tools/Bench/Registration/CostBench.h"

#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/CostTerm.h"
#include "Tools/Bench/BenchClock.h"

#include <cmath>
#include <sstream>

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

Parameters parametersFrom(const std::string& text, const std::string& label)
{
  std::vector<std::string> notes;
  return Parameters(std::make_shared<ParameterMap>(parseParameterText(text, "benchmark", notes)), label, 3,
                    1);
}

/// The objects that evaluating a cost needs.
class Scene {
public:
  Scene(const Registry& registry, Context& context, const ImagePointer<3>& fixed,
        const ImagePointer<3>& moving, const std::string& metric, double tile, const CostSettings& settings)
      : context_(context), samples_(VoxelLattice<3>{fixed, nullptr, {}, {1, 1, 1}, fixed->geometry.size})
  {
    std::ostringstream spacing;
    spacing << "(FinalGridSpacingInVoxels " << tile << ")\n";
    std::shared_ptr<Transform<3>> transform = registry.create<Transform<3>>(
        "BSplineTransform", parametersFrom(spacing.str(), "Transform0"), "benchmark");
    chain_.parameters =
        optimizable(*transform).initialize(context, {fixed, moving, nullptr, nullptr, nullptr});
    optimizable(*transform).prepareForLevel(context, 0, chain_.parameters);
    for (std::size_t i = 0; i < chain_.parameters.size(); ++i)
      chain_.parameters[i] = 4 * unitUniform(randomWords(Draw{}, static_cast<std::uint32_t>(i), 0)[0]) - 2;
    chain_.transform = transform;
    interpolator_ = registry.create<Interpolator<3>>("LinearInterpolator",
                                                     parametersFrom("", "Interpolator0"), "benchmark");
    interpolator_->prepareForLevel(context, moving, 0);
    std::ostringstream ofMetric;
    ofMetric << "(NumberOfHistogramBins " << settings.bins << ")\n";
    if (settings.sigma > 0)
      ofMetric << "(LocalWindowSigma " << settings.sigma << ")\n";
    term_ = registry.create<CostTerm<3>>(metric, parametersFrom(ofMetric.str(), "Metric0"), "benchmark");
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
  const auto add = [&](const std::string& caseName, const std::string& method, double voxels, double bytes,
                       double limitMs, const std::function<void()>& work) {
    const BenchTimes times = clock.time(work);
    BenchResult result = measuredRow(context, caseName, method, times, voxels, bytes);
    if (limitMs > 0) {
      result.share = limitMs / times.ms;
      result.shareOf = "copy of both images";
    }
    results.push_back(result);
    return times.ms;
  };
  for (const auto& volume : settings.volumes) {
    const std::string name =
        std::to_string(volume[0]) + "x" + std::to_string(volume[1]) + "x" + std::to_string(volume[2]);
    const auto voxels = static_cast<double>(volume[0]) * volume[1] * volume[2];
    Buffer<float> from(context, static_cast<std::size_t>(voxels)), to(context, from.size());
    const double copyMs = add(
        name, "copy of 4 bytes", voxels, 8 * voxels, 0, [&] { // it copies as many bytes as both images have
          copyBytes(context, to.span().data(), from.span().data(), from.span().size_bytes());
        });
    for (const Content content : {Content::noise, Content::background}) {
      const std::string caseName = name + (content == Content::noise ? " noise" : " background");
      const ImagePointer<3> fixed = imageOf(context, volume, content, 0),
                            moving = imageOf(context, volume, content, 1);
      for (const double tile : settings.tiles)
        for (const std::string& metric : settings.metrics) {
          Scene scene(registry, context, fixed, moving, metric, tile, settings);
          std::ostringstream ofTile;
          ofTile << caseName << " tile " << tile;
          add(ofTile.str(), metric + " value", voxels, 8 * voxels, copyMs, [&] { scene.evaluate(false); });
          add(ofTile.str(), metric + " value and gradient", voxels, 8 * voxels, copyMs,
              [&] { scene.evaluate(true); });
          for (const Phase& phase : scene.phases())
            results.push_back(measuredRow(context, ofTile.str(), metric + " " + phase.name,
                                          {phase.milliseconds, phase.milliseconds}, voxels, 8 * voxels));
        }
    }
  }
  return results;
}

}
