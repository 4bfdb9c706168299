// on: CPU, GPU
#include "Core/Registration/Fields/TransformFields.h"

#include "Core/Registration/Fields/FieldSlabs.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"
#include "Testing/Support/Scenes/BSplineChains.h"

#include <cmath>
#include <vector>

namespace tessera {
namespace {

using namespace testing;

constexpr double largestMm = 8;

/// A B-spline and a lattice along its axes.
template <int D>
struct TransformFieldCase {
  ImageGeometry<D> lattice;
  TransformChain<D> chain;
  std::string text;

  TransformFieldCase(const ImageGeometry<D>& along, const Vec<D>& spacingVoxels, int order,
                     const Vec<D>& moveMm)
      : lattice(along),
        chain(randomBSplineChain<D>(gridAcross<D>(along, spacingVoxels, order, moveMm), largestMm)),
        text("order " + std::to_string(order) + ", spacing " + std::to_string(spacingVoxels[0]) + " voxels")
  {
  }
  /// The method that the name stands for on a device.
  std::optional<FieldMethod<D>> method(const std::string& name, DeviceKind device,
                                       FieldQuantity quantity) const
  {
    return FieldMethods<D>(allComponents(), chain, lattice, name, name).choose(device, quantity);
  }
};

/// Awkward sizes, whole and fractional spacings, lattices inside and partly outside the grid.
template <int D>
std::vector<TransformFieldCase<D>> transformFieldCases(const std::vector<Vec<D>>& spacingsVoxels,
                                                       const std::vector<int>& orders)
{
  std::vector<ImageGeometry<D>> lattices;
  if constexpr (D == 3)
    lattices = {turnedLattice<3>({17, 19, 23}, {0.737, 1.1, 2.5}), turnedLattice<3>({1, 64, 9}, {1, 1, 1})};
  else
    lattices = {turnedLattice<2>({61, 38}, {0.7, 1.3}), turnedLattice<2>({1, 64}, {1, 1})};
  std::vector<TransformFieldCase<D>> cases;
  for (const ImageGeometry<D>& lattice : lattices)
    for (const Vec<D>& spacing : spacingsVoxels)
      for (const int order : orders) {
        Vec<D> little, outside; // so that no voxel lies on a knot or a border, where rounding alone decides
                                // on which side
        for (int d = 0; d < D; ++d) {
          const double lengthMm = static_cast<double>(lattice.size[d]) * lattice.spacingMm[d];
          little[d] = 0.0137 * lattice.spacingMm[d];
          outside[d] = (d % 2 ? -0.4173 : 0.6129) * lengthMm;
        }
        cases.emplace_back(lattice, spacing, order, little);
        cases.emplace_back(lattice, spacing, order, outside);
      }
  return cases;
}

/// On CUDA control points, weights and their sums are rounded to single precision, for values of at most
/// `largest`. On the CPU a value is rounded to single, as that by points is, and points of some 100 mm in
/// double, by which a field changes by `scale`.
double rounding(double value, double largest, double scale)
{
  return deviceUnderTest().kind == DeviceKind::cuda ? 30 * largest * 0x1p-24
                                                    : std::abs(value) * 0x1p-23 + 1e-13 * scale;
}

void expectNear(const std::vector<float>& values, const std::vector<float>& expected, double largest,
                double scale, const std::string& text)
{
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], rounding(expected[i], largest, scale)) << text << ": value " << i;
}

template <int D>
auto methodOf(const TransformFieldCase<D>& c, FieldQuantity quantity, const std::string& name = "auto")
{
  return c.method(name, deviceUnderTest().kind, quantity);
}

/// The fields of the device beside those by points, which the CPU has.
template <int D>
void expectThoseByPoints(Context& context, const TransformFieldCase<D>& c)
{
  Context cpu{{}, 2};
  const auto displacements = methodOf(c, FieldQuantity::displacements),
             derivatives = methodOf(c, FieldQuantity::derivatives);
  ASSERT_TRUE(displacements && derivatives) << c.text;

  expectNear(displacementField<D>(context, c.chain, c.lattice, displacements).voxels,
             displacementField<D>(cpu, c.chain, c.lattice).voxels, largestMm, 100, c.text);

  const std::vector<float> slopes = jacobianMatrices<D>(cpu, c.chain, c.lattice).voxels;
  double steepest = 1;
  for (const float slope : slopes)
    steepest = std::max(steepest, std::abs(static_cast<double>(slope)));
  // D differences of control points a spacing of at least 0.7 mm; a slope changes by some 10 mm a mm in a mm
  const double largestSlope = 8 * largestMm;
  expectNear(jacobianMatrices<D>(context, c.chain, c.lattice, derivatives).voxels, slopes, largestSlope, 1000,
             c.text);
  // the derivative of a determinant by its entries, in all
  expectNear(jacobianDeterminants<D>(context, c.chain, c.lattice, derivatives).voxels,
             jacobianDeterminants<D>(cpu, c.chain, c.lattice).voxels,
             D * D * std::pow(steepest, D - 1) * largestSlope, 1e6, c.text);
}

