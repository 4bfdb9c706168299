// needs: Sparse; needs: GPU
#include "Testing/Support/Naive/PlainSpGemm.h"
#include "Testing/Support/OnGpu/SpGemmOnGpu.h"

#include <cmath>
#include <utility>

namespace tessera {
namespace {

using namespace testing;

class LongRowsOnCudaTest : public SpGemmOnGpu {
protected:
  template <class V>
  void expectExact(const CsrMatrix<V>& a, const CsrMatrix<V>& b)
  {
    expectSame(product(a, b), plainProduct(a, b));
  }
};

/// Row i has lengths[i] entries at equal distances, from another column in each row.
template <class V>
CsrMatrix<V> evenRows(const std::vector<std::size_t>& lengths, std::size_t columns, std::size_t distance,
                      std::uint64_t seed)
{
  Dice dice(seed);
  EntryMap<V> entries;
  for (std::size_t row = 0; row < lengths.size(); ++row)
    for (std::size_t i = 0; i < lengths[row]; ++i)
      entries[{static_cast<std::uint32_t>(row),
               static_cast<std::uint32_t>((i * distance + row % distance) % columns)}] = smallWhole<V>(dice);
  return matrixOf(lengths.size(), columns, entries);
}

/// Each row of C is one of B, or the sum of two.
TEST_F(LongRowsOnCudaTest, EverySizeOfTable)
{
  const std::vector<std::size_t> sizes = {129,  255,  256,  257,  511,  512,  513,  1023, 1024, 1025, 2047,
                                          2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193, 9000, 17000};
  EntryMap<float> a;
  for (std::uint32_t i = 0; i < sizes.size(); ++i) {
    a[{2 * i, i}] = 2;
    a[{2 * i + 1, i}] = 3;
    a[{2 * i + 1, (i + 1) % static_cast<std::uint32_t>(sizes.size())}] = -1;
  }
  const CsrMatrix<float> ofA = matrixOf(2 * sizes.size(), sizes.size(), a);
  for (const std::size_t columns : {20000u, 70000u, 2000000u}) {
    SCOPED_TRACE(std::to_string(columns) + " columns");
    const CsrMatrix<float> b = evenRows<float>(sizes, columns, columns / 18000, 1);
    expectExact(ofA, b);
    expectExact(converted<double>(Context{{}, 1}, ofA), converted<double>(Context{{}, 1}, b));
    expectExact(converted<std::int64_t>(Context{{}, 1}, ofA), converted<std::int64_t>(Context{{}, 1}, b));
  }
}

TEST_F(LongRowsOnCudaTest, ColumnsThatDifferByPowersOfTwo)
{
  for (const std::size_t distance : {1u, 2u, 32u, 64u, 1024u, 4096u, 32768u}) {
    SCOPED_TRACE("every " + std::to_string(distance) + " columns");
    std::vector<std::size_t> lengths(50);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = i * 397 % 900;
    expectExact(evenRows<double>({50, 7, 20, 1, 0, 33}, 50, 1, 2),
                evenRows<double>(lengths, 60000 * distance, distance, 3));
  }
}

TEST_F(LongRowsOnCudaTest, ManyEntriesOfAInARowThatMeetShortRowsOfB)
{
  const CsrMatrix<float> a =
      evenRows<float>({63, 64, 65, 127, 128, 129, 1000, 8191, 8192, 8193, 30000, 2, 5}, 30000, 1, 5);
  for (const double perRow : {0.4, 1.0, 4.0})
    for (const std::size_t columns : {40u, 3000u, 400000u}) {
      SCOPED_TRACE(std::to_string(perRow) + " entries a row of B, " + std::to_string(columns) + " columns");
      expectExact(a, wholeMatrix<float>(30000, columns, perRow, 6));
    }
}

TEST_F(LongRowsOnCudaTest, SumsComeInTheOrderOfTheEntriesOfA)
{
  const auto value = [](Dice& dice) {
    return 0.5 + static_cast<double>(dice.below(1 << 25)) / (1 << 25);
  }; // exact products
  for (const auto& [columns, perRow] :
       {std::pair(400u, 1.0), {300000u, 1.0}, {300000u, 20.0}, {400u, 40.0}, {20000u, 40.0}}) {
    SCOPED_TRACE(std::to_string(columns) + " columns, " + std::to_string(perRow) + " entries a row of B");
    const CsrMatrix<double> a = randomMatrix<double>(30, 600, 300, 7, value),
                            b = randomMatrix<double>(600, columns, perRow, 8, value), c = product(a, b);
    std::vector<double> sum(columns);
    for (std::size_t row = 0; row < a.rows; ++row) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::uint64_t e = a.rowStart[row]; e < a.rowStart[row + 1]; ++e)
        for (std::uint64_t j = b.rowStart[a.column[e]]; j < b.rowStart[a.column[e] + 1]; ++j)
          sum[b.column[j]] = std::fma(a.value[e], b.value[j], sum[b.column[j]]);
      for (std::uint64_t e = c.rowStart[row]; e < c.rowStart[row + 1]; ++e)
        ASSERT_EQ(c.value[e], sum[c.column[e]]) << "row " << row << ", column " << c.column[e];
    }
  }
}

TEST_F(LongRowsOnCudaTest, FewDenseGroupsAmongManyGoByRows)
{
  Dice dice(9);
  const auto matrixWith = [&](std::uint32_t denseRows) {
    EntryMap<float> entries;
    for (std::uint32_t i = 0; i < 20000; ++i)
      for (std::uint32_t j = 0; j < (i % 20000 < denseRows ? 24u : 2u); ++j)
        entries[{i, i < denseRows ? i / 8 * 8 + j : static_cast<std::uint32_t>(dice.below(20000))}] =
            smallWhole<float>(dice);
    return matrixOf(20000, 20000, entries);
  };
  const CsrMatrix<float> few = matrixWith(800), many = matrixWith(16000);

  expectSame(product(few, few, SpGemmAlgorithm::automatic), plainProduct(few, few));
  EXPECT_EQ(report.tileGroups, 0u) << report.choice;
  expectSame(product(many, many, SpGemmAlgorithm::automatic), plainProduct(many, many));
  EXPECT_GE(report.tileGroups, 1900u) << report.choice;
}

}
}
