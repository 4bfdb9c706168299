#pragma once

#include "Core/Sparse/SpGemmOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace tessera {

/// The rows of C that one of several devices computed.
template <class V>
struct PartOnCuda {
  std::size_t firstRow = 0;
  CsrOnCuda<V> c;
  SpGemmReport report;
};

/// C = A B on several CUDA devices. Each device has all of A and B and computes a range of rows of C with
/// about the same number of products. The result has the bits of a single device's.
class SpGemmOnDevices {
public:
  /// Takes one context for each device. Throws Error(device) unless all of them are CUDA devices.
  explicit SpGemmOnDevices(const std::vector<Context>&);

  /// a[i] and b[i] are copies of A and B on device i; part i of C stays on device i. Throws as
  /// SpGemmOnCuda::multiply.
  template <class V>
  std::vector<PartOnCuda<V>> multiply(const std::vector<const CsrOnCuda<V>*>& a,
                                      const std::vector<const CsrOnCuda<V>*>& b,
                                      const SpGemmOnCudaOptions& = {});

private:
  std::vector<Context> contexts_;
  std::vector<std::unique_ptr<SpGemmOnCuda>> products_;
};

/// Calls work(i) for each i below `count`, each call on a thread of its own, and waits for all of them. If
/// several calls throw, the exception of the smallest i is rethrown.
void onThreadsOfTheirOwn(std::size_t count, const std::function<void(std::size_t)>& work);

/// C = A B with all options, gathered in host memory. It has the bits of `multiply` of SpGemm.h on one of the
/// devices. A memory limit applies to each device. Throws Error(device) unless all contexts are on CUDA
/// devices.
template <class V>
CsrMatrix<V> multiplyOnDevices(const std::vector<Context>&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                               const SpGemmOptions<V>& options = {}, SpGemmReport* report = nullptr);

}
