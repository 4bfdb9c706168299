#pragma once

#include "Core/Image/PixelType.h"

#include <cstddef>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace tessera {

/// The numbers that the floats of a label map stand for. Most maps need no table: float holds their numbers as they are. Others,
/// of whole numbers beyond 2^24 or of doubles, are numbered in the order of their labels.
class LabelTable {
public:
  explicit LabelTable(PixelType type) : type_(type) {}

  PixelType type() const { return type_; }
  bool isNumbered() const { return !labels_.empty(); }

  /// Makes numbers of labels of the file's type T, in order and each once. None of them is `outside`, which stands for itself.
  /// Throws Error(unreadableInput) naming `path` for more labels than float has whole numbers.
  template <class T>
  void setLabels(const std::string& path, const std::vector<T>& labels, double outside);

  /// The numbers of the file's values, and NaN for those that are no label.
  template <class T>
  void number(std::span<const T> values, std::span<float> numbers) const;

  /// What a file of this type holds for these floats; `stored` has room for them.
  void decode(std::span<const float> values, std::byte* stored, int threads) const;

private:
  PixelType type_;
  std::vector<std::byte> labels_; // in order, as the file holds them
  double outside_ = 0;
  std::size_t skipped_ = 0; // the number that `outside` is, and that no label has; none if it is as large as their count
};

/// The labels of a map that is seen piece by piece.
template <class T>
class DistinctLabels {
public:
  /// The next values; what is not finite is no label.
  void add(std::span<const T> values);

  /// Each once.
  std::vector<T> inOrder() const;

private:
  std::unordered_set<T> found_;
};

}
