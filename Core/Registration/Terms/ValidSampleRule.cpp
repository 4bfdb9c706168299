#include "Core/Registration/Terms/ValidSampleRule.h"

namespace tessera {
namespace {

const Parameter<bool> checkNumberOfSamples =
    booleanParameter("CheckNumberOfSamples", true, Arity::perLevel, "stop if too few samples are valid");

const Parameter<double> requiredRatioOfValidSamples =
    realParameter("RequiredRatioOfValidSamples", 0.25, Arity::perLevel, "",
                  "share of the samples that must fall inside the moving image and its mask")
        .atLeast(0)
        .atMost(1);

}

ValidSampleRule::ValidSampleRule(const Parameters& parameters) : label_(parameters.label())
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    requiredRatio_.push_back(parameters.get(checkNumberOfSamples, level) ? requiredShare(parameters, level)
                                                                         : 0);
}

double ValidSampleRule::requiredShare(const Parameters& parameters, std::size_t level)
{
  return parameters.get(requiredRatioOfValidSamples, level);
}

void ValidSampleRule::check(std::size_t level, std::size_t valid, std::size_t asked) const
{
  const std::string where = (label_.empty() ? "" : label_ + ", ") + "level " + std::to_string(level) + ": ";
  if (asked == 0)
    throw Error(ExitCode::registrationFailed,
                where
                    + "0 samples: none lies inside the fixed mask. Usual remedies: a larger mask (ErodeMask "
                      "\"false\"), more samples.");
  if (valid > 0 && static_cast<double>(valid) >= requiredRatio_[level] * static_cast<double>(asked))
    return;
  const std::string found = std::to_string(valid), all = std::to_string(asked);
  throw TooFewValidSamples(
      where + found + " of " + all + " samples lie inside the moving image and its mask: "
          + "Too many samples map outside moving image buffer: " + found + " / " + all + ". ",
      "Usual remedies: a better start (AutomaticTransformInitialization or -t0), a mask or "
      "RequiredRatioOfValidSamples, smaller steps (MaximumStepLength).",
      valid > 0);
}

std::vector<ParameterInfo> ValidSampleRule::parameters()
{
  return {requiredRatioOfValidSamples, checkNumberOfSamples};
}

}
