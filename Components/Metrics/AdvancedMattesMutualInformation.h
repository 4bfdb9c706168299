#pragma once

#include "Components/Metrics/Shared/ParzenHistogram.h"
#include "Core/Compute/CudaOnly.h"

namespace tessera {

/// Minus the mutual information of fixed and moving intensities, from a joint histogram with B-spline Parzen
/// windows: -sum p ln(p / (p_fixed p_moving)). Mattes et al. 2003; Thevenaz and Unser, "Optimization of
/// mutual information for multiresolution image registration", 2000.
class AdvancedMattesMutualInformation {
public:
  using Sums = ParzenHistogram::Sums;
  using Table = ParzenHistogram::Table;

  AdvancedMattesMutualInformation(const Parameters&, std::size_t level, const LevelFacts&);

  static const ComponentDescription& description();
  TESSERA_CUDA_ONLY std::unique_ptr<MetricOnCuda> onCuda(const Context&) const;
  double deviceBytes(std::size_t samples, bool fixedStays) const;

  Sums zeroSums() const { return histogram_.zeroSums(); }
  void accumulate(Sums& sums, float fixed, float moving) const { histogram_.accumulate(sums, fixed, moving); }
  void accumulate(Sums& sums, const float* fixed, const float* moving, std::size_t count) const
  {
    histogram_.accumulate(sums, fixed, moving, count);
  }
  Table finish(const Sums&, std::size_t valid) const;
  double value(const Table& table) const { return table.value; }
  float slope(const Table& table, float fixed, float moving) const
  {
    return histogram_.slope(table, fixed, moving);
  }
  void slopes(const Table& table, const float* fixed, const float* moving, std::size_t count,
              float* slopes) const
  {
    histogram_.slopes(table, fixed, moving, count, slopes);
  }

private:
  ParzenHistogram histogram_;
};

}
