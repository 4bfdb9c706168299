// on: CPU, GPU
#include "Components/FieldInterpolators/Separable.h"
#include "Components/FieldInterpolators/TextureHardware.h"
#include "Components/FieldInterpolators/ThreadPerTile.h"
#include "Components/FieldInterpolators/ThreadPerTileLinear.h"
#include "Components/FieldInterpolators/ThreadPerVoxel.h"
#include "Components/FieldInterpolators/ThreadPerVoxelTiled.h"
#include "Components/FieldInterpolators/VectorPerTile.h"
#include "Components/FieldInterpolators/VectorPerVoxel.h"

#include "Testing/Support/OnGpu/FieldsUnderTest.h"
#include "Testing/Support/ParameterText.h"

#include <memory>

namespace tessera {
namespace {

using namespace testing;

template <int D>
using Method = std::shared_ptr<const FieldInterpolator<D>>;

template <int D>
std::vector<Method<D>> allMethods()
{
  const Parameters none = parametersOf("", D, 1);
  return {std::make_shared<Separable<D>>(none),           std::make_shared<VectorPerTile<D>>(none),
          std::make_shared<VectorPerVoxel<D>>(none),      std::make_shared<ThreadPerVoxel<D>>(none),
          std::make_shared<ThreadPerVoxelTiled<D>>(none), std::make_shared<TextureHardware<D>>(none),
          std::make_shared<ThreadPerTile<D>>(none),       std::make_shared<ThreadPerTileLinear<D>>(none)};
}

constexpr double largestCoefficient = 20;

/// About ten roundings to single on the way of a value among control points of at most `largest`: points,
/// weights, sums; Separable on the CPU rounds the value once. Texture units take a fraction along each axis
/// in steps of 1/256 between points that differ by at most `difference`.
template <int D>
double tolerance(const FieldInterpolator<D>& method, double value, double largest = largestCoefficient,
                 double difference = 2 * largestCoefficient)
{
  if (method.name() == "Separable" && deviceUnderTest().kind == DeviceKind::cpu)
    return singleRounding(value) + 64 * largest * 0x1p-52;
  return 10 * singleRounding(largest) + (method.name() == "TextureHardware" ? D * difference / 256 : 0);
}

/// Calls visit(method, its displacements) for the methods of the device.
template <int D, class Visit>
void forEachMethod(const Visit& visit)
{
  for (const Method<D>& method : allMethods<D>()) {
    if (!method->runsOn(deviceUnderTest().kind))
      continue;
    SCOPED_TRACE(method->name());
    visit(*method, underTest<D>(method->name(), D,
                                [method](auto&... arguments) { method->displacements(arguments...); }));
  }
}

/// Every method of the device that serves a field, against the direct sum.
template <int D>
void expectDirectSums(const std::vector<AlignedField<D>>& fields)
{
  for (const AlignedField<D>& field : fields) {
    const std::vector<double> coefficients = randomCoefficients<D>(field, largestCoefficient, 1),
                              expected = naiveDisplacementsMm<D>(field, coefficients);
    forEachMethod<D>([&](const FieldInterpolator<D>& method, const FieldFunction<D>& displacements) {
      if (!method.refusal(field).empty())
        return;
      const std::vector<float> values = filled<D>(displacements, field, coefficients, D);
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], expected[i], tolerance(method, expected[i]))
            << describe<D>(field) << ": value " << i;
    });
  }
}

using FieldInterpolatorsTest = DeviceTest;

TEST_F(FieldInterpolatorsTest, DisplacementsAreTheDirectSum)
{
  expectDirectSums(awkwardFields<3>(
      {{5, 5, 5}, {3, 5, 7}, {4, 6, 2}, {7, 1, 3}, {6, 32, 8}, {32, 9, 1}, {1, 2, 31}, {13, 13, 13}}, {3}));
  expectDirectSums(awkwardFields<2>({{5, 5}, {3, 17}, {1, 32}}, {3}));
  expectDirectSums(awkwardFields<3>({{5, 3, 7}, {2, 32, 1}}, {1, 2}));
  expectDirectSums(awkwardFields<2>({{5, 3}, {1, 32}}, {1, 2}));
  expectDirectSums(
      awkwardFields<3>({{5.37, 21.7, 3}, {21.7, 1, 2.5}, {1, 40, 1}, {0.6, 40, 1.5}}, {1, 2, 3}));
  expectDirectSums(awkwardFields<2>({{5.37, 21.7}, {3, 21.7}, {1, 5.37}, {0.6, 40}}, {1, 2, 3}));
}

