#pragma once

#include "Core/Sparse/SpGemmOptions.h"
#include "Tools/Common/CommandLine.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class Precision { f16, f32, f64, int64 };
enum class Reorder { automatic, rcm, none };

/// The command line of `tessera-spgemm`.
struct SpGemmArguments {
  std::vector<std::string> operands; // files: A; A and B; R, A and P; or A and P
  std::vector<std::string> values;   // files with further values of A, for a Galerkin product
  std::string generate;              // name of the benchmark matrix to write; empty if there is none
  std::string output, mask, accumulate;
  bool transposeA = false, transposeB = false, timesTransposed = false, transposedTimes = false,
       triple = false, galerkin = false;
  int power = 0; // 0 if it was not given
  Semiring semiring = Semiring::plusTimes;
  SpGemmAlgorithm algorithm = SpGemmAlgorithm::automatic;
  Reorder reorder = Reorder::automatic;
  bool complement = false;
  std::optional<Precision> precision;
  std::optional<double> scale, dropTolerance;
  std::string scaleText; // the text that was given, because double cannot hold all integers beyond 2^53
  std::size_t maxMemoryBytes = 0;
  std::string device = "auto";
  bool check = false, info = false, json = false, sum = false;
  int repeats = 1;
};

/// The texts of --help.
ProgramText spGemmText();

/// The file of a Galerkin product in a folder: of A for number 0, then of SpGemmArguments::values.
std::string galerkinFile(const std::string& folder, std::size_t number);

/// Reads operands and options; `arguments` receives the options, for those that all programs share. Throws
/// Error(usage).
SpGemmArguments spGemmArguments(const std::vector<std::string>& tokens, Arguments& arguments);

}
