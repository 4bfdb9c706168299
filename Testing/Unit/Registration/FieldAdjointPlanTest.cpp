#include "Core/Registration/Fields/FieldAdjointPlan.h"

#include "Testing/Support/Checks/FieldAdjointChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/AdjointTilesOnCpu.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
void expectTilesAreTheSum(const AlignedField<D>& field)
{
  if (!adjoint::hasSupport(field))
    return;
  const std::vector<float> covectors = randomCovectors<D>(field, 1);
  const NaiveGradient expected = naiveGradient<D>(field, covectors);
  const auto from = planes<D>(field, covectors.data());
  expectGradient<D>(field, gradientByTiles<D, adjoint::FusedSum>(field, from), expected,
                    boundOfSums(field, 1), "fused tiles");
  expectGradient<D>(field, gradientByTiles<D, adjoint::KahanSum>(field, from), expected,
                    boundOfSums(field, 0), "Kahan's tiles");
  expectGradient<D>(field, gradientByTiles<D, adjoint::PichatSum>(field, from), expected,
                    boundOfSums(field, 0), "Pichat's tiles");
  expectGradient<D>(field, gradientByTiles<D, adjoint::DoubleSum>(field, from), expected, doubleBound,
                    "double tiles");
}

TEST(FieldAdjointPlanTest, TilesOfBlocksAreTheSumWithEverySummation)
{
  const std::vector<AlignedField<3>> volumes = adjointVolumes();
  const std::vector<AlignedField<2>> planes = adjointPlanes();
  for (std::size_t i = 0; i < volumes.size(); i += i + 5 < volumes.size() ? 5 : 1) // all of the last ones
    expectTilesAreTheSum<3>(volumes[i]);
  for (std::size_t i = 0; i < planes.size(); i += 2)
    expectTilesAreTheSum<2>(planes[i]);
}

TEST(FieldAdjointPlanTest, BlocksWithLittleSharedMemoryHaveFewerRows)
{
  const AlignedField<3> field = coveredField<3>({40, 33, 30}, {1, 2, 3}, {0, 0.5, 0.5}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 6);
  const std::size_t little = 30 << 10;
  ASSERT_LE((adjoint::Shared<3, double>::bytes(adjoint::planOf<3, adjoint::DoubleSum>(field, little))),
            little);
  expectGradient<3>(field,
                    gradientByTiles<3, adjoint::DoubleSum>(field, planes<3>(field, covectors.data()), little),
                    naiveGradient<3>(field, covectors), doubleBound, "few rows");
}

TEST(FieldAdjointPlanTest, GridsDenserThanVoxelsAreRefusedForCuda)
{
  const AlignedField<2> field = coveredField<2>({9, 8}, {5, 0.6}, {0, 0}, 3);
  EXPECT_PRED2(contains, errorText([&] { adjoint::refuseDenseGrid(field); }), "0.6 voxels along y");
}

}
}
