// needs: Sparse
#include "Core/Sparse/MatrixFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/NumpyArchive.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {
namespace {

struct Malformed {
  const char *name, *text, *complaint; // the last: what follows the path
};

const std::string real = "%%MatrixMarket matrix coordinate real general\n";

/// Each with its whole text: where, what was given, what is wrong, what is allowed.
const Malformed files[] = {
    {"a.mtx", "1 1 1\n1 1 1\n",
     ":1: \"1 1 1\": no Matrix Market file. Allowed: a first line such as %%MatrixMarket matrix coordinate "
     "real general."},
    {"a.mtx", "%%MatrixMarket vector coordinate real general\n",
     ":1: \"%%MatrixMarket vector coordinate real general\": the object \"vector\" is not read. Allowed: "
     "matrix."},
    {"a.mtx", "%%MatrixMarket matrix array real general\n2 2\n",
     ":1: \"%%MatrixMarket matrix array real general\": the storage \"array\" is not read; that is a dense "
     "matrix. Allowed: coordinate."},
    {"a.mtx", "%%MatrixMarket matrix coordinate complex general\n",
     ":1: \"%%MatrixMarket matrix coordinate complex general\": the field \"complex\" is not read. Allowed: "
     "real, double, integer or pattern."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real hermitian\n",
     ":1: \"%%MatrixMarket matrix coordinate real hermitian\": the symmetry \"hermitian\" is not read. "
     "Allowed: general, symmetric or skew-symmetric."},
    {"a.mtx", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n",
     ":1: \"%%MatrixMarket matrix coordinate pattern skew-symmetric\": a pattern has no signs, so it cannot "
     "be skew-symmetric. Allowed: pattern general or pattern symmetric."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n% only comments\n",
     ": it ends before the line of sizes. Allowed: a line with the numbers of rows, columns and entries."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3\n",
     ":2: \"3 3\": the line ends where number of entries should stand. Allowed: whole numbers from 0 to "
     "9223372036854775807."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n3 -3 1\n",
     ":2: \"3 -3 1\": \"-3\" is no number of columns. Allowed: whole numbers from 0 to 4294967295."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n1 1 1\n",
     ":2: \"3 4 1\": a symmetric matrix of 3 x 4. Allowed: as many rows as columns."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n\n% no comment here\n",
     ":5: \"% no comment here\": \"%\" is no row. Allowed: whole numbers from 1 to 2."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n",
     ":3: \"0 1 1\": \"0\" is no row. Allowed: whole numbers from 1 to 2."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n",
     ":3: \"1 3 1\": \"3\" is no column. Allowed: whole numbers from 1 to 2."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n0 2 1\n1 1 1\n",
     ":3: \"1 1 1\": \"1\" is no row. Allowed: nothing: there is none."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 1 1\n",
     ":3: \"1.5 1 1\": \"1.5\" is no row. Allowed: whole numbers from 1 to 2."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n",
     ":3: \"1 1\": the line ends where value should stand. Allowed: numbers such as -1.5e-3 in the range of "
     "double precision."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1,5\n",
     ":3: \"1 1 1,5\": \"1,5\" is no value. Allowed: numbers such as -1.5e-3 in the range of double "
     "precision."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 +-1\n",
     ":3: \"1 1 +-1\": \"+-1\" is no value. Allowed: numbers such as -1.5e-3 in the range of double "
     "precision."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e999\n",
     ":3: \"1 1 1e999\": \"1e999\" is out of range for value. Allowed: numbers such as -1.5e-3 in the range "
     "of double precision."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1 2\n",
     ":3: \"1 1 1 2\": \"2\" is too much. Allowed: row, column and value."},
    {"a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n",
     ":3: \"1 1 1\": \"1\" is too much. Allowed: row and column in a pattern."},
    {"a.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 9223372036854775808\n",
     ":3: \"1 1 9223372036854775808\": \"9223372036854775808\" is out of range for value. Allowed: whole "
     "numbers of 64 bits."},
    {"a.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 0.5\n",
     ":3: \"1 1 0.5\": \"0.5\" is no value. Allowed: whole numbers of 64 bits."},
    {"a.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 9223372036854775807\n1 1 1\n",
     ": the sum of entries of one place is beyond 64 bits. Allowed: integers whose sums stay in 64 bits."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 5\n",
     ":3: \"1 2 5\": an entry above the diagonal of a symmetric matrix. Allowed: entries on and below the "
     "diagonal; the others follow from them."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 5\n",
     ":3: \"2 2 5\": an entry on the diagonal of a skew-symmetric matrix, which is zero there. Allowed: "
     "entries below the diagonal."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 5\n2 2 5\n",
     ": 2 entries, but the line of sizes says 3. Allowed: as many as it says; the file may have been cut "
     "off."},
    {"a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5\n2 2 5\n",
     ": 2 entries, but the line of sizes says 1. Allowed: as many as it says; the file may have been cut "
     "off."},
    {"a.mtx", "", ": the file is empty. Allowed: a file that exists and may be read."},
    {"a.mtx.gz", "\x1f\x8b\x08 this is not deflated data",
     ": the compressed data are damaged (unknown header flags set). Allowed: a whole compressed file; it may "
     "have been cut off or damaged while it was copied."},
    {"a.graph", "2 1 2\n2\n1\n",
     ":1: \"2 1 2\": \"2\" is no format. Allowed: three digits of 0 and 1: node sizes, node weights, edge "
     "weights."},
    {"a.graph", "2 1\n2\n3\n", ":3: \"3\": \"3\" is no neighbour. Allowed: whole numbers from 1 to 2."},
    {"a.graph", "2 1 1\n2\n1 5\n",
     ":2: \"2\": the line ends where weight of the edge should stand. Allowed: whole numbers from 0 to "
     "9223372036854775807."},
    {"a.graph", "2 1\n2\n",
     ": 1 lines of nodes, but the first line says 2. Allowed: a line a node; the file may have been cut "
     "off."},
    {"a.graph", "2 1\n2\n1\n1\n",
     ":4: \"1\": a line more than there are nodes. Allowed: a line each for 2 nodes."},
    {"a.graph", "2 2\n2\n1\n",
     ": 2 neighbours are named, but the first line says 2 edges. Allowed: each edge named by both of its "
     "nodes."},
    {"a.graph", "3 1\n% both ways from one node\n2 3\n\n\n",
     ":3: \"2 3\": node 1 names 2, which does not name it. Allowed: each edge named by both of its nodes, "
     "with one weight."},
    {"a.graph", "3 2\n2\n1\n1 2\n",
     ":2: \"2\": node 3 names 1, which does not name it. Allowed: each edge named by both of its nodes, with "
     "one weight."},
    {"a.graph", "2 1 1\n2 5\n1 6\n",
     ":2: \"2 5\": the edge to node 2 has the weight 5 here and 6 there. Allowed: each edge named by both of "
     "its nodes, with one weight."},
    {"a.graph", "2 1\n1 2\n\n",
     ":2: \"1 2\": node 1 is its own neighbour. Allowed: edges between two nodes."},
    {"a.el", "# nothing\n", ": no edge is in it. Allowed: lines with two nodes, or two nodes and a weight."},
    {"a.el", "0 1\n1 -1\n", ":2: \"1 -1\": \"-1\" is no node. Allowed: whole numbers from 0 to 4294967294."},
    {"a.el", "0 1\n1 2 0.5\n",
     ":2: \"1 2 0.5\": a weight on some lines alone. Allowed: weights on all lines or on none."},
    {"a.el", "0 1 2 3\n",
     ":1: \"0 1 2 3\": \"3\" is too much. Allowed: two nodes, or two nodes and a weight."},
    {"a.tcsr", "TESSCSR\n",
     ": shorter than the 128 bytes of its head. Allowed: a whole file; it may have been cut off while it was "
     "copied."},
    {"a.npz", "PK, but this is no zip file at all",
     ": no zip file, or one that was cut off. Allowed: what numpy or scipy.sparse.save_npz wrote."},
};

class MalformedMatrixFilesTest : public ::testing::Test {
protected:
  /// The message of reading without the path before it.
  std::string complaint(const std::string& name, const std::string& text) const
  {
    const std::string path = folder.write(name, text);
    const std::string message =
        testing::errorText([&] { readMatrix(context, path); }, ExitCode::unreadableInput);
    return message.starts_with(path) ? message.substr(path.size()) : message;
  }
  /// A whole file with some bytes exchanged.
  std::string changed(const std::string& name, std::size_t at, const std::string& bytes) const
  {
    return folder.read(name).replace(at, bytes.size(), bytes);
  }

