#pragma once

#include "Components/Metrics/Shared/MeanOverSamples.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/Terms/TermOnImages.h"

#include <cmath>

namespace tessera {

/// The foreground of both images at a level.
struct Foreground {
  bool hasValue = true; // or every intensity above the tolerance
  double value = 1;

  TESSERA_HOST_DEVICE bool contains(float intensity) const
  {
    constexpr double tolerance = 1e-3; // elastix's, of intensities
    return hasValue ? std::abs(intensity - value) < tolerance : intensity > tolerance;
  }
};

/// Value and slopes of AdvancedKappaStatistic from the memberships of samples in the foregrounds, as a
/// formula of pairs of which the second is the membership.
class KappaOfMemberships {
public:
  struct Sums {
    double fixed = 0, moving = 0, both = 0; // numbers of samples in the foregrounds

    TESSERA_HOST_DEVICE void add(const Sums& others)
    {
      fixed += others.fixed;
      moving += others.moving;
      both += others.both;
    }
  };
  struct Table {
    double value = 0;
    double ofAll = 0, ofForeground = 0; // by g of each sample; of each in the fixed foreground, in addition
  };

  KappaOfMemberships() = default;
  explicit KappaOfMemberships(bool isComplement) : isComplement_(isComplement) {}

  TESSERA_HOST_DEVICE static float membership(bool isFixed, bool isMoving)
  {
    return static_cast<float>(isFixed) + 2 * static_cast<float>(isMoving);
  }

  TESSERA_HOST_DEVICE void accumulate(Sums& sums, float, float membership) const
  {
    const bool isMoving = membership > 1.5f, isFixed = isInFixed(membership);
    sums.fixed += isFixed;
    sums.moving += isMoving;
    sums.both += isFixed && isMoving;
  }
  TESSERA_HOST_DEVICE Table finish(const Sums& sums, std::size_t) const
  {
    const double sum = sums.fixed + sums.moving, sign = isComplement_ ? 1 : -1;
    if (sum == 0)
      return {};
    const double overlap = 2 * sums.both / sum;
    return {isComplement_ ? 1 - overlap : overlap, sign * overlap / sum, -2 * sign / sum};
  }
  TESSERA_HOST_DEVICE double value(const Table& table) const { return table.value; }
  TESSERA_HOST_DEVICE float slope(const Table& table, float, float membership) const
  {
    return static_cast<float>(table.ofAll + (isInFixed(membership) ? table.ofForeground : 0));
  }

private:
  TESSERA_HOST_DEVICE static bool isInFixed(float membership) { return membership == 1 || membership == 3; }

  bool isComplement_ = true;
};

/// The differences of foregrounds of the moving image, for CPU and kernels.
template <int D>
struct ForegroundEdges {
  const float* voxels = nullptr;
  std::array<int, D> size{};

  ForegroundEdges() = default;
  ForegroundEdges(const float* ofImage, const ImageGeometry<D>& geometry) : voxels(ofImage)
  {
    for (int d = 0; d < D; ++d)
      size[d] = static_cast<int>(geometry.size[d]);
  }

  /// Along each index axis at the voxel nearest to a continuous index; 0 at the border.
  TESSERA_HOST_DEVICE Vec<D> at(const Vec<D>& index, const Foreground& foreground) const
  {
    std::ptrdiff_t offset = 0, stride = 1;
    int voxel[D];
    for (int d = 0; d < D; ++d) {
      const int nearest = static_cast<int>(std::floor(index[d] + 0.5));
      voxel[d] = nearest < 0 ? 0 : nearest >= size[d] ? size[d] - 1 : nearest;
      offset += stride * voxel[d];
      stride *= size[d];
    }
    Vec<D> edges{};
    stride = 1;
    for (int d = 0; d < D; ++d) {
      if (voxel[d] > 0 && voxel[d] + 1 < size[d])
        edges[d] = static_cast<double>(foreground.contains(voxels[offset + stride]))
                   - static_cast<double>(foreground.contains(voxels[offset - stride]));
      stride *= size[d];
    }
    return edges;
  }
};

/// Memberships and edges in a kernel, which AdvancedKappaStatistic.cu defines.
template <int D>
class ForegroundsOnCuda final : public ComparisonOnCuda<D> {
public:
  /// `moving` and the voxels must be those of the level.
  ForegroundsOnCuda(const Foreground& foreground, const InterpolatorOnCuda<D>& moving,
                    const ImageGeometry<D>& geometry, std::shared_ptr<const Buffer<float>> voxels)
      : foreground_(foreground), moving_(moving), voxels_(std::move(voxels)),
        edges_(voxels_->span().data(), geometry)
  {
  }

  TESSERA_CUDA_ONLY void compare(Context&, const SamplesOnCuda<D>&, const AffineMap<D>& before,
                                 const std::array<const float*, D>& displacements, const MaskOnCuda<D>&,
                                 const GatherTarget<D>&) const override;

private:
  Foreground foreground_;
  InterpolatorOnCuda<D> moving_;
  std::shared_ptr<const Buffer<float>> voxels_;
  ForegroundEdges<D> edges_;
};

/// The overlap of the foregrounds of two images, as elastix computes it (Zijdenbos et al., "Morphometric
/// analysis of white matter lesions in MR images", 1994). Of the samples A_f are in the fixed foreground, A_m
/// in the moving one, and I in both; with S = A_f + A_m the value is 1 - 2 I / S. (UseComplement "false")
/// makes it 2 I / S.
///
/// Counts have no derivative. elastix takes this for one, with g = J^T d of a sample:
///
///   -2 / S * (sum of g over the fixed foreground) + 2 I / S^2 * (sum of g over all samples)
///
/// Along each index axis of the moving image d is 1 at the nearest voxel if the next voxel is in the
/// foreground and the one before is not, -1 if it is the other way round, and else 0. Spacing and direction
/// of the image do not enter. SoftDice has a true derivative.
template <int D>
class AdvancedKappaStatistic final : public TermOnImages<D> {
public:
  explicit AdvancedKappaStatistic(const Parameters& parameters)
      : TermOnImages<D>(parameters), parameters_(parameters)
  {
  }

  static const ComponentDescription& description();

  std::string whyNotOnCuda() const override { return ""; }
  void prepareForLevel(Context&, const TermLevel<D>&) override;

private:
  using TermOnImages<D>::level_;
  using TermOnImages<D>::onCuda_;

  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void prepareOnCuda(Context&);

  Parameters parameters_;
  Foreground foreground_; // at this level
  KappaOfMemberships formula_;
  ChainAtParameters<D> chain_;
  MeanOverSamples<D> mean_;
};

}
