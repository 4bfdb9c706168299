#pragma once

#include "Testing/Support/OnGpu/GpuTest.h"

namespace tessera::testing {

/// The device that the tests of this program are about: "// on: CPU, GPU" as the first line of a file puts
/// its tests into a program for each.
Device deviceUnderTest();

inline Context contextUnderTest(int threads = 2)
{
  return makeContext(deviceUnderTest(), threads);
}

/// A test of what both devices do. A suite of such tests is `using XTest = testing::DeviceTest;`.
class DeviceTest : public ::testing::Test {
protected:
  void SetUp() override
  {
    if (deviceUnderTest().kind == DeviceKind::cuda)
      TESSERA_NEEDS_GPU();
    context = contextUnderTest();
  }

  Context context;
};

}
