#pragma once

#include "Core/Image/Voxels/PixelType.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tessera {

/// The numbers that the floats of a label map stand for. Most maps need no table: float holds their numbers
/// as they are. Others, of whole numbers beyond 2^24 or of doubles, are numbered in the order of their
/// labels.
class LabelTable {
public:
  /// `outside` stands for itself: no label gets its number.
  LabelTable(PixelType type, double outside) : type_(type), outside_(outside) {}

  /// Whether floats do not hold all numbers of the type.
  static bool mayBeNumbered(PixelType type);

  PixelType type() const { return type_; }
  bool isNumbered() const { return isNumbered_; }
  /// To be said of a map that needs it, before the first number().
  void beNumbered() { isNumbered_ = true; }

  /// Numbers the labels among values of the file's type T, which replace those of the last call; values that
  /// are no label become NaN. The table takes sizeof(T) for each value. Throws Error(unreadableInput) naming
  /// `path` for more labels than float has whole numbers.
  template <class T>
  void number(const std::string& path, std::span<const T> values, std::span<float> numbers, int threads);

  /// The label that a file of this type holds for `outside`, if that is another one; else empty. After the
  /// last number().
  std::string otherLabelOutside() const;

  /// What a file of this type holds for these floats; `stored` has room for them.
  void decode(std::span<const float> values, std::byte* stored, int threads) const;

private:
  template <class T>
  void numberRange(std::span<const T> values, std::span<float> numbers) const;

  PixelType type_;
  double outside_;
  bool isNumbered_ = false;
  std::unique_ptr<std::byte[]> room_; // labels in order, as the file holds them
  std::size_t roomBytes_ = 0, count_ = 0;
  std::size_t skipped_ =
      0; // the number that `outside` is, and that no label has; none if it is as large as their count
};

}
