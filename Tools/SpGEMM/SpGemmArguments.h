#pragma once

#include "Core/Sparse/SpGemmOptions.h"
#include "Tools/Common/CommandLine.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class Precision { f16, f32, f64, int64 };

/// What the command line of `tessera-spgemm` asks for.
struct SpGemmArguments {
  std::vector<std::string> operands; // files: A; A and B; R, A and P
  std::string generate;              // name of a benchmark matrix to be written; empty: none
  std::string output, mask, accumulate;
  bool transposeA = false, transposeB = false, timesTransposed = false, transposedTimes = false,
       triple = false;
  int power = 0; // 0: not asked for
  Semiring semiring = Semiring::plusTimes;
  SpGemmAlgorithm algorithm = SpGemmAlgorithm::automatic;
  bool complement = false;
  std::optional<Precision> precision;
  std::optional<double> scale, dropTolerance;
  std::string scaleText; // as it was given: integers beyond 2^53 are more than a double holds
  std::size_t maxMemoryBytes = 0;
  std::string device = "auto";
  bool check = false, info = false, json = false;
  int repeats = 1;
};

/// Everything that help prints.
ProgramText spGemmText();

/// Reads operands and options. `arguments` receives the options that were given, for what all programs share.
/// Throws Error(usage).
SpGemmArguments spGemmArguments(const std::vector<std::string>& tokens, Arguments& arguments);

}
