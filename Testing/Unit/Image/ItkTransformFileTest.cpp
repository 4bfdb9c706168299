// needs: ITK
#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <itkBSplineTransform.h>
#include <itkCompositeTransform.h>
#include <itkHDF5TransformIO.h>
#include <itkTransformFileReader.h>
#include <itkTransformFileWriter.h>
#include <itkTxtTransformIO.h>
#include <itk_H5Cpp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

namespace tessera {
namespace {

const ItkTransform affine{"AffineTransform_double_3_3",
                          {1.0 / 3, -2.5, 1e-17},
                          {1.1, 0.02, 0, 0.01, 0.95, 0, 0, 0, 1.2, 123.4567891234567, -1.0 / 3, 4}};
const ItkTransform euler{"Euler3DTransform_double_3_3", {10, 20, 30, 0}, {0.1, -0.2, 0.3, 1, 2, 3}};
const ItkTransform translation{"TranslationTransform_double_2_2", {}, {0.1 + 0.2, -1e-300}};

ItkTransform spline()
{
  ItkTransform transform{"BSplineTransform_double_3_3",
                         {5, 4, 6, -3.5, 2, 1, 2.5, 3, 3.5, 0.6, -0.8, 0, 0.8, 0.6, 0, 0, 0, 1},
                         {}};
  for (int i = 0; i < 3 * 5 * 4 * 6; ++i)
    transform.parameters.push_back(std::sin(i));
  return transform;
}

class ItkTransformFile : public ::testing::TestWithParam<const char*> {
protected:
  std::string path() const { return folder / (std::string("transform.") + GetParam()); }

  testing::TemporaryFolder folder;
};

INSTANTIATE_TEST_SUITE_P(Extension, ItkTransformFile, ::testing::Values("tfm", "txt", "h5", "hdf5", "hdf"),
                         [](const auto& extension) { return std::string(extension.param); });

TEST_P(ItkTransformFile, TransformsComeBackToTheLastBit)
{
  for (const std::vector<ItkTransform>& transforms :
       {std::vector{affine}, std::vector{translation}, std::vector{euler, spline(), affine}}) {
    writeItkTransforms(path(), transforms, false);
    EXPECT_EQ(readItkTransforms(path()), transforms);
    EXPECT_EQ(folder.entryCount(), 1u);
  }
}

TEST_P(ItkTransformFile, ACompositeIsGivenByItsPartsInOrder)
{
  writeItkTransforms(path(), {spline(), affine}, true);
  EXPECT_EQ(readItkTransforms(path()), (std::vector<ItkTransform>{spline(), affine}));
}

itk::TransformFileReader::Pointer readWithItk(const std::string& path)
{
  const auto reader = itk::TransformFileReader::New();
  if (path.ends_with(".tfm") || path.ends_with(".txt"))
    reader->SetTransformIO(itk::TxtTransformIO::New());
  else
    reader->SetTransformIO(itk::HDF5TransformIO::New());
  reader->SetFileName(path);
  reader->Update();
  return reader;
}

template <unsigned order>
void expectSplineRead(const std::string& path)
{
  const auto spline = itk::BSplineTransform<double, 2, order>::New();
  itk::Array<double> fixed(10), parameters(2 * 5 * 4);
  std::ranges::copy(std::array<double, 10>{5, 4, -3.5, 2, 2.5, 3, 0.6, -0.8, 0.8, 0.6}, fixed.begin());
  for (unsigned i = 0; i < parameters.size(); ++i)
    parameters[i] = std::sin(i);
  spline->SetFixedParameters(fixed);
  spline->SetParameters(parameters);
  const auto writer = itk::TransformFileWriterTemplate<double>::New();
  if (path.ends_with(".tfm") || path.ends_with(".txt"))
    writer->SetTransformIO(itk::TxtTransformIO::New());
  else
    writer->SetTransformIO(itk::HDF5TransformIO::New());
  writer->SetInput(spline);
  writer->SetFileName(path);
  writer->Update();

  const std::vector<ItkTransform> read = readItkTransforms(path);

  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].className, "BSplineTransform_double_2_2_" + std::to_string(order));
  EXPECT_TRUE(std::ranges::equal(read[0].fixedParameters, fixed));
  EXPECT_TRUE(std::ranges::equal(read[0].parameters, parameters));
}

