#include "Core/Image/Points/PointsFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <bit>
#include <limits>

namespace tessera {
namespace {

class PointsFile : public ::testing::Test {
protected:
  template <int D>
  InputPoints<D> points(const std::string& text) const
  {
    return readPoints<D>(folder.write("points.txt", text));
  }
  /// The message of reading without the path before it.
  std::string complaint(const std::string& name, const std::string& text) const
  {
    const std::string path = folder.write(name, text);
    const std::string message = testing::errorText([&] { readPoints<3>(path); }, ExitCode::unreadableInput);
    return message.starts_with(path + ":") ? message.substr(path.size() + 1) : message;
  }

  testing::TemporaryFolder folder;
};

template <class Number>
std::string bigEndian(std::initializer_list<Number> numbers)
{
  using Bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
  std::string bytes;
  for (const Number number : numbers)
    for (int shift = 8 * (static_cast<int>(sizeof(Number)) - 1); shift >= 0; shift -= 8)
      bytes += static_cast<char>(std::bit_cast<Bits>(number) >> shift);
  return bytes;
}

TEST_F(PointsFile, TheFirstWordSaysWhatTheNumbersAre)
{
  EXPECT_FALSE(points<2>("point\n1\n1.5 -2e1\n").areIndices);
  EXPECT_TRUE(points<2>("index\n1\n1 2\n").areIndices);
  EXPECT_TRUE(points<2>("1\n1 2\n").areIndices);
  EXPECT_EQ(points<2>("point\n2\n1.5 -2e1\n+3\t.25").values, (std::vector<Vec<2>>{{1.5, -20}, {3, 0.25}}));
  EXPECT_EQ(points<3>("point\r\n1\r\n1 2 3\r\n").values, (std::vector<Vec<3>>{{1, 2, 3}}));
  EXPECT_TRUE(points<3>("point\n0\n").values.empty());
}

TEST_F(PointsFile, IndicesAreRoundedHalfUpBeforeTheyArePoints)
{
  const ImageGeometry<2> grid{{9, 9}, {2, 3}, {10, -5}, identityMatrix<2>()};

  const std::vector<Vec<2>> inMm = pointsInMm<2>({true, {{-1.5, -0.5}, {0.5, 2.4}}, ""}, grid);

  EXPECT_EQ(inMm, (std::vector<Vec<2>>{{10 - 2, -5}, {10 + 2, -5 + 2 * 3}}));
  EXPECT_EQ(pointsInMm<2>({false, {{0.25, 7.5}}, ""}, grid), (std::vector<Vec<2>>{{0.25, 7.5}}));
}

/// A flag and a count, then coordinates, as ClearMap writes them.
std::string binaryPoints(std::int64_t flag, std::int64_t count, const std::vector<double>& numbers)
{
  std::string bytes;
  for (const std::int64_t number : {flag, count})
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  return bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
}

TEST_F(PointsFile, BinaryPointsAreReadAndWritten)
{
  const std::string inMm = binaryPoints(0, 2, {1.5, 2, -3, 0.1, 5, 6});
  const InputPoints<3> points = readPoints<3>(folder.write("a.bin", inMm));
  EXPECT_FALSE(points.areIndices);
  EXPECT_EQ(points.values, (std::vector<Vec<3>>{{1.5, 2, -3}, {0.1, 5, 6}}));
  const InputPoints<2> indices = readPoints<2>(folder.write("b.BIN", binaryPoints(1, 1, {4, 5})));
  EXPECT_TRUE(indices.areIndices);
  EXPECT_EQ(indices.values, (std::vector<Vec<2>>{{4, 5}}));
  EXPECT_TRUE(readPoints<2>(folder.write("c.bin", binaryPoints(0, 0, {}))).values.empty());

  EXPECT_EQ(outputPointsBinary<3>({points.values, points.values, nullptr, nullptr}, false), inMm);
  const ImageGeometry<2> grid{{9, 9}, {2, 3}, {10, -5}, identityMatrix<2>()};
  const std::vector<Vec<2>> mapped{{10 + 2 * 2.4, -5 - 3 * 1.2}};
  EXPECT_EQ(outputPointsBinary<2>({mapped, mapped, nullptr, &grid}, true), binaryPoints(1, 1, {2, -1}));
}

TEST_F(PointsFile, WrongBinaryPointsAreRefused)
{
  const std::string allowed = ". Allowed: 1 for indices or 0 for mm, and the number of points, as 64-bit "
                              "whole numbers, then 3 finite doubles a point.",
                    notThose = ": not those of points" + allowed;
  EXPECT_EQ(complaint("p.bin", ""), " 0 bytes, which begin with the numbers -1 and -1" + notThose);
  const auto numbers = [&](std::int64_t flag, std::int64_t count, std::size_t given) {
    EXPECT_EQ(complaint("p.bin", binaryPoints(flag, count, std::vector<double>(given))),
              " " + std::to_string(16 + 8 * given) + " bytes, which begin with the numbers "
                  + std::to_string(flag) + " and " + std::to_string(count) + notThose);
  };
  numbers(0, 2, 5);
  numbers(0, 2, 7);
  numbers(0, 1, 6);
  numbers(2, 1, 3);
  numbers(0, -1, 3);
  numbers(0, std::numeric_limits<std::int64_t>::max(), 3);
  numbers(1, std::int64_t(1) << 61, 0);
  EXPECT_EQ(complaint("p.bin", binaryPoints(0, 1, {1, std::numeric_limits<double>::infinity(), 3})),
            " point 0 is not finite" + allowed);
}

TEST_F(PointsFile, VtkIsReadInBothEncodings)
{
  const std::vector<Vec<3>> expected{{1.5, 2.5, 3}, {-7.25, 1, 0.125}};
  const std::string head = "# vtk DataFile Version 3.0\ntitle\n", set = "\nDATASET POLYDATA\nPOINTS 2 ";
  const std::string ascii =
      folder.write("a.vtk", head + "ASCII" + set + "float\n1.5 2.5 3 -7.25\n1 .125\nPOLYGONS 1 3\n2 0 1\n");
  const std::string floats =
      folder.write("f.vtk", head + "BINARY" + set + "float\n"
                                + bigEndian<float>({1.5f, 2.5f, 3, -7.25f, 1, 0.125f}) + "\n");
  const std::string doubles = folder.write(
      "d.vtk", head + "BINARY" + set + "double\n" + bigEndian<double>({1.5, 2.5, 3, -7.25, 1, 0.125})
                   + "\nPOLYGONS 2 5\n" + bigEndian<std::int32_t>({2, 0, 1, 1, 0}) + "\n");

  for (const std::string& path : {ascii, floats, doubles}) {
    EXPECT_EQ(readPoints<3>(path).values, expected) << path;
    EXPECT_FALSE(readPoints<3>(path).areIndices);
  }
  EXPECT_EQ(readPoints<2>(ascii).values, (std::vector<Vec<2>>{{1.5, 2.5}, {-7.25, 1}}));
  EXPECT_EQ(readPoints<3>(ascii).cells, "POLYGONS 1 3\n2 0 1\n");
  EXPECT_EQ(readPoints<3>(floats).cells, "");
  EXPECT_EQ(readPoints<3>(doubles).cells, "POLYGONS 2 5\n2 0 1\n1 0\n");
}

TEST_F(PointsFile, CellsOfVtk5AreReadAsThoseOfEarlierVersions)
{
  const std::string head = "# vtk DataFile Version 5.1\nvtk output\n",
                    set = "\nDATASET POLYDATA\nPOINTS 3 float\n", metadata = "\nMETADATA\nINFORMATION 0\n\n",
                    cells = "POLYGONS 3 5\nOFFSETS vtktypeint64\n";
  const std::string ascii =
      folder.write("a.vtk", head + "ASCII" + set + "0 0 0 1 0 0 0 1 0\n" + metadata + cells
                                + "0 3 5\nCONNECTIVITY vtktypeint64\n0 1 2 2 0\nPOINT_DATA 3\n");
  const std::string binary =
      folder.write("b.vtk", head + "BINARY" + set + bigEndian<float>({0, 0, 0, 1, 0, 0, 0, 1, 0}) + metadata
                                + cells + bigEndian<std::int64_t>({0, 3, 5}) + "\nCONNECTIVITY vtktypeint64\n"
                                + bigEndian<std::int64_t>({0, 1, 2, 2, 0}) + "\n");
  for (const std::string& path : {ascii, binary})
    EXPECT_EQ(readPoints<3>(path).cells, "POLYGONS 2 7\n3 0 1 2\n2 2 0\n") << path;
  EXPECT_PRED2(testing::contains,
               complaint("w.vtk", "# vtk DataFile Version 5.1\nt\nASCII" + set + "0 0 0 1 0 0 0 1 0\n" + cells
                                      + "0 3 6\nCONNECTIVITY vtktypeint64\n0 1 2 2 0\n"),
               "the offsets of POLYGONS do not grow up to the number of corners");
  EXPECT_PRED2(
      testing::contains,
      complaint("w.vtk", "# vtk DataFile Version 3.0\nt\nASCII" + set + "0 0 0 1 0 0 0 1 0\n1 1 1\n"),
      "more than 3 points");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_PRED2(testing::contains,
               complaint("w.vtk", "# vtk DataFile Version 3.0\nt\nBINARY" + set
                                      + bigEndian<float>({0, 0, nan, 1, 0, 0, 0, 1, 0}) + "\n"),
               "a coordinate is not a finite number");
}

TEST_F(PointsFile, VtkOf2DImagesMayHaveTwoCoordinatesAPoint)
{
  const std::vector<Vec<2>> expected{{1.5, 2.5}, {-7.25, 1}, {0.125, -3e38}};
  const std::string floats = bigEndian<float>({1.5f, 2.5f, -7.25f, 1, 0.125f, -3e38f}),
                    doubles = bigEndian<double>({1.5, 2.5, -7.25, 1, 0.125, -3e38});
  const std::string head = "# vtk DataFile Version 2.0\nFile written by itkPolyDataMeshIO\n",
                    set = "\nDATASET POLYDATA\nPOINTS 3 ", numbers = "1.5  2.5\n-7.25  1\n0.125  -3e+38\n";
  for (const std::string& text : {head + "ASCII" + set + "double\n" + numbers,
                                  head + "ASCII" + set + "double\n" + numbers + "VERTICES 1 2\n1 0\n",
                                  head + "BINARY" + set + "float\n" + floats + "\n",
                                  head + "BINARY" + set + "double\n" + doubles + "\n"}) {
    const InputPoints<2> points = readPoints<2>(folder.write("p.vtk", text));
    ASSERT_EQ(points.values.size(), 3u) << text;
    for (std::size_t i = 0; i < 3; ++i)
      for (int d = 0; d < 2; ++d)
        EXPECT_EQ(static_cast<float>(points.values[i][d]), static_cast<float>(expected[i][d]));
    EXPECT_TRUE(points.cells.empty() || points.cells == "VERTICES 1 2\n1 0\n");
    EXPECT_EQ(points.flattened, 0u);
    const std::string back = outputPointsVtk<2>(points.values, points);
    EXPECT_EQ(readPoints<2>(folder.write("back.vtk", back)).coordinates, 2);
  }
  EXPECT_EQ(complaint("p.vtk", head + "ASCII" + set + "double\n" + numbers),
            " 2 coordinates a point. Allowed: 3.");
}

TEST_F(PointsFile, ThreeCoordinatesThatAreCutOffAreNotTakenForTwo)
{
  const std::string head = "# vtk DataFile Version 3.0\ntitle\n", set = "\nDATASET POLYDATA\nPOINTS 3 ";
  const std::string binary =
      head + "BINARY" + set + "float\n" + bigEndian<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}) + "\n";
  for (const std::string& text : {head + "ASCII" + set + "float\n1 2 3\n4 5 6\n7 8 9\n",
                                  head + "ASCII" + set + "float\n1 2 3 4 5 6 7 8 9\n", binary})
    for (std::size_t length = text.find("float\n") + 6; length + 2 < text.size(); ++length)
      EXPECT_THROW(readPoints<2>(folder.write("p.vtk", text.substr(0, length))), Error)
          << text.substr(0, length);
}

