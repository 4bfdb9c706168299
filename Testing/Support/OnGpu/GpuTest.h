#pragma once

#include "Core/Compute/Cuda/Stream.h"
#include "Testing/Support/Host.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

/// First line of a test that needs a GPU: skips it where there is none, and fails it there if
/// TESSERA_REQUIRE_GPU is 1.
#define TESSERA_NEEDS_GPU()                                                                                  \
  if (const std::string why = ::tessera::findCudaDevices().whyNone; !why.empty()) {                          \
    const char* required = std::getenv("TESSERA_REQUIRE_GPU");                                               \
    if (required != nullptr && std::string(required) == "1")                                                 \
      FAIL() << "no CUDA device: " << why << " (TESSERA_REQUIRE_GPU=1)";                                     \
    GTEST_SKIP() << "no CUDA device: " << why;                                                               \
  }

namespace tessera::testing {

/// A test that needs a GPU, and a context on it. A suite of such tests is `using XTest = testing::GpuTest;`.
class GpuTest : public ::testing::Test {
protected:
  void SetUp() override
  {
    TESSERA_NEEDS_GPU();
    cuda = makeContext({DeviceKind::cuda, 0}, 2);
  }

  Context cuda;
};

}
