#pragma once

#include "Components/Resamplers/Shared/ResamplingKernels.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineField.h"
#include "Components/Transforms/Shared/OnCuda/CombinationPasses.h"
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/InverseOnCuda.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Chain/OneSplineChain.h"
#include "Core/Registration/Resampler.h"

#include <memory>
#include <optional>

namespace tessera {

/// A moving image on a CUDA device, with the rule for points outside of it.
template <int D>
struct MovingToResample {
  /// The interpolator of the source was prepared on the context's device, or on the host if the source has
  /// slices.
  MovingToResample(const Context& context, const ResampleSource<D>& source, Extrapolation rule, float outside)
      : image(*source.interpolator->onCuda()),
        pointFromIndex(source.interpolator->imageGeometry().pointFromIndex()), extrapolation(rule),
        outsideValue(outside), inSlices(source.inSlices)
  {
    if (!source.valid)
      return;
    validVoxels_ = voxelsOnCuda<D>(context, source.valid);
    valid = MaskOnCuda<D>(*source.valid, *validVoxels_);
  }

  InterpolatorOnCuda<D> image;
  AffineMap<D> pointFromIndex;
  MaskOnCuda<D> valid;
  Extrapolation extrapolation;
  float outsideValue;
  std::shared_ptr<SliceWindowOnCuda<D>> inSlices; // not null: it holds the voxels, and `image` has none

private:
  std::shared_ptr<const Buffer<std::uint8_t>> validVoxels_;
};

/// A chain prepared for the voxels of one lattice on a CUDA device. It resamples any number of moving images.
template <int D>
class ResamplingOnCuda {
public:
  /// Throws Error(device) if the kernels cannot evaluate the chain.
  ResamplingOnCuda(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice);

  /// The way of the kernels, for the log: "one linear map", "a B-spline at each voxel", "a spline of
  /// landmarks to 0.001 mm" or "points in double precision".
  const char* method(const MovingToResample<D>&) const;

  /// Takes the memory that resample() needs for so many slices, as it does itself where it is missing.
  void reserve(Context&, const MovingToResample<D>&, std::size_t slices);
  /// Enqueues the kernels that write the moving image at T(x) to `voxels` on the device, for slices
  /// [first, first + count) of the lattice's last axis, x fastest. A voxel has the same bits whichever slices
  /// one call computes.
  void resample(Context&, const MovingToResample<D>&, std::size_t first, std::size_t count, float* voxels);

private:
  enum class Way { linear, spline, points };
  struct Work {
    Way way = Way::points;
    LatticeToResample<D> lattice;
    IndexMap<D> index{};
    SplineToResample<D> spline;
    RunShape shape;
  };

  /// A link of the chain that is a spline of landmarks, whose points are those of a lattice.
  struct LandmarkField {
    SplineFieldPlan plan;
    int link = 0;
  };

  void holdSpline(Context&);
  void planLandmarks(const TransformChain<D>&, bool counts);
  void resampleByLandmarks(Context&, LatticeToResample<D>, std::size_t first, std::size_t count,
                           float* voxels);
  const double* mapSlices(Context&, std::size_t first, std::size_t count);
  Work workFor(const MovingToResample<D>&) const;

  ImageGeometry<D> lattice_;
  std::unique_ptr<InverseOnCuda<D>> inverse_;         // not null: it maps the voxels
  std::optional<HeldCombination<D>> heldCombination_; // if the chain ends in a combination
  CombinationOnCuda<D> combination_;
  Buffer<double> weights_;  // of the combination
  Buffer<double> mappedMm_; // T(x) of the voxels of a call through the combination
  std::unique_ptr<HeldChainOnCuda<D>> held_;
  ChainOnCuda<D> chain_;
  std::optional<LandmarkField> landmarks_;     // empty: no link of the chain is computed as a field
  std::optional<OneSplineChain<D>> oneSpline_; // empty: all images go by points
  SplineToResample<D> spline_;
  Buffer<float> coefficients_; // coefficients of the B-spline in mm
  double largestMm_ = 0;       // largest magnitude of a coefficient
  RunShape shapeOfSpline_;
  Buffer<unsigned> unsure_;     // LatticeToResample::unsure of a call
  Buffer<float> displacements_; // of the slices of LandmarkField
};

}
