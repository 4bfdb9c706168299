// needs: Tools
#include "Tools/Common/CalibrationFile.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <cstdlib>
#include <map>
#include <optional>

namespace tessera {
namespace {

using namespace testing;

/// Every number another one, as text holds them exactly.
Calibration numbered(bool withCuda)
{
  Calibration calibration;
  calibration.processor = "Some Processor";
  calibration.gpu = withCuda ? "Some GPU" : "";
  calibration.threads = 12;
  double next = 0.125;
  const auto number = [&] { return next += 0.125; };
  for (auto& ofDimension : calibration.sample)
    for (auto& ofTransform : ofDimension)
      for (double& ofSampler : ofTransform)
        ofSampler = number();
  for (double* rate : {&calibration.cpuSpeedup, &calibration.voxel, &calibration.cudaStartSeconds,
                       &calibration.cudaEvaluationSeconds, &calibration.cudaByte,
                       &calibration.products.cudaProduct, &calibration.products.cudaTilePair})
    *rate = number();
  for (ThreadRate* rate :
       {&calibration.products.row, &calibration.products.product, &calibration.products.entry,
        &calibration.products.tilePair, &calibration.products.upload, &calibration.products.download})
    *rate = {number(), number()};
  return calibration;
}

Calibration parsed(const std::string& text)
{
  std::vector<std::string> notes;
  return calibrationOf(parseParameterText(text, "rates.txt", notes));
}

TEST(CalibrationTest, TextHoldsEveryNumber)
{
  const Calibration written = numbered(true), found = parsed(calibrationText(written));
  EXPECT_EQ(found.gpu, "Some GPU");
  EXPECT_EQ(found.source, "rates.txt");
  EXPECT_EQ(found.sample[1][1][0], written.sample[1][1][0]);
  EXPECT_EQ(found.products.download.allThreads, written.products.download.allThreads);
  EXPECT_EQ(calibrationText(found), calibrationText(written));
}

TEST(CalibrationTest, AFileWithoutAGpuTakesTheShippedRatesOfCuda)
{
  const Calibration written = numbered(false), found = parsed(calibrationText(written));
  EXPECT_EQ(found.gpu, "");
  EXPECT_EQ(found.voxel, written.voxel);
  EXPECT_EQ(found.cudaStartSeconds, shippedCalibration().cudaStartSeconds);
  EXPECT_EQ(found.products.cudaTilePair, shippedCalibration().products.cudaTilePair);
  EXPECT_EQ(calibrationText(found), calibrationText(written));
}

// Its CPU takes twice as long as that of the shipped rates, and eight threads are 4 times as fast as one.
TEST(CalibrationTest, FilesOfVersion1ScaleTheShippedRatesAndLinesThatNobodyReadsAreCounted)
{
  const Calibration& shipped = shippedCalibration();
  const Calibration found = parsed("(CalibrationVersion 1)\n(Processor \"P\")\n(Threads 8)\n(Gpu \"G\")\n"
                                   "(CudaStartSeconds 0.7)\n(Cpu3DPointSpline 65.48 16.37)\n"
                                   "(Cuda3DPointSpline 0.1)\n(Cpu2DPrefilter 5 1)\n(CudaTilePair 3)\n");
  EXPECT_EQ(found.source, "rates.txt, of an earlier program (2 of its lines are not used)");
  EXPECT_NEAR(found.voxel, 2 * shipped.voxel, 1e-9);
  EXPECT_NEAR(found.sample[1][0][1], 2 * shipped.sample[1][0][1], 1e-9);
  EXPECT_NEAR(found.speedup(8), 4, 1e-9);
  EXPECT_EQ(found.cudaStartSeconds, 0.7);
  EXPECT_EQ(found.products.cudaTilePair, 3);
  EXPECT_EQ(found.products.cudaProduct, shipped.products.cudaProduct);
  EXPECT_EQ(parsed(calibrationText(numbered(true)) + "(Later 1)\n").source,
            "rates.txt (1 of its lines are not used)");
}

TEST(CalibrationTest, TheShippedRatesAreOfAnH200AndNoneIsMissing)
{
  const Calibration& shipped = shippedCalibration();
  EXPECT_EQ(shipped.gpu, "NVIDIA H200");
  EXPECT_EQ(shipped.threads, 16);
  EXPECT_EQ(shipped.source, "shipped rates");
  EXPECT_GT(shipped.cudaStartSeconds, 0.05); // no driver starts faster
}

TEST(CalibrationTest, ThreadsSpeedUpByAmdahlsLaw)
{
  Calibration calibration = numbered(false);
  calibration.threads = 4;
  calibration.cpuSpeedup = 2; // a third of the time does not share out
  EXPECT_EQ(calibration.speedup(1), 1);
  EXPECT_NEAR(calibration.speedup(2), 1.5, 1e-9);
  EXPECT_NEAR(calibration.speedup(4), 2, 1e-9);
}

TEST(ThreadRateTest, GoesThroughBothMeasurementsAndSharesOutTheRest)
{
  const ThreadRate rate{10, 4}; // 2 that does not share out and 8 that does, on 4 threads
  EXPECT_NEAR(rate.nanoseconds(4, 1), 10, 1e-14);
  EXPECT_NEAR(rate.nanoseconds(4, 4), 4, 1e-14);
  EXPECT_NEAR(rate.nanoseconds(4, 2), 6, 1e-14);
  EXPECT_NEAR(rate.nanoseconds(4, 8), 3, 1e-14);
}

TEST(ThreadRateTest, MeasurementsThatMakeNoSenseGiveNoNegativeTimes)
{
  EXPECT_EQ((ThreadRate{10, 1}.nanoseconds(4, 16)), 10.0 / 16); // faster than its threads
  EXPECT_EQ((ThreadRate{10, 12}.nanoseconds(4, 16)), 10);       // slower than one
  EXPECT_EQ((ThreadRate{10, 10}.nanoseconds(1, 4)), 10.0 / 4);  // measured with one alone
}

TEST(CalibrationTest, EachDefectIsToldWithItsLine)
{
  const std::string text = calibrationText(numbered(true));
  const auto errorOf = [](const std::string& given) { return errorText([&] { parsed(given); }); };
  const std::string allowed = ". Allowed: a file that `tessera-bench calibrate` wrote.";
  EXPECT_EQ(errorOf(replaced(text, "(CalibrationVersion 2)", "(CalibrationVersion 3)")),
            "rates.txt:2: (CalibrationVersion 3): this program reads versions 1 and 2" + allowed);
  EXPECT_EQ(errorOf(replaced(text, "(CalibrationVersion 2)\n", "")),
            "rates.txt: (CalibrationVersion ...) is missing" + allowed);
  EXPECT_EQ(errorOf(replaced(text, "(Threads 12)", "(Threads 12 13)")),
            "rates.txt:4: (Threads 12 13): one value is needed" + allowed);
  EXPECT_PRED2(contains, errorOf(replaced(text, "(Threads 12)", "(Threads 0)")),
               "rates.txt:4: (Threads 0): \"0\" is too small");
  EXPECT_PRED2(contains, errorOf(replaced(text, "(Threads 12)", "(Threads 4294967297)")),
               "rates.txt:4: (Threads 4294967297): \"4294967297\" is too large");
  EXPECT_PRED2(contains, errorOf(replaced(text, "(CpuSparseRow ", "(CpuSparseRow 1 ")),
               "two numbers are needed, of one thread and of all" + allowed);
  for (const auto& [value, why] : {std::pair{"-1", "\"-1\" is too small"},
                                   {"1e300", "too large"},
                                   {"\"fast\"", "\"fast\" is not a number"}})
    EXPECT_PRED2(
        contains,
        errorOf(replaced(text, "(CudaStartSeconds 1.5)", std::string("(CudaStartSeconds ") + value + ")")),
        why)
        << value;
  EXPECT_EQ(errorOf(replaced(text, "(CudaStartSeconds 1.5)\n", "")),
            "rates.txt: (CudaStartSeconds ...) is missing" + allowed);
  EXPECT_PRED2(contains, errorOf("(CalibrationVersion 1"), "rates.txt:1: ");
}

/// An environment of its own for a test.
class StoredCalibrationTest : public ::testing::Test {
protected:
  StoredCalibrationTest()
  {
    set("TESSERA_CALIBRATION", "");
    set("XDG_CONFIG_HOME", folder_.path());
  }
  ~StoredCalibrationTest() override
  {
    for (const auto& [name, value] : before_)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value)
  {
    const char* const old = std::getenv(name.c_str());
    before_.try_emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    setenv(name.c_str(), value.c_str(), 1);
  }

