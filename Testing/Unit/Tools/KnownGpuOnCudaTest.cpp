// needs: GPU, Tools
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Performance/DeviceRates.h"
#include "Core/Compute/Performance/GpuAttributes.h"
#include "Core/Compute/Performance/GpuRateNames.h"
#include "Core/Parameters/ParameterText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Tools/Common/GpuRatesFile.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace tessera {
namespace {

// A GPU whose stored rates are damaged is measured once and stored, like one that nobody calibrated, and
// kernels go by what was measured.
TEST(KnownGpuOnCuda, IsMeasuredOnceAndStored)
{
  TESSERA_NEEDS_GPU();
  const testing::TemporaryFolder folder;
  setenv("TESSERA_CALIBRATION", (folder / "calibration.txt").c_str(), 1);
  std::vector<std::string> assumed;
  const GpuRates told = ratesByAttributes(attributesOfCudaDevice(0), assumed);
  const Device device{DeviceKind::cuda, 0};
  std::filesystem::create_directories(std::filesystem::path(folder / "gpus"));
  writeTextFile(gpuRatesPath(told.gpu), "(GpuRatesVersion 1)\n");
  KnownGpus gpus;
  const KnownGpu& gpu = gpus.of(device);
  EXPECT_NE(gpu.whyNotRead.find("tessera-bench calibrate --model"), std::string::npos) << gpu.whyNotRead;
  if (gpu.source.find("other work seems to run") != std::string::npos)
    GTEST_SKIP() << gpu.source; // of other tests, for example
  EXPECT_TRUE(gpu.isMeasuredNow) << gpu.source;
  EXPECT_EQ(gpu.rates.gpu, told.gpu);
  ASSERT_TRUE(std::filesystem::exists(gpuRatesPath(told.gpu)));
  EXPECT_EQ(&gpus.of(device), &gpu);
  const std::optional<GpuRates> stored = storedGpuRates(told.gpu);
  ASSERT_TRUE(stored.has_value());
  for (const GpuRateName& rate : gpuRateNames()) {
    EXPECT_EQ(*stored.*rate.value, gpu.rates.*rate.value) << rate.name;
    EXPECT_EQ(deviceRates(0).*rate.value, gpu.rates.*rate.value) << rate.name;
    RecordProperty(rate.name, std::to_string(gpu.rates.*rate.value / (told.*rate.value)));
  }
  // The rates that follow from attributes are near enough to choose by.
  for (double GpuRates::*const rate :
       {&GpuRates::clockGHz, &GpuRates::fp32, &GpuRates::fp64, &GpuRates::special, &GpuRates::l2Bytes,
        &GpuRates::dramCopyBytes, &GpuRates::latencyDram, &GpuRates::blocksPerSecond})
    EXPECT_LT(std::abs(std::log2(gpu.rates.*rate / (told.*rate))), 1);
  unsetenv("TESSERA_CALIBRATION");
}

}
}
