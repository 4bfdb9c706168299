// needs: Cohort
#include "Tools/Cohort/CohortIndex.h"

#include "Core/Runs/Report/Html.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

CohortRow rowOf(const std::string& id, double correlation, double dice, double folded)
{
  CohortRow row;
  row.id = id;
  row.figures[1] = correlation;
  row.figures[5] = dice;
  row.figures[2] = folded;
  return row;
}

/// Ten that differ a little, whose medians are 0.95, 0.7 and 0.
std::vector<CohortRow> tenRows()
{
  std::vector<CohortRow> rows;
  for (int i = 0; i < 10; ++i)
    rows.push_back(rowOf("r" + std::to_string(i), 0.95 + 0.002 * (i - 4.5), 0.7 + 0.01 * (i - 4.5), 0));
  return rows;
}

class IndexFolder : public ::testing::Test {
protected:
  void writeIndex(std::vector<CohortRow> rows, const IndexOptions& options = {}) const
  {
    const CohortSpread spread = judgeCohort(rows);
    writeCohortIndex(folder.path(), rows, spread, options);
  }
  const testing::TemporaryFolder folder;
};

}

TEST(CohortVerdicts, FiguresComeFromTheRecordOfARun)
{
  const Json run = Json::parse(R"({"quality": {"overlap": 0.9, "correlationBefore": -0.2, "correlation": -0.7,
    "largestDisplacementMm": 12, "points": {"meanMm": 1.5}, "dice": {"mean": 0.8, "meanBefore": 0.3}},
    "stages": [{"spatialJacobianDeterminant": {"foldedVoxels": 7, "voxels": 10}},
               {"spatialJacobianDeterminant": {"foldedVoxels": 1, "voxels": 4}}, {}]})");
  const Figures figures = figuresOf(run);
  const double expected[figureCount] = {0.9, 0.7, 0.25, 12, 0.3, 0.8, 1.5};
  for (std::size_t f = 0; f < figureCount; ++f)
    EXPECT_DOUBLE_EQ(figures[f].value(), expected[f]) << f;
  for (const auto& figure : figuresOf(Json::parse(R"({"quality": null, "stages": []})")))
    EXPECT_FALSE(figure);
}

TEST(CohortVerdicts, ARowWhosePageSaysLookIsLookedAtAfterThoseFarFromTheOthers)
{
  std::vector<CohortRow> rows = tenRows();
  rows[4].alone = {Verdict::look, {"the transform folds"}, {"a label is small"}, 0};
  rows.push_back(rowOf("far", 0.2, 0.7, 0));
  judgeCohort(rows);
  EXPECT_EQ(rows[0].id, "far");
  EXPECT_EQ(rows[1].id, "r4");
  EXPECT_EQ(rows[1].judgement.verdict, Verdict::look);
  EXPECT_EQ(rows[1].judgement.reasons, std::vector<std::string>{"the transform folds"});
  EXPECT_EQ(rows[2].judgement.verdict, Verdict::done);
}

TEST(CohortVerdicts, ARowFarOnTheBadSideIsLookedAt)
{
  // The deviations from the median are 0.001, 0.003, ... 0.009 of the correlation, less than the least that
  // counts, 0.01; and 0.005, 0.015, ... 0.045 of Dice, whose median is 0.025.
  std::vector<CohortRow> rows = tenRows();
  std::vector<Figures> figures;
  for (const CohortRow& row : rows)
    figures.push_back(row.figures);
  const CohortSpread spread = spreadOf(figures);
  EXPECT_NEAR(spread.of[1]->median, 0.95, 1e-12);
  EXPECT_NEAR(spread.of[1]->mad, 0.01, 1e-12);
  EXPECT_NEAR(spread.of[5]->mad, 0.025, 1e-12);
  EXPECT_FALSE(spread.of[3]); // no row has it
  const auto verdict = [&](double correlation, double dice, double folded) {
    return judgedInCohort(rowOf("x", correlation, dice, folded).figures, spread);
  };
  EXPECT_EQ(verdict(0.902, 0.7, 0).verdict, Verdict::done);
  EXPECT_EQ(verdict(0.898, 0.7, 0).verdict, Verdict::look);
  EXPECT_EQ(verdict(0.95, 0.58, 0).verdict, Verdict::done);
  EXPECT_EQ(verdict(0.95, 0.57, 0).verdict, Verdict::look);
  EXPECT_EQ(verdict(1, 0.9, 0).verdict, Verdict::done); // better than others
  EXPECT_EQ(verdict(0.95, 0.7, 1e-4).verdict, Verdict::look);
  EXPECT_NEAR(verdict(0.898, 0.7, 0).badness, 5.2, 1e-9);
  EXPECT_EQ(verdict(0.8, 0, 0.1).reasons.size(), 3u);
  EXPECT_EQ(verdict(0.884, 0.7, 0).reasons,
            std::vector<std::string>{"correlation 0.884: more than 5 MAD below the cohort's median 0.95"});
}

TEST(CohortVerdicts, ALargeMotionIsNoFault)
{
  std::vector<CohortRow> rows = tenRows();
  for (CohortRow& row : rows) {
    row.figures[0] = 0.98; // overlap
    row.figures[3] = 4;    // largest displacement in mm
  }
  rows.push_back(rowOf("far", 0.95, 0.7, 0));
  rows.back().figures[0] = 0.79;
  rows.back().figures[3] = 31;
  judgeCohort(rows);
  for (const CohortRow& row : rows)
    EXPECT_EQ(row.judgement.verdict, Verdict::done) << row.id;
}

