#pragma once

#include "Core/Compute/Error.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Tools/Bench/Sparse/SpGemmTables.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// A way to compute A A. The result is kept until the next run.
template <class V>
class SpGemmMethod {
public:
  virtual ~SpGemmMethod() = default;
  virtual void run() = 0;
  virtual CsrMatrix<V> result() = 0;
  virtual void drop() = 0;
  virtual SpGemmReport report() const { return {}; }
  /// Runs it once more, and tells the milliseconds of its parts; none if it has no parts.
  virtual PartTimes timesOfParts() { return {}; }
};

/// The matrix A in host memory and, on a CUDA device, in device memory.
template <class V>
struct SpGemmFactor {
  const Context& context;
  const CsrMatrix<V>& host;
  const CsrOnCuda<V>& onCuda;
  const std::vector<Device>& devices; // devices that may share the work
};

/// Throws Error(usage), with all names, unless there is such a method.
void checkSpGemmMethod(const std::string& name, bool onCuda);

/// Makes a method. The objects that `factor` refers to must outlive it. Throws as the method's product does.
template <class V>
std::unique_ptr<SpGemmMethod<V>> spGemmMethod(const std::string& name, const SpGemmFactor<V>& factor);

/// The largest difference of values, relative to `expected`. Throws Error(device) if the patterns differ.
template <class V>
double largestDifference(const CsrMatrix<V>& c, const CsrMatrix<V>& expected, const std::string& what)
{
  const auto equal = [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(*x.data())) == 0;
  };
  if (!equal(c.rowStart, expected.rowStart) || !equal(c.column, expected.column))
    failAs(ExitCode::device, what,
           "C has " + std::to_string(c.entries()) + " entries, by the method before "
               + std::to_string(expected.entries()) + ": methods disagree",
           "the same places");
  double largest = 0;
  for (std::size_t i = 0; i < c.value.size(); ++i)
    if (c.value[i] != expected.value[i])
      largest = std::max(largest, std::abs(static_cast<double>(c.value[i]) - expected.value[i])
                                      / std::max(std::abs(static_cast<double>(expected.value[i])), 1e-30));
  return largest;
}

}
