#pragma once

#include "Core/Sparse/SpGemmOnCuda.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <gtest/gtest.h>

#include <optional>

namespace tessera::testing {

/// A GPU and what multiplies on it; skips where there is none.
class SpGemmOnGpu : public ::testing::Test {
protected:
  void SetUp() override
  {
    TESSERA_NEEDS_GPU();
    context = makeContext({DeviceKind::cuda, 0}, 1);
    spGemm.emplace(context);
  }

  Context context{{}, 1};
  std::optional<SpGemmOnCuda> spGemm;
  SpGemmReport report;
};

}
