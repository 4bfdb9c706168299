// needs: GPU
#include "Components/FieldInterpolators/TextureHardware.h"
#include "Components/FieldInterpolators/ThreadPerTile.h"
#include "Components/FieldInterpolators/ThreadPerTileLinear.h"
#include "Components/FieldInterpolators/ThreadPerVoxel.h"
#include "Components/FieldInterpolators/ThreadPerVoxelTiled.h"

#include "Testing/Support/OnGpu/OnGpu.h"
#include "Testing/Support/ParameterText.h"

#include <memory>
#include <sstream>

namespace tessera {
namespace {

using namespace testing;

template <int D>
using Method = std::shared_ptr<const FieldInterpolator<D>>;

template <int D>
std::vector<Method<D>> methods()
{
  const Parameters none = parametersOf("", D, 1);
  return {std::make_shared<ThreadPerVoxel<D>>(none), std::make_shared<ThreadPerVoxelTiled<D>>(none),
          std::make_shared<TextureHardware<D>>(none), std::make_shared<ThreadPerTile<D>>(none),
          std::make_shared<ThreadPerTileLinear<D>>(none)};
}

constexpr double largestCoefficient = 20;

/// About ten roundings to single on the way of a value among control points of at most 20: points, weights,
/// sums. Texture units take a fraction along each axis in steps of 1/256 between points that differ by at
/// most 40.
template <int D>
double tolerance(const FieldInterpolator<D>& method)
{
  const double roundings = 10 * singleRounding(largestCoefficient);
  return method.name() == "TextureHardware" ? roundings + D * 2 * largestCoefficient / 256 : roundings;
}

/// The method on the first CUDA device.
template <int D>
FieldFunction<D> onGpu(const Method<D>& method)
{
  return testing::onGpu<D>(method->name(), D,
                           [method](auto&... arguments) { method->displacements(arguments...); });
}

/// Empty if no value is off by more than `allowed`; otherwise which are, where they begin and end, and the
/// largest.
template <int D>
std::string difference(const AlignedField<D>& field, const std::vector<float>& values,
                       const std::vector<double>& expected, double allowed)
{
  const std::size_t voxels = field.voxelCount();
  std::size_t wrong = 0, zeros = 0, untouched = 0;
  std::array<std::size_t, 3> shown{}; // first, last, worst
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = std::abs(values[i] - expected[i]);
    if (off <= allowed)
      continue;
    shown[0] = wrong == 0 ? i : shown[0];
    shown[1] = i;
    if (!(off <= largest)) {
      largest = off;
      shown[2] = i;
    }
    ++wrong;
    zeros += values[i] == 0;
    untouched += values[i] == -777;
  }
  if (wrong == 0)
    return {};
  std::ostringstream text;
  text << describe(field) << ": " << wrong << " of " << values.size() << " values are off by more than "
       << allowed << ", " << zeros << " of them 0, " << untouched << " not written; first, last, worst:";
  for (const std::size_t i : shown) {
    std::size_t rest = i % voxels;
    text << " component " << i / voxels << " at (";
    for (int d = 0; d < D; ++d) {
      text << (d ? ", " : "") << rest % field.axes[d].voxels;
      rest /= field.axes[d].voxels;
    }
    text << ") " << values[i] << " not " << expected[i] << ";";
  }
  return text.str();
}

/// Every method that serves a field, against the direct sum; returns how many did.
template <int D>
int expectDirectSums(const std::vector<AlignedField<D>>& fields)
{
  int served = 0;
  for (const AlignedField<D>& field : fields) {
    const std::vector<double> coefficients = randomCoefficients<D>(field, largestCoefficient, 1);
    const std::vector<double> expected = naiveDisplacementsMm<D>(field, coefficients);
    for (const Method<D>& method : methods<D>()) {
      if (!method->refusal(field).empty())
        continue;
      ++served;
      const std::vector<float> values = filled<D>(onGpu<D>(method), field, coefficients, D);
      EXPECT_EQ(difference(field, values, expected, tolerance(*method)), "") << method->name();
    }
  }
  return served;
}

TEST(CudaFieldInterpolatorsTest, DisplacementsOfCubicsOnWholeTilesAreTheDirectSum)
{
  TESSERA_NEEDS_GPU();
  const auto fields =
      awkwardFields<3>({{5, 5, 5}, {3, 5, 7}, {4, 6, 2}, {7, 1, 3}, {6, 32, 8}, {32, 9, 1}, {1, 2, 31}}, {3});
  EXPECT_EQ(expectDirectSums(fields), 5 * static_cast<int>(fields.size()));
  const auto planes = awkwardFields<2>({{5, 5}, {3, 17}, {1, 32}}, {3});
  EXPECT_EQ(expectDirectSums(planes), 5 * static_cast<int>(planes.size()));
}

TEST(CudaFieldInterpolatorsTest, DisplacementsOfLowerOrdersAreTheDirectSum)
{
  TESSERA_NEEDS_GPU();
  const auto fields = awkwardFields<3>({{5, 3, 7}, {2, 32, 1}}, {1, 2});
  EXPECT_EQ(expectDirectSums(fields), 2 * static_cast<int>(fields.size()));
  const auto planes = awkwardFields<2>({{5, 3}, {1, 32}}, {1, 2});
  EXPECT_EQ(expectDirectSums(planes), 2 * static_cast<int>(planes.size()));
}

TEST(CudaFieldInterpolatorsTest, DisplacementsOfAnySpacingAreTheDirectSum)
{
  TESSERA_NEEDS_GPU();
  const auto fields = awkwardFields<3>({{5.37, 21.7, 3}, {0.6, 40, 1.5}}, {3});
  EXPECT_EQ(expectDirectSums(fields), 2 * static_cast<int>(fields.size()));
  const auto planes = awkwardFields<2>({{5.37, 21.7}, {0.6, 40}}, {1, 2, 3});
  EXPECT_EQ(expectDirectSums(planes), 4 * static_cast<int>(planes.size()) / 3);
}

TEST(CudaFieldInterpolatorsTest, FieldsOfManyWarpsAndBlocksAreTheDirectSum)
{
  TESSERA_NEEDS_GPU();
  const std::vector<AlignedField<3>> fields{coveredField<3>({331, 7, 5}, {3, 3, 3}, {0.4, 0, 0.7}, 3),
                                            coveredField<3>({7, 203, 6}, {5, 4, 5}, {0.1, 0.9, 0}, 3),
                                            coveredField<3>({70, 41, 11}, {4, 2, 4}, {0.25, 0.5, 0.75}, 3)};
  EXPECT_EQ(expectDirectSums(fields), 15);
}

TEST(CudaFieldInterpolatorsTest, GivesTheWeightsOfOneControlPointComputedByHand)
{
  TESSERA_NEEDS_GPU();
  // On a control point: 2/3 of it and 1/6 of each neighbour along an axis; half-way: 1/48, 23/48, 23/48,
  // 1/48.
  const AlignedField<3> field = coveredField<3>({3, 1, 1}, {2, 1, 1}, {0, 0, 0}, 3);
  std::vector<double> coefficients(3 * field.pointCount());
  coefficients[(1 * 4 + 1) * 5 + 2] =
      48; // of the first component, at (2, 1, 1); voxel x lies at grid index (1 + x / 2, 1, 1)
  const double along[3] = {1 / 6.0, 23 / 48.0, 2 / 3.0};

  for (const Method<3>& method : methods<3>()) {
    const std::vector<float> values = filled<3>(onGpu<3>(method), field, coefficients, 3);

    const double allowed = method->name() == "TextureHardware" ? 3 * 48 / 256.0 : 10 * singleRounding(48);
    for (int x = 0; x < 3; ++x) {
      EXPECT_NEAR(values[x], 48 * along[x] * 4 / 9, allowed) << method->name();
      EXPECT_EQ(values[3 + x], 0) << method->name();
    }
  }
}

TEST(CudaFieldInterpolatorsTest, WeightsSumToOneAndAffineFunctionsAreReproduced)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({17, 19, 23}, {5, 3, 7}, {0.3, 0.6, 0.9}, 3);
  for (const Method<3>& method : methods<3>()) {
    SCOPED_TRACE(method->name());
    const bool coarse = method->name() == "TextureHardware";
    expectPartitionOfUnity<3>(onGpu<3>(method), field, coarse ? 3 * 1.0 / 256 : 10 * singleRounding(1));
    expectAffineFunctionReproduced<3>(onGpu<3>(method), field,
                                      coarse ? 3 * 1.0 / 256 : 10 * singleRounding(16));
  }
}

