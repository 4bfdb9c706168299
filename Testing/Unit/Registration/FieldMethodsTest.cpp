#include "Core/Registration/Fields/FieldMethods.h"

#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/BSplineChains.h"

namespace tessera {
namespace {

using namespace testing;

constexpr DeviceKind cpu = DeviceKind::cpu, cuda = DeviceKind::cuda;
constexpr FieldQuantity displacements = FieldQuantity::displacements,
                        derivatives = FieldQuantity::derivatives;

FieldMethods<3> methodsOf(double spacingVoxels, const std::string& name)
{
  const ImageGeometry<3> lattice = turnedLattice<3>({9, 8, 7}, {1, 1, 1});
  const BSplineGrid<3> grid = gridAcross<3>(lattice, {5, 5, spacingVoxels}, 3);
  return {allComponents(), randomBSplineChain<3>(grid, 1), lattice, name,
          "t.txt:3: (FieldInterpolator \"" + name + "\")"};
}

/// "by points" if there is none.
std::string chosen(const FieldMethods<3>& methods, DeviceKind device, FieldQuantity quantity)
{
  const auto method = methods.choose(device, quantity);
  return method ? method->interpolator->name() : "by points";
}

TEST(FieldMethods, AutoIsSeparableWhereThatServes)
{
  const FieldMethods<3> methods = methodsOf(5.37, "auto");
  for (const DeviceKind device : {cpu, cuda})
    for (const FieldQuantity quantity : {displacements, derivatives})
      EXPECT_EQ(chosen(methods, device, quantity), "Separable");
  EXPECT_EQ(methods.whyNotOnCuda(displacements), "");
  EXPECT_EQ(methods.whyNotOnCuda(derivatives), "");
}

TEST(FieldMethods, AutoOnGridsFinerThanVoxelsIsThreadPerVoxelOnCudaAndPointsOnTheCpu)
{
  const FieldMethods<3> methods = methodsOf(0.5, "auto");
  EXPECT_EQ(chosen(methods, cpu, displacements), "by points");
  EXPECT_EQ(chosen(methods, cpu, derivatives), "by points");
  EXPECT_EQ(chosen(methods, cuda, displacements), "ThreadPerVoxel");
  EXPECT_EQ(methods.whyNotOnCuda(displacements), "");
  EXPECT_EQ(methods.whyNotOnCuda(derivatives),
            "Separable: a grid spacing of 0.5 voxels along z, less than one; ThreadPerVoxel: it gives "
            "displacements, not their derivatives");
}

TEST(FieldMethods, ANamedMethodIsTakenOrRefusedWithThoseThatCan)
{
  EXPECT_EQ(chosen(methodsOf(5, "VectorPerTile"), cpu, displacements), "VectorPerTile");
  EXPECT_EQ(chosen(methodsOf(5, "ThreadPerTile"), cuda, displacements), "ThreadPerTile");
  const auto refused = [](double spacingVoxels, const std::string& name, DeviceKind device,
                          FieldQuantity quantity) {
    return errorText([&] { methodsOf(spacingVoxels, name).choose(device, quantity); }, ExitCode::usage);
  };
  EXPECT_EQ(refused(5, "ThreadPerTile", cpu, displacements),
            "t.txt:3: (FieldInterpolator \"ThreadPerTile\"): it does not run on the CPU. Allowed: Separable, "
            "VectorPerTile, VectorPerVoxel, auto.");
  EXPECT_EQ(refused(5.37, "VectorPerTile", cpu, displacements),
            "t.txt:3: (FieldInterpolator \"VectorPerTile\"): a grid spacing of 5.37 voxels along z, not a "
            "whole number from 1 to 32. Allowed: Separable, auto.");
  EXPECT_EQ(refused(5, "VectorPerTile", cpu, derivatives),
            "t.txt:3: (FieldInterpolator \"VectorPerTile\"): it gives displacements, not their derivatives. "
            "Allowed: Separable, auto.");
  EXPECT_EQ(refused(0.5, "Separable", cpu, displacements),
            "t.txt:3: (FieldInterpolator \"Separable\"): a grid spacing of 0.5 voxels along z, less than "
            "one. Allowed: auto.");
  EXPECT_EQ(refused(0.5, "Separable", cuda, derivatives),
            "t.txt:3: (FieldInterpolator \"Separable\"): a grid spacing of 0.5 voxels along z, less than "
            "one. Allowed: the device \"cpu\".");
}

TEST(FieldMethods, WhatIsNoSingleBSplineAlongTheLatticeGoesByPoints)
{
  const ImageGeometry<3> lattice = turnedLattice<3>({9, 8, 7}, {1, 1, 1});
  TransformChain<3> spline = randomBSplineChain<3>(gridAcross<3>(lattice, {5, 5, 5}, 3), 1), translation;
  translation.transform = std::make_shared<TranslationTransform<3>>(parametersOf("", 3));
  translation.parameters = {1, 2, 3};
  ImageGeometry<3> turned = lattice;
  turned.direction = identityMatrix<3>();
  const auto whyByPoints = [](const TransformChain<3>& chain, const ImageGeometry<3>& where) {
    const FieldMethods<3> methods(allComponents(), chain, where, "VectorPerTile", "given");
    EXPECT_EQ(chosen(methods, cpu, displacements), "by points");
    EXPECT_EQ(methods.whyNotOnCuda(displacements), methods.whyByPoints());
    return methods.whyByPoints();
  };

  EXPECT_EQ(whyByPoints(translation, lattice),
            "the TranslationTransform is no B-spline along the axes of the output grid");
  EXPECT_EQ(whyByPoints(spline, turned),
            "the BSplineTransform is no B-spline along the axes of the output grid");
  spline.initial = std::make_shared<TransformChain<3>>(translation);
  EXPECT_EQ(whyByPoints(spline, lattice), "the transform starts from an initial one");
}

TEST(FieldMethods, AMethodOfTheCpuKeepsAutoOffCuda)
{
  EXPECT_EQ(methodsOf(5, "VectorPerVoxel").whyNotOnCuda(displacements),
            "(FieldInterpolator \"VectorPerVoxel\") runs on the CPU only");
}

}
}
