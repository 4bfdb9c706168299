// needs: Sparse; needs: GPU
#include "Core/Sparse/SpGemmPlanOnCuda.h"
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <utility>

namespace tessera {
namespace {

using namespace testing;

/// Products make rows before their sizes are known; plans count entries first.
class RowsAtOnceOnCudaTest : public GpuTest {
protected:
  void SetUp() override
  {
    GpuTest::SetUp();
    options.algorithm = SpGemmAlgorithm::rows;
  }

  /// A B, after it was seen that a plan finds the same bits.
  template <class V>
  CsrMatrix<V> product(const CsrMatrix<V>& a, const CsrMatrix<V>& b)
  {
    const CsrOnCuda<V> ofA = broughtToCuda(cuda, a, "A"), ofB = broughtToCuda(cuda, b, "B");
    const CsrMatrix<V> c = broughtToHost(cuda, SpGemmOnCuda(cuda).multiply(ofA, ofB, options, &report));
    SpGemmPlanOnCuda<V> plan(cuda, ofA, ofB, options);
    EXPECT_EQ(plan.execute(ofA.value.span().data(), ofB.value.span().data()).toHost(cuda),
              c.value.toVector());
    EXPECT_EQ(plan.pattern().column.toHost(cuda), c.column.toVector());
    return c;
  }