TEST_F(PointsFile, WrongVtkIsRefusedWithFileAndLine)
{
  const std::string head = "# vtk DataFile Version 3.0\ntitle\n";
  EXPECT_TRUE(complaint("p.vtk", "point\n1\n")
                  .starts_with("2: the file does not begin with \"# vtk DataFile\". Allowed: "));
  EXPECT_TRUE(complaint("p.vtk", head + "ASCII\nDATASET POLYDATA\nPOINTS 2 float\n1 2 3\n")
                  .starts_with("7: the file ends where a coordinate should stand. Allowed: "));
  EXPECT_TRUE(complaint("p.vtk", head + "BINARY\nDATASET POLYDATA\nPOINTS 1 double\nabc")
                  .starts_with("6: the file ends where a coordinate should stand. Allowed: "));
  EXPECT_TRUE(complaint("p.vtk", head + "ASCII\nDATASET STRUCTURED_POINTS\n")
                  .starts_with("4: the file holds no DATASET POLYDATA. "));
  EXPECT_TRUE(complaint("p.vtk", head + "ASCII\nDATASET POLYDATA\nPOINTS 1 int\n1 2 3")
                  .starts_with("5: points of type \"int\". "));
}

TEST_F(PointsFile, OutputPointsAreWrittenAsTransformixWritesThem)
{
  // These numbers were written by transformix 5.0.1 for an affine matrix and two points on an oblique grid.
  const ImageGeometry<3> grid{
      {6, 5, 4}, {1.5, 2, 3}, {-10, 5, 7}, {{{0.6, -0.8, 0}, {0.8, 0.6, 0}, {0, 0, 1}}}};
  const AffineMap<3> map{{{{1.1, 0.02, 0}, {0.01, 0.95, 0}, {0, 0, 1.2}}}, {123.4567891, -3, 4}};
  const std::vector<Vec<3>> input{{1.23456789, 2, 3}, {1000, -2000.5, 17}};
  const std::vector<Vec<3>> output{map(input[0]), map(input[1])};

  EXPECT_EQ(
      outputPointsText<3>({input, output, &grid, &grid, &grid}),
      "Point\t0\t; InputIndex = [ 3 -5 -1 ]\t; InputPoint = [ 1.234568 2.000000 3.000000 ]\t; "
      "OutputIndexFixed = [ 51 -56 0 ]\t; OutputPoint = [ 124.854814 -1.087654 7.600000 ]\t; Deformation = [ "
      "123.620247 -3.087654 4.600000 ]\t; OutputIndexMoving = [ 51 -56 0 ]\n"
      "Point\t1\t; InputIndex = [ -666 -1006 3 ]\t; InputPoint = [ 1000.000000 -2000.500000 17.000000 ]\t; "
      "OutputIndexFixed = [ -535 -1047 6 ]\t; OutputPoint = [ 1183.446789 -1893.475000 24.400000 ]\t; "
      "Deformation = [ 183.446793 107.025002 7.400000 ]\t; OutputIndexMoving = [ -535 -1047 6 ]\n");
  EXPECT_EQ(outputPointsText<3>({input, output, &grid, &grid, nullptr}).find("OutputIndexMoving"),
            std::string::npos);
}

