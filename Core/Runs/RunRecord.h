#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Image/Files/Sha256.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tessera {

/// The layout of run.json; dox/run.schema.json describes it.
constexpr int runSchema = 1;
/// To be raised whenever a bit of some result changes for the same inputs, parameters and kind of device.
constexpr int resultVersion = 2;

/// An input of a run: what it is for ("f0", "fMask", "p1", "t0"), its path as it was given, and all files
/// that are read for it.
struct RunInput {
  std::string role, path;
  std::vector<std::string> files;
  std::optional<std::string> parameterText = {}; // of which comments and blanks do not count
};

struct InputDigest {
  std::string role, path;
  std::uint64_t bytes = 0; // of all its files
  std::string sha256;      // of the file; of names and digests if there are several; empty: not read
};

/// digestOfFile(), or of one who keeps what it has computed before.
using FileDigest = std::function<std::string(const std::string& path, const std::stop_token&)>;

/// For a run that failed and may not have read its inputs whole: the digest of a larger one could take longer
/// than the run.
constexpr std::uint64_t largestAfterFailure = std::uint64_t(1) << 30;

/// Never throws Error: an input has no digest if it cannot be read, is a pipe or has more than `largest`
/// bytes, or if the run is to stop. bytes is 0 if one of the input's files is missing or a pipe.
InputDigest digestOf(const RunInput&, const FileDigest& = digestOfFile, const std::stop_token& = {},
                     std::uint64_t largest = std::numeric_limits<std::uint64_t>::max());

/// A digest of all that decides the bits of a run's results: the version of results, the kind of device
/// ("cpu", "cuda"), how images are read, and the contents of all inputs by their roles. Paths, the number of
/// threads and the model of the device do not change it. Empty if an input has no digest.
std::string runKey(const std::vector<InputDigest>&, const ReadingOptions&, const std::string& deviceKind);

/// {role, path, bytes, sha256} of each.
nlohmann::ordered_json json(const std::vector<InputDigest>&);

/// {path, bytes, sha256} of each file that exists.
nlohmann::ordered_json jsonOfOutputs(const std::vector<std::string>& paths, const FileDigest& = digestOfFile);

}
