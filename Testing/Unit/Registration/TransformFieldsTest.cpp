#include "Core/Registration/Fields/TransformFields.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/TransformFieldCases.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace testing;

/// A rounding to single of either, and those of points of some 100 mm in double that the path by points
/// makes.
double rounding(double value, double scale)
{
  return std::abs(value) * 0x1p-23 + 1e-13 * scale;
}

void expectSame(const std::vector<float>& values, const std::vector<float>& expected, double scale,
                const std::string& text)
{
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], rounding(expected[i], scale)) << text << ": value " << i;
}

template <int D>
void expectThoseByPoints(const TransformFieldCase<D>& c)
{
  Context context{{}, 2};
  const auto displacements = c.method("auto", DeviceKind::cpu, FieldQuantity::displacements);
  const auto derivatives = c.method("auto", DeviceKind::cpu, FieldQuantity::derivatives);
  ASSERT_TRUE(displacements && derivatives) << c.text;
  // a slope changes by some 10 mm a mm in a mm; three of them are multiplied
  expectSame(displacementField<D>(context, c.chain, c.lattice, displacements).voxels,
             displacementField<D>(context, c.chain, c.lattice).voxels, 100, c.text);
  expectSame(jacobianMatrices<D>(context, c.chain, c.lattice, derivatives).voxels,
             jacobianMatrices<D>(context, c.chain, c.lattice).voxels, 1000, c.text);
  expectSame(jacobianDeterminants<D>(context, c.chain, c.lattice, derivatives).voxels,
             jacobianDeterminants<D>(context, c.chain, c.lattice).voxels, 1e6, c.text);
}

TEST(TransformFields, OfAlignedBSplinesAreThoseByPoints)
{
  for (const auto& c : transformFieldCases<3>({{5, 5, 5}, {5.37, 21.7, 3}, {21.7, 1, 5.37}}, {1, 2, 3}))
    expectThoseByPoints<3>(c);
  for (const auto& c : transformFieldCases<2>({{5, 3}, {5.37, 21.7}}, {1, 2, 3}))
    expectThoseByPoints<2>(c);
}

TEST(TransformFields, OfLatticesPartlyOutsideMoveOnlyInside)
{
  const TransformFieldCase<3> c = transformFieldCases<3>({{5.37, 5.37, 5.37}}, {3})[1];
  Context context;
  const VectorImage<3> field = displacementField<3>(
      context, c.chain, c.lattice, c.method("auto", DeviceKind::cpu, FieldQuantity::displacements));
  const auto still = std::count(field.voxels.begin(), field.voxels.end(), 0.0f);
  EXPECT_GT(still, static_cast<std::ptrdiff_t>(field.voxels.size() / 10));
  EXPECT_LT(still, static_cast<std::ptrdiff_t>(field.voxels.size() * 9 / 10));
}

TEST(TransformFields, AreTheSameByEveryMethodOfTheCpu)
{
  for (const auto& c : transformFieldCases<3>({{5, 3, 4}}, {3})) {
    Context context{{}, 2};
    const VectorImage<3> expected = displacementField<3>(context, c.chain, c.lattice);
    for (const char* name : {"Separable", "VectorPerTile", "VectorPerVoxel"}) {
      const VectorImage<3> field = displacementField<3>(
          context, c.chain, c.lattice, c.method(name, DeviceKind::cpu, FieldQuantity::displacements));
      for (std::size_t i = 0; i < field.voxels.size(); ++i)
        ASSERT_NEAR(field.voxels[i], expected.voxels[i], 10 * largestMm * 0x1p-24)
            << name << ", " << c.text; // ten roundings to single
    }
  }
}

TEST(TransformFields, ByPointsHaveNoCudaForm)
{
  const TransformFieldCase<2> c(turnedLattice<2>({5, 4}, {1, 1}), {5, 5}, 3, {});
  Context context{{DeviceKind::cuda, 0}, 1};
  for (const std::string& text :
       {errorText([&] { displacementField<2>(context, c.chain, c.lattice); }, ExitCode::device),
        errorText([&] { jacobianDeterminants<2>(context, c.chain, c.lattice); }, ExitCode::device),
        errorText([&] { jacobianMatrices<2>(context, c.chain, c.lattice); }, ExitCode::device)})
    EXPECT_EQ(text, "a field by points: it has no CUDA form. Allowed: the device \"cpu\".");
}

}
}