TEST_F(PointsFile, VtkOutputReadsBackToTheLastBit)
{
  const std::vector<Vec<3>> points{{1.0 / 3, -1e-300, 1e22}, {0.1, 125.1567891, -0.6099999999999999}};
  const std::vector<Vec<2>> plane{{1.0 / 3, 2.5}};
  InputPoints<3> input;
  input.cells = "LINES 1 3\n2 0 1\n";

  for (const bool inRas : {false, true}) {
    input.inRas = inRas;
    const InputPoints<3> back = readPoints<3>(folder.write("out.vtk", outputPointsVtk<3>(points, input)));

    EXPECT_EQ(back.values, points);
    EXPECT_EQ(back.inRas, inRas);
    EXPECT_EQ(back.cells, input.cells);
  }
  EXPECT_EQ(readPoints<2>(folder.write("plane.vtk", outputPointsVtk<2>(plane, {}))).values, plane);
}

TEST_F(PointsFile, VtkFieldsNameTheSpaceOfThePoints)
{
  const std::string start = "# vtk DataFile Version 3.0\n",
                    points = "POINTS 1 float\n1 2 3\nVERTICES 1 2\n1 0\n", time = "TIME 1 2 double\n0 0.5\n",
                    space = "SPACE 1 1 string\nRAS\n";
  const auto read = [&](const std::string& title, const std::string& field) {
    return readPoints<3>(
        folder.write("p.vtk", start + title + "\nASCII\nDATASET POLYDATA\n" + field + points));
  };
  const std::vector<Vec<3>> asWritten{{1, 2, 3}}, turned{{-1, -2, 3}};
  EXPECT_EQ(read("3D Slicer output. SPACE=RAS", "").values, turned);
  EXPECT_EQ(read("3D Slicer output. SPACE=LPS", "").values, asWritten);
  EXPECT_EQ(read("x", "FIELD FieldData 1\n" + time).values, asWritten);
  EXPECT_EQ(read("x", "FIELD FieldData 2\n" + time + space).values, turned);
  EXPECT_EQ(
      read("x SPACE=RAS y", "FIELD FieldData 2\n" + space + "METADATA\nINFORMATION 0\n\n" + time).values,
      turned);
  EXPECT_EQ(read("x", "FIELD FieldData 2\n" + time + space).cells, "VERTICES 1 2\n1 0\n");
  const std::string binary = start + "x\nBINARY\nDATASET POLYDATA\nFIELD FieldData 2\nTIME 1 1 double\n"
                             + bigEndian<double>({0.5}) + "\nSPACE 1 1 string\n\xC3RAS\nPOINTS 1 float\n"
                             + bigEndian<float>({1, 2, 3}) + "\n";
  EXPECT_EQ(readPoints<3>(folder.write("binary.vtk", binary)).values, turned);
  const auto wrong = [&](const std::string& title, const std::string& field) {
    return complaint("p.vtk", start + title + "\nASCII\nDATASET POLYDATA\n" + field + points);
  };
  EXPECT_TRUE(wrong("SPACE=RSA", "").starts_with("5: the file names the space RSA for its points"));
  EXPECT_TRUE(
      wrong("SPACE=LPS", "FIELD f 1\n" + space).starts_with("8: the file names the space LPS and RAS"));
  EXPECT_PRED2(testing::contains,
               complaint("p.vtk", start + "x\nASCII\nDATASET POLYDATA\nFIELD f 1\n" + time),
               "the file ends where POINTS should");
}