TEST(CudaFieldInterpolatorsTest, EveryLayoutHoldsTheSameBits)
{
  TESSERA_NEEDS_GPU();
  for (const FieldLayout layout : {FieldLayout::interleaved, FieldLayout::padded}) {
    for (const Method<3>& method : methods<3>()) {
      SCOPED_TRACE(method->name());
      expectSameInLayout<3>(onGpu<3>(method), coveredField<3>({17, 19, 23}, {5, 4, 3}, {0.3, 0.6, 0.9}, 3), 3,
                            layout);
      expectSameInLayout<3>(onGpu<3>(method),
                            shifted<3>(coveredField<3>({45, 5, 7}, {3, 5, 32}, {0.3, 0, 0}, 3), -0.7), 3,
                            layout);
    }
    for (const Method<2>& method : methods<2>()) {
      SCOPED_TRACE(method->name());
      expectSameInLayout<2>(onGpu<2>(method), coveredField<2>({45, 23}, {5, 7}, {0.3, 0.6}, 3), 2, layout);
    }
  }
}

TEST(CudaFieldInterpolatorsTest, BricksWithoutMaskAreLeftAlone)
{
  TESSERA_NEEDS_GPU();
  for (const FieldLayout layout : {FieldLayout::planar, FieldLayout::interleaved, FieldLayout::padded}) {
    for (const Method<3>& method : methods<3>()) {
      SCOPED_TRACE(method->name());
      expectOnlyMaskedBricks<3>(onGpu<3>(method),
                                coveredField<3>({67, 19, 23}, {5, 4, 3}, {0.3, 0.6, 0.9}, 3), 3, layout);
      expectOnlyMaskedBricks<3>(onGpu<3>(method),
                                shifted<3>(coveredField<3>({33, 21, 17}, {3, 5, 32}, {0, 0.5, 0}, 3), 0.7), 3,
                                layout);
    }
    for (const Method<2>& method : methods<2>()) {
      SCOPED_TRACE(method->name());
      expectOnlyMaskedBricks<2>(onGpu<2>(method), coveredField<2>({45, 123}, {5, 7}, {0.3, 0.6}, 3), 2,
                                layout);
    }
  }
}

