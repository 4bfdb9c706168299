#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Image/Image.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// A label map to read, with the option that named it.
struct LabelFile {
  std::string option, path;
};

/// Two label maps to compare. Voxels hold numbers that float can tell apart, one for each label of either
/// map; 0 is the label 0.
template <int D>
struct LabelPair {
  std::shared_ptr<Image<D>> first, second;
  std::vector<std::int64_t> labels = {}; // of the numbers from 0; empty: the numbers are the labels

  std::int64_t label(int number) const
  {
    return labels.empty() ? number : labels[static_cast<std::size_t>(number)];
  }
};

/// Reads two label maps of any pixel type. Labels are exact; voxels that are not finite have the label 0.
/// Throws Error naming the option and the file: unreadable, more than one component a voxel, a label that is
/// no whole number of 64 bits, or too many labels; Error(usage) if the dimension is not D.
template <int D>
LabelPair<D> readLabelPair(const LabelFile& first, const LabelFile& second, const ReadingOptions&,
                           int threads);

}