  testing::TemporaryFolder folder_;
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(StoredCalibrationTest, IsTheShippedOneWithoutAFile)
{
  EXPECT_EQ(storedCalibration().source, "shipped rates");
}

TEST_F(StoredCalibrationTest, LiesInTheConfigurationFolder)
{
  std::filesystem::create_directory(folder_ / "tessera");
  folder_.write("tessera/calibration.txt", calibrationText(numbered(true)));
  EXPECT_EQ(storedCalibration().gpu, "Some GPU");
  set("XDG_CONFIG_HOME", "");
  set("HOME", folder_.path());
  EXPECT_EQ(calibrationPath(), folder_ / ".config/tessera/calibration.txt");
  set("XDG_CONFIG_HOME", "relative/config"); // is ignored, as its specification asks
  EXPECT_EQ(calibrationPath(), folder_ / ".config/tessera/calibration.txt");
  EXPECT_EQ(storedCalibration().gpu, shippedCalibration().gpu);
}

TEST_F(StoredCalibrationTest, IsAnErrorWhereTheFolderCannotBeEntered)
{
  std::filesystem::create_directory_symlink("tessera", folder_ / "tessera"); // leads to itself
  const std::string error = errorText([] { storedCalibration(); });
  EXPECT_PRED2(contains, error, "Allowed: a file that this user may read");
}

TEST(CalibrationTest, PredictedTimesHaveThreeDigitsAtMost)
{
  EXPECT_EQ(timeText(0), "0.000 s");
  EXPECT_EQ(timeText(0.0494), "0.049 s");
  EXPECT_EQ(timeText(1.126), "1.13 s");
  EXPECT_EQ(timeText(85.26), "85.3 s");
  EXPECT_EQ(timeText(119), "119 s");
  EXPECT_EQ(timeText(150), "2.5 min");
  EXPECT_EQ(timeText(890.328), "15 min");
  EXPECT_EQ(timeText(9000), "2.5 h");
}

}
}