TEST_F(PointsFile, TablesSayWhatTheirNumbersAre)
{
  const auto read = [&](const std::string& name, const std::string& text) {
    return readPoints<3>(folder.write(name, text));
  };
  const std::vector<Vec<3>> points{{1, 2, 3}, {-4, 5.5, 6}};
  const std::string columns = "# Markups fiducial file version = 4.10\n# CoordinateSystem = ",
                    rest = "\n# columns = id,x,y,z,ow,label\n",
                    rows = "a,-1,-2,3,0,\"F, 1\"\nb,4,-5.5,6,0,F\n", inLps = "a,1,2,3,0,F\nb,-4,5.5,6,0,F\n";
  EXPECT_EQ(read("p.fcsv", columns + "0" + rest + rows).values, points);
  EXPECT_EQ(read("p.fcsv", columns + "RAS" + rest + rows).values, points);
  EXPECT_EQ(read("p.FCSV", columns + "1\r" + rest + inLps).values, points);
  EXPECT_EQ(read("p.fcsv", columns + "LPS" + rest + inLps).values, points);
  EXPECT_EQ(read("p.csv", "x,y,z,t,label\n1,2,3,0,1\n-4,5.5,6,0,2\n").values, points);
  EXPECT_EQ(
      read("p.csv", "\xEF\xBB\xBF\"\",\"x\",\"y\",\"z\",\"t\"\n\"1\",1,2,3,0\n\"2\",-4,5.5,6,0\n").values,
      points);
  EXPECT_EQ(read("p.csv", "label,r,a,s\nA,-1,-2,3\nB,4,-5.5,6\n").values, points);
  EXPECT_EQ(read("p.csv", "label,r,a,s\nA,-1,-2,3\nB,4,-5.5,6\n").names,
            (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(read("p.csv", "l,p,s\n1,2,3\n-4,5.5,6\n").values, points);
  EXPECT_EQ(read("p.csv", "z [mm], y [mm], x [mm]\n3,2,1\n6,5.5,-4\n").values, points);
  const std::string markups =
      "{\"markups\": [{\"type\": \"Fiducial\", \"coordinateSystem\": \"LPS\", \"coordinateUnits\": \"mm\", "
      "\"controlPoints\": [{\"label\": \"\\\"position\\\": [9,9,9]}]\\\\\", \"position\": [\n 1,\n 2.0, 3]}, "
      "{\"position\": [-4, 5.5, 6e0], \"positionStatus\": \"defined\"}]}]}";
  const auto with = [&](const std::string& part, const std::string& other) {
    return testing::replaced(markups, part, other);
  };
  EXPECT_EQ(read("p.mrk.json", markups).values, points);
  EXPECT_EQ(read("p.mrk.json", with("LPS", "RAS")).values, (std::vector<Vec<3>>{{-1, -2, 3}, {4, -5.5, 6}}));
  const InputPoints<2> pixels = readPoints<2>(folder.write("p.csv", ",X,Y\n7,1,2\n9,3,4\n"));
  EXPECT_TRUE(pixels.areIndices);
  EXPECT_EQ(pixels.values, (std::vector<Vec<2>>{{1, 2}, {3, 4}}));
  EXPECT_EQ(pixels.names, (std::vector<std::string>{"7", "9"}));
  EXPECT_FALSE(readPoints<2>(folder.write("p.csv", "x,y,t\n1,2,0\n")).areIndices);

  EXPECT_TRUE(complaint("p.csv", "x,y,z\n1,2,3\n").starts_with("1: its columns X, Y and Z do not say"));
  EXPECT_TRUE(complaint("p.csv", "x,y\n1,2\n").starts_with(" 2 coordinates a point. Allowed: 3."));
  EXPECT_TRUE(complaint("p.csv", "a,b\n1,2\n").starts_with("1: no columns X and Y."));
  EXPECT_TRUE(complaint("p.csv", "x,y,z,t\n1,2,NA,0\n")
                  .starts_with("2: \"NA\" is no finite number. Allowed: a number such as"));
  EXPECT_TRUE(complaint("p.csv", "x,y,z,t\n1,2,3\n")
                  .starts_with("2: 3 values for 4 columns. Allowed: 4 values with commas"));
  EXPECT_TRUE(complaint("p.csv", "x,y,z,t\n").starts_with(" it holds no points."));
  EXPECT_TRUE(complaint("p.fcsv", columns + "2" + rest + rows)
                  .starts_with(" its coordinate system is \"2\". Allowed: LPS or RAS"));
  EXPECT_TRUE(
      complaint("p.fcsv", "# columns = id,x,y,z\na,1,2,3\n").starts_with(" its coordinate system is \"\"."));
  EXPECT_TRUE(complaint("p.mrk.json", with("\"mm\"", "\"um\""))
                  .starts_with(" it does not hold one list of controlPoints in mm"));
  for (const auto& [part, other] : {std::pair{"\"defined\"", "\"undefined\""},
                                    {"\"defined\"", "\"missing\""},
                                    {"\"defined\"", "\"preview\""},
                                    {"[-4, 5.5, 6e0]", "null"},
                                    {"\"position\": [-4, 5.5, 6e0],", ""}})
    EXPECT_PRED2(testing::contains, complaint("p.mrk.json", with(part, other)),
                 "control point 2: a point without a position. Allowed: points that are defined");
  EXPECT_PRED2(testing::contains, complaint("p.mrk.json", with("}]}]}", "")),
               "is not understood behind point 2");
  EXPECT_TRUE(complaint("p.mrk.json", with("coordinateSystem", "system"))
                  .starts_with(" its coordinate system is \"\"."));
  EXPECT_TRUE(complaint("p.mrk.json", markups + markups).starts_with(" it does not hold one list"));
  EXPECT_TRUE(complaint("p.json", "[1, 2]").starts_with(" it does not hold one list"));
}

TEST_F(PointsFile, MappedPointsOfTransformixAreRead)
{
  const std::string line =
      "Point\t0\t; InputPoint = [ 9 9 9 ]\t; OutputPoint = [ 1.5 -2 3 ]\t; Deformation = [ 0 0 0 ]\n";
  EXPECT_EQ(points<3>(line + line).values, (std::vector<Vec<3>>{{1.5, -2, 3}, {1.5, -2, 3}}));
  EXPECT_FALSE(points<3>(line).areIndices);
  EXPECT_TRUE(complaint("p.txt", line + "Point\t1\t; OutputPoint = [ 1 2 ]\n")
                  .starts_with("3: no \"OutputPoint = [ 3 numbers ]\""));
}

}
}
