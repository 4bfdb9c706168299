// needs: Sparse; needs: GPU
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <vector>

namespace tessera {
namespace {

using namespace testing;

template <class Sum>
void expectSumsOf(const Context& cuda, const std::vector<std::uint32_t>& counts)
{
  Buffer<std::uint32_t> onDevice;
  onDevice.fromHost(cuda, counts);
  Buffer<Sum> starts(cuda, counts.size());
  scanOnCuda(cuda, counts.size() - 1, onDevice.span().data(), starts.span().data());
  const std::vector<Sum> found = starts.toHost(cuda);
  Sum expected = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    ASSERT_EQ(found[i], expected) << "at " << i << " of " << counts.size() - 1;
    expected += counts[i];
  }
}

using ScanOnCudaTest = testing::GpuTest;

TEST_F(ScanOnCudaTest, SumsAreThoseBeforeEachCount)
{
  Dice dice(5);
  for (const std::size_t count : {0, 1, 31, 255, 2046, 2047, 2048, 2049, 4096, 65537, 1 << 20, 3000001}) {
    std::vector<std::uint32_t> counts(count + 1);
    for (std::uint32_t& one : counts)
      one = static_cast<std::uint32_t>(dice.below(1000));
    expectSumsOf<std::uint64_t>(cuda, counts);
    expectSumsOf<std::uint32_t>(cuda, counts);
  }
}

TEST_F(ScanOnCudaTest, SumsMayBeBeyond32Bits)
{
  std::vector<std::uint32_t> counts(100001, 0xffffffff);
  counts[50000] = 0;
  expectSumsOf<std::uint64_t>(cuda, counts);
}

}
}
