#pragma once

#include "Core/Sparse/SpGemmOnCuda.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <optional>

namespace tessera::testing {

/// A GPU and what multiplies on it.
class SpGemmOnGpu : public GpuTest {
protected:
  void SetUp() override
  {
    GpuTest::SetUp();
    if (cuda.onCuda())
      spGemm.emplace(cuda);
  }

  template <class V>
  CsrMatrix<V> product(const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                       SpGemmAlgorithm algorithm = SpGemmAlgorithm::rows)
  {
    SpGemmOnCudaOptions options;
    options.algorithm = algorithm;
    return broughtToHost(
        cuda, spGemm->multiply(broughtToCuda(cuda, a, "A"), broughtToCuda(cuda, b, "B"), options, &report));
  }

  std::optional<SpGemmOnCuda> spGemm;
  SpGemmReport report;
};

}
