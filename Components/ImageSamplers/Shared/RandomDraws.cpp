#include "Components/ImageSamplers/Shared/RandomDraws.h"

namespace tessera {

const Parameter<std::int64_t>& numberOfSpatialSamples()
{
  static const auto parameter =
      integerParameter("NumberOfSpatialSamples", 5000, 1, Arity::perLevel, "samples",
                       "samples drawn at a time")
          .atMost(4294967295.0); // the counter of the random numbers has 32 bits
  return parameter;
}

void AttemptLimit::giveUp() const
{
  throw Error(ExitCode::registrationFailed,
              "(ImageSampler \"" + sampler_ + "\"): " + std::to_string(limit_)
                  + " tries: Could not find enough image samples within reasonable time. Probably the mask "
                    "is too small for its bounding box. Usual remedies: (ImageSampler \"RandomSparseMask\"), "
                    "a larger mask (ErodeMask \"false\"), UseRandomSampleRegion \"false\".");
}

}