/// ITK's own readers know order 3 alone.
TEST_P(ItkTransformFile, BSplinesOfAnyOrderThatItkHasAreRead)
{
  expectSplineRead<0>(path());
  expectSplineRead<1>(path());
  expectSplineRead<2>(path());
}

TEST(ItkTransformFileOf, OtherLinearClassesAreTheAffineTransformWithTheirMatrix)
{
  struct Case {
    const char *name, *parameters;
  };
  const testing::TemporaryFolder folder;
  for (const auto& [name, parameters] :
       {Case{"ScaleTransform_double_3_3", "1.1 0.9 1.3"},
        Case{"ScaleLogarithmicTransform_double_3_3", "0.1 -0.2 0.3"},
        Case{"ScaleVersor3DTransform_double_3_3", "0.1 -0.2 0.3 4 5 6 1.1 0.9 1.3"},
        Case{"ScaleSkewVersor3DTransform_double_3_3",
             "0.1 -0.2 0.3 4 5 6 1.1 0.9 1.3 0.01 0.02 0.03 0.04 0.05 0.06"}}) {
    folder.write("t.tfm", std::string("#Insight Transform File V1.0\n#Transform 0\nTransform: ") + name
                              + "\nParameters: " + parameters + "\nFixedParameters: 7 -8 9\n");
    const auto reader = readWithItk(folder / "t.tfm");
    const auto* itkTransform =
        dynamic_cast<itk::Transform<double, 3, 3>*>(reader->GetTransformList()->front().GetPointer());
    ASSERT_NE(itkTransform, nullptr);
    const std::vector<ItkTransform> read = readItkTransforms(folder / "t.tfm");
    ASSERT_EQ(read.size(), 1u) << name;
    ASSERT_EQ(read[0].className, "AffineTransform_double_3_3");
    const std::array<double, 3> point{12, 30, -20};
    itk::Point<double, 3> itkPoint;
    std::ranges::copy(point, itkPoint.Begin());
    const auto expected = itkTransform->TransformPoint(itkPoint);
    const auto &center = read[0].fixedParameters, &values = read[0].parameters;
    for (int row = 0; row < 3; ++row) {
      double mapped = center[row] + values[9 + row];
      for (int column = 0; column < 3; ++column)
        mapped += values[3 * row + column] * (point[column] - center[column]);
      EXPECT_NEAR(mapped, expected[row], 1e-12) << name;
    }
  }
}

