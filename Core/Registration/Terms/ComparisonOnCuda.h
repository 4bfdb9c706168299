#pragma once

#include "Core/Registration/Samples/SampleKernels.h"

namespace tessera {

/// Gives ImageTermOnCuda a number for each sample in the place of the moving image's intensity.
template <int D>
class ComparisonOnCuda {
public:
  virtual ~ComparisonOnCuda() = default;

  /// Enqueues the work for samples of either kind, T(x) = before(x) + u(x), with the displacements u in mm (D
  /// planar arrays; null: zero). `target.moving` receives a number for each sample, NaN if the sample is not
  /// asked for, or T(x) not in the mask or what is compared there; `target.gradientPerMm`, unless null, the
  /// gradient of that number by T(x), and may overwrite u. `target.fixed` is null.
  virtual void compare(Context&, const SamplesOnCuda<D>&, const AffineMap<D>& before,
                       const std::array<const float*, D>& displacements, const MaskOnCuda<D>&,
                       const GatherTarget<D>&) const = 0;
};

}
