// needs: Model
#include "Tools/Bench/Model/ModelSummary.h"

#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

TEST(ModelSummary, RanksOfEqualNumbersAreTheirMean)
{
  EXPECT_DOUBLE_EQ(rankCorrelation({1, 2, 3}, {10, 20, 30}), 1);
  EXPECT_DOUBLE_EQ(rankCorrelation({1, 2, 3}, {30, 20, 10}), -1);
  EXPECT_DOUBLE_EQ(rankCorrelation({1, 1, 1}, {1, 2, 3}), 0);
  // Ranks 0.5, 0.5, 2, 3 and 0, 1, 2, 3: 4.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(rankCorrelation({1, 1, 2, 3}, {1, 2, 3, 4}), 0.948683, 1e-6);
}

ModelRow row(int threads, double measured, double ours, bool isUsual)
{
  return {"warp", "8x8x8", {1, threads, 32, 0, 2}, measured, {ours, 2 * measured, measured / 2},
          "DRAM", isUsual};
}

TEST(ModelSummary, SaysErrorsRanksAndRegrets)
{
  const std::vector<ModelRow> rows{row(64, 1.0, 1.1, false), row(128, 1.02, 1.0, false),
                                   row(256, 2, 2, true)};
  std::string table = modelTable(rows);
  const std::string text = modelSummary(rows);
  EXPECT_PRED2(
      testing::contains, table,
      "128    32     8   1.02000   1.00000   -2.0   2.04000 +100.0   0.51000  -50.0  DRAM, chosen: +2.0 %");
  EXPECT_PRED2(testing::contains, table, "DRAM, usual");
  std::vector<ModelRow> copied = rows;
  copied[2].transfersMs = 1.5;
  copied[2].shape.localBytes = 8;
  table = modelTable(copied);
  EXPECT_PRED2(testing::contains, table, "DRAM, usual, copies 1.50000 ms, 8 bytes spilled\n");
  // Ours: errors 10, 2 and 0 %; ranks 1, 0, 2 for 0, 1, 2. Both pairs that differ have the right order.
  EXPECT_PRED2(testing::contains, text,
               "this project  error: mean 4.0 %, largest 10.0 %; rank correlation 0.500 (1 of 1), of pairs "
               "that differ by 5 % 1.000; right order of these pairs 100 %; chosen block size within 3 % of "
               "the best: 100 %, mean regret 2.0 %");
  EXPECT_PRED2(testing::contains, text, "Wu et al.     error: mean 100.0 %");
  EXPECT_PRED2(testing::contains, text, "program takes: mean regret 100.0 %, largest 100.0 %");
}

}
}
