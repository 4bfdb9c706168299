#pragma once

#include "Components/Metrics/Shared/FoldingFormula.h"

namespace tessera {

/// A summand of SumSquaredTissueVolumeDifference and its derivatives.
template <int D>
struct TissueVolume {
  double penalty;
  double ofMoving;         // by the moving intensity
  double ofJacobian[D][D]; // by the spatial Jacobian of the chain
};

/// The formula of SumSquaredTissueVolumeDifference, for the CPU and for kernels.
struct TissueVolumes {
  double air = 0, tissueOverAir = 1; // intensities

  template <int D>
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE TissueVolume<D> at(double fixed, double moving,
                                                               const double (&jacobian)[D][D]) const
  {
    TissueVolume<D> result;
    const double volume = determinantAndCofactors<D>(jacobian, result.ofJacobian), tissue = moving - air,
                 difference = (fixed - air - volume * tissue) / tissueOverAir,
                 slope = -2 * difference / tissueOverAir; // by volume * tissue
    result.penalty = difference * difference;
    result.ofMoving = slope * volume;
    TESSERA_UNROLL
    for (int e = 0; e < D * D; ++e)
      result.ofJacobian[e / D][e % D] *= slope * tissue;
    return result;
  }
};

}
