// needs: Tools
#include "Tools/Common/CalibrationFile.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

namespace tessera {
namespace {

using testing::contains;
using testing::errorText;

/// Every number another one, as text holds them exactly.
Calibration numbered(bool withCuda)
{
  Calibration calibration;
  calibration.processor = "Some Processor";
  calibration.gpu = withCuda ? "Some GPU" : "";
  calibration.threads = 12;
  double next = 0.125;
  const auto number = [&] { return next += 0.125; };
  calibration.cpuStartSeconds = number();
  calibration.cudaStartSeconds = number();
  calibration.cudaImageSeconds = number();
  for (ThreadRate* rate : {&calibration.upload, &calibration.download})
    *rate = {number(), number()};
  for (const int dimension : {2, 3})
    for (std::size_t i = 0; i < workCount; ++i) {
      calibration.of(dimension).cpu[i] = {number(), number()};
      calibration.of(dimension).cuda[i] = number();
    }
  for (ThreadRate* rate :
       {&calibration.products.row, &calibration.products.product, &calibration.products.entry,
        &calibration.products.tilePair, &calibration.products.upload, &calibration.products.download})
    *rate = {number(), number()};
  calibration.products.cudaProduct = number();
  calibration.products.cudaTilePair = number();
  return calibration;
}

Calibration parsed(const std::string& text)
{
  std::vector<std::string> notes;
  return calibrationOf(parseParameterText(text, "rates.txt", notes));
}

std::string replaced(std::string text, const std::string& part, const std::string& by)
{
  const std::size_t found = text.find(part);
  EXPECT_NE(found, std::string::npos) << part;
  return text.replace(found, part.size(), by);
}

void expectCpuOf(const Calibration& expected, const Calibration& found)
{
  EXPECT_EQ(found.processor, expected.processor);
  EXPECT_EQ(found.threads, expected.threads);
  EXPECT_EQ(found.cpuStartSeconds, expected.cpuStartSeconds);
  for (const int dimension : {2, 3})
    for (std::size_t i = 0; i < workCount; ++i)
      if (isOfCpu(static_cast<Work>(i))) {
        EXPECT_EQ(found.of(dimension).cpu[i].oneThread, expected.of(dimension).cpu[i].oneThread)
            << dimension << " " << i;
        EXPECT_EQ(found.of(dimension).cpu[i].allThreads, expected.of(dimension).cpu[i].allThreads)
            << dimension << " " << i;
      }
}

TEST(CalibrationTest, TextHoldsEveryNumber)
{
  const Calibration written = numbered(true), found = parsed(calibrationText(written));
  EXPECT_EQ(found.gpu, "Some GPU");
  EXPECT_FALSE(found.hasShippedCuda);
  EXPECT_EQ(found.source, "rates.txt");
  expectCpuOf(written, found);
  EXPECT_EQ(found.cudaStartSeconds, written.cudaStartSeconds);
  EXPECT_EQ(found.cudaImageSeconds, written.cudaImageSeconds);
  EXPECT_EQ(found.upload.allThreads, written.upload.allThreads);
  EXPECT_EQ(found.download.oneThread, written.download.oneThread);
  for (const int dimension : {2, 3})
    for (std::size_t i = 0; i < workCount; ++i)
      if (isOfCuda(static_cast<Work>(i))) {
        EXPECT_EQ(found.of(dimension).cuda[i], written.of(dimension).cuda[i]) << dimension << " " << i;
      }
  EXPECT_EQ(calibrationText(found), calibrationText(written));
}

/// The text without the lines of sparse products, as earlier programs wrote it.
std::string withoutProducts(const std::string& text)
{
  std::string left;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    if (line.find("Sparse") == std::string::npos && line.find("TilePair") == std::string::npos)
      left += line;
    at = end;
  }
  return left;
}

TEST(CalibrationTest, FilesWithoutRatesOfProductsTakeTheShippedOnesScaled)
{
  Calibration written = shippedCalibration();
  for (ThreadRate& rate : written.of(3).cpu)
    rate.oneThread *= 2;
  for (double& rate : written.of(3).cuda)
    rate *= 3;
  const Calibration found = parsed(withoutProducts(calibrationText(written)));
  const ProductRates& shipped = shippedCalibration().products;
  EXPECT_NEAR(found.cpuScale(1), 2, 1e-6);
  EXPECT_NEAR(found.cudaScale(), 3, 1e-6);
  EXPECT_NEAR(found.products.product.oneThread, 2 * shipped.product.oneThread, 1e-6);
  EXPECT_NEAR(found.products.tilePair.allThreads, 2 * shipped.tilePair.allThreads, 1e-6);
  EXPECT_NEAR(found.products.cudaProduct, 3 * shipped.cudaProduct, 1e-6);
  EXPECT_EQ(found.products.download.oneThread, shipped.download.oneThread); // the bus is the same

  const Calibration fewer =
      parsed(replaced(withoutProducts(calibrationText(written)), "(Threads 16)", "(Threads 4)"));
  EXPECT_NEAR(fewer.products.entry.nanoseconds(4, 16), 2 * shipped.entry.allThreads, 1e-9);
}

TEST(CalibrationTest, RatesOfAnotherGpuAreScaledByWhatIsKnownOfIt)
{
  const Calibration& shipped = shippedCalibration();
  const auto linear = static_cast<std::size_t>(Work::directLinear),
             spline = static_cast<std::size_t>(Work::pointSpline),
             field = static_cast<std::size_t>(Work::fieldMatrices);
  // half the multiprocessors, 500 GB/s, which is 0.016 ns for the 8 bytes of a voxel, and a bus of 10 GB/s
  GpuRates rates = usualGpuRates();
  rates.multiprocessors /= 2;
  rates.dramCopyBytes = 500e9;
  rates.pinnedUpload = 10e9;
  const Calibration half = shipped.scaledTo("Odder GPU", rates);
  EXPECT_EQ(half.gpu, "Odder GPU");
  EXPECT_TRUE(half.hasShippedCuda);
  EXPECT_EQ(half.source, "shipped rates scaled to an Odder GPU");
  EXPECT_NEAR(half.of(3).cuda[linear], 0.016, 1e-12);
  EXPECT_NEAR(half.of(3).cuda[spline], 2 * shipped.of(3).cuda[spline], 1e-12);
  EXPECT_EQ(half.of(3).cuda[field], shipped.of(3).cuda[field]); // the host's time
  EXPECT_EQ(half.cudaStartSeconds, shipped.cudaStartSeconds);
  EXPECT_GT(half.cudaScale(), 2);
  EXPECT_NEAR(half.products.cudaProduct, 0.87 * 4917 / 500 * shipped.products.cudaProduct, 1e-12);
  EXPECT_EQ(half.upload.allThreads, 0.1);
  EXPECT_EQ(half.upload.oneThread, shipped.upload.oneThread);
  EXPECT_EQ(half.download.allThreads, shipped.download.allThreads);

  Calibration own = numbered(true);
  own.source = "own.txt";
  const Calibration scaled = own.scaledTo("Odder GPU", rates);
  expectCpuOf(own, scaled);
  EXPECT_EQ(scaled.products.product.oneThread, own.products.product.oneThread);
  EXPECT_EQ(scaled.source, "own.txt, of CUDA the shipped ones scaled to an Odder GPU");
}

TEST(CalibrationTest, AGpuWithFewUnitsForDoublePrecisionTakesLongerForPoints)
{
  GpuRates rates = usualGpuRates();
  const Calibration usual = shippedCalibration().scaledTo("GPU", rates);
  rates.fp64 /= 32; // as those of GeForce GPUs
  const Calibration few = shippedCalibration().scaledTo("GPU", rates);
  const auto point = static_cast<std::size_t>(Work::pointSpline),
             direct = static_cast<std::size_t>(Work::directCubic);
  constexpr double operations = 300;
  EXPECT_NEAR(few.of(3).cuda[point], operations / (32 * rates.fp64 * rates.multiprocessors * rates.clockGHz),
              1e-9);
  EXPECT_GT(few.of(3).cuda[point], 3 * usual.of(3).cuda[point]);
  EXPECT_EQ(few.of(3).cuda[direct], usual.of(3).cuda[direct]); // single precision
  EXPECT_GT(few.cudaScale(), 1.2 * usual.cudaScale());
}

TEST(CalibrationTest, AFileWithoutAGpuTakesTheShippedRatesOfCuda)
{
  const Calibration written = numbered(false), found = parsed(calibrationText(written)),
                    &shipped = shippedCalibration();
  expectCpuOf(written, found);
  EXPECT_TRUE(found.hasShippedCuda);
  EXPECT_EQ(found.gpu, shipped.gpu);
  EXPECT_EQ(found.cudaStartSeconds, shipped.cudaStartSeconds);
  EXPECT_EQ(found.of(3).cuda, shipped.of(3).cuda);
  EXPECT_EQ(found.source, "rates.txt, of CUDA the shipped ones");
  // copies share out among this machine's threads as they did there
  EXPECT_EQ(found.upload.nanoseconds(found.threads, 1), shipped.upload.oneThread);
  EXPECT_NEAR(found.upload.nanoseconds(found.threads, 7), shipped.upload.nanoseconds(shipped.threads, 7),
              1e-15);
}

TEST(CalibrationTest, TheShippedRatesAreOfAnH200AndNoneIsMissing)
{
  const Calibration& shipped = shippedCalibration();
  EXPECT_EQ(shipped.gpu, "NVIDIA H200");
  EXPECT_EQ(shipped.threads, 16);
  EXPECT_EQ(shipped.source, "shipped rates");
  EXPECT_GT(shipped.cudaStartSeconds, 0.05); // no driver starts faster
  for (const int dimension : {2, 3})
    for (std::size_t i = 0; i < workCount; ++i) {
      const auto work = static_cast<Work>(i);
      if (isOfCpu(work)) {
        EXPECT_GT(shipped.of(dimension).cpu[i].oneThread, 0) << dimension << "D " << nameOf(work);
      }
    }
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
  const std::string allowed = ". Allowed: a file that `tessera-bench calibrate` wrote with this version.";
  EXPECT_EQ(errorOf(replaced(text, "(CalibrationVersion 1)", "(CalibrationVersion 2)")),
            "rates.txt:2: (CalibrationVersion 2): this program reads version 1" + allowed);
  EXPECT_EQ(errorOf(replaced(text, "(CalibrationVersion 1)\n", "")),
            "rates.txt: (CalibrationVersion ...) is missing" + allowed);
  EXPECT_EQ(errorOf(replaced(text, "(Threads 12)", "(Threads 12 13)")),
            "rates.txt:4: (Threads 12 13): one value is needed" + allowed);
  EXPECT_TRUE(contains(errorOf(replaced(text, "(Threads 12)", "(Threads 0)")),
                       "rates.txt:4: (Threads 0): \"0\" is too small"));
  EXPECT_TRUE(contains(errorOf(replaced(text, "(Threads 12)", "(Threads 4294967297)")),
                       "rates.txt:4: (Threads 4294967297): \"4294967297\" is too large"));
  EXPECT_EQ(errorOf(replaced(text, "(Cpu2DDirectLinear ", "(Cpu2DDirectLinear 1 ")),
            "rates.txt:"
                + std::to_string(
                    1
                    + std::count(text.begin(),
                                 text.begin() + static_cast<long>(text.find("(Cpu2DDirectLinear ")), '\n'))
                + ": (Cpu2DDirectLinear 1 1.5 1.625): two numbers are needed, of one thread and of all"
                + allowed);
  EXPECT_TRUE(contains(errorOf(replaced(text, "(CudaImageSeconds 0.5)", "(CudaImageSeconds -1)")),
                       "(CudaImageSeconds -1): \"-1\" is too small"));
  EXPECT_TRUE(
      contains(errorOf(replaced(text, "(CudaImageSeconds 0.5)", "(CudaImageSeconds 1e300)")), "too large"));
  EXPECT_TRUE(contains(errorOf(replaced(text, "(CudaImageSeconds 0.5)", "(CudaImageSeconds fast)")),
                       "(CudaImageSeconds \"fast\"): \"fast\" is not a number"));
  EXPECT_EQ(errorOf(replaced(text, "(CudaImageSeconds 0.5)\n", "")),
            "rates.txt: (CudaImageSeconds ...) is missing" + allowed);
  EXPECT_TRUE(contains(
      errorOf(replaced(text, "(Cuda3DPrefilter ", "(Cuda3DPrefilters 1)\n(Cuda3DPrefilter ")),
      "(Cuda3DPrefilters 1): no rate has this name. Did you mean \"Cuda3DPrefilter\"?" + allowed.substr(1)));
  EXPECT_TRUE(contains(errorOf("(CalibrationVersion 1"), "rates.txt:1: "));
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
  EXPECT_TRUE(contains(error, "Allowed: a file that this user may read")) << error;
}

TEST_F(StoredCalibrationTest, IsTheOneThatTheEnvironmentNamesAndThatMustBeThere)
{
  set("TESSERA_CALIBRATION", folder_.write("mine.txt", calibrationText(numbered(true))));
  EXPECT_EQ(storedCalibration().source, folder_ / "mine.txt");
  set("TESSERA_CALIBRATION", folder_ / "none.txt");
  EXPECT_EQ(errorText([] { storedCalibration(); }),
            "calibration for --device auto: " + (folder_ / "none.txt")
                + ": no such file. Allowed: a parameter file (*.txt, *.toml).");
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