  SpGemmOnCudaOptions options;
  SpGemmReport report;
};

float rough(Dice& dice)
{
  return static_cast<float>(dice.unit() - 0.5);
}

/// Row i of A takes 1, 2, 4 and so on up to `most` rows of B.
CsrMatrix<float> growingRows(std::size_t rows, std::size_t columns, std::size_t most, std::uint64_t seed)
{
  Dice dice(seed);
  EntryMap<float> entries;
  std::size_t length = 1;
  for (std::uint32_t row = 0; row < rows; ++row, length = length < most ? 2 * length : 1)
    for (std::size_t i = 0; i < length; ++i)
      entries[{row, static_cast<std::uint32_t>(dice.below(columns))}] = rough(dice);
  return matrixOf(rows, columns, entries);
}

TEST_F(RowsAtOnceOnCudaTest, RowsOfEverySizeHaveTheBitsOfAPlan)
{
  const CsrMatrix<float> a = growingRows(200, 3000, 2048, 1);
  // long rows have a sum for each column, or a table; places of columns and products fit into 32 bits
  // together, or do not
  for (const std::size_t columns : {5000u, 400000u, 20000000u}) {
    const CsrMatrix<float> b = randomMatrix<float>(3000, columns, 8, 2, rough);
    const CsrMatrix<float> c = product(a, b), expected = plainProduct(a, b);
    ASSERT_EQ(c.rowStart.toVector(), expected.rowStart.toVector());
    ASSERT_EQ(c.column.toVector(), expected.column.toVector());
    constexpr double rounding = 6e-8; // of each of at most 32 additions and products below 1
    for (std::size_t i = 0; i < c.value.size(); ++i)
      ASSERT_NEAR(c.value[i], expected.value[i], 64 * rounding) << "columns " << columns << ", entry " << i;
  }
}

TEST_F(RowsAtOnceOnCudaTest, RowsOfAnyLengthsComeToTheirPlaces)
{
  constexpr std::uint32_t columns = 8192;
  EntryMap<float> ofIdentity, entries;
  for (std::uint32_t k = 0; k < columns; ++k)
    ofIdentity[{k, k}] = 1;
  // equal shares of C have 2048 entries and look at 256 rows at a time: none, one, shares that end with a
  // row, rows of several
  const std::vector<std::uint32_t> lengths = {2048, 2047, 1, 4096, 0, 5000, 3, 2049, 8192, 64};
  Dice dice(9);
  std::uint32_t row = 0;
  for (const std::uint32_t length : lengths) {
    for (std::uint32_t k = 0; k < length; ++k)
      entries[{row, k}] = rough(dice);
    row += length % 2 ? 300 : 1; // 299 empty rows behind some
  }
  for (const std::uint32_t last = row + 1500; row < last; ++row) // more than 256 short rows a share
    entries[{row, row}] = rough(dice);
  const CsrMatrix<float> a = matrixOf(row, columns, entries), b = matrixOf(columns, columns, ofIdentity);

  const CsrMatrix<float> c = product(a, b);

  EXPECT_EQ(c.rowStart.toVector(), a.rowStart.toVector());
  EXPECT_EQ(c.column.toVector(), a.column.toVector());
  EXPECT_EQ(c.value.toVector(), a.value.toVector());
}

TEST_F(RowsAtOnceOnCudaTest, ManyProductsOfFewEntriesHaveTheBitsOfAPlan)
{
  const CsrMatrix<float> a = growingRows(60, 3000, 2048, 3), b = randomMatrix<float>(3000, 300, 6, 4, rough);
  const CsrMatrix<float> c = product(a, b);
  EXPECT_GT(report.products, 6 * c.entries());
}

/// Two factors for which a sample of rows misleads. The first of each 8 rows of A, which is sampled, meets
/// one column of B 40 times, the others 40 different ones; unless `sampledHaveFew`, it is the other way
/// round.
std::pair<CsrMatrix<std::int64_t>, CsrMatrix<std::int64_t>> factorsThatMislead(bool sampledHaveFew)
{
  Dice dice(6);
  EntryMap<std::int64_t> ofA, ofB;
  for (std::uint32_t k = 0; k < 4096; ++k)
    ofB[{k, k < 64 ? 0 : k}] = smallWhole<std::int64_t>(dice);
  for (std::uint32_t row = 0; row < 20000; ++row)
    for (std::uint32_t i = 0; i < 40; ++i)
      ofA[{row, (row % 8 == 0) == sampledHaveFew ? i : 64 + static_cast<std::uint32_t>(dice.below(4032))}] =
          smallWhole<std::int64_t>(dice);
  return {matrixOf(20000, 4096, ofA), matrixOf(4096, 4096, ofB)};
}

TEST_F(RowsAtOnceOnCudaTest, RowsWithoutRoomAreMadeLater)
{
  const auto [a, b] = factorsThatMislead(true);
  expectSame(product(a, b), plainProduct(a, b));
}

TEST_F(RowsAtOnceOnCudaTest, FewerEntriesThanEstimatedLeaveLittleRoomInC)
{
  const auto [a, b] = factorsThatMislead(false);
  expectSame(product(a, b), plainProduct(a, b));
  const CsrOnCuda<std::int64_t> ofA = broughtToCuda(cuda, a, "A"), ofB = broughtToCuda(cuda, b, "B");
  const CsrOnCuda<std::int64_t> c = SpGemmOnCuda(cuda).multiply(ofA, ofB, options);
  EXPECT_LE(c.column.span().size(), c.entries + c.entries / 4 + 4096);
}

TEST_F(RowsAtOnceOnCudaTest, FewRowsThatOnlyTellTheirSizeAreMadeBesideTheOthers)
{
  Dice dice(10);
  EntryMap<float> ofA,
      ofB; // two rows of A meet 8 of 300 columns 450 times, the others few of 5000, among them all that are
           // sampled
  for (std::uint32_t k = 0; k < 3000; ++k)
    for (int i = 0; i < 8; ++i)
      ofB[{k, static_cast<std::uint32_t>(dice.below(k < 512 ? 300 : 5000))}] = rough(dice);
  for (std::uint32_t row = 0; row < 2000; ++row)
    for (std::uint32_t i = 0; i < (row == 7 || row == 107 ? 450u : 3u); ++i)
      ofA[{row, i == 0 || row == 7 || row == 107 ? i : 512 + static_cast<std::uint32_t>(dice.below(2488))}] =
          rough(dice);
  const CsrMatrix<float> a = matrixOf(2000, 3000, ofA), b = matrixOf(3000, 5000, ofB), c = product(a, b);
  EXPECT_EQ(c.rowStart.toVector(), plainProduct(a, b).rowStart.toVector());
}

TEST_F(RowsAtOnceOnCudaTest, MoreEntriesThanEstimatedKeepALimitThatSufficesWithoutRoom)
{
  const auto [a, b] = factorsThatMislead(true);
  const CsrOnCuda<std::int64_t> ofA = broughtToCuda(cuda, a, "A"), ofB = broughtToCuda(cuda, b, "B");
  SpGemmOnCuda spGemm(cuda);
  const CsrOnCuda<std::int64_t> c = spGemm.multiply(ofA, ofB, options, &report);
  constexpr std::size_t bytesOfAnalysisARow = 17 * 4;
  options.maxMemoryBytes = c.bytes() + a.rows * bytesOfAnalysisARow;
  ASSERT_LT(options.maxMemoryBytes, report.bytesTaken);

  expectSame(broughtToHost(cuda, spGemm.multiply(ofA, ofB, options, &report)), broughtToHost(cuda, c));
  EXPECT_LE(report.bytesTaken, options.maxMemoryBytes);
}

TEST_F(RowsAtOnceOnCudaTest, AMemoryLimitThatHasNoRoomForThemCountsFirst)
{
  const CsrMatrix<float> a = randomMatrix<float>(2000, 2000, 20, 7, rough);
  const CsrOnCuda<float> onCuda = broughtToCuda(cuda, a, "A");
  SpGemmOnCuda spGemm(cuda);
  const CsrMatrix<float> free = broughtToHost(cuda, spGemm.multiply(onCuda, onCuda, options, &report));
  const std::size_t bytesOfC = 8 * (a.rows + 1) + 8 * free.entries(), taken = report.bytesTaken;
  ASSERT_GT(taken, 2 * bytesOfC); // the room, and C

  options.maxMemoryBytes = bytesOfC + bytesOfC / 2;
  expectSame(broughtToHost(cuda, spGemm.multiply(onCuda, onCuda, options, &report)), free);
  EXPECT_LE(report.bytesTaken, options.maxMemoryBytes);
}

TEST_F(RowsAtOnceOnCudaTest, TheSameBitsEveryTime)
{
  const CsrMatrix<float> a = growingRows(5000, 3000, 512, 8),
                         b = randomMatrix<float>(3000, 2500, 12, 9, rough);
  const CsrOnCuda<float> ofA = broughtToCuda(cuda, a, "A"), ofB = broughtToCuda(cuda, b, "B");
  SpGemmOnCuda spGemm(cuda);
  const CsrMatrix<float> first = broughtToHost(cuda, spGemm.multiply(ofA, ofB, options));
  for (int again = 0; again < 5; ++again)
    expectSame(broughtToHost(cuda, spGemm.multiply(ofA, ofB, options)), first);
}

}
}