TEST(CohortVerdicts, FewRowsAreNotCompared)
{
  std::vector<CohortRow> rows = tenRows();
  rows.resize(4);
  rows.front().figures[1] = 0.1;
  judgeCohort(rows);
  EXPECT_EQ(rows.front().judgement.verdict, Verdict::done);
}

TEST_F(IndexFolder, TheWorstRowsComeFirst)
{
  std::vector<CohortRow> rows = tenRows();
  rows.push_back(rowOf("folded", 0.95, 0.7, 0.3));
  rows.push_back(rowOf("little <gain>", 0.85, 0.7, 0));
  CohortRow failed;
  failed.id = "broken";
  failed.alone = {Verdict::failed, {"-m: x.nii: cut off"}, {}};
  failed.page = "rows/a b%/page.html";
  rows.push_back(failed);
  writeIndex(rows);
  rows[3].figures[4] = 0.25;
  rows[3].figures[5] = 0.8;
  writeIndex(rows);
  const std::string html = folder.read("index.html");
  EXPECT_PRED2(testing::contains, html, "<th>Dice before</th><th>Dice</th>");
  EXPECT_PRED2(testing::contains, html,
               "data-k=\"0.25\">0.25</td><td class=\"n\" data-k=\"0.80000000000000004\">0.8</td>");
  const auto at = [&](const std::string& text) { return html.find(text); };
  EXPECT_LT(at("data-id=\"broken\""), at("data-id=\"folded\""));
  EXPECT_LT(at("data-id=\"folded\""), at("data-id=\"little &lt;gain&gt;\""));
  EXPECT_LT(at("data-id=\"little &lt;gain&gt;\""), at("data-id=\"r0\""));
  EXPECT_LT(at("data-id=\"r0\""), at("data-id=\"r4\""));
  for (const char* text : {"-m: x.nii: cut off", "href=\"rows/a%20b%25/page.html\"", "13 registrations",
                           ">1 failed<", ">0 interrupted<", ">2 look<", ">10 done<"})
    EXPECT_NE(at(text), std::string::npos) << text;
  EXPECT_EQ(at("<gain>"), std::string::npos);
}

TEST_F(IndexFolder, ASingleFileHoldsItsThumbnails)
{
  std::vector<CohortRow> rows = tenRows();
  rows.front().thumbnail = "small picture.jpg";
  EXPECT_PRED2(testing::contains,
               testing::errorText(
                   [&] {
                     writeIndex(rows, {"", true});
                   },
                   ExitCode::unreadableInput),
               "small picture.jpg: ");
  folder.write("small picture.jpg", "Man");
  writeIndex(rows, {"", true});
  EXPECT_PRED2(testing::contains, folder.read("index.html"), "src=\"data:image/jpeg;base64,TWFu\"");
  writeIndex(rows);
  EXPECT_PRED2(testing::contains, folder.read("index.html"), "src=\"small%20picture.jpg\"");
  rows.resize(maxRowsOfSingleFile + 1);
  EXPECT_PRED2(testing::contains, testing::errorText([&] { writeIndex(rows, {"", true}); }), "501 rows");
}

TEST(CohortPart, LeadsToTheNeighboursAndTellsMedians)
{
  std::vector<CohortRow> rows = tenRows();
  rows.push_back(rowOf("folded", 0.95, 0.7, 0.3));
  for (CohortRow& row : rows)
    row.page = "rows/" + row.id + "/report.html";
  const CohortSpread spread = judgeCohort(rows);
  ASSERT_EQ(rows[0].id, "folded");
  rows[1].page.clear();
  const std::string first = cohortPart(rows, 0, spread), third = cohortPart(rows, 2, spread);
  EXPECT_PRED2(testing::contains, first, "href=\"../../index.html\"");
  EXPECT_PRED2(testing::contains, first,
               "rel=\"next\" href=\"../" + rows[2].id + "/report.html\""); // one has no page
  EXPECT_FALSE(testing::contains(first, "rel=\"prev\""));
  EXPECT_PRED2(testing::contains, third, "rel=\"prev\" href=\"../folded/report.html\"");
  EXPECT_PRED2(testing::contains, first, "<b class=\"big look\">look</b>");
  EXPECT_PRED2(testing::contains, first, "<li>folded share 0.3: more than 5 MAD above");
  EXPECT_PRED2(testing::contains, first,
               "<td>correlation</td><td class=\"n\" data-k=\"0.94999999999999996\">0.95</td>");
}

TEST(Html, TextsAreEncoded)
{
  EXPECT_EQ(htmlText("a<b>&\"c\"\x01"), "a&lt;b&gt;&amp;&quot;c&quot;?");
  EXPECT_EQ(base64("M"), "TQ=="); // RFC 4648
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("\xff\xfe"), "//4=");
  EXPECT_EQ(policyHash(""), "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
  EXPECT_EQ(shortNumber(-0.0), "0");
  EXPECT_EQ(shortNumber(0.0 / 0.0), "-");
  EXPECT_EQ(shortNumber(1234.56), "1235");
}

}
