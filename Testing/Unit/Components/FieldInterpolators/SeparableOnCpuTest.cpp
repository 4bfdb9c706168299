#include "Components/FieldInterpolators/Shared/SeparableOnCpu.h"

#include "Testing/Support/Checks/FieldChecks.h"

namespace tessera {
namespace {

using namespace testing;

void displacements(Context& context, const AlignedField<3>& field, const std::vector<double>& coefficients,
                   const FieldTarget& target)
{
  separableDisplacements<3>(context, field, coefficients.data(), target);
}

/// A value is the exact one, summed in double precision (64 terms of at most 20), rounded to single.
double exactlyRounded(double value)
{
  return singleRounding(value) + 64 * 20 * 0x1p-52;
}

TEST(SeparableOnCpuTest, ServesGridsFinerThanTheVoxelsAndLatticesThatRunBackwards)
{
  AlignedField<3> fine = coveredField<3>({17, 19, 23}, {0.4, 0.9, 0.7}, {0.2, 0.5, 0}, 3);
  AlignedField<3> backwards = coveredField<3>({17, 19, 23}, {5, 3, 4.2}, {0.2, 0.5, 0}, 2);
  for (FieldAxis& axis : backwards.axes) {
    axis.first += axis.step * (axis.voxels - 1);
    axis.step = -axis.step;
  }

  expectNaiveDisplacements<3>(displacements, fine, exactlyRounded);
  expectNaiveDisplacements<3>(displacements, backwards, exactlyRounded);
}

TEST(SeparableOnCpuTest, LargeFieldsAreTheDirectSumInEveryLayout)
{
  // More voxels than one block holds.
  const AlignedField<3> field = coveredField<3>({301, 97, 131}, {5, 4.3, 6}, {0.1, 0.7, 0.3}, 3);
  const std::vector<double> coefficients = randomCoefficients<3>(field, 20, 7);
  const std::size_t voxels = field.voxelCount();
  for (const FieldLayout layout : {FieldLayout::planar, FieldLayout::interleaved}) {
    const std::vector<float> values = filled<3>(displacements, field, coefficients, 3, layout);
    std::size_t visited = 0;
    forEachVoxel<3>(field, [&](std::size_t v, const std::array<int, 3>& voxel) {
      if (v % 97 != 0 && voxel[0] > 1 && voxel[0] < field.axes[0].voxels - 1)
        return; // the ends of all rows, and some more
      ++visited;
      const NaiveField<3> expected = naiveField<3>(field, coefficients, voxel);
      for (int c = 0; c < 3; ++c)
        ASSERT_NEAR(values[positionIn(layout, 3, voxels, c, v)], expected.displacementMm[c],
                    exactlyRounded(expected.displacementMm[c]))
            << "voxel " << v;
    });
    EXPECT_GT(visited, voxels / 100);
    EXPECT_EQ(std::count(values.begin(), values.end(), -777.0f), 0);
  }
}

}
}
