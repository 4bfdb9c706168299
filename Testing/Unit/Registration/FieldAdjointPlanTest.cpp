#include "Core/Registration/Fields/FieldAdjointPlan.h"

#include "Testing/Support/Checks/FieldAdjointChecks.h"
#include "Testing/Support/ErrorText.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace tessera {
namespace {

using namespace testing;

/// The blocks of the adjoint's kernels, one after the other; their threads too, from barrier to barrier. What
/// is not written before it is read is no number.
template <int D, class Sum>
class AdjointTilesOnCpu {
  using Value = typename Sum::Value;
  static constexpr int per = Sum::shape.columnsAThread;

public:
  AdjointTilesOnCpu(const AlignedField<D>& field, const std::array<const float*, D>& covectors,
                    std::size_t sharedBytes)
      : covectors_(covectors), plan_(adjoint::planOf<D, Sum>(field, sharedBytes)),
        memory_(adjoint::Shared<D, Value>::bytes(plan_) / sizeof(Chunk) + 1),
        threads_(adjoint::columns * plan_.threadRows),
        partial_(D * plan_.componentStride() * plan_.tileCount(), NAN)
  {
    for (int tile = 0; tile < plan_.tileCount(); ++tile)
      block(tile);
  }

  std::vector<double> gradient(std::size_t pointCount, int lanes) const
  {
    std::vector<double> sums(D * pointCount);
    const int nx = plan_.axes[0].field.points, ny = plan_.axes[1].field.points;
    for (std::size_t k = 0; k < pointCount; ++k) {
      const int at = static_cast<int>(k), point[3] = {at % nx, at / nx % ny, at / nx / ny};
      adjoint::TileSpan spans[3];
      for (int d = 0; d < 3; ++d)
        spans[d] = adjoint::tilesOf(plan_.axes[d], point[d]);
      for (int lane = 0; lane < lanes; ++lane) {
        double sum[D];
        adjoint::sumTiles<D>(plan_, spans, partial_.data(), point, lane, lanes, sum);
        for (int c = 0; c < D; ++c)
          sums[c * pointCount + k] += sum[c];
      }
    }
    return sums;
  }

private:
  struct alignas(32) Chunk {
    unsigned char bytes[32];
  };

  void block(int index)
  {
    std::memset(static_cast<void*>(memory_.data()), 0xff, memory_.size() * sizeof(Chunk));
    const adjoint::Shared<D, Value> shared(plan_, memory_.data());
    const adjoint::Tile tile(plan_, index);
    for (int t = 0; t < threads_; ++t)
      adjoint::fillTables(plan_, tile, shared, t, threads_);
    std::vector<adjoint::Columns<D, Sum>> columns(threads_);
    const int steps = tile.steps(plan_), slotStride = plan_.axes[1].length * adjoint::pitch;
    for (int z = 0, used = 0, slice = 0; z < steps;) {
      int usedNow = used;
      for (int t = 0; t < threads_; ++t) {
        const int x = t % adjoint::columns, y = t / adjoint::columns;
        float values[adjoint::batch][per][D];
        for (int u = 0; u < adjoint::batch; ++u)
          for (int i = 0; i < per; ++i)
            for (int c = 0; c < D; ++c) {
              const int row = y + i * plan_.threadRows;
              values[u][i][c] = x < tile.has[0] && row < tile.has[1] && z + u < tile.has[2]
                                    ? value(tile, c, x, row, z + u)
                                    : 0;
            }
        usedNow = columns[t].take(values, z, shared.axes[2], used, shared.staged + y * adjoint::pitch + x,
                                  slotStride, plan_.threadRows * adjoint::pitch);
      }
      used = usedNow;
      EXPECT_LE(used, adjoint::slots);
      z += adjoint::batch;
      if (z < steps && !adjoint::mustContract(plan_, tile, z, used))
        continue;
      for (int t = 0; t < threads_; ++t)
        adjoint::contractAlongX<D, Sum>(plan_, tile, shared, used, t, threads_);
      for (int t = 0; t < threads_; ++t)
        adjoint::contractAlongY<D, Sum>(plan_, tile, shared, slice, used, partial_.data(), t, threads_);
      slice += used;
      used = 0;
    }
    EXPECT_LE(tile.points(plan_, 0), plan_.axes[0].maxPoints);
    EXPECT_LE(tile.points(plan_, 1), plan_.axes[1].maxPoints);
    EXPECT_LE(tile.points(plan_, 2), plan_.axes[2].maxPoints);
  }

  float value(const adjoint::Tile& tile, int c, int x, int y, int z) const
  {
    const std::size_t nx = plan_.axes[0].field.voxels, ny = plan_.axes[1].field.voxels;
    return covectors_[c][((tile.voxel[2] + z) * ny + tile.voxel[1] + y) * nx + tile.voxel[0] + x];
  }

  std::array<const float*, D> covectors_;
  adjoint::Plan plan_;
  std::vector<Chunk> memory_;
  int threads_;
  std::vector<Value> partial_;
};

template <int D, class Sum>
std::vector<double> gradientByTiles(const AlignedField<D>& field,
                                    const std::array<const float*, D>& covectors,
                                    std::size_t sharedBytes = 200 << 10)
{
  const AdjointTilesOnCpu<D, Sum> tiles(field, covectors, sharedBytes);
  return tiles.gradient(field.pointCount(),
                        adjoint::tilesAPoint(adjoint::planOf<D, Sum>(field, sharedBytes)) > 32 ? 32 : 1);
}

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
