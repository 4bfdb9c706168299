#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

namespace tessera {

/// How a moving image fits under a transform, at points of the coarsest level.
struct FitOfImages {
  double overlap = 0;     // share of the points that map into the moving image (and mask)
  double correlation = 0; // of the intensities there; 0 without contrast
  double folded = 0;      // share of the points where the determinant of the spatial Jacobian is not above 0
  double meanDisplacementMm = 0, largestDisplacementMm = 0;
  /// The motion that is left, as the intensities show it: the displacement that nine of ten blocks of the
  /// image do not exceed, and that of an affine motion of all of them, as root mean squares.
  double leftMm = 0, leftAffineMm = 0;
};

/// The fixed side of such looks: points, intensities and their gradients. What is left to move is found block
/// by block, in one step of Lucas and Kanade ("An iterative image registration technique", 1981), with the
/// moving intensities scaled to those of the block, so that images of different contrast may be compared.
template <int D>
class FixedLook {
public:
  /// `fixed` is the coarsest level of the fixed image; a null mask is none.
  FixedLook(const Registry&, const ImagePointer<D>& fixed, const MaskPointer<D>&, const Context&);

  /// Null stands for no transform, and for no mask.
  FitOfImages at(const TransformChain<D>*, const ImagePointer<D>& moving, const MaskPointer<D>&,
                 const Context&) const;

  /// The affine motion from one chain to another, as the root mean square over the image.
  double affineBetweenMm(const TransformChain<D>& from, const TransformChain<D>& to, const Context&) const;

private:
  struct Sample {
    Vec<D> pointMm, gradient; // the gradient of the intensity, 1/mm
    float fixed = 0;
    std::size_t block = 0;
  };

  /// Brings the samples into the order of their blocks.
  void setBlocks(const ImageGeometry<D>&);
  void findWhatIsLeft(const std::vector<float>& moving, const std::vector<std::uint8_t>& inside,
                      const Context&, FitOfImages&) const;

  const Registry& registry_;
  std::vector<Sample> samples_;           // block by block
  std::vector<std::size_t> firstOfBlock_; // and the number of all samples
};

}
