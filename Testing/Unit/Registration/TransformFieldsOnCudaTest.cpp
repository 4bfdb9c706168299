// needs: GPU
#include "Core/Registration/Fields/FieldSlabs.h"
#include "Core/Registration/Fields/TransformFields.h"

#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/TransformFieldCases.h"

namespace tessera {
namespace {

using namespace testing;

/// The rounding of control points and weights to single precision, and of their sums, for values of at most
/// `largest`.
double roundings(double largest)
{
  return 30 * largest * 0x1p-24;
}

void expectNear(const std::vector<float>& values, const std::vector<float>& expected, double tolerance,
                const std::string& text)
{
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], tolerance) << text << ": value " << i;
}

template <int D>
void expectThoseOfTheCpu(const TransformFieldCase<D>& c)
{
  Context cpu{{}, 2}, cuda = makeContext({DeviceKind::cuda, 0}, 1);
  const auto displacements = c.method("auto", DeviceKind::cuda, FieldQuantity::displacements);
  const auto derivatives = c.method("auto", DeviceKind::cuda, FieldQuantity::derivatives);
  expectNear(displacementField<D>(cuda, c.chain, c.lattice, displacements).voxels,
             displacementField<D>(cpu, c.chain, c.lattice).voxels, roundings(largestMm), c.text);
  const std::vector<float> slopes = jacobianMatrices<D>(cpu, c.chain, c.lattice).voxels;
  double steepest = 1;
  for (const float slope : slopes)
    steepest = std::max(steepest, std::abs(static_cast<double>(slope)));
  const double slopeRounding =
      roundings(8 * largestMm); // D differences of control points a spacing of at least 0.7 mm
  expectNear(jacobianMatrices<D>(cuda, c.chain, c.lattice, derivatives).voxels, slopes, slopeRounding,
             c.text);
  // the derivative of a determinant by its entries, in all
  expectNear(jacobianDeterminants<D>(cuda, c.chain, c.lattice, derivatives).voxels,
             jacobianDeterminants<D>(cpu, c.chain, c.lattice).voxels,
             D * D * std::pow(steepest, D - 1) * slopeRounding, c.text);
}

TEST(TransformFieldsOnCuda, OfAlignedBSplinesAreThoseOfTheCpu)
{
  TESSERA_NEEDS_GPU();
  for (const auto& c : transformFieldCases<3>({{5, 5, 5}, {5.37, 21.7, 3}, {21.7, 1, 5.37}}, {1, 2, 3}))
    expectThoseOfTheCpu<3>(c);
  for (const auto& c : transformFieldCases<2>({{5, 3}, {5.37, 21.7}}, {1, 2, 3}))
    expectThoseOfTheCpu<2>(c);
}

TEST(TransformFieldsOnCuda, AreThoseOfTheCpuByEveryMethod)
{
  TESSERA_NEEDS_GPU();
  Context cpu{{}, 2}, cuda = makeContext({DeviceKind::cuda, 0}, 1);
  for (const auto& c : transformFieldCases<3>({{5, 3, 4}}, {3}))
    for (const std::string name : {"Separable", "ThreadPerVoxel", "ThreadPerVoxelTiled", "TextureHardware",
                                   "ThreadPerTile", "ThreadPerTileLinear"}) {
      const double ofFractions = name == "TextureHardware" ? 3 * 2 * largestMm / 256
                                                           : 0; // texture units take a fraction in 256 steps
      expectNear(displacementField<3>(cuda, c.chain, c.lattice,
                                      c.method(name, DeviceKind::cuda, FieldQuantity::displacements))
                     .voxels,
                 displacementField<3>(cpu, c.chain, c.lattice).voxels, roundings(largestMm) + ofFractions,
                 name + ", " + c.text);
    }
}

TEST(TransformFieldsOnCuda, AreTheSameInSlabs)
{
  TESSERA_NEEDS_GPU();
  Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
  for (const auto& c : transformFieldCases<3>({{5.37, 21.7, 3}}, {1, 3})) {
    const FieldMethod<3> method = *c.method("auto", DeviceKind::cuda, FieldQuantity::displacements);
    const auto inSlabsOf = [&](FieldEvaluation<3> evaluation, int components, int slices) {
      const std::size_t sliceValues = components * method.field.voxelCount() / method.field.axes[2].voxels;
      std::vector<float> values(components * method.field.voxelCount());
      evaluateInSlabs<3>(cuda, *method.interpolator, evaluation, method.field, c.chain.parameters, values,
                         slices * sliceValues * sizeof(float));
      return values;
    };
    for (const auto& [evaluation, components] : {std::pair{&FieldInterpolator<3>::displacements, 3},
                                                 std::pair{&FieldInterpolator<3>::jacobianDeterminants, 1},
                                                 std::pair{&FieldInterpolator<3>::jacobians, 9}}) {
      const std::vector<float> whole = inSlabsOf(evaluation, components, 1000);
      double largest = 1;
      for (const float value : whole)
        largest = std::max(largest, std::abs(static_cast<double>(value)));
      for (const int slices : {1, 4}) // weights that round to the other side
        expectNear(inSlabsOf(evaluation, components, slices), whole, roundings(largest), c.text);
    }
  }
}

TEST(TransformFieldsOnCuda, RepeatBitForBit)
{
  TESSERA_NEEDS_GPU();
  const TransformFieldCase<3> c = transformFieldCases<3>({{5.37, 21.7, 3}}, {3})[0];
  const auto method = c.method("auto", DeviceKind::cuda, FieldQuantity::displacements);
  Context first = makeContext({DeviceKind::cuda, 0}, 1), second = makeContext({DeviceKind::cuda, 0}, 1);
  EXPECT_EQ(displacementField<3>(first, c.chain, c.lattice, method).voxels,
            displacementField<3>(second, c.chain, c.lattice, method).voxels);
}

}
}
