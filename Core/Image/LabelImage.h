#pragma once

#include "Core/Image/ImageFile.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The numbers that the floats of a label map stand for. Most maps need no table: float holds their numbers as they are. Others,
/// of whole numbers beyond 2^24 or of doubles, are numbered in the order of their labels.
class LabelTable {
public:
  explicit LabelTable(PixelType type) : type_(type) {}

  PixelType type() const { return type_; }
  bool isNumbered() const { return !labels_.empty(); }

  /// Makes numbers of float from those of the file's type T, whose order they keep. None of them is `outside`, which stands for
  /// itself. Throws Error(unreadableInput) naming `path` for more labels than float has whole numbers.
  template <class T>
  void number(const std::string& path, std::span<const T> values, double outside, std::span<float> numbers);

  /// What a file of this type holds for these floats; `stored` has room for them.
  void decode(std::span<const float> values, std::byte* stored, int threads) const;

private:
  PixelType type_;
  std::vector<std::byte> labels_; // in order, as the file holds them
  double outside_ = 0;
  std::size_t skipped_ = 0; // the number that `outside` is, and that no label has; none if it is as large as their count
};

/// A label map as floats that interpolators may choose from, but not mix.
template <int D>
struct LabelImage {
  LoadedImage<D> loaded;
  LabelTable table;
};

/// `outside` is the value of voxels for which there will be no label. Errors as readImage; colour is refused too.
template <int D>
LabelImage<D> readLabelImage(const std::string& path, double outside, int threads);

}
