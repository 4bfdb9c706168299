// needs: Sparse
#include "Core/Sparse/MatrixFile.h"
#include "Core/Sparse/Files/MatrixOutput.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/NumpyArchive.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <filesystem>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

class MatrixFileTest : public ::testing::Test {
protected:
  MatrixFile read(const std::string& name, const std::string& text) const
  {
    return readMatrix(context, folder.write(name, text));
  }
  template <class V = double>
  CsrMatrix<V> entries(const std::string& name, const std::string& text) const
  {
    return std::get<CsrMatrix<V>>(read(name, text).matrix);
  }

  testing::TemporaryFolder folder;
  Context context{{}, 2};
};

/// Awkward numbers, empty rows, a size of its own on each side.
CsrMatrix<double> awkward()
{
  return matrixOf<double>(7, 9,
                          {{{0, 8}, -0.0},
                           {{0, 0}, 0.1},
                           {{2, 3}, std::numeric_limits<double>::denorm_min()},
                           {{2, 4}, std::numeric_limits<double>::max()},
                           {{3, 0}, std::numeric_limits<double>::infinity()},
                           {{6, 8}, 1.0 / 3}});
}

TEST_F(MatrixFileTest, EveryFormatGivesBackTheBitsItWasGiven)
{
  for (const char* name : {"a.mtx", "a.mtx.gz", "a.npz", "a.tcsr"}) {
    SCOPED_TRACE(name);
    writeMatrix(context, folder / name, awkward());
    testing::expectSame(std::get<CsrMatrix<double>>(readMatrix(context, folder / name).matrix), awkward());
  }
}

TEST_F(MatrixFileTest, IntegersStayIntegers)
{
  const CsrMatrix<std::int64_t> matrix =
      matrixOf<std::int64_t>(2, 3,
                             {{{0, 1}, std::numeric_limits<std::int64_t>::min()},
                              {{1, 2}, std::numeric_limits<std::int64_t>::max()},
                              {{1, 0}, 0}});
  for (const char* name : {"a.mtx", "a.npz", "a.tcsr"}) {
    SCOPED_TRACE(name);
    writeMatrix(context, folder / name, matrix);
    testing::expectSame(std::get<CsrMatrix<std::int64_t>>(readMatrix(context, folder / name).matrix), matrix);
  }
}

TEST_F(MatrixFileTest, SinglePrecisionStaysSingleWhereTheFormatCanSayIt)
{
  const CsrMatrix<float> matrix = matrixOf<float>(2, 2, {{{0, 1}, 0.1f}, {{1, 0}, 3e38f}});
  for (const char* name : {"a.npz", "a.tcsr"}) {
    SCOPED_TRACE(name);
    writeMatrix(context, folder / name, matrix);
    testing::expectSame(std::get<CsrMatrix<float>>(readMatrix(context, folder / name).matrix), matrix);
  }
}

/// Blocks of 1 x 2 in a matrix of 2 x 4: the first row has none, the second has them in falling order.
TEST_F(MatrixFileTest, BlocksOfSciPyAreReadInBothOrdersOfTheirNumbers)
{
  const CsrMatrix<double> expected =
      matrixOf<double>(2, 4, {{{1, 0}, 3}, {{1, 1}, 4}, {{1, 2}, 0}, {{1, 3}, 2}});
  for (const bool isFortran : {false, true}) {
    testing::NumpyArchive zip;
    zip.addFormat("bsr", {2, 4});
    zip.add<std::int32_t>("indptr", "<i4", {0, 0, 2});
    zip.add<std::int32_t>("indices", "<i4", {1, 0});
    zip.add("data", "<f8", isFortran ? std::vector<double>{0, 3, 2, 4} : std::vector<double>{0, 2, 3, 4},
            "2, 1, 2", isFortran);

    const MatrixFile file = read("a.npz", zip.bytes());

    testing::expectSame(std::get<CsrMatrix<double>>(file.matrix), expected);
    EXPECT_EQ(file.notes, (std::vector<std::string>{"the format bsr was turned into rows"}));
  }
}

TEST_F(MatrixFileTest, DiagonalsOfSciPyAreReadWithoutTheirZeros)
{
  const std::int64_t farthest = std::numeric_limits<std::int64_t>::min();
  testing::NumpyArchive zip;
  zip.addFormat("dia", {3, 4});
  zip.add<std::int64_t>("offsets", "<i8", {-1, 2, 0, farthest});
  // Column k of row i belongs to column k of the matrix and row k - offset; the fifth column to none.
  zip.add<long double>("data", "<f16", {1.5L, 2, 9, 9, 9, 9, 9, 5, 6.25L, 9, 7, 0, 8, 9, 9, 9, 9, 9, 9, 9},
                       "4, 5");

  const MatrixFile file = read("a.npz", zip.bytes());

  testing::expectSame(
      std::get<CsrMatrix<double>>(file.matrix),
      matrixOf<double>(3, 4,
                       {{{0, 0}, 7}, {{0, 2}, 5}, {{1, 0}, 1.5}, {{1, 3}, 6.25}, {{2, 1}, 2}, {{2, 2}, 8}}));
  EXPECT_EQ(file.notes, (std::vector<std::string>{"the format dia was turned into rows",
                                                  "numbers of type longdouble were rounded to float64"}));
}

