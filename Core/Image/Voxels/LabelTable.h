#pragma once

#include "Core/Image/Voxels/PixelType.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tessera {

/// The values that a label may have.
inline const std::string allowedLabels =
    "whole numbers from -9223372036854775808 to 9223372036854775807; probabilities are thresholded before, "
    "such as by fslmaths IN -thr 0.5 -bin OUT, and labels that a header scales are stored without its slope";

/// The labels for which the floats of a label map stand. Most maps need no table: float can hold their
/// labels. Labels that it cannot hold, whole numbers beyond 2^24 or doubles, are sorted and numbered.
class LabelTable {
public:
  /// No label gets the number `outside`, which stands for itself.
  LabelTable(PixelType type, double outside) : type_(type), outside_(outside) {}

  /// Whether float cannot hold all numbers of the type.
  static bool mayBeNumbered(PixelType type)
  {
    return type != PixelType::float32 && pixelTypeSize(type) >= sizeof(float);
  }

  PixelType type() const { return type_; }
  bool isNumbered() const { return isNumbered_; }
  /// Makes the table number its labels. Must be called before the first number().
  void beNumbered() { isNumbered_ = true; }

  /// Numbers the labels among the values, which have the type T of the file, and forgets those of the last
  /// call. Values that are not finite become NaN. The table needs sizeof(T) bytes for each value. Throws
  /// Error(unreadableInput) with `path` for a label that is no whole number, and if there are more labels
  /// than float has whole numbers.
  template <class T>
  void number(const std::string& path, std::span<const T> values, std::span<float> numbers, int threads);

  /// Converts the floats back to labels, as voxels of another type than the file's if the caller says so, and
  /// returns how many of these were clamped to its range.
  std::size_t decode(std::span<const float> values, std::byte* stored, int threads,
                     std::optional<PixelType> to = {}) const;

private:
  template <class T>
  void numberRange(std::span<const T> values, std::span<float> numbers) const;

  PixelType type_;
  double outside_;
  bool isNumbered_ = false;
  std::unique_ptr<std::byte[]> room_; // sorted labels in the type of the file
  std::size_t roomBytes_ = 0, count_ = 0;
  std::size_t skipped_ =
      0; // the number `outside`, which no label gets; their count if it is none of the numbers
};

}
