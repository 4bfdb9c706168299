// needs: Tools, Model
#include "Tools/Bench/Model/GpuRatesFile.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Tools/Common/BlockSizesFile.h"

#include <cstdlib>
#include <filesystem>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

GpuRates numbered()
{
  GpuRates rates;
  rates.gpu = "Some GPU, 7 multiprocessors";
  double next = 0.125;
  for (const GpuRateName& rate : gpuRateNames())
    rates.*rate.value = next += 0.125;
  return rates;
}

GpuRates parsed(const std::string& text)
{
  std::vector<std::string> notes;
  return gpuRatesOf(parseParameterText(text, "gpu.txt", notes));
}

TEST(GpuRatesFile, TextHoldsEveryNumber)
{
  const GpuRates found = parsed(gpuRatesText(numbered()));
  EXPECT_EQ(found.gpu, numbered().gpu);
  for (const GpuRateName& rate : gpuRateNames())
    EXPECT_EQ(found.*rate.value, numbered().*rate.value) << rate.name;
}

TEST(GpuRatesFile, DamagedTextsAreRefused)
{
  const std::string text = gpuRatesText(numbered());
  EXPECT_PRED2(contains, errorText([&] { parsed(replaced(text, "(Issue ", "(Isue ")); }),
               "(Issue ...) is missing");
  EXPECT_PRED2(contains, errorText([&] { parsed(text + "(Isue 3)\n"); }), "no rate has this name");
  EXPECT_PRED2(contains,
               errorText([&] { parsed(replaced(text, "(GpuRatesVersion 1)", "(GpuRatesVersion 9)")); }),
               "reads version 1");
  EXPECT_FALSE(
      errorText([&] { parsed(replaced(text, "(Multiprocessors 0.25)", "(Multiprocessors -3)")); }).empty());
  EXPECT_PRED2(contains, errorText([&] {
                 parsed(replaced(text, "(Multiprocessors 0.25)", "(Multiprocessors 1e300)"));
               }),
               "1e300");
  EXPECT_PRED2(contains, errorText([&] { parsed(text + "(Isue 3)\n"); }), "tessera-bench calibrate --model");
}

TEST(GpuRatesFile, NumbersThatCannotBeUsedAreReplaced)
{
  GpuRates odd = numbered();
  odd.clockGHz = 0;
  odd.fp64 = std::numeric_limits<double>::infinity();
  odd.l2Bytes = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(replaceUnusable(odd, usualGpuRates()), (std::vector<std::string>{"Clock", "Fp64", "L2Bytes"}));
  EXPECT_EQ(odd.clockGHz, usualGpuRates().clockGHz);
  EXPECT_EQ(odd.fp32, numbered().fp32);
}

TEST(GpuRatesFile, HoldsBlockSizesBesideRates)
{
  const BlockSizes sizes{{"adjoint", {{1000, 64}, {200000, 32}}}, {"prefilter", {{5000, 128}}}};
  const std::string text = gpuRatesText(numbered()) + blockSizesText(sizes);
  std::vector<std::string> notes;
  const auto read = [&](const std::string& given) {
    return blockSizesOf(parseParameterText(given, "gpu.txt", notes));
  };
  EXPECT_EQ(read(text), sizes);
  EXPECT_EQ(parsed(text).issue, numbered().issue);
  EXPECT_TRUE(read(gpuRatesText(numbered())).empty());
  for (const char* odd : {"1000", "1000 65", "1000 2048", "1000 0", "0 64", "many 64"})
    EXPECT_PRED2(contains, errorText([&] { read(std::string("(BlockThreads_adjoint ") + odd + ")\n"); }),
                 "gpu.txt:1: (BlockThreads_adjoint ")
        << odd;
}

TEST(GpuRatesFile, EachGpuHasAFileBesideTheCalibration)
{
  const testing::TemporaryFolder folder;
  const std::string calibration = folder / "calibration.txt";
  setenv("TESSERA_CALIBRATION", calibration.c_str(), 1);
  EXPECT_FALSE(storedGpuRates(numbered().gpu).has_value());
  const std::string path = gpuFilePath(numbered().gpu);
  EXPECT_EQ(path, folder / "gpus/Some-GPU--7-multiprocessors.txt");
  std::filesystem::create_directories(std::filesystem::path(folder / "gpus"));
  writeTextFile(path, gpuRatesText(numbered()));
  ASSERT_TRUE(storedGpuRates(numbered().gpu).has_value());
  EXPECT_EQ(storedGpuRates(numbered().gpu)->issue, numbered().issue);
  EXPECT_FALSE(storedGpuRates("Another GPU").has_value());

  // a file that was copied from another GPU
  writeTextFile(gpuFilePath("Another GPU"), gpuRatesText(numbered()));
  const std::string error = errorText([] { storedGpuRates("Another GPU"); });
  EXPECT_PRED2(contains, error,
               "(Gpu \"Some GPU, 7 multiprocessors\"): this file is read for an Another GPU");

  // a folder that cannot be entered: nobody knows whether there are rates
  std::filesystem::remove_all(folder / "gpus");
  std::filesystem::create_directory_symlink("gpus", folder / "gpus");
  EXPECT_PRED2(contains, errorText([] { storedGpuRates("Another GPU"); }), "a file that this user may read");
  unsetenv("TESSERA_CALIBRATION");
}

}
}
