#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <string>
#include <vector>

namespace tessera {

/// The settings of measuring products A A of sparse matrices by several methods, whose results are compared.
/// Bytes count A once and C once.
struct SpGemmBenchSettings {
  std::vector<std::string> matrices; // names of benchmark matrices, or files
  std::vector<std::string> methods;  // names from SpGemmMethods.h
  bool singlePrecision = true;
  bool half = false; // values are rounded to half precision before the measurement
  std::size_t repeats = 11;
  std::vector<Device> devices; // for the method several-devices; the others use the context's
};

/// Measures all matrices by all methods. Throws Error(device) if methods disagree about C. A method that
/// cannot compute a product is reported on standard error and left out.
std::vector<BenchResult> spGemmBench(Context&, const SpGemmBenchSettings&);

}
