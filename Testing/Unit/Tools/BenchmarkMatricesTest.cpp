// needs: Sparse, Matrices
#include "Tools/Bench/Matrices/BenchmarkMatrices.h"
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <set>

namespace tessera {
namespace {

const BenchmarkMatrix& named(const std::string& name)
{
  for (const BenchmarkMatrix& matrix : benchmarkMatrices())
    if (name == matrix.name)
      return matrix;
  throw std::out_of_range(name);
}

std::string testName(const ::testing::TestParamInfo<const char*>& info)
{
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class BenchmarkMatricesTest : public ::testing::TestWithParam<const char*> {};
/// All but those that take longer than a test may.
INSTANTIATE_TEST_SUITE_P(Made, BenchmarkMatricesTest,
                         ::testing::Values("lock1074_like", "lock3491_like", "struct3_like", "dawson5_like",
                                           "pkustk06_like", "pct20stif_like", "qa8fk_like", "qcd5_4",
                                           "nemeth21_like", "mc2depi", "cage12_like", "m133-b3",
                                           "patents_main_like", "er_100k_1M", "web-NotreDame_like"),
                         testName);

TEST_P(BenchmarkMatricesTest, HasTheFiguresOfItsTable)
{
  const BenchmarkMatrix& expected = named(GetParam());
  const Context context{{}, 2};

  const CsrMatrix<double> a = makeBenchmarkMatrix(context, GetParam());

  EXPECT_TRUE(checkMatrix(context, a, GetParam()));
  EXPECT_EQ(a.rows, expected.rows);
  EXPECT_EQ(a.entries(), expected.entries);
  EXPECT_GE(*std::min_element(a.value.begin(), a.value.end()), 0.5);
  EXPECT_LT(*std::max_element(a.value.begin(), a.value.end()), 1.5);
  SpGemmOptions<double> rows;
  rows.algorithm = SpGemmAlgorithm::rows; // counts no tiles
  EXPECT_EQ(describeProduct(context, a, a, rows).products, expected.products);
}

class SquaredBenchmarkMatricesTest : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Squared, SquaredBenchmarkMatricesTest,
                         ::testing::Values("lock1074_like", "dawson5_like", "nemeth21_like", "qcd5_4",
                                           "m133-b3", "patents_main_like"),
                         testName);

TEST_P(SquaredBenchmarkMatricesTest, HasTheEntriesOfItsTable)
{
  const Context context{{}, 2};
  const CsrMatrix<float> a = converted<float>(context, makeBenchmarkMatrix(context, GetParam()));

  EXPECT_EQ(multiply(context, a, a).entries(), named(GetParam()).entriesOfSquare);
}

TEST(BenchmarkMatrices, HaveNamesOfTheirOwnAndOthersAreRefusedWithAllOfThem)
{
  std::set<std::string> names;
  for (const BenchmarkMatrix& matrix : benchmarkMatrices())
    EXPECT_TRUE(names.insert(matrix.name).second) << matrix.name;

  const std::string text = testing::errorText([] { makeBenchmarkMatrix(Context{}, "pcrystk04"); });

  EXPECT_TRUE(text.starts_with("generate: \"pcrystk04\": no such matrix. Allowed: pcrystk03, qcd5_4, "));
  for (const std::string& name : names)
    EXPECT_PRED2(testing::contains, text, name) << name;
}

}
}