TEST_F(MatrixFileTest, PatternsAndGraphsComeBack)
{
  const CsrMatrix<double> path = matrixOf<double>(4, 4, {{{0, 1}, 1}, {{1, 0}, 1}, {{1, 3}, 1}, {{3, 1}, 1}});
  for (const char* name : {"a.mtx", "a.graph", "a.el", "a.graph.gz", "a.txt.gz", "a.tcsr"}) {
    SCOPED_TRACE(name);
    writeMatrix(context, folder / name, path, true);
    const MatrixFile file = readMatrix(context, folder / name);
    EXPECT_TRUE(file.pattern);
    testing::expectSame(std::get<CsrMatrix<double>>(file.matrix), path);
  }
}

TEST_F(MatrixFileTest, WeightsOfGraphsComeBack)
{
  const CsrMatrix<std::int64_t> weighted = matrixOf<std::int64_t>(3, 3, {{{0, 2}, 5}, {{2, 0}, 5}});
  writeMatrix(context, folder / "a.metis", weighted);
  testing::expectSame(std::get<CsrMatrix<std::int64_t>>(readMatrix(context, folder / "a.metis").matrix),
                      weighted);

  const CsrMatrix<double> edges = matrixOf<double>(3, 3, {{{0, 2}, 0.25}, {{2, 1}, -5}});
  writeMatrix(context, folder / "a.edges", edges);
  testing::expectSame(std::get<CsrMatrix<double>>(readMatrix(context, folder / "a.edges").matrix), edges);
}

TEST_F(MatrixFileTest, MatricesWithoutEntriesOrSidesComeBack)
{
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{0, 0}, {0, 5}, {5, 0}, {3, 4}})
    for (const char* name : {"a.mtx", "a.mtx.gz", "a.npz", "a.tcsr"}) {
      SCOPED_TRACE(name);
      writeMatrix(context, folder / name, emptyMatrix<double>(rows, columns));
      testing::expectSame(std::get<CsrMatrix<double>>(readMatrix(context, folder / name).matrix),
                          emptyMatrix<double>(rows, columns));
    }
}

TEST_F(MatrixFileTest, FilesOfManyPiecesAreReadAlikeByAnyNumberOfThreads)
{
  const CsrMatrix<double> matrix = testing::randomMatrix(9001, 8000, 20, 1); // some 4 MB of text
  for (const char* name : {"a.mtx", "a.el"}) {
    SCOPED_TRACE(name);
    writeMatrix(context, folder / name, matrix);
    for (const int threads : {1, 3}) {
      const MatrixFile file = readMatrix(Context{{}, threads}, folder / name);
      CsrMatrix<double> got = std::get<CsrMatrix<double>>(file.matrix);
      EXPECT_EQ(got.entries(), matrix.entries());
      EXPECT_EQ(got.value.toVector(), matrix.value.toVector());
      EXPECT_EQ(got.column.toVector(), matrix.column.toVector());
    }
  }
}

TEST_F(MatrixFileTest, MatrixMarketByHand)
{
  const std::string text =
      "%%MatrixMarket  Matrix COORDINATE Real General\r\n% a comment\n\n 2 3 4 \n2 1 -1.5e3\r\n1 3 +.5\n\n"
      "1 1 7\n2 1 0.5";

  const MatrixFile file = read("a.mtx", text);

  EXPECT_EQ(file.duplicates, 1u);
  EXPECT_FALSE(file.pattern);
  EXPECT_EQ(testing::entriesOf(std::get<CsrMatrix<double>>(file.matrix)),
            (EntryMap<double>{{{0, 0}, 7}, {{0, 2}, 0.5}, {{1, 0}, -1499.5}}));
}

TEST_F(MatrixFileTest, TheOtherTriangleFollows)
{
  const std::string body = "3 3 3\n2 1 5\n3 1 6\n3 3 9\n";
  EXPECT_EQ(testing::entriesOf(entries<std::int64_t>(
                "a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n" + body)),
            (EntryMap<std::int64_t>{{{1, 0}, 5}, {{0, 1}, 5}, {{2, 0}, 6}, {{0, 2}, 6}, {{2, 2}, 9}}));
  EXPECT_EQ(testing::entriesOf(
                entries("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 1 5\n")),
            (EntryMap<double>{{{1, 0}, 5}, {{0, 1}, -5}}));
  EXPECT_EQ(testing::entriesOf(
                entries("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")),
            (EntryMap<double>{{{1, 0}, 1}, {{0, 1}, 1}}));
}

