// needs: Sparse
#include "Core/Sparse/Analysis/ProductWork.h"

#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/PlainSpGemm.h"

namespace tessera {
namespace {

using namespace testing;

const Context cpu{{}, 2};

/// Rows 0 to 79 have dense tiles along the diagonal, and rows 80 to 159 one entry each, 8 columns apart.
CsrMatrix<float> denseAndScattered()
{
  EntryMap<float> entries;
  for (std::uint32_t i = 0; i < 80; ++i)
    for (std::uint32_t j = 0; j < 8; ++j)
      entries[{i, i / 8 * 8 + j}] = 1;
  for (std::uint32_t i = 80; i < 160; ++i)
    entries[{i, 80 + (i - 80) * 8 % 80}] = 1;
  return matrixOf(160, 160, entries);
}

TEST(ProductWorkTest, CountsTilesAndRowsByHand)
{
  const CsrMatrix<float> a = denseAndScattered();
  const ProductWork work = productWork(cpu, a, a, sizeof(float));
  EXPECT_EQ(work.rows, 160);
  EXPECT_EQ(work.products, 10 * 512 + 80);
  EXPECT_EQ(work.tilePairs, 10); // a dense tile meets itself
  EXPECT_EQ(work.rowProducts, 80);
  EXPECT_EQ(work.entries, 10 * 64 + 80);
  EXPECT_EQ(work.factorBytes, 161 * 8 + 720 * 8);
  EXPECT_EQ(work.productBytes, 161 * 8 + 720 * 8);
}

TEST(ProductWorkTest, BOfItsOwnCountsItsBytes)
{
  const CsrMatrix<double> a = matrixOf<double>(2, 3, {{{0, 0}, 1}, {{1, 2}, 1}}),
                          b = matrixOf<double>(3, 20, {{{0, 3}, 1}, {{0, 19}, 1}, {{1, 5}, 1}});
  const ProductWork work = productWork(cpu, a, b, sizeof(double));
  EXPECT_EQ(work.products, 2);
  EXPECT_EQ(work.entries, 2);
  EXPECT_EQ(work.factorBytes, 3 * 8 + 2 * 12 + 4 * 8 + 3 * 12);
}

TEST(ProductWorkTest, SamplesAreCloseToAllRows)
{
  const CsrMatrix<float> a = randomMatrix<float>(4000, 4000, 9, 3, smallWhole<float>);
  const double products = static_cast<double>(analyseProduct(cpu, a, a).products),
               entries = static_cast<double>(plainProduct(a, a).entries());
  const ProductWork all = productWork(cpu, a, a, sizeof(float), 1e9),
                    some = productWork(cpu, a, a, sizeof(float), 0.1 * products);
  EXPECT_EQ(all.products, products);
  EXPECT_EQ(all.entries, entries);
  EXPECT_EQ(some.products, products);
  EXPECT_NEAR(some.entries, entries, 0.02 * entries);
  EXPECT_NE(some.entries, entries); // it looked at some groups alone
}

TEST(ProductWorkTest, EmptyMatricesHaveNoWork)
{
  const CsrMatrix<float> none = emptyMatrix<float>(0, 5), five = emptyMatrix<float>(5, 7);
  EXPECT_EQ(productWork(cpu, none, five, sizeof(float)).products, 0);
  EXPECT_EQ(productWork(cpu, none, five, sizeof(float)).entries, 0);
  EXPECT_PRED2(contains, errorText([&] { productWork(cpu, five, none, sizeof(float)); }), "as many columns");
}

}
}
