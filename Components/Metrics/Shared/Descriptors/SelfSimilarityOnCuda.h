#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Image.h"
#include "Core/Registration/Terms/ComparisonOnCuda.h"

namespace tessera {

/// A SelfSimilarityDescriptor in the form that kernels take.
template <int D>
struct DescriptorOnCuda {
  const std::uint8_t* values = nullptr;
  std::array<int, D> size{};
  AffineMap<D> indexFromPoint;

  DescriptorOnCuda() = default;
  DescriptorOnCuda(const ImageGeometry<D>& geometry, const Buffer<std::uint8_t>& onCuda)
      : values(onCuda.span().data()), indexFromPoint(geometry.indexFromPoint())
  {
    for (int d = 0; d < D; ++d)
      size[d] = static_cast<int>(geometry.size[d]);
  }
};

/// The summands of SelfSimilarity in a kernel, which SelfSimilarity.cu defines.
template <int D>
class SelfSimilarityOnCuda final : public ComparisonOnCuda<D> {
public:
  SelfSimilarityOnCuda(const ImageGeometry<D>& fixed, Buffer<std::uint8_t>&& ofFixed,
                       const ImageGeometry<D>& moving, Buffer<std::uint8_t>&& ofMoving)
      : fixedValues_(std::move(ofFixed)), movingValues_(std::move(ofMoving)), fixed_(fixed, fixedValues_),
        moving_(moving, movingValues_)
  {
  }

  TESSERA_CUDA_ONLY void compare(Context&, const SamplesOnCuda<D>&, const AffineMap<D>& before,
                                 const std::array<const float*, D>& displacements, const MaskOnCuda<D>&,
                                 const GatherTarget<D>&) const override;

private:
  Buffer<std::uint8_t> fixedValues_, movingValues_;
  DescriptorOnCuda<D> fixed_, moving_;
};

/// The mean of numbers that a ComparisonOnCuda gives, as a formula of pairs of which the second is the
/// number.
class MeanOfSecond {
public:
  struct Sums {
    double sum = 0;

    TESSERA_HOST_DEVICE void add(const Sums& others) { sum += others.sum; }
  };
  struct Table {
    double value = 0, perSample = 0;
  };

  TESSERA_HOST_DEVICE void accumulate(Sums& sums, float, float number) const { sums.sum += number; }
  TESSERA_HOST_DEVICE Table finish(const Sums& sums, std::size_t valid) const
  {
    const double perSample = valid == 0 ? 0 : 1 / static_cast<double>(valid);
    return {perSample * sums.sum, perSample};
  }
  TESSERA_HOST_DEVICE double value(const Table& table) const { return table.value; }
  TESSERA_HOST_DEVICE float slope(const Table& table, float, float) const
  {
    return static_cast<float>(table.perSample);
  }
};

}
