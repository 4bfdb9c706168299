// needs: Sparse
#include "Core/Sparse/SpGemm.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

TEST(SpGemmChoice, MethodsAndThreadsGiveTheSameBitsOnMixedMatrices)
{
  EntryMap<double> entries; // dense blocks above, scattered below
  Dice dice(5);
  for (std::uint32_t i = 0; i < 400; ++i)
    for (std::uint32_t j = i / 24 * 24; j < i / 24 * 24 + 24 && j < 400; ++j)
      entries[{i, j}] = dice.unit();
  for (std::uint32_t i = 400; i < 3000; ++i)
    for (int k = 0; k < 5; ++k)
      entries[{i, static_cast<std::uint32_t>(dice.below(3000))}] = dice.unit();
  const CsrMatrix<double> a = matrixOf<double>(3000, 3000, entries);
  SpGemmReport report;

  const CsrMatrix<double> c = multiply(Context{{}, 1}, a, a, {}, &report);

  EXPECT_GT(report.tileGroups, 0u);
  EXPECT_LT(report.tileGroups, report.groups);
  for (const SpGemmAlgorithm algorithm :
       {SpGemmAlgorithm::rows, SpGemmAlgorithm::tiles, SpGemmAlgorithm::automatic})
    for (const int threads : {1, 2, 5}) {
      SpGemmOptions<double> options;
      options.algorithm = algorithm;
      expectSame(multiply(Context{{}, threads}, a, a, options), c);
    }
}

TEST(SpGemmChoice, NumbersThatAreNotFiniteStayWhereTheyBelong)
{
  CsrMatrix<double> a = randomMatrix(64, 64, 30, 1);
  a.value[3] = std::numeric_limits<double>::infinity();
  SpGemmReport report;

  const CsrMatrix<double> c = multiply(Context{}, a, a, {}, &report);

  EXPECT_EQ(report.tileGroups, 0u);
  EXPECT_EQ(report.choice, "rows: some numbers are not finite");
  expectSame(c, plainProduct(a, a));
  SpGemmOptions<double> tiles;
  tiles.algorithm = SpGemmAlgorithm::tiles;
  EXPECT_EQ(testing::errorText([&] { multiply(Context{}, a, a, tiles); }),
            "A B: algorithm tiles: some numbers are not finite. Allowed: auto or rows.");
}

TEST(SpGemmChoice, MatricesOfMoreColumnsThanAnArrayHoldsGoByHashing)
{
  const std::size_t wide = (std::size_t(1) << 22) + 100;
  const CsrMatrix<double> a = randomMatrix(50, 60, 10, 1);
  const CsrMatrix<double> b = randomMatrix(60, wide, 30, 2);

  expectSame(multiply(Context{}, a, b), plainProduct(a, b));
  SpGemmPlan<double> plan(Context{}, a, b);
  expectSame(plan.execute(a.value, b.value), plainProduct(a, b));
}

TEST(SpGemmChoice, AMillionRowsOfOneEntryAreNoMatter)
{
  const std::size_t size = 1000003;
  CsrMatrix<double> a = emptyMatrix<double>(size, size);
  std::vector<std::uint32_t> column(size);
  std::vector<double> value(size, 2);
  for (std::size_t i = 0; i < size; ++i) {
    a.rowStart[i + 1] = i + 1;
    column[i] = static_cast<std::uint32_t>(size - 1 - i);
  }
  a.column = column;
  a.value = value;

  const CsrMatrix<double> c = multiply(Context{{}, 2}, a, a);

  ASSERT_EQ(c.entries(), size);
  for (std::size_t i = 0; i < size; i += 997)
    EXPECT_TRUE(c.column[i] == i && c.value[i] == 4);
}

}
}