TEST_F(FieldInterpolatorsTest, FieldsOfManyWarpsAndBlocksAreTheDirectSum)
{
  expectDirectSums<3>({coveredField<3>({331, 7, 5}, {3, 3, 3}, {0.4, 0, 0.7}, 3),
                       coveredField<3>({331, 47, 5}, {3, 3, 3}, {0.4, 0, 0.7}, 3),
                       coveredField<3>({7, 203, 6}, {5, 4, 5}, {0.1, 0.9, 0}, 3),
                       coveredField<3>({70, 41, 11}, {4, 2, 4}, {0.25, 0.5, 0.75}, 3),
                       coveredField<3>({70, 41, 11}, {1, 1, 1}, {0.25, 0.5, 0.75}, 3),
                       coveredField<3>({336, 47, 5}, {3, 5, 3}, {0.4, 0, 0.7}, 3),
                       coveredField<3>({72, 41, 11}, {1, 1, 1}, {0, 0.5, 0.75}, 3)});
  expectDirectSums<2>({coveredField<2>({515, 130}, {6.5, 5}, {0.4, 0.1}, 3)});
}

TEST_F(FieldInterpolatorsTest, GiveTheWeightsOfOneControlPointComputedByHand)
{
  // On a control point: 2/3 of it and 1/6 of each neighbour along an axis; half-way: 1/48, 23/48, 23/48,
  // 1/48.
  const AlignedField<3> field = coveredField<3>({3, 1, 1}, {2, 1, 1}, {0, 0, 0}, 3);
  std::vector<double> coefficients(3 * field.pointCount());
  ASSERT_EQ(field.axes[0].points, 5);
  coefficients[(1 * 4 + 1) * 5 + 2] =
      48; // of the first component, at (2, 1, 1); voxel x lies at grid index (1 + x / 2, 1, 1)
  const double along[3] = {1 / 6.0, 23 / 48.0, 2 / 3.0};
  forEachMethod<3>([&](const FieldInterpolator<3>& method, const FieldFunction<3>& displacements) {
    const std::vector<float> values = filled<3>(displacements, field, coefficients, 3);
    for (int x = 0; x < 3; ++x) {
      EXPECT_NEAR(values[x], 48 * along[x] * 4 / 9, tolerance(method, 48, 48, 48));
      EXPECT_EQ(values[3 + x], 0);
    }
  });
}

template <int D>
void expectAffineFunctions(const AlignedField<D>& field)
{
  forEachMethod<D>([&](const FieldInterpolator<D>& method, const FieldFunction<D>& displacements) {
    if (!method.refusal(field).empty())
      return;
    expectPartitionOfUnity<D>(displacements, field, tolerance(method, 1, 1, 1));
    expectAffineFunctionReproduced<D>(displacements, field,
                                      tolerance(method, largestCoefficient, largestCoefficient, 1));
  });
}

TEST_F(FieldInterpolatorsTest, WeightsSumToOneAndAffineFunctionsAreReproduced)
{
  for (const int order : {1, 2, 3}) {
    expectAffineFunctions<3>(coveredField<3>({17, 19, 23}, {5, 3, 7}, {0.3, 0.6, 0.9}, order));
    expectAffineFunctions<3>(coveredField<3>({67, 19, 23}, {5.37, 3, 21.7}, {0.3, 0.6, 0.9}, order));
    expectAffineFunctions<2>(coveredField<2>({37, 23}, {5, 3}, {0.3, 0.6}, order));
  }
}

/// Fields in three dimensions, and one in two.
template <class Visit3, class Visit2>
void forEachFieldOfLayouts(const Visit3& in3d, const Visit2& in2d)
{
  for (const FieldLayout layout : {FieldLayout::planar, FieldLayout::interleaved}) {
    for (const AlignedField<3>& field :
         {coveredField<3>({67, 19, 23}, {5, 4, 3}, {0.3, 0.6, 0.9}, 3),
          coveredField<3>({72, 29, 13}, {5, 4, 3}, {0.3, 0.6, 0.9}, 3),
          shifted<3>(coveredField<3>({33, 21, 17}, {3, 5, 32}, {0, 0.5, 0}, 3), 0.7),
          shifted<3>(coveredField<3>({45, 35, 17}, {3, 5, 4}, {0.3, 0, 0}, 3), -0.7)})
      forEachMethod<3>([&](const FieldInterpolator<3>&, const FieldFunction<3>& displacements) {
        in3d(displacements, field, 3, layout);
      });
    for (const int width : {45, 48}) // 48: rows of whole sectors of 32 bytes
      forEachMethod<2>([&](const FieldInterpolator<2>&, const FieldFunction<2>& displacements) {
        in2d(displacements, coveredField<2>({width, 123}, {5, 7}, {0.3, 0.6}, 3), 2, layout);
      });
  }
}

