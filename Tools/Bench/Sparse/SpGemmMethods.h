#pragma once

#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Tools/Bench/Sparse/SpGemmTables.h"

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

}
