#pragma once

// A pair of phantoms with a second image of each side, for metrics that see features.

#include "Core/Registration/FeatureTerm.h"
#include "Testing/Support/Checks/TermChecks.h"

#include <memory>

namespace tessera::testing {

/// The second images of a scene, on the grids of the first ones: other blobs.
template <int D>
struct Features {
  std::shared_ptr<Image<D>> fixed, moving;
  std::unique_ptr<BSplineInterpolator<D>> ofMoving;

  /// They are prepared for a level on the context's device.
  Features(Context context, const TermScene<D>& scene, int interpolationOrder = 3)
  {
    const auto blobs = scatteredBlobs<D>(scene.fixed->geometry, 14, 9);
    const auto draw = [&](const ImageGeometry<D>& geometry, double shiftMm, double sign) {
      return std::make_shared<Image<D>>(drawImage<D>(geometry, [&](Vec<D> pointMm) {
        for (int d = 0; d < D; ++d)
          pointMm[d] += shiftMm;
        return 20 + sign * sumOf(blobs, pointMm);
      }));
    };
    fixed = draw(scene.fixed->geometry, 0, 1);
    moving = draw(scene.moving->geometry, 0.9, -0.5);
    ofMoving = std::make_unique<BSplineInterpolator<D>>(parametersOf(
        "(BSplineInterpolationOrder " + std::to_string(interpolationOrder) + ")", D, 1, "Interpolator1"));
    ofMoving->prepareForLevel(context, moving, 0);
  }
  /// The images in the form that a FeatureTerm takes.
  FeatureImages<D> images() const { return {{fixed}, {ofMoving.get()}}; }
};

}