/// ITK reads beyond the end of parameters that are too few.
TEST(ItkTransformFileOf, AnotherNumberOfParametersThanTheClassHasIsRefused)
{
  const testing::TemporaryFolder folder;
  for (const char* const parameters :
       {"0.1 -0.2 0.3 4 5 6 1.1 0.9 1.3", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"}) {
    folder.write("t.tfm", std::string("#Insight Transform File V1.0\n#Transform 0\nTransform: "
                                      "ScaleSkewVersor3DTransform_float_3_3\nParameters: ")
                              + parameters + "\nFixedParameters: 7 -8 9\n");
    EXPECT_PRED2(testing::contains,
                 testing::errorText([&] { readItkTransforms(folder / "t.tfm"); }, ExitCode::unreadableInput),
                 " parameters. Allowed: 15 for a transform of this class.");
  }
}

TEST(ItkTransformFileOf, AClassThatItkDoesNotHaveIsToldWithThoseThatAreRead)
{
  const testing::TemporaryFolder folder;
  for (const std::string name : {"FooTransform_double_3_3", "BSplineTransform_double_3_3_4"}) {
    folder.write("t.tfm", "#Insight Transform File V1.0\n#Transform 0\nTransform: " + name
                              + "\nParameters: 1\nFixedParameters: 2\n");
    EXPECT_EQ(
        testing::errorText([&] { readItkTransforms(folder / "t.tfm"); }, ExitCode::unreadableInput),
        (folder / "t.tfm") + ": " + name
            + ": no transform of this class is read. Allowed: TranslationTransform, IdentityTransform, "
              "Euler2DTransform, Rigid2DTransform, Euler3DTransform, VersorRigid3DTransform, "
              "Similarity2DTransform, Similarity3DTransform, AffineTransform, MatrixOffsetTransformBase, "
              "BSplineTransform, BSplineDeformableTransform, DisplacementFieldTransform, other linear "
              "transforms of ITK, and composites of them, in 2D and 3D, B-splines of orders 0 to 3.");
  }
}

TEST(ItkTransformFileOf, ACurvedTransformIsNotReadAsAnAffineOne)
{
  const testing::TemporaryFolder folder;
  folder.write("t.tfm",
               "#Insight Transform File V1.0\n#Transform 0\nTransform: "
               "AzimuthElevationToCartesianTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 0 0 0\n"
               "FixedParameters: 0 0 0\n");
  EXPECT_EQ(readItkTransforms(folder / "t.tfm").at(0).className,
            "AzimuthElevationToCartesianTransform_double_3_3");
}

TEST(ItkDisplacementFile, ItkMovesPointsByTheFieldBetweenVoxels)
{
  const testing::TemporaryFolder folder;
  VectorImage<3> field{{{4, 3, 2}, {2, 1, 5}, {10, -20, 30}, {{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}}}, 3, {}};
  for (int i = 0; i < 4 * 3 * 2; ++i)
    for (const float value : {0.5f * static_cast<float>(i), 1.0f, -2.0f})
      field.voxels.push_back(value);

  writeItkDisplacementField<3>(folder / "field.h5", field);

  EXPECT_EQ(folder.entryCount(), 1u);
  const auto reader = readWithItk(folder / "field.h5");
  const auto* composite = dynamic_cast<const itk::CompositeTransform<double, 3>*>(
      reader->GetTransformList()->front().GetPointer());
  ASSERT_NE(composite, nullptr);
  const Vec<3> pointMm = field.geometry.pointFromIndex()({1.5, 2, 0});
  itk::Point<double, 3> point;
  std::copy(pointMm.begin(), pointMm.end(), point.Begin());
  const auto moved = composite->TransformPoint(point);
  EXPECT_NEAR(moved[0] - point[0], 0.5 * (1.5 + 2 * 4), 1e-12);
  EXPECT_NEAR(moved[1] - point[1], 1, 1e-12);
  EXPECT_NEAR(moved[2] - point[2], -2, 1e-12);
  EXPECT_PRED2(testing::contains,
               testing::errorText([&] { writeItkDisplacementField<3>(folder / "absent/field.h5", field); },
                                  ExitCode::unwritableOutput),
               "absent");
}

TEST_P(ItkTransformFile, ItkReadsACompositeThatAppliesTheLastTransformFirst)
{
  ItkTransform doubling = affine, shift = affine;
  doubling.fixedParameters = shift.fixedParameters = {0, 0, 0};
  doubling.parameters = {2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0};
  shift.parameters = {1, 0, 0, 0, 1, 0, 0, 0, 1, 10, 0, 0};

  writeItkTransforms(path(), {doubling, shift}, true);

  const auto reader = readWithItk(path());
  ASSERT_EQ(reader->GetTransformList()->size(), 1u);
  const auto* composite = dynamic_cast<const itk::CompositeTransform<double, 3>*>(
      reader->GetTransformList()->front().GetPointer());
  ASSERT_NE(composite, nullptr);
  const double point[3] = {1, 1, 1};
  EXPECT_EQ(composite->TransformPoint(itk::Point<double, 3>(point))[0], 2 * (1 + 10));
}

TEST_P(ItkTransformFile, ItkReadsSingleTransforms)
{
  writeItkTransforms(path(), {spline()}, false);
  const auto reader = readWithItk(path());
  ASSERT_EQ(reader->GetTransformList()->size(), 1u);
  const auto& parameters = reader->GetTransformList()->front()->GetParameters();
  EXPECT_EQ(std::vector<double>(parameters.begin(), parameters.end()), spline().parameters);
}

TEST_P(ItkTransformFile, WhatItkCannotHoldIsRefusedAndLeavesNothing)
{
  const auto messageFor = [&](const ItkTransform& transform) {
    return testing::messageOf([&] { writeItkTransforms(path(), {transform}, false); });
  };
  EXPECT_TRUE(messageFor({"FooTransform_double_3_3", {}, {}})
                  .starts_with(path()
                               + ": the transforms cannot be written: ITK has no transform "
                                 "\"FooTransform_double_3_3\". Allowed: "));
  EXPECT_TRUE(
      messageFor({"AffineTransform_double_3_3", {0, 0, 0}, {1, 2}})
          .starts_with(
              path()
              + ": the transforms cannot be written: AffineTransform_double_3_3 has 12 parameters, not 2. "));
  EXPECT_EQ(testing::exitCodeOf([&] { writeItkTransforms(path(), {}, true); }), ExitCode::unwritableOutput);
  EXPECT_EQ(folder.entryCount(), 0u);
}

TEST_P(ItkTransformFile, WhatIsNoTransformFileIsRefused)
{
  folder.write(std::string("transform.") + GetParam(), "hello\n");
  EXPECT_EQ(testing::exitCodeOf([&] { readItkTransforms(path()); }), ExitCode::unreadableInput);
}

TEST(ItkTransformFileNames, OtherExtensionsAreRefused)
{
  const testing::TemporaryFolder folder;
  const std::string rule = ": the extension is not that of a transform file. Allowed: an ITK transform file: "
                           ".tfm or .txt (text), .h5, .hdf5 or .hdf (HDF5).";
  const std::string path = folder.write("a.mat", "x");
  EXPECT_EQ(testing::messageOf([&] { readItkTransforms(path); }), path + rule);
  EXPECT_EQ(testing::messageOf([&] { writeItkTransforms(path, {affine}, false); }), path + rule);
  EXPECT_EQ(testing::messageOf([&] { readItkTransforms(folder / "none.tfm"); }),
            folder / "none.tfm"
                + ": no such file. Allowed: an ITK transform file: .tfm or .txt (text), .h5, .hdf5 or .hdf "
                  "(HDF5).");
}

TEST(ItkTextFile, ATransformWithoutAClassIsRefused)
{
  const testing::TemporaryFolder folder;
  const std::string path = folder / "transform.tfm";
  std::ofstream(path)
      << "#Insight Transform File V1.0\n#Transform 0\nTransform: \nParameters: 1 2 3\nFixedParameters:\n";

  EXPECT_EQ(testing::errorText([&] { readItkTransforms(path); }, ExitCode::unreadableInput),
            path
                + ": a transform in it has no class. Allowed: an ITK transform file with the class of each "
                  "transform.");
}

TEST(ItkHdf5File, ATransformWithoutTheTextOfItsClassIsRefused)
{
  const testing::TemporaryFolder folder;
  const std::string path = folder / "transform.h5";
  writeItkTransforms(path, {affine}, false);
  {
    const H5::H5File file(path, H5F_ACC_RDWR);
    H5::Group transform = file.openGroup("/TransformGroup/0");
    transform.unlink("TransformType");
    transform.createDataSet("TransformType", H5::StrType(H5::PredType::C_S1, H5T_VARIABLE), H5::DataSpace());
  }

  EXPECT_EQ(testing::errorText([&] { readItkTransforms(path); }, ExitCode::unreadableInput),
            path
                + ": a transform in it has no class. Allowed: an ITK transform file with the class of each "
                  "transform.");
}
}
}
