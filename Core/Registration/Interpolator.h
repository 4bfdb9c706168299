#pragma once

#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"
#include "Core/Registration/Samples/Samples.h"

namespace tessera {

/// Intensities, and their gradients in mm, of an image between its voxels.
template <int D>
class Interpolator {
public:
  static constexpr const char* roleName = "Interpolator";
  virtual ~Interpolator() = default;

  /// Reads the level's order, and prepares coefficients of the image (kept until the next call), on the
  /// context's device.
  virtual void prepareForLevel(Context&, const ImagePointer<D>& image, std::size_t level) = 0;

  /// Of the image that it was prepared for.
  virtual const ImageGeometry<D>& imageGeometry() const = 0;

  /// Per sample: inside[i] = 1 if the continuous index lies in [-0.5, size - 0.5) on every axis, values[i]
  /// and, unless null, gradients[d][i] = d value / d point_d in 1/mm. Where inside is 0 the others are 0. One
  /// batch, one thread.
  virtual void evaluate(Context&, const ListSamples<D>& points, float* values, float* const* gradients,
                        std::uint8_t* inside) const = 0;

  /// The same for kernels. Only after a prepareForLevel on a CUDA device; pointers live until the next one.
  virtual InterpolatorOnCuda<D> onCuda() const = 0;
  /// Whether its coefficients are the image's voxels, which others may then bring to a device: onCuda() after
  /// a prepareForLevel on the CPU has all but these.
  virtual bool readsVoxels() const { return false; }

  /// What prepareForLevel takes of a CUDA device: a float a voxel, intensities or coefficients.
  static double deviceBytes(const ImageGeometry<D>& image)
  {
    return static_cast<double>(image.voxelCount()) * sizeof(float);
  }
  /// Gives that back.
  virtual void endLevel() = 0;

  /// False if it cannot give gradients (order 0).
  virtual bool hasGradient() const = 0;

  /// Throws Error(usage) naming the parameter that leaves some level without gradients.
  virtual void requireGradients() const {}
};

/// The same interface under the role of parameter files' ResampleInterpolator.
template <int D>
class ResampleInterpolator {
public:
  static constexpr const char* roleName = "ResampleInterpolator";
  explicit ResampleInterpolator(std::unique_ptr<Interpolator<D>> i) : interpolator(std::move(i)) {}

  std::unique_ptr<Interpolator<D>> interpolator;
};

}