TEST(CudaFieldInterpolatorsTest, TwoRunsGiveTheSameBits)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({150, 61, 47}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3);
  const std::vector<double> coefficients = randomCoefficients<3>(field, largestCoefficient, 5);
  for (const Method<3>& method : methods<3>())
    EXPECT_EQ(filled<3>(onGpu<3>(method), field, coefficients, 3),
              filled<3>(onGpu<3>(method), field, coefficients, 3))
        << method->name();
}

TEST(CudaFieldInterpolatorsTest, MethodsAgreeWithEachOther)
{
  TESSERA_NEEDS_GPU();
  for (const double tile : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 13.0, 32.0}) {
    const AlignedField<3> field =
        shifted<3>(coveredField<3>({130, 45, 37}, {tile, tile, tile}, {0.3, 0.6, 0.9}, 3), -0.2);
    const std::vector<double> coefficients = randomCoefficients<3>(field, largestCoefficient, 6);
    const std::vector<Method<3>> all = methods<3>();
    const std::vector<float> first = filled<3>(onGpu<3>(all[0]), field, coefficients, 3);
    const std::vector<double> expected(first.begin(), first.end());
    for (const Method<3>& method : all)
      EXPECT_EQ(difference(field, filled<3>(onGpu<3>(method), field, coefficients, 3), expected,
                           tolerance(*all[0]) + tolerance(*method)),
                "")
          << method->name() << " against " << all[0]->name();
  }
}

TEST(CudaFieldInterpolatorsTest, ErrorsOfUsualDisplacementsAreOnAverageBelowHalfAMillionthVoxel)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({64, 33, 35}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3);
  std::vector<double> coefficients = randomCoefficients<3>(field, largestCoefficient, 7);
  for (double& coefficient : coefficients)
    coefficient = static_cast<float>(coefficient);
  const std::vector<double> expected = naiveDisplacementsMm<3>(field, coefficients);
  for (const Method<3>& method : methods<3>()) {
    if (method->name() == "TextureHardware")
      continue;
    const std::vector<float> values = filled<3>(onGpu<3>(method), field, coefficients, 3);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += std::abs(values[i] - expected[i]);
    EXPECT_LT(sum / static_cast<double>(values.size()), 5e-7) << method->name();
  }
}

TEST(CudaFieldInterpolatorsTest, RefuseWhatTheyCannotServe)
{
  const AlignedField<3> odd = coveredField<3>({17, 19, 23}, {5, 5.5, 5}, {0, 0, 0}, 3);
  const AlignedField<3> quadratic = coveredField<3>({17, 19, 23}, {5, 5, 5}, {0, 0, 0}, 2);
  const AlignedField<3> deep = coveredField<3>({1, 1, 6000}, {1, 1, 1}, {0, 0, 0}, 3);
  const std::string notWhole = "a grid spacing of 5.5 voxels along y, not a whole number from 1 to 32";
  const std::string notCubic = "a spline order of 2, not 3";
  const std::vector<std::array<std::string, 3>> expected{
      {"", "", ""},
      {notWhole, "", ""},
      {"", notCubic, "6003 control points along z, more than a texture holds"},
      {notWhole, notCubic, ""},
      {notWhole, notCubic, ""}};

  const std::vector<Method<3>> all = methods<3>();

  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t m = 0; m < all.size(); ++m) {
    EXPECT_EQ(all[m]->refusal(odd), expected[m][0]) << all[m]->name();
    EXPECT_EQ(all[m]->refusal(quadratic), expected[m][1]) << all[m]->name();
    EXPECT_EQ(all[m]->refusal(deep), expected[m][2]) << all[m]->name();
    EXPECT_TRUE(all[m]->runsOn(DeviceKind::cuda) && !all[m]->runsOn(DeviceKind::cpu)) << all[m]->name();
    EXPECT_FALSE(all[m]->hasDerivatives()) << all[m]->name();
  }
}

}
}
