#pragma once

// Whole stages between drawn images, without files.

#include "Core/Registration/Stage/StageMemory.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {

/// A short registration of one level, with these parameters, "(Name value) (Name value)", besides or instead
/// of its own.
inline std::shared_ptr<const ParameterMap> stageText(const std::string& lines)
{
  const std::pair<const char*, const char*> usual[] = {
      {"NumberOfResolutions", "1"},
      {"Transform", "\"AffineTransform\""},
      {"Metric", "\"AdvancedMeanSquares\""},
      {"ImageSampler", "\"Full\""},
      {"Interpolator", "\"LinearInterpolator\""},
      {"FixedImagePyramid", "\"FixedShrinkingImagePyramid\""},
      {"MovingImagePyramid", "\"MovingShrinkingImagePyramid\""},
      {"Optimizer", "\"StandardGradientDescent\""},
      {"SP_a", "0.001"},
      {"MaximumNumberOfIterations", "4"}};
  std::string text = lines + "\n";
  for (std::size_t at = 0; (at = text.find(") (", at)) != std::string::npos;)
    text[at + 1] = '\n';
  for (const auto& [name, value] : usual)
    if (lines.find(std::string("(") + name + " ") == std::string::npos)
      text += std::string("(") + name + " " + value + ")\n";
  return mapOf(text);
}

inline Parameters stageParameters(const std::shared_ptr<const ParameterMap>& map, std::size_t dimension)
{
  return Parameters(map, "", dimension, levelCountOf(map));
}

/// The input of a stage, and how it is to be run.
template <int D>
struct DrawnStage : StageInput<D> {
  std::shared_ptr<const ParameterMap> parameters;
  std::vector<LevelPlan> plans;

  PreparedStage<D> prepared() const
  {
    PreparedStage<D> stage = prepareStage<D>(allComponents(), stageParameters(parameters, D));
    stage.plans = plans;
    return stage;
  }
  std::vector<LevelPlan> plansFor(double usableBytes) const
  {
    return planStage<D>(allComponents(), prepared(), *this, usableBytes);
  }
  StageResult<D> run(Context& context, Reporter<D>& reporter) const
  {
    Log log;
    return run(context, reporter, log);
  }
  StageResult<D> run(Context& context, Reporter<D>& reporter, Log& log) const
  {
    return runStage<D>(context, allComponents(), prepared(), *this, reporter, log);
  }
};

/// Two drawings of the same blobs, the moving one a little shifted.
template <int D>
DrawnStage<D> stageInput(const Size<D>& size, const std::string& lines)
{
  const ImageGeometry<D> geometry = centredGeometry<D>(size, perAxis<D>(1.0));
  const auto blobs = scatteredBlobs<D>(geometry, 12, 5);
  const auto drawn = [&](double shiftMm) {
    return std::make_shared<Image<D>>(drawImage<D>(geometry, [&](Vec<D> pointMm) {
      pointMm[0] += shiftMm;
      return sumOf(blobs, pointMm);
    }));
  };
  DrawnStage<D> input;
  input.parameters = stageText(lines);
  input.fixed = {drawn(0)};
  input.moving = {drawn(0.7)};
  return input;
}

}
