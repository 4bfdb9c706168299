#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/OptimizableTransform.h"

#include <array>
#include <vector>

namespace tessera {

/// Which images are used, if they are named.
struct RigidityImagesUsed {
  bool fixed = true, moving = true;
};

/// How rigid tissue is at the control points of a B-spline grid: the values of images in the spaces of the
/// fixed and of the moving image, at the nearest voxel and 0 outside of an image. Of two images the larger
/// value counts.
template <int D>
class RigidityImages {
public:
  static std::vector<ParameterInfo> parameters();

  /// Warns of a file that does not exist: a parameter file may be checked where its images are not.
  RigidityImages(const Parameters&, RigidityImagesUsed);

  /// Reads the images and dilates them by the spacing of this level's grid, as the parameters say. Throws
  /// Error(unreadableInput), and Error(usage) for negative values.
  void prepareForLevel(const Context&, std::size_t level, const BSplineGrid<D>&, const ReadingOptions&);

  bool hasMoving() const { return moving_.original != nullptr; }
  /// The values that do not change with the transform: those of the fixed image, 0 if there is a moving one
  /// alone, and 1 if there is none.
  const std::vector<double>& fixedValues() const { return fixedValues_; }
  /// The level's moving image, null if there is none.
  const ImagePointer<D>& moving() const { return moving_.ofLevel; }
  /// Writes the larger of fixedValues() and the moving image at T(control point).
  void atControlPoints(Context&, const OptimizableTransform<D>&, std::span<const double> parameters,
                       std::span<double> values) const;

private:
  struct Side {
    std::string path;                  // empty: no image
    ImagePointer<D> original, ofLevel; // null: no image
    Image<D> dilated(const std::array<std::size_t, D>& radius) const;
  };

  Parameters parameters_;
  Side fixed_, moving_;
  std::array<std::vector<double>, D> pointsMm_; // of the grid, if there is a moving image
  std::vector<double> fixedValues_;
};

}
