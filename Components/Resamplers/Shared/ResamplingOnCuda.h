#pragma once

#include "Components/Resamplers/Shared/OneSplineChain.h"
#include "Components/Resamplers/Shared/ResamplingKernels.h"
#include "Core/Compute/Buffer.h"
#include "Core/Registration/Chain/HeldChainOnCuda.h"
#include "Core/Registration/Resampler.h"

#include <memory>
#include <optional>

namespace tessera {

/// A moving image on a CUDA device, and what stands for it where T(x) is outside of it.
template <int D>
struct MovingToResample {
  /// The source's interpolator was prepared on the context's device, unless the image comes in slices.
  MovingToResample(const Context&, const ResampleSource<D>&, Extrapolation, float outsideValue);

  InterpolatorOnCuda<D> image;
  AffineMap<D> pointFromIndex;
  MaskOnCuda<D> valid;
  Extrapolation extrapolation;
  float outsideValue;
  std::shared_ptr<SliceWindowOnCuda<D>> inSlices; // whose voxels `image` lacks

private:
  std::shared_ptr<const Buffer<std::uint8_t>> validVoxels_;
};

/// A chain made ready for the voxels of one lattice, on a CUDA device; for any number of moving images.
template <int D>
class ResamplingOnCuda {
public:
  /// Throws Error(device) if kernels cannot evaluate the chain.
  ResamplingOnCuda(Context&, const TransformChain<D>&, const ImageGeometry<D>& lattice);

  /// What it takes of the device.
  static double deviceBytes(const TransformChain<D>&);

  /// How kernels go about it, for the log: "one linear map", "tiles of a B-spline", "a B-spline at each
  /// voxel", "points in double precision".
  const char* method(const MovingToResample<D>&) const;

  /// The moving image at T(x) for slices [first, first + count) of the lattice's last axis, x fastest, into
  /// `voxels` on the device. Only gives work to the context's stream. The same bits whichever slices are
  /// asked for at once.
  void resample(Context&, const MovingToResample<D>&, std::size_t first, std::size_t count,
                float* voxels) const;

private:
  enum class Way { linear, tiles, spline, points };
  struct Work {
    Way way = Way::points;
    LatticeToResample<D> lattice;
    IndexMap<D> index{};
    SplineToResample<D> spline;
    RunShape shape;
  };

  void holdSpline(Context&);
  void holdTiles(Context&, const AlignedField<D>&);
  Work workFor(const MovingToResample<D>&) const;

  ImageGeometry<D> lattice_;
  std::shared_ptr<HeldChainOnCuda<D>> held_;
  Buffer<double> parameters_; // of the last transform
  ChainOnCuda<D> chain_;
  std::optional<OneSplineChain<D>> oneSpline_; // nothing: points
  SplineToResample<D> spline_;
  Buffer<float> coefficients_;        // of its B-spline, if that is asked for at each voxel
  double largestMm_ = 0;              // of them
  Buffer<SplinePoint> displacements_; // the same, if tiles are the way
  Buffer<SplineVoxel> splineVoxels_;  // of all axes of the lattice, if tiles are
  RunShape shapeOfSpline_;
};

}
