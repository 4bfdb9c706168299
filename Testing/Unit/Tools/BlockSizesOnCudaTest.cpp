// needs: GPU, Model
#include "Core/Compute/Performance/BlockThreads.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Tools/Bench/Model/ModelCases.h"

namespace tessera {
namespace {

// The model may choose any block size, so none may change a result.
TEST(BlockSizesOnCuda, ChangeNoBit)
{
  TESSERA_NEEDS_GPU();
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  for (const std::string& kernel : modelKernels())
    for (const std::array<int, 3>& volume : {std::array{50, 37, 41}, {150, 64, 70}}) {
      const ModelCase problem = modelCase(context, kernel, volume);
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

}
}