using TransformFieldsTest = DeviceTest;

TEST_F(TransformFieldsTest, OfAlignedBSplinesAreThoseByPoints)
{
  for (const auto& c : transformFieldCases<3>({{5, 5, 5}, {5.37, 21.7, 3}, {21.7, 1, 5.37}}, {1, 2, 3}))
    expectThoseByPoints<3>(context, c);
  for (const auto& c : transformFieldCases<2>({{5, 3}, {5.37, 21.7}}, {1, 2, 3}))
    expectThoseByPoints<2>(context, c);
}

TEST_F(TransformFieldsTest, OfLatticesPartlyOutsideMoveOnlyInside)
{
  const TransformFieldCase<3> c = transformFieldCases<3>({{5.37, 5.37, 5.37}}, {3})[1];
  const VectorImage<3> field =
      displacementField<3>(context, c.chain, c.lattice, methodOf(c, FieldQuantity::displacements));
  const auto still = std::count(field.voxels.begin(), field.voxels.end(), 0.0f);
  EXPECT_GT(still, static_cast<std::ptrdiff_t>(field.voxels.size() / 10));
  EXPECT_LT(still, static_cast<std::ptrdiff_t>(field.voxels.size() * 9 / 10));
}

TEST_F(TransformFieldsTest, AreTheSameByEveryMethodOfTheDevice)
{
  const std::vector<std::string> names =
      context.onCuda() ? std::vector<std::string>{"Separable",       "ThreadPerVoxel", "ThreadPerVoxelTiled",
                                                  "TextureHardware", "ThreadPerTile",  "ThreadPerTileLinear"}
                       : std::vector<std::string>{"Separable", "VectorPerTile", "VectorPerVoxel"};
  Context cpu{{}, 2};
  for (const auto& c : transformFieldCases<3>({{5, 3, 4}}, {3})) {
    const VectorImage<3> expected = displacementField<3>(cpu, c.chain, c.lattice);
    for (const std::string& name : names) {
      // some roundings to single; texture units take a fraction in 256 steps
      const double tolerance = (context.onCuda() ? 30 : 10) * largestMm * 0x1p-24
                               + (name == "TextureHardware" ? 3 * 2 * largestMm / 256 : 0);
      const VectorImage<3> field =
          displacementField<3>(context, c.chain, c.lattice, methodOf(c, FieldQuantity::displacements, name));
      EXPECT_LE(largestDifference(field.voxels, expected.voxels), tolerance) << name << ", " << c.text;
    }
  }
}

TEST_F(TransformFieldsTest, AreTheSameInSlabs)
{
  if (!context.onCuda())
    return; // the CPU has no slabs
  for (const auto& c : transformFieldCases<3>({{5.37, 21.7, 3}}, {1, 3})) {
    const FieldMethod<3> method = *methodOf(c, FieldQuantity::displacements);
    const auto inSlabsOf = [&](FieldEvaluation<3> evaluation, int components, int slices) {
      const std::size_t sliceValues = components * method.field.voxelCount() / method.field.axes[2].voxels;
      std::vector<float> values(components * method.field.voxelCount());
      evaluateInSlabs<3>(context, *method.interpolator, evaluation, method.field, c.chain.parameters, values,
                         slices * sliceValues * sizeof(float));
      return values;
    };
    for (const auto& [evaluation, components] : {std::pair{&FieldInterpolator<3>::displacements, 3},
                                                 std::pair{&FieldInterpolator<3>::jacobianDeterminants, 1},
                                                 std::pair{&FieldInterpolator<3>::jacobians, 9}}) {
      const std::vector<float> whole = inSlabsOf(evaluation, components, 1000);
      const double largest = std::max(1.0, largestMagnitude(whole));
      for (const int slices : {1, 4}) // weights that round to the other side
        expectNear(inSlabsOf(evaluation, components, slices), whole, largest, 0, c.text);
    }
  }
}

TEST_F(TransformFieldsTest, RepeatBitForBit)
{
  const TransformFieldCase<3> c = transformFieldCases<3>({{5.37, 21.7, 3}}, {3})[0];
  const auto method = methodOf(c, FieldQuantity::displacements);
  Context other = contextUnderTest(3);
  EXPECT_EQ(displacementField<3>(other, c.chain, c.lattice, method).voxels,
            displacementField<3>(context, c.chain, c.lattice, method).voxels);
}

TEST(TransformFieldsByPoints, ByPointsHaveNoCudaForm)
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
