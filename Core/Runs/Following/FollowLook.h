#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <deque>

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
  FixedLook(const Registry&, const ImagePointer<D>& fixed, const MaskPointer<D>&);

  /// Null stands for no transform.
  FitOfImages at(const ChainPointer<D>&, const ImagePointer<D>& moving, const Context&);

  /// Later looks subtract the displacements that the last look found. A caller keeps them when all levels
  /// have run and could not remove them, so that they are no motion.
  void keepRest() { rest_ = left_; }

  /// The affine motion from one chain to another, as the root mean square over the image.
  double affineBetweenMm(const ChainPointer<D>& from, const ChainPointer<D>& to, const Context&);

private:
  struct Sample {
    Vec<D> pointMm, gradient; // the gradient of the intensity, 1/mm
    float fixed = 0;
    std::size_t block = 0;
  };

  /// The samples through a chain.
  struct Mapped {
    ChainPointer<D> chain;
    std::array<std::vector<double>, D> mm;
    double folded = 0; // share of the samples
  };

  std::shared_ptr<const Mapped> mappedBy(const ChainPointer<D>&, const Context&);
  void findWhatIsLeft(const Context&, FitOfImages&);

  const Registry& registry_;
  std::vector<Vec<D>> left_, rest_;       // mm, of each block: what the last look found; what keepRest() kept
  std::vector<Sample> samples_;           // block by block
  std::vector<std::size_t> firstOfBlock_; // and the number of all samples
  std::deque<std::shared_ptr<Mapped>> mapped_; // by the chains that were looked at last
  std::vector<float> values_;                  // of the last look, and whether they are inside
  std::vector<std::uint8_t> inside_;
};

}
