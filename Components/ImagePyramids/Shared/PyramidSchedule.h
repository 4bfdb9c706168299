#pragma once

#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/FilteredImage.h"
#include "Core/Image/Filters/Shrink.h"
#include "Core/Image/Image.h"
#include "Core/Image/ImageSide.h"
#include "Core/Parameters/Parameters.h"

#include <string>
#include <vector>

namespace tessera {

/// One value for each axis and level, from coarse to fine.
template <int D, class T>
using Schedule = std::vector<std::array<T, D>>;

/// "Fixed" or "Moving".
std::string sideName(ImageSide);

/// The role, name and alias of a pyramid for one side. The alias is the side's own name, such as
/// "FixedSmoothingImagePyramid".
ComponentDescription pyramidDescription(ImageSide, const std::string& name, const std::string& summary,
                                        std::vector<ParameterInfo>);

/// A sentence for pyramids that shrink as itk::ShrinkImageFilter does.
inline constexpr const char* shiftOfEvenSizes = "Where a size is even and the factor is, too, a level lies "
                                                "half a voxel of the finer one beside its place, "
                                                "as in elastix (decision 0007).";

/// The result of describe(side), computed once.
template <class Describe>
const ComponentDescription& descriptionOf(ImageSide side, Describe describe)
{
  static const ComponentDescription fixed = describe(ImageSide::fixed), moving = describe(ImageSide::moving);
  return side == ImageSide::fixed ? fixed : moving;
}

/// Rows for a schedule of whole factors, in the order in which they are read; a later one replaces earlier
/// ones, entry by entry. They are `shared`, `shared` after the side's name and, under the component's label,
/// "Schedule".
std::vector<Parameter<double>> factorRows(ImageSide);
/// The description of a pyramid without other parameters.
ComponentDescription factorPyramidDescription(ImageSide, const std::string& name, const std::string& summary);
/// The names of the generic pyramid's own schedules, which have no label.
std::vector<Parameter<double>> rescaleRows(ImageSide);
std::vector<Parameter<double>> sigmaRows(ImageSide);

/// The entries level * D + axis of the first levels. Empty if an entry is missing, with a warning if others
/// were given. Throws Error(usage) for negative entries.
template <int D>
Schedule<D, double> readSchedule(const Parameters&, const std::vector<Parameter<double>>& rows);

enum class FactorRule {
  free,       // any factor; 0: no smoothing along the axis
  decreasing, // each at least 1 and at most the factor of the level before, as
              // itk::MultiResolutionPyramidImageFilter takes them
};

/// Whole factors, or 2^(levels - 1 - level) if the text has no full schedule. A fraction is cut off with a
/// warning, as in elastix.
template <int D>
Schedule<D, std::size_t> readFactors(const Parameters&, const std::vector<Parameter<double>>& rows,
                                     FactorRule);

template <int D>
Vec<D> factorsAsVec(const Size<D>& factors);

/// The step that takes every f-th voxel along each axis, f its factor, as itk::ShrinkImageFilter does.
template <int D>
FilterStep<D> stepTakingVoxels(const ImageGeometry<D>& original, const Size<D>& factors)
{
  const ShrunkGrid<D> grid = shrunkGrid<D>(original, factors);
  FilterStep<D> step;
  step.geometry = grid.geometry;
  for (int d = 0; d < D; ++d)
    step.taps[d] = smoothingTaps(0, grid.firstVoxel[d], factors[d], grid.geometry.size[d]);
  return step;
}

}
