#pragma once

#include "Core/Compute/ErrorContext.h"
#include "Core/Image/Slices/LayerReader.h"
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
  /// Both must outlive this. Throws as openInLayers.
  LargeImageRun(const ImageBatch<D>&, const LargeImage&);

protected:
  /// Its file, once more.
  LayerReader<D> opened() const;

  /// By the clock, and with the option in errors.
  template <class Action>
  void read(Action&& action)
  {
    const auto start = std::chrono::steady_clock::now();
    withContext(large_.task.option, action);
    report_.readSeconds += secondsSince(start);
  }

  /// Throws Error(outOfMemory): the image must be there as a whole, for `it cannot be read in layers: ...`.
  [[noreturn]] void failAsAWhole(const std::string& whyNotInLayers) const;

  /// Writes the result, so many layers at a time, and is the end of it; bring(slab) comes before each of
  /// them. The log tells the number of slabs with `ofImage` behind it.
  LargeImageReport written(std::span<const ResampleSource<D>>, std::size_t layersAtOnce,
                           const std::string& ofImage,
                           const std::function<void(const LayerRange& slab)>& bring);

  std::size_t allLayers() const { return batch_.lattice.size[D - 1]; }
  double resultLayerBytes() const { return large_.resultBytes / static_cast<double>(allLayers()); }

  const ImageBatch<D>& batch_;
  const LargeImage& large_;
  const int threads_; // that may read and write
  LayerReader<D> reader_;
  const ImageGeometry<D> geometry_; // of the image, as it is resampled

private:
  LargeImageReport report_;
};

}
