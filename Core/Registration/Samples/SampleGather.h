#pragma once

#include "Core/Registration/CostTerm.h"

#include <optional>

namespace tessera {

/// Arrays that receive the samples of a batch that count; gradients are null if not asked for.
template <int D>
struct ValidSamples {
  PointsOut<D> pointMm{}; // where the chain's last transform is asked: T0(x) if composed, else x
  float* fixed = nullptr;
  float* moving = nullptr;
  std::array<float*, D> gradientPerMm{}; // of the moving image, at T(x)
};

/// Storage for ValidSamples.
template <int D>
struct ValidSampleArrays {
  std::array<std::vector<double>, D> pointMm;
  std::vector<float> fixed, moving;
  std::array<std::vector<float>, D> gradientPerMm;

  void grow(std::size_t capacity);
  /// Arrays from position `offset` on.
  ValidSamples<D> at(std::size_t offset, bool withGradient);
};

struct SampleCount {
  std::size_t asked = 0, valid = 0;
};

/// Takes a batch of positions through the chain and the moving image. A sample counts if T(x) lies in the
/// moving mask and in the moving image, and both intensities are numbers.
template <int D>
class SampleGather {
public:
  /// `gradientMatrix` is applied to every gradient of the moving image.
  void prepareForLevel(const TermLevel<D>& level, const std::optional<Matrix<D>>& gradientMatrix);

  /// Positions [first, last) of a set, at most batchCapacity; `out` has room for as many. Safe to call from
  /// several threads.
  SampleCount gather(const SampleSet<D>&, std::size_t first, std::size_t last, const TransformChain<D>&,
                     const ValidSamples<D>& out) const;

private:
  const Interpolator<D>* interpolator_ = nullptr;
  MaskPointer<D> movingMask_;
  std::optional<Matrix<D>> gradientMatrix_;
};

}
