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

/// As what the voxels of a file are read: intensities as by readImage, and each component of vectors as an
/// image of its own; or labels as by readLabelImage.
enum class VoxelsAs { intensities, labels };

/// An image file of which some slices of the last axis at a time become floats: the same as if all of it were
/// read.
template <int D>
class SliceReader {
public:
  /// Reads the header. `outside` is the value of voxels for which there will be no label. Errors as
  /// readImage, or as readLabelImage.
  SliceReader(const std::string& path, VoxelsAs as, double outside = 0);

  const ImageHeader& header() const { return source_->header(); }
  /// As in the file.
  const ImageGeometry<D>& geometry() const { return geometry_; }
  std::size_t imageCount() const { return imageCount_; }

  /// Why the file cannot be read so: "its voxels are scaled, ..."; empty if it can.
  std::string whyNot() const;

  /// To be called before the first read(), of files that can be read so. What the slices share stands in all
  /// of the file: a file that may hold what is no number or what floats do not hold is read once for it.
  /// Throws Error(unreadableInput).
  void survey(int threads);

  /// Whether survey() reads the file, and what takes its place where others have seen all voxels: found() is
  /// then to be given what there is of them, else VoxelCounts{}. Throws Error(unreadableInput).
  bool needsCounts() const;
  /// Whether there may be a voxel that is no finite number, by the types and the scaling of its numbers.
  bool mayBeNonFinite() const;
  void found(const VoxelCounts&);

  /// Bytes that reading takes beside what it fills and its pieces on their way: by streams that are inflated
  /// side by side.
  double besideBytes() const;
  std::size_t numberingBytes() const;                        // that number() takes for each voxel
  std::size_t nonFiniteVoxels() const { return nonFinite_; } // a voxel is as finite as each of its components
  const std::optional<LabelTable>& labels() const { return labels_; } // of labels; filled by number()
  bool isNumbered() const { return labels_ && labels_->isNumbered(); }
  const std::vector<std::string>& notes() const { return notes_; }

  /// Fills images[i] with the voxels of those slices: what is not finite is 0 and finite[voxel] 0, others 1.
  /// `finite` is not touched if all of the file's voxels are. Not for labels that are numbered. Throws
  /// Error(unreadableInput).
  void read(std::size_t firstSlice, std::size_t sliceCount, std::span<float* const> images,
            std::uint8_t* finite, int threads);

  /// The same as the file holds them, of any voxels: layout(voxelCount) tells how. `to` is aligned for them.
  void readStored(std::size_t firstVoxel, std::size_t voxelCount, std::byte* to, int threads);
  StoredLayout layout(std::size_t voxelCount) const;
  /// Whether the file holds all of a component before the next one, and each is an image: then a reader that
  /// takes one after the other goes through the file once.
  bool isComponentwise() const { return source_->place()->apart && !isLuminance(); }
  /// As readStored, of one component of such a file, whose values then lie one after the other. Not beside
  /// readStored.
  void readComponent(std::size_t component, std::size_t firstVoxel, std::size_t voxelCount, std::byte* to,
                     int threads);
  /// Fills image and `finite` with the numbers of such values of labels that are numbered. Until the next
  /// call labels() has the labels among them.
  void number(const std::byte* stored, std::size_t voxelCount, float* image, std::uint8_t* finite,
              int threads);

  /// After the last slice: throws Error(unreadableInput) if a compressed file is damaged where it was not
  /// asked for.
  void finish(int threads);

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
  std::size_t voxelCount() const { return geometry_.voxelCount(); }
  bool isLuminance() const { return components() > imageCount_; }
  const ValueScaling& scaling() const { return source_->place()->scaling; }

  std::unique_ptr<ImageSource> source_;
  ImageGeometry<D> geometry_;
  std::size_t imageCount_ = 1, nonFinite_ = 0;
  bool isWhole_ = false; // as far as is known: all of the file was read
  std::optional<LabelTable> labels_;
  std::vector<std::string> notes_;
  std::vector<std::unique_ptr<VoxelRanges>>
      ranges_; // one; of components that lie apart and are read side by side, one each
  std::unique_ptr<std::byte[]> stage_; // values as the file holds them, on their way
};

}
