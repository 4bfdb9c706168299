#pragma once

#include "Core/Image/Filters/FilteredImage.h"

#include <vector>

namespace tessera {

/// Images of pyramids that runs on the same context share, so that each is computed once. On a CUDA device
/// those stay there, too, that take at most a sixteenth of its free memory.
template <int D>
class FilteredImages {
public:
  /// filteredImage(), or what an earlier call for the same image and steps returned.
  ImagePointer<D> of(Context&, const ImagePointer<D>& original, const std::vector<FilterStep<D>>& steps,
                     HeldOnCuda* held, HeldOnCuda* originals);
  /// Forgets the images that were made of others than these.
  void keepOnly(const std::vector<ImagePointer<D>>& originals);

private:
  struct Made {
    const Stream* stream;
    ImagePointer<D> original;
    std::vector<FilterStep<D>> steps;
    ImagePointer<D> image;
    HeldOnCuda onCuda;
  };
  std::vector<Made> made_;
};

}
