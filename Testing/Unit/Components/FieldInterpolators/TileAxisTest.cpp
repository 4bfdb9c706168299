#include "Components/FieldInterpolators/Shared/TileAxis.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

/// The result of a thread of a tile method for voxel `v`: the start of its support in control points, with
/// the fraction, and whether it is inside.
struct Found {
  double position;
  bool inside;
};

Found found(const TileAxis& axis, int v, int order)
{
  const int tile = (v + axis.before) / axis.tile, r = (v + axis.before) % axis.tile;
  return {axis.firstPoint + tile + supportInTile(axis, r, order).distance,
          v >= axis.insideFirst && v < axis.insideEnd};
}

TEST(TileAxisTest, PutsEveryVoxelWhereItsSupportIs)
{
  for (const int tile : {1, 2, 3, 5, 7, 32})
    for (const int order : {1, 2, 3})
      for (const double first : {0.0, 1.0, 1.5, 0.37, -0.6, 2.999999999, -7.25, 6.0 - 1.0 / 3, 40.0})
        for (const int voxels : {1, 5, 64}) {
          const FieldAxis axis{first, 1.0 / tile, 9, voxels};

          const TileAxis tiles = tileAxisOf(axis, order);

          ASSERT_EQ(tiles.tile, tile);
          ASSERT_TRUE(tiles.before >= 0 && tiles.before < tile && tiles.phase >= 0 && tiles.phase < 1);
          ASSERT_EQ(tiles.tiles, (tiles.before + voxels - 1) / tile + 1);
          for (int v = 0; v < voxels; ++v) {
            const AxisSupport support = supportOf(axis, v, order);
            const Found one = found(tiles, v, order);
            ASSERT_EQ(one.inside, support.inside)
                << "tile " << tile << ", order " << order << ", from " << first << ", voxel " << v;
            if (support.inside) { // 1e-12: of an index below 64, a few roundings
              ASSERT_NEAR(one.position, support.start + support.distance, 1e-12)
                  << "tile " << tile << ", order " << order << ", from " << first << ", voxel " << v;
            }
          }
        }
}

TEST(TileAxisTest, OfVoxelsFarOutsideStaysSmall)
{
  for (const double first : {1e12, -1e12}) {
    const TileAxis tiles = tileAxisOf({first, 0.2, 9, 11}, 3);

    EXPECT_EQ(tiles.insideFirst, tiles.insideEnd);
    EXPECT_EQ(tiles.firstPoint, 0);
    EXPECT_EQ(tiles.tiles, 3);
  }
}

}
}
