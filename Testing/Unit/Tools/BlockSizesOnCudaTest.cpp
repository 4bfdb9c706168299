// needs: GPU, Tools, Model
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Log.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Tools/Bench/Model/ModelCases.h"
#include "Tools/Bench/Model/ModelChoice.h"
#include "Tools/Common/BlockSizesFile.h"

#include <cstdlib>
#include <filesystem>

namespace tessera {
namespace {

// The model may choose any block size, so none may change a result.
using BlockSizesOnCuda = testing::GpuTest;

TEST_F(BlockSizesOnCuda, ChangeNoBit)
{
  std::vector<std::string> kernels = modelKernels();
  kernels.insert(kernels.end(), {"globallandmarks", "sharedlandmarks"});
  for (const std::string& kernel : kernels)
    for (const std::array<int, 3>& volume : {std::array{50, 37, 41}, {150, 64, 70}}) {
      const ModelCase problem = modelCase(cuda, kernel, volume);
      const std::vector<std::uint32_t> usual = problem.result();
      ASSERT_FALSE(usual.empty());
      EXPECT_NE(usual, std::vector<std::uint32_t>(usual.size(), 0)) << kernel << " " << problem.size;
      for (const int threads : problem.blockThreads) {
        const BlockThreads chosen(threads);
        EXPECT_TRUE(problem.result() == usual)
            << kernel << " " << problem.size << " in blocks of " << threads;
      }
    }
}

// What `tessera-bench calibrate --model` has stored is what the launches take, with the same bits.
TEST_F(BlockSizesOnCuda, AStoredChoiceIsTaken)
{
  const testing::TemporaryFolder folder;
  setenv("TESSERA_CALIBRATION", (folder / "calibration.txt").c_str(), 1);
  const CudaDevice device = findCudaDevices().found.front();
  const std::string path = gpuFilePath(gpuStorageName(device.name, device.multiprocessors));
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  for (const std::string kernel : {"adjoint", "prefilter"}) {
    const ModelCase problem = modelCase(cuda, kernel, {128, 64, 70});
    const std::vector<std::uint32_t> usual = problem.result();
    for (const int threads : {32, 256}) {
      writeTextFile(path, blockSizesText({{kernel, {{1000, threads}}}}));
      Log log;
      useStoredBlockSizes(cuda, log);
      std::vector<int> taken;
      for (const KernelLaunch& launch : problem.launches())
        if (launch.kernel == kernel)
          taken.push_back(launch.shape.threads);
      ASSERT_EQ(taken.size(), 1u) << kernel;
      EXPECT_LE(taken.front(), threads) << kernel;
      // a block of the prefilter has whole lines, here of 10 threads each
      EXPECT_GT(taken.front(), threads - (kernel == "prefilter" ? 10 : 1)) << kernel;
      EXPECT_TRUE(problem.result() == usual) << kernel << " in blocks of " << threads;
    }
  }
  setBlockSizes(0, {});
  unsetenv("TESSERA_CALIBRATION");
}

// The model chooses for each kernel that reads the table, among sizes that the table's file may hold.
TEST_F(BlockSizesOnCuda, TheModelChoosesForThreeSizes)
{
  const BlockSizes sizes = chosenBlockSizes(cuda, usualGpuRates());
  std::vector<std::string> notes;
  EXPECT_EQ(blockSizesOf(parseParameterText(blockSizesText(sizes), "gpu.txt", notes)), sizes);
  for (const char* kernel : {"adjoint", "prefilter"})
    EXPECT_EQ(sizes.at(kernel).size(), 3u) << kernel;
}

}
}
