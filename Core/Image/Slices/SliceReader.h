#pragma once

#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/ImageGeometry.h"
#include "Core/Image/Voxels/LabelTable.h"
#include "Core/Image/Voxels/StoredVoxels.h"
#include "Core/Image/Voxels/VoxelRanges.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// How the voxels of a file are read: as intensities, like readImage but with one image for each component of
/// vectors; as components, one image for each, of colours, too; or as labels, like readLabelImage.
enum class VoxelsAs { intensities, components, labels };

/// The part of SliceReader that does not depend on the dimension; it is compiled once.
class SliceSource {
public:
  const ImageHeader& header() const { return source_->header(); }
  std::size_t imageCount() const { return imageCount_; }

  /// Why the file cannot be read in slices; empty if it can.
  std::string whyNot() const;

  /// Must be called before the first read(), if whyNot() is empty. Whether there are voxels that are not
  /// finite, or labels that floats cannot hold, changes the result in all slices: a file that may have such
  /// voxels is read once to find them. Throws Error(unreadableInput).
  void survey(int threads);

  /// In place of survey(), for a caller that looks at all voxels itself: found() takes its counts if
  /// needsCounts(), else VoxelCounts{}. Throws Error(unreadableInput).
  bool needsCounts() const;
  /// Whether the pixel type and the scaling allow voxels that are not finite.
  bool mayBeNonFinite() const;
  void found(const VoxelCounts&);

  /// Bytes of memory for streams that are inflated side by side.
  double besideBytes() const
  {
    const VoxelPlace& place = *source_->place();
    return place.apart && place.encoding != FileEncoding::plain
               ? static_cast<double>(components()) * voxelRangesBytes
               : 0;
  }
  /// Memory of number() for each voxel.
  std::size_t numberingBytes() const
  {
    return (scaling().isScaled() ? 2 : 1) * pixelTypeSize(labels_->type()); // bytes of a label in the table
  }
  std::size_t nonFiniteVoxels() const { return nonFinite_; }          // at least one component is not finite
  const std::optional<LabelTable>& labels() const { return labels_; } // for labels; number() fills it
  bool isNumbered() const { return labels_ && labels_->isNumbered(); }
  const std::vector<std::string>& notes() const { return notes_; }

  /// Fills images[i] with the voxels of these slices. Where a voxel is not finite it is 0 and finite[voxel]
  /// is 0, else finite[voxel] is 1. `finite` is not used if all voxels of the file are finite. Not for labels
  /// that are numbered. Throws Error(unreadableInput).
  void read(std::size_t firstSlice, std::size_t sliceCount, std::span<float* const> images,
            std::uint8_t* finite, int threads);

  /// Reads any voxels in the type of the file, in the order of layout(voxelCount). `to` is aligned for the
  /// type.
  void readStored(std::size_t firstVoxel, std::size_t voxelCount, std::byte* to, int threads);
  StoredLayout layout(std::size_t voxelCount) const;
  /// Whether the file has all voxels of one component before those of the next, and each component is an
  /// image. Such a file is read only once if the components are read one after the other.
  bool isComponentwise() const { return source_->place()->apart && !isLuminance(); }
  /// readStored for one component of such a file; its values lie one after the other. Must not be mixed with
  /// readStored.
  void readComponent(std::size_t component, std::size_t firstVoxel, std::size_t voxelCount, std::byte* to,
                     int threads);
  /// Numbers labels that readStored has read, and fills `image` with the numbers and `finite`. labels() has
  /// these labels until the next call.
  void number(const std::byte* stored, std::size_t voxelCount, float* image, std::uint8_t* finite,
              int threads);

  /// Must be called after the last slice. Throws Error(unreadableInput) if a compressed file is damaged in a
  /// part that was not read.
  void finish(int threads)
  {
    if (!isWhole_)
      ranges_.back()->finish(threads); // the last component's is the furthest
    isWhole_ = true;
  }

protected:
  explicit SliceSource(std::unique_ptr<ImageSource> source) : source_(std::move(source)) {}
  ~SliceSource() = default;
  SliceSource(SliceSource&&) = default;
  void begin(VoxelsAs as, double outside, std::size_t slices);

private:
  template <class T, class Body>
  void forEachStage(std::size_t firstVoxel, std::size_t endVoxel, int threads, Body&& body);
  template <class T>
  VoxelCounts counted(int threads);
  template <class T>
  void readValues(std::size_t firstVoxel, std::span<T> out, int threads);
  template <class T>
  void readValues(VoxelRanges&, std::size_t component, std::size_t firstVoxel, std::span<T> out, int threads);
  void setAsideNonFinite(std::span<float* const> images, std::size_t first, std::size_t last,
                         std::uint8_t* finite) const;
  void open();

  std::size_t components() const { return static_cast<std::size_t>(header().components); }
  std::size_t voxelCount() const { return header().voxelCount(); }
  bool isLuminance() const { return components() > imageCount_; }
  const ValueScaling& scaling() const { return source_->place()->scaling; }

  std::unique_ptr<ImageSource> source_;
  std::size_t imageCount_ = 1, slices_ = 1, nonFinite_ = 0;
  bool isWhole_ = false; // the file was read to its end
  std::optional<LabelTable> labels_;
  std::vector<std::string> notes_;
  std::vector<std::unique_ptr<VoxelRanges>> ranges_; // one, or one for each component if they lie apart
  std::unique_ptr<std::byte[]> stage_; // values in the type of the file before they are converted
};

/// Reads some slices of an image file at a time as floats, with the same result as if the whole file were
/// read.
template <int D>
class SliceReader : public SliceSource {
public:
  /// Reads the header. `outside` is the value of voxels outside a label map. Throws as readImage or
  /// readLabelImage.
  SliceReader(const std::string& path, const ReadingOptions& reading, VoxelsAs as, double outside = 0)
      : SliceSource(openImage(path, reading)), geometry_(geometryOf<D>(header()))
  {
    begin(as, outside, geometry_.size[D - 1]);
  }

  /// The grid of the file.
  const ImageGeometry<D>& geometry() const { return geometry_; }

private:
  ImageGeometry<D> geometry_;
};

}