  testing::TemporaryFolder folder;
  Context context{{}, 2};
};

TEST_F(MalformedMatrixFilesTest, EachIsToldWithItsLine)
{
  static_assert(std::size(files) >= 30);
  for (const Malformed& file : files)
    EXPECT_EQ(complaint(file.name, file.text), file.complaint) << file.text;
}

TEST_F(MalformedMatrixFilesTest, TheFirstOfSeveralIsToldWhateverThreadFindsIt)
{
  std::string text = real + "9 9 300000\n";
  for (int i = 0; i < 300000; ++i) // 3 MB: several pieces
    text += i == 150000 || i == 299999 ? "1 1 oops\n" : "1 1 1.25\n";

  EXPECT_PRED2(testing::contains, complaint("a.mtx", text), ":150003: \"1 1 oops\": \"oops\" is no value.");
}

TEST_F(MalformedMatrixFilesTest, LongLinesAreShownInPart)
{
  const std::string got = complaint("a.mtx", real + "1 1 1\n1 1 " + std::string(500, 'x') + "\n");
  EXPECT_LT(got.size(), 300u);
  EXPECT_PRED2(testing::contains, got, "xxx...\": ");
}

TEST_F(MalformedMatrixFilesTest, BinaryFilesAreCheckedBeforeTheyAreUsed)
{
  writeMatrix(context, folder / "whole.tcsr", testing::randomMatrix(20, 20, 5, 1));
  const std::string whole = folder.read("whole.tcsr");
  const auto says = [&](const std::string& bytes, const std::string& part) {
    EXPECT_PRED2(testing::contains, complaint("a.tcsr", bytes), part) << part;
  };
  says(whole.substr(0, whole.size() - 1), "bytes long, but its head says");
  says(changed("whole.tcsr", 0, "X"), "no binary CSR file");
  says(changed("whole.tcsr", 24, "\x15"), "the checksum of its head is another one");
  says(changed("whole.tcsr", 128, "\x01"), "the first row starts at 1");
  says(changed("whole.tcsr", 128 + 8, std::string(8, '\xff')), "row 1 (from 0): it ends before it starts");
  const std::size_t columns = (128 + 21 * 8 + 63) / 64 * 64;
  says(changed("whole.tcsr", columns, std::string("\x14\0\0\0", 4)), "column 20 is outside the matrix");
}

TEST_F(MalformedMatrixFilesTest, AColumnOutsideIsToldAlsoWhereAnEarlierRowHasOneTwice)
{
  for (const char* format : {"csr", "csc"}) {
    testing::NumpyArchive zip;
    zip.add<std::int32_t>("indices", "<i4", {1, 1, 1000000});
    zip.add<std::int32_t>("indptr", "<i4", {0, 2, 3});
    zip.addFormat(format, {2, 2});
    zip.add<double>("data", "<f8", {1, 2, 3});
    EXPECT_EQ(complaint("a.npz", zip.bytes()),
              ": row 1 (from 0): column 1000000 is outside the matrix. Allowed: columns from 0 to 2 - 1.");
  }
}

TEST_F(MalformedMatrixFilesTest, TheNameOfAFileIsNoMessageAboutIt)
{
  testing::NumpyArchive zip;
  zip.add<std::int64_t>("indices", "<i8", {0, 1});
  zip.add<std::int64_t>("indptr", "<i8", {0, 1000000000000, 2});
  zip.add<std::array<char, 3>>("format", "|S3", {{'c', 's', 'r'}});
  zip.add<std::int64_t>("shape", "<i8", {2, 2});
  zip.add<double>("data", "<f8", {1, 2});

  const std::string bytes = zip.bytes(), found = complaint("is there twice.npz", bytes);

  EXPECT_EQ(found, complaint("a.npz", bytes));
  EXPECT_EQ(found.find("column"), std::string::npos) << found;
}

/// A .npz archive whose data have more bytes than its other members give room for.
std::string archiveWithLongData(const char* format, bool withPlaces)
{
  const std::vector<std::int8_t> large(2 << 20);
  testing::NumpyArchive zip;
  zip.addFormat(format, {1, 1});
  for (const char* name : {"indices", "row", "col"})
    if (withPlaces)
      zip.add<std::int64_t>(name, "<i8", {0});
  if (withPlaces)
    zip.add<std::int64_t>("indptr", "<i8", {0, 1});
  zip.add("data", "|i1", large);
  return zip.bytes();
}

TEST_F(MalformedMatrixFilesTest, NoMemberIsInflatedThatIsTooLongForTheOthers)
{
  for (const char* format : {"csr", "csc", "coo"}) {
    EXPECT_PRED2(testing::contains, complaint("a.npz", archiveWithLongData(format, true)),
                 ": member data.npy has 2097")
        << format;
    EXPECT_PRED2(testing::contains, complaint("a.npz", archiveWithLongData(format, false)), ": no member ")
        << format;
  }
}

TEST_F(MalformedMatrixFilesTest, MembersOfBlocksAndDiagonalsThatDoNotFitAreTold)
{
  const auto blocks = [&](const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& columns,
                          const std::string& shape) {
    testing::NumpyArchive zip;
    zip.addFormat("bsr", {4, 6});
    zip.add("indptr", "<i8", starts);
    zip.add("indices", "<i8", columns);
    zip.add("data", "<f8", std::vector<double>(12, 1.0), shape);
    return complaint("a.npz", zip.bytes());
  };
  const auto says = [](const std::string& found, const std::string& part) {
    EXPECT_PRED2(testing::contains, found, part);
  };
  const std::string shape =
      ": member data.npy: its shape does not fit the shape and the other members. Allowed: ";
  says(blocks({0, 1, 2}, {0, 2}, "2, 2, 3"), "outside the matrix");
  says(blocks({0, 3, 2}, {0, 1}, "2, 2, 3"), "row starts");
  says(blocks({0, 1, 2}, {0, 1}, "3, 2, 2"), shape);
  says(blocks({0, 1, 2}, {0, 1}, "2, 3, 2"), shape);
  says(blocks({0, 2}, {0, 1}, "2, 2, 3"), shape);
  says(blocks({0, 1, 2}, {0, 1}, "2, 6"), shape);
  says(blocks({0, 1, 2}, {0, 1}, "2, 2, 4"), "it is shorter than its shape says");
  says(blocks({0, 1, 2}, {0, 1}, "4294967296, 4294967296, 4294967296"), "is not 3 length(s)");

  const auto diagonals = [&](const std::string& dataShape, long double third = 3) {
    testing::NumpyArchive zip;
    zip.addFormat("dia", {4, 6});
    zip.add<std::int64_t>("offsets", "<i8", {0, 1});
    zip.add<long double>("data", "<f16", {1, 2, third, 4}, dataShape);
    return complaint("a.npz", zip.bytes());
  };
  says(diagonals("1, 4"), shape);
  says(diagonals("4,"), shape);
  says(diagonals("2, 2", std::numeric_limits<long double>::max()),
       ": member data.npy: number 2 is not finite as float64. Allowed: ");
}

TEST_F(MalformedMatrixFilesTest, DamagedArchivesAreTold)
{
  writeMatrix(context, folder / "whole.npz", testing::randomMatrix(20, 20, 5, 1));
  const std::string whole = folder.read("whole.npz");
  const auto says = [&](const std::string& bytes, const std::string& part) {
    EXPECT_PRED2(testing::contains, complaint("a.npz", bytes), part);
  };
  says(whole.substr(0, whole.size() / 2), "no zip file, or one that was cut off");
  const std::size_t data = whole.find("data.npy") + 200;
  says(changed("whole.npz", data, "damage"), "member data.npy has another checksum");
}

}
}
