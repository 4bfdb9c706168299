#pragma once

#include "Core/Registration/CostTerm.h"

#include <optional>

namespace tessera {

/// Arrays that receive the samples of a batch that count. Null gradients are not computed.
template <int D>
struct ValidSamples {
  /// The points at which the last transform is evaluated: T0(x) if it is composed with the ones before, else
  /// x.
  PointsOut<D> pointMm{};
  float* fixed = nullptr;
  float* moving = nullptr;
  std::array<float*, D> gradientPerMm{}; // gradient of the moving image at T(x)
};

/// Storage for ValidSamples.
template <int D>
struct ValidSampleArrays {
  std::array<std::vector<double>, D> pointMm;
  std::vector<float> fixed, moving;
  std::array<std::vector<float>, D> gradientPerMm;

  void grow(std::size_t capacity);
  /// The arrays from position `offset` on.
  ValidSamples<D> at(std::size_t offset, bool withGradient);
};

/// Multiplies gradients [first, last) by a matrix.
template <int D>
void multiplyGradients(const Matrix<D>& matrix, const std::array<float*, D>& gradient, std::size_t first,
                       std::size_t last);

struct SampleCount {
  std::size_t asked = 0, valid = 0;

  SampleCount& operator+=(const SampleCount& other)
  {
    asked += other.asked;
    valid += other.valid;
    return *this;
  }
};

/// Takes batches of positions through the chain and the moving image. A sample counts if T(x) lies in the
/// moving mask and in the moving image, and if both intensities are numbers.
template <int D>
class SampleGather {
public:
  /// `gradientMatrix` is multiplied with every gradient of the moving image.
  void prepareForLevel(const TermLevel<D>& level, const std::optional<Matrix<D>>& gradientMatrix)
  {
    interpolator_ = level.interpolator;
    movingMask_ = level.movingMask;
    gradientMatrix_ = gradientMatrix;
  }

  /// Gathers positions [first, last) of a set, at most batchCapacity; `out` has room for as many. Several
  /// threads may call it at the same time.
  SampleCount gather(const SampleSet<D>&, std::size_t first, std::size_t last, const TransformChain<D>&,
                     const ValidSamples<D>& out) const;

private:
  const Interpolator<D>* interpolator_ = nullptr;
  MaskPointer<D> movingMask_;
  std::optional<Matrix<D>> gradientMatrix_;
};

}
