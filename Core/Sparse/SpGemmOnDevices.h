#pragma once

#include "Core/Sparse/SpGemmOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace tessera {

/// Rows of C that one of several devices has made, from `firstRow` on.
template <class V>
struct PartOnCuda {
  std::size_t firstRow = 0;
  CsrOnCuda<V> c;
  SpGemmReport report;
};

/// C = A B on several CUDA devices, each of which has all of A and B and makes some rows of C, with about as
/// many products as any other. The bits are those of one device.
class SpGemmOnDevices {
public:
  /// One context for each device. Throws Error(device) unless they are on CUDA devices.
  explicit SpGemmOnDevices(const std::vector<Context>&);

  /// a[i] and b[i] are A and B on device i; part i of C is left there. Throws as SpGemmOnCuda::multiply.
  template <class V>
  std::vector<PartOnCuda<V>> multiply(const std::vector<const CsrOnCuda<V>*>& a,
                                      const std::vector<const CsrOnCuda<V>*>& b,
                                      const SpGemmOnCudaOptions& = {});

private:
  std::vector<Context> contexts_;
  std::vector<std::unique_ptr<SpGemmOnCuda>> products_;
};

/// Calls work(i) for each i below `count`, each in a thread of its own, and waits for all of them. Of several
/// errors that of the smallest i is thrown.
void onThreadsOfTheirOwn(std::size_t count, const std::function<void(std::size_t)>& work);

/// C = A B with all its options, gathered on the host: what `multiply` of SpGemm.h makes on one of the
/// devices, bit for bit. A limit of memory is one for each device.
template <class V>
CsrMatrix<V> multiplyOnDevices(const std::vector<Context>&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                               const SpGemmOptions<V>& options = {}, SpGemmReport* report = nullptr);

}
