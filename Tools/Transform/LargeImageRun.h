#pragma once

#include "Core/Compute/ErrorContext.h"
#include "Core/Image/Slices/SliceReader.h"
#include "Tools/Transform/LargeImage.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace tessera {

/// What goes the same way on every device where an image is read while it is resampled.
template <int D>
class LargeImageRun {
public:
  /// Both must outlive this. Throws as openInSlices.
  LargeImageRun(const ImageBatch<D>&, const LargeImage&);

protected:
  /// Its file, once more.
  SliceReader<D> opened() const;

  /// By the clock, and with the option in errors.
  template <class Action>
  void read(Action&& action)
  {
    const auto start = std::chrono::steady_clock::now();
    withContext(large_.task.option, action);
    report_.readSeconds += secondsSince(start);
  }

  /// Throws Error(outOfMemory): the image must be there as a whole, for `it cannot be read in slices: ...`.
  [[noreturn]] void failAsAWhole(const std::string& whyNotInSlices) const;

  /// Writes the result, so many slices at a time, and is the end of it; bring(slab) comes before each of
  /// them. The log tells the number of slabs with `ofImage` behind it.
  LargeImageReport written(std::span<const ResampleSource<D>>, std::size_t slicesAtOnce,
                           const std::string& ofImage,
                           const std::function<void(const SliceRange& slab)>& bring);

  std::size_t allSlices() const { return batch_.lattice.size[D - 1]; }
  double resultSliceBytes() const { return large_.resultBytes / static_cast<double>(allSlices()); }

  const ImageBatch<D>& batch_;
  const LargeImage& large_;
  const int threads_; // that may read and write
  SliceReader<D> reader_;
  const ImageGeometry<D> geometry_; // of the image, as it is resampled

private:
  LargeImageReport report_;
};

}
