#pragma once

#include "Core/Image/Slices/ImageSlices.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Interpolation/IndexRow.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"
#include "Core/Registration/Samples/Samples.h"

#include <stdexcept>

namespace tessera {

/// Interpolates the intensities of an image between its voxels, and their gradients in 1/mm.
template <int D>
class Interpolator {
public:
  static constexpr const char* roleName = "Interpolator";
  virtual ~Interpolator() = default;

  /// Reads the level's order and prepares coefficients of the image on the context's device. They are kept
  /// until the next call.
  virtual void prepareForLevel(Context&, const ImagePointer<D>& image, std::size_t level) = 0;

  /// The geometry of the image that it was prepared for.
  virtual const ImageGeometry<D>& imageGeometry() const = 0;

  /// For each sample i: inside[i] = 1 if the continuous index lies in [-0.5, size - 0.5) along every axis,
  /// values[i] and, unless null, gradients[d][i] = d value / d point_d in 1/mm. Where inside is 0, values and
  /// gradients are 0. A call handles one batch on one thread.
  virtual void evaluate(Context&, const ListSamples<D>& points, float* values, float* const* gradients,
                        std::uint8_t* inside) const = 0;

  /// evaluate() without gradients at the indices of a row of voxels under a linear transform. Only the values
  /// of points inside are set. Returns false, with unusable values, if there is no such form, or if a point
  /// lies so near to a border that rounding decides whether it is inside or which voxel is nearest. The
  /// caller must then evaluate points, which have the bits of ITK.
  virtual bool evaluateRow(const IndexRow<D>&, float* /*values*/, RowSpan& /*inside*/) const { return false; }

  /// evaluate() in the form that kernels take, after prepareForLevel on a CUDA device; its pointers are valid
  /// until the next prepareForLevel. Null, before any prepareForLevel too, if the interpolator has no CUDA
  /// form and runs on the CPU alone.
  virtual const InterpolatorOnCuda<D>* onCuda() const { return nullptr; }
  /// Takes the place of onCuda() for an interpolator in the slices of a series, which has no other form.
  virtual const SlicedSeriesOnCuda<D>* slicedSeriesOnCuda() const { return nullptr; }
  /// Whether its coefficients are the image's voxels. Others may then copy the voxels to a device: after
  /// prepareForLevel on the CPU, onCuda() has everything but the voxels.
  virtual bool readsVoxels() const { return false; }
  /// Does the work of prepareForLevel on the CPU, where voxels are read, for an image with only these slices
  /// in memory. Values are those of the whole image if they need no other slice. Callers must not ask for
  /// gradients, or for points that need other slices.
  void prepareForSlices(const ImageSlices<D>& slices) { readInPlace(slices.wholeImage(), slices.geometry); }

  /// How it computes a value at a level, for predictions of time and memory: as a B-spline of this order. 0
  /// is the nearest voxel, 1 is linear, from 2 on it holds coefficients; orderOfLabels is a majority of
  /// labels.
  virtual int order(std::size_t) const { return 1; }

  /// Gives back the memory of a CUDA device that prepareForLevel has taken.
  virtual void endLevel() = 0;

  /// False if it has no gradients (order 0).
  virtual bool hasGradient() const = 0;

  /// Throws Error(usage) with the parameter that leaves some level without gradients.
  virtual void requireGradients() const {}

protected:
  /// `voxels` is where the whole image would begin. They must stay in memory while the interpolator is used.
  virtual void readInPlace(const float* /*voxels*/, const ImageGeometry<D>&)
  {
    throw std::logic_error("slices for an interpolator that does not read voxels");
  }
};

/// The same interface under the role of (ResampleInterpolator ...).
template <int D>
class ResampleInterpolator {
public:
  static constexpr const char* roleName = "ResampleInterpolator";
  explicit ResampleInterpolator(std::unique_ptr<Interpolator<D>> i) : interpolator(std::move(i)) {}

  std::unique_ptr<Interpolator<D>> interpolator;
};

}