TEST_F(MatrixFileTest, APlaceNamedTwiceInAPatternIsStillOne)
{
  const MatrixFile file =
      read("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n2 1\n1 1\n2 1\n");

  EXPECT_EQ(file.duplicates, 1u);
  EXPECT_EQ(testing::entriesOf(std::get<CsrMatrix<double>>(file.matrix)),
            (EntryMap<double>{{{0, 0}, 1}, {{1, 0}, 1}}));
}

TEST_F(MatrixFileTest, MetisByHand)
{
  EXPECT_EQ(testing::entriesOf(entries("a.graph", "% made by hand\n3 1\n2\n1\n\n")),
            (EntryMap<double>{{{0, 1}, 1}, {{1, 0}, 1}}));
  EXPECT_EQ(testing::entriesOf(entries<std::int64_t>("a.graph", "2 1 1\n2 7\n1 7")),
            (EntryMap<std::int64_t>{{{0, 1}, 7}, {{1, 0}, 7}}));
  const MatrixFile weighted = read("a.graph", "2 1 111 2\n50 8 8 2 7\n50 9 9 1 7\n");
  EXPECT_EQ(testing::entriesOf(std::get<CsrMatrix<std::int64_t>>(weighted.matrix)),
            (EntryMap<std::int64_t>{{{0, 1}, 7}, {{1, 0}, 7}}));
  EXPECT_EQ(weighted.notes,
            std::vector<std::string>{"weights of nodes are no part of a matrix and are left out"});
}

TEST_F(MatrixFileTest, EdgeListsByHand)
{
  const MatrixFile file = read("a.txt", "# Directed graph\n% two kinds of comments\n0\t3\n2 0\n\n0 3\n");
  EXPECT_TRUE(file.pattern);
  EXPECT_EQ(file.duplicates, 1u);
  EXPECT_EQ(sizeText(file.matrix), "4 x 4, 2 entries");
  EXPECT_EQ(testing::entriesOf(entries("a.el", "1 0 .5\n1 0 .25")), (EntryMap<double>{{{1, 0}, 0.75}}));
}

TEST_F(MatrixFileTest, ABinaryFileIsMappedAndWhatIsWrittenToItsMatrixStaysInMemory)
{
  writeMatrix(context, folder / "a.tcsr", awkward());
  const std::string before = folder.read("a.tcsr");
  CsrMatrix<double> matrix = std::get<CsrMatrix<double>>(readMatrix(context, folder / "a.tcsr").matrix);

  matrix.value[0] = 42;

  EXPECT_EQ(folder.read("a.tcsr"), before);
}

TEST_F(MatrixFileTest, TheSuffixChoosesTheFormat)
{
  EXPECT_EQ(formatOfMatrix("-"), MatrixFormat::matrixMarket);
  EXPECT_EQ(formatOfMatrix("folder.npz/a.mtx.gz"), MatrixFormat::matrixMarket);
  EXPECT_EQ(formatOfMatrix("a.b.metis"), MatrixFormat::metis);
  EXPECT_PRED2(testing::contains, testing::errorText([] { formatOfMatrix("a.csv"); }),
               "a.csv: the suffix names no format of matrices.");
  EXPECT_PRED2(testing::contains, testing::errorText([] { formatOfMatrix("a.npz.gz"); }), "no format");
}

TEST_F(MatrixFileTest, WhatAGraphCannotHoldIsRefusedAndNothingIsLeft)
{
  const auto refused = [&](const CsrMatrix<double>& matrix, const std::string& part) {
    EXPECT_PRED2(testing::contains,
                 testing::errorText([&] { writeMatrix(context, folder / "a.graph", matrix); }), part);
  };
  refused(matrixOf<double>(2, 3, {}), "2 x 3 is no graph");
  refused(matrixOf<double>(2, 2, {{{1, 1}, 1}}), "row 2 has an entry on the diagonal");
  refused(matrixOf<double>(2, 2, {{{0, 1}, 1}}), "row 1 differs from column 1");
  refused(matrixOf<double>(2, 2, {{{0, 1}, .5}, {{1, 0}, .5}}), "row 1 has a weight that is no whole number");
  EXPECT_EQ(folder.entryCount(), 0u);
}

TEST_F(MatrixFileTest, AnOutputThatIsNotFinishedLeavesNothing)
{
  const auto names = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()),
                         std::filesystem::directory_iterator());
  };
  {
    MatrixOutput output(context, folder / "a.mtx");
    output.put("half of it");
    EXPECT_FALSE(std::filesystem::exists(folder / "a.mtx"));
  }
  EXPECT_EQ(names(), 0);

  folder.write("a.mtx", "what was there");
  {
    MatrixOutput output(context, folder / "a.mtx");
    output.put("all of it");
    EXPECT_EQ(folder.read("a.mtx"), "what was there");
    output.finish();
  }
  EXPECT_EQ(folder.read("a.mtx"), "all of it");
  EXPECT_EQ(names(), 1);
}

}
}
