#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <string>
#include <vector>

namespace tessera {

/// Products A A of sparse matrices, by several methods whose results are compared; bytes are those of A once
/// and C once.
struct SpGemmBenchSettings {
  std::vector<std::string> matrices; // names of benchmark matrices, or files
  std::vector<std::string> methods;  // see SpGemmMethods.h
  bool singlePrecision = true;
  bool half = false; // numbers are rounded to half precision before, which methods may know
  std::size_t repeats = 11;
  std::vector<Device> devices; // for the method several-devices; the others work on the context's
};

/// Throws Error(device) if methods disagree about C. What a method cannot do is said on standard error and
/// left out.
std::vector<BenchResult> spGemmBench(Context&, const SpGemmBenchSettings&);

}
