#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The parts of a transform file's name in a dataset of BIDS (Brain Imaging Data Structure):
/// sub-X[_...]_from-A_to-B_mode-image[_...]_xfm.h5 resamples images of A on the grid of B.
struct BidsTransformName {
  std::string from, to;
  std::string sidecar; // path of the JSON file beside it
};

/// Nothing if the path does not look like such a name. Throws Error(usage) if it does but is none: it begins
/// with sub- and ends with _xfm, or has mode-, or from- and to-.
std::optional<BidsTransformName> bidsTransformName(const std::string& path);

/// The text of the sidecar: what the transform does, the files that it was made of, and the program.
std::string bidsSidecarText(const BidsTransformName&, const std::vector<std::string>& sources);

}