TEST_F(FieldInterpolatorsTest, EveryLayoutHoldsTheSameBits)
{
  forEachFieldOfLayouts(expectSameInLayout<3>, expectSameInLayout<2>);
}

TEST_F(FieldInterpolatorsTest, BricksWithoutMaskAreLeftAlone)
{
  forEachFieldOfLayouts(expectOnlyMaskedBricks<3>, expectOnlyMaskedBricks<2>);
}

TEST_F(FieldInterpolatorsTest, GiveTheSameBitsAgainAndForAnyNumberOfThreads)
{
  forEachMethod<3>([](const FieldInterpolator<3>&, const FieldFunction<3>& displacements) {
    expectNoMatterOfThreads<3>(displacements, coveredField<3>({129, 61, 47}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3),
                               3);
  });
}

TEST_F(FieldInterpolatorsTest, ErrorsOfUsualDisplacementsAreOnAverageBelowHalfAMillionthVoxel)
{
  const AlignedField<3> field = coveredField<3>({64, 33, 35}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3);
  std::vector<double> coefficients = randomCoefficients<3>(field, largestCoefficient, 7);
  for (double& coefficient : coefficients)
    coefficient = static_cast<float>(coefficient);
  const std::vector<double> expected = naiveDisplacementsMm<3>(field, coefficients);
  forEachMethod<3>([&](const FieldInterpolator<3>& method, const FieldFunction<3>& displacements) {
    if (method.name() == "TextureHardware")
      return;
    const std::vector<float> values = filled<3>(displacements, field, coefficients, 3);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += std::abs(values[i] - expected[i]);
    EXPECT_LT(sum / static_cast<double>(values.size()), 5e-7);
  });
}

TEST(FieldInterpolatorsRefusalsTest, TellWhatTheyCannotServe)
{
  const AlignedField<3> odd = coveredField<3>({17, 19, 23}, {5, 5.5, 5}, {0, 0, 0}, 3),
                        wide = coveredField<3>({9, 9, 9}, {5, 33, 5}, {0, 0, 0}, 3),
                        quadratic = coveredField<3>({17, 19, 23}, {5, 5, 5}, {0, 0, 0}, 2),
                        deep = coveredField<3>({1, 1, 6000}, {1, 1, 1}, {0, 0, 0}, 3),
                        fine = coveredField<3>({9, 9, 9}, {5, 0.5, 1}, {0, 0, 0}, 3);
  const std::string notWhole = "a grid spacing of 5.5 voxels along y, not a whole number from 1 to 32",
                    tooWide = "a grid spacing of 33 voxels along y, not a whole number from 1 to 32",
                    notCubic = "a spline order of 2, not 3";
  const std::vector<std::array<std::string, 4>> expected{
      {"", "", "", ""},
      {notWhole, tooWide, notCubic, ""},
      {notWhole, tooWide, notCubic, ""},
      {"", "", "", ""},
      {notWhole, tooWide, "", ""},
      {"", "", notCubic, "6003 control points along z, more than a texture holds"},
      {notWhole, tooWide, notCubic, ""},
      {notWhole, tooWide, notCubic, ""}};

  const std::vector<Method<3>> all = allMethods<3>();

  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t m = 0; m < all.size(); ++m) {
    EXPECT_EQ(all[m]->refusal(odd), expected[m][0]) << all[m]->name();
    EXPECT_EQ(all[m]->refusal(wide), expected[m][1]) << all[m]->name();
    EXPECT_EQ(all[m]->refusal(quadratic), expected[m][2]) << all[m]->name();
    EXPECT_EQ(all[m]->refusal(deep), expected[m][3]) << all[m]->name();
    EXPECT_EQ(all[m]->runsOn(DeviceKind::cpu), m < 3) << all[m]->name();
    EXPECT_EQ(all[m]->runsOn(DeviceKind::cuda), m == 0 || m > 2) << all[m]->name();
    EXPECT_EQ(all[m]->hasDerivatives(), m == 0) << all[m]->name();
  }
  EXPECT_EQ(all[0]->refusal(fine), "a grid spacing of 0.5 voxels along y, less than one");
}

}
}
