#pragma once

#include "Components/Metrics/Shared/JetPenaltyOnCuda.h"
#include "Components/Metrics/Shared/MeanOverSamples.h"
#include "Components/Transforms/Shared/ExactBendingEnergy.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/TermMemory.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

#include <optional>

namespace tessera {

/// Bending energy of the whole chain at the sampler's points: mean over samples of sum_k |d^2 T_k / dx
/// dx^T|^2 (Frobenius norm), in mm. Rueckert et al., "Nonrigid registration using free-form deformations",
/// 1999, eq. 4. Samples that map outside the moving mask are left out; the extent of the moving image does
/// not matter. The mean is a quadratic form of the coefficients, and no sample is visited, if the samples are
/// a lattice of voxels along the axes of a cubic B-spline, no other transform of the chain has second
/// derivatives, and no mask leaves out a sample.
///
/// With (BendingEnergyUnit "Voxel") displacements and positions are measured in voxels of the level's fixed
/// image, s^2 times the energy in mm, where s is the geometric mean of the spacing. Without it a weight that
/// suits a man's head is 50 times too small for a mouse's.
///
/// (BendingEnergyIntegration "Exact") takes the energy of the chain's last transform alone, which must be a
/// B-spline, and no samples or masks. It is the mean over the region between the first and last voxel centres
/// of the fixed level's image, as far as the region lies in the grid's valid region. If the B-spline is
/// composed with a transform before it, the mean is over the whole valid region.
template <int D>
class TransformBendingEnergyPenalty final : public CostTerm<D>,
                                            public TermTellsMemory,
                                            private TermOnCuda<D> {
public:
  explicit TransformBendingEnergyPenalty(const Parameters&);

  static const ComponentDescription& description();

  bool needsSampler() const override { return !isExact_; }
  void checkTransform(const Transform<D>&) const override;
  std::string whyNotOnCuda() const override { return ""; }
  double hostBytes(const TermExtent&) const override;
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override;
  TermOnCuda<D>* onCuda() override;

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters,
               std::span<double> gradient) override;
  bool isApart() const override { return exact_.has_value(); }
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override;
  void prepareExact(const Context&);
  ExactBendingEnergy<D>* closedForm(const SampleSet<D>&);
  void toUnit(const Context& vectors, std::span<double> gradient) const;
  std::optional<ExactBendingEnergy<D>> overVoxels(const VoxelLattice<D>&) const;

  Parameters parameters_;
  ValidSampleRule validSampleRule_;
  bool isExact_, isInVoxels_;
  /// The energy in the unit asked for is the energy in 1/mm^2 times this: 1, or the square of the level's
  /// mean spacing (mm, geometric mean of the axes).
  double squareMmOfUnit_ = 1;
  TermLevel<D> level_;
  std::optional<ExactBendingEnergy<D>> exact_;
  std::optional<ExactBendingEnergy<D>> overVoxels_; // for `voxels_`, if these have a closed form
  std::optional<VoxelLattice<D>> voxels_;
  Buffer<double> closedValue_; // used on a CUDA device
  PinnedValues<double> closedValueFound_;
  /// The positions of the samples enqueued last, if they had a closed form.
  std::optional<std::size_t> closedPositions_;
  std::unique_ptr<JetPenaltyOnCuda<D>> onCuda_; // null: on the CPU

  // These are kept only to avoid new allocations in each evaluation.
  ChainAtParameters<D> chain_;
  MeanOverSamples<D> mean_;
};

}
