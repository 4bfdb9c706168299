#pragma once

#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// A way to compute A A; what it makes is kept until the next run.
template <class V>
class SpGemmMethod {
public:
  virtual ~SpGemmMethod() = default;
  virtual void run() = 0;
  virtual CsrMatrix<V> result() = 0;
  virtual void drop() = 0;
  virtual SpGemmReport report() const { return {}; }
};

/// Where A is; on a CUDA device also as `onCuda`.
template <class V>
struct SpGemmFactor {
  const Context& context;
  const CsrMatrix<V>& host;
  const CsrOnCuda<V>& onCuda;
  const std::vector<Device>& devices; // that may share out the work
  bool half;                          // numbers are of half precision
};

/// Throws Error(usage) with all names unless there is such a method.
void checkSpGemmMethod(const std::string& name, bool onCuda);

/// What `factor` refers to must outlive the method. Throws as the method does.
template <class V>
std::unique_ptr<SpGemmMethod<V>> spGemmMethod(const std::string& name, const SpGemmFactor<V>& factor);

}
