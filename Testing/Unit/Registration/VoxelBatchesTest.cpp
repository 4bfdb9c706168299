#include "Core/Registration/Samples/VoxelBatches.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

template <int D>
void expectPointsOfVoxels()
{
  ImageGeometry<D> geometry;
  for (int d = 0; d < D; ++d) {
    geometry.size[d] = static_cast<std::size_t>(7 + 2 * d); // several batches in 3D and 4D
    geometry.spacingMm[d] = 0.5 + d;
    geometry.originMm[d] = -7.0 * d;
    for (int e = 0; e < D; ++e)
      geometry.direction[d][e] = d == e ? 1 : 0.01 * (d - e);
  }
  const AffineMap<D> pointFromIndex = geometry.pointFromIndex();
  std::vector<int> seen(geometry.voxelCount());
  forEachVoxelBatch<D>({Device{}, 1}, geometry, [&](std::size_t first, const PointBatch<D>& points) {
    for (std::size_t i = 0; i < points.count; ++i) {
      const Vec<D> expectedMm = pointFromIndex(indexOfVoxel<D>(geometry.size, first + i));
      for (int d = 0; d < D; ++d)
        EXPECT_NEAR(points.mm[d][i], expectedMm[d], 1e-12) << D << "D, voxel " << first + i;
      ++seen[first + i];
    }
  });
  EXPECT_EQ(seen, std::vector<int>(geometry.voxelCount(), 1));
}

TEST(VoxelBatchesTest, HaveThePointsOfTheirVoxels)
{
  expectPointsOfVoxels<2>();
  expectPointsOfVoxels<3>();
  expectPointsOfVoxels<4>();
}

}
}
