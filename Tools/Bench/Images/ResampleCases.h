#pragma once

#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchReport.h"

#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera {

Parameters benchParameters(const std::string& text, const std::string& label, int dimension,
                           std::size_t levels = 1);

/// Calls `visit` for each size of two or three axes.
template <class Visit>
void forEachSize(const std::vector<std::vector<std::size_t>>& sizes, const Visit& visit)
{
  for (const auto& extents : sizes)
    if (extents.size() == 2)
      visit(std::integral_constant<int, 2>(), Size<2>{extents[0], extents[1]});
    else
      visit(std::integral_constant<int, 3>(), Size<3>{extents[0], extents[1], extents[2]});
}

/// A grid with voxels of 0.8 x 0.8 (x 1.1) mm.
template <int D>
ImageGeometry<D> benchGrid(const Size<D>&);

constexpr double intensityRange = 1000; // the range of benchImage

/// The differences between Tessera's voxels and ITK's, relative to the intensity range.
struct Agreement {
  static constexpr float outsideValue = -10000; // no voxel of benchImage has it
  double squares = 0, largest = 0;
  std::size_t inBoth = 0, mismatches = 0; // of voxels with outsideValue in one alone, or with others at all

  void add(std::span<const float> ours, const float* itk, bool countDifferent = false);
  void addTo(BenchResult&) const;
};

/// An image with intensities from 0 to intensityRange: waves within an ellipsoid with a sharp border, on a
/// background of noise.
template <int D>
ImagePointer<D> benchImage(const Context&, const ImageGeometry<D>&);

/// The composition of transforms named by the letters of `word`, the last one applied first: T translation, E
/// Euler, S similarity, A affine, each by some degrees, per cent or voxels about the grid's centre; B a cubic
/// B-spline with control points so many voxels apart and displacements of up to about 0.3 of that. Throws
/// Error(usage) for other letters and for more than 8.
template <int D>
ChainPointer<D> benchChain(const Registry&, const std::string& word, const ImagePointer<D>& fixed,
                           double controlPointVoxels = 10);

/// The transforms of a chain in the order of ITK's composites: the last one is applied first.
template <int D>
std::vector<ItkTransform> itkTransformsOf(const TransformChain<D>&);

}
