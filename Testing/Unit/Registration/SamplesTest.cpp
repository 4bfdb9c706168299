#include "Core/Registration/Samples/Samples.h"

#include "Testing/Support/ErrorText.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

template <int D>
ImageGeometry<D> obliqueGeometry(const Size<D>& size)
{
  ImageGeometry<D> geometry;
  geometry.size = size;
  for (int d = 0; d < D; ++d) {
    geometry.spacingMm[d] = 0.7 + 0.3 * d;
    geometry.originMm[d] = -10.0 * (d + 1);
  }
  geometry.direction[0][0] = geometry.direction[1][1] = 0.8;
  geometry.direction[0][1] = -0.6;
  geometry.direction[1][0] = 0.6;
  return geometry;
}

template <int D>
ImagePointer<D> countingImage(const ImageGeometry<D>& geometry)
{
  auto image = std::make_shared<Image<D>>();
  image->geometry = geometry;
  for (std::size_t i = 0; i < geometry.voxelCount(); ++i)
    image->voxels.push_back(static_cast<float>(i));
  return image;
}

template <int D>
Mask<D> emptyMask(const ImageGeometry<D>& geometry)
{
  return {geometry, std::vector<std::uint8_t>(geometry.voxelCount(), 0)};
}

/// The same positions one by one.
template <int D>
PointList<D> naiveSamples(const VoxelLattice<D>& lattice)
{
  PointList<D> list;
  const AffineMap<D> pointFromIndex = lattice.image->geometry.pointFromIndex();
  for (std::size_t position = 0; position < lattice.positions(); ++position) {
    Vec<D> index;
    std::size_t rest = position, offset = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      const std::size_t voxel = lattice.first[d] + lattice.step[d] * (rest % lattice.count[d]);
      rest /= lattice.count[d];
      index[d] = static_cast<double>(voxel);
      offset += stride * voxel;
      stride *= lattice.image->geometry.size[d];
    }
    const Vec<D> point = pointFromIndex(index);
    if (lattice.mask && !lattice.mask->contains(point))
      continue;
    for (int d = 0; d < D; ++d)
      list.mm[d].push_back(point[d]);
    list.fixed.push_back(lattice.image->voxels[offset]);
  }
  return list;
}

template <int D>
void expectSameSamples(const PointList<D>& found, const PointList<D>& expected)
{
  ASSERT_EQ(found.fixed, expected.fixed);
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < expected.fixed.size(); ++i)
      ASSERT_NEAR(found.mm[d][i], expected.mm[d][i], 1e-13); // 4 roundings of coordinates below 100 mm
}

}

TEST(Samples, BatchOfALatticeHasPointsAndIntensitiesComputedByHand)
{
  ImageGeometry<2> geometry{{5, 4}, {2, 3}, {10, 20}};
  const SampleSet<2> set = VoxelLattice<2>{countingImage<2>(geometry), nullptr, {1, 0}, {2, 3}, {2, 2}};
  PointBatch<2> points;
  std::vector<float> fixed(batchCapacity);

  fillBatch<2>(set, 1, 4, points, fixed.data());

  ASSERT_EQ(points.count, 3u); // voxels (3,0) (1,3) (3,3)
  EXPECT_EQ(points.mm[0][0], 16);
  EXPECT_EQ(points.mm[1][0], 20);
  EXPECT_EQ(points.mm[0][1], 12);
  EXPECT_EQ(points.mm[1][1], 29);
  EXPECT_EQ(points.mm[0][2], 16);
  EXPECT_EQ(points.mm[1][2], 29);
  EXPECT_EQ(fixed[0], 3);
  EXPECT_EQ(fixed[1], 16);
  EXPECT_EQ(fixed[2], 18);
}

TEST(Samples, AllSamplesAgreeWithANaiveLoopAtAwkwardSizes)
{
  const auto image = countingImage<3>(obliqueGeometry<3>({37, 11, 5}));
  expectSameSamples<3>(allSamples<3>(VoxelLattice<3>{image, nullptr, {0, 0, 0}, {1, 1, 1}, {37, 11, 5}}),
                       naiveSamples<3>({image, nullptr, {0, 0, 0}, {1, 1, 1}, {37, 11, 5}}));
  expectSameSamples<3>(allSamples<3>(VoxelLattice<3>{image, nullptr, {1, 2, 0}, {3, 1, 2}, {12, 9, 3}}),
                       naiveSamples<3>({image, nullptr, {1, 2, 0}, {3, 1, 2}, {12, 9, 3}}));
}

TEST(Samples, PointsDoNotDependOnWhereABatchBegins)
{
  const SampleSet<3> set = VoxelLattice<3>{
      countingImage<3>(obliqueGeometry<3>({37, 11, 5})), nullptr, {0, 0, 0}, {1, 1, 1}, {37, 11, 5}};
  PointBatch<3> whole, part;
  std::vector<float> fixed(batchCapacity);

  fillBatch<3>(set, 0, 400, whole, fixed.data());
  fillBatch<3>(set, 137, 400, part, fixed.data());

  for (int d = 0; d < 3; ++d)
    for (std::size_t i = 0; i < part.count; ++i)
      ASSERT_EQ(part.mm[d][i], whole.mm[d][i + 137]);
}

TEST(Samples, MaskOnTheImagesGridKeepsItsVoxels)
{
  const auto image = countingImage<2>(obliqueGeometry<2>({30, 20}));
  Mask<2> mask = emptyMask<2>(image->geometry);
  for (std::size_t i = 0; i < mask.voxels.size(); ++i)
    mask.voxels[i] = i % 7 == 3;
  const VoxelLattice<2> lattice{image, std::make_shared<Mask<2>>(mask), {1, 1}, {2, 1}, {14, 18}};

  const PointList<2> found = allSamples<2>(lattice);

  expectSameSamples<2>(found, naiveSamples<2>(lattice));
  EXPECT_GT(found.fixed.size(), 0u);
}

TEST(Samples, MaskOnAnotherGridIsAskedByPoint)
{
  const auto image = countingImage<2>({{30, 20}, {1, 1}, {0, 0}});
  Mask<2> mask = emptyMask<2>({{4, 4}, {5, 5}, {3, 2}});
  mask.voxels[1 + 4 * 2] = 1; // centre (8, 12), 5 mm wide: [5.5, 10.5) x [9.5, 14.5)

  const PointList<2> found =
      allSamples<2>(VoxelLattice<2>{image, std::make_shared<Mask<2>>(mask), {0, 0}, {1, 1}, {30, 20}});

  ASSERT_EQ(found.fixed.size(), 25u);
  EXPECT_EQ(found.mm[0].front(), 6);
  EXPECT_EQ(found.mm[1].front(), 10);
  EXPECT_EQ(found.mm[0].back(), 10);
  EXPECT_EQ(found.mm[1].back(), 14);
}

TEST(Samples, BatchOfAListIsThatPartOfIt)
{
  PointList<2> list;
  for (int i = 0; i < 5; ++i) {
    list.mm[0].push_back(i);
    list.mm[1].push_back(10 * i);
    list.fixed.push_back(100 * i);
  }
  PointBatch<2> points;
  std::vector<float> fixed(batchCapacity);

  fillBatch<2>(list, 2, 4, points, fixed.data());

  ASSERT_EQ(points.count, 2u);
  EXPECT_EQ(points.mm[0][1], 3);
  EXPECT_EQ(points.mm[1][0], 20);
  EXPECT_EQ(fixed[1], 300);
}

TEST(Samples, GridForTenThousandSamplesIsThatOfElastix)
{
  const auto image = countingImage<2>({{256, 256}, {1, 1}, {0, 0}});

  const VoxelLattice<2> grid = gridOfAbout<2>(10000, image, nullptr);

  EXPECT_EQ(grid.step, (Size<2>{3, 3})); // round(sqrt(65536 / 10000)) = round(2.56)
  EXPECT_EQ(grid.count, (Size<2>{86, 86}));
  EXPECT_EQ(grid.first, (Size<2>{0, 0}));
}

TEST(Samples, GridIsCenteredInTheMasksBoxWithOneVoxelAround)
{
  const auto image = countingImage<2>(obliqueGeometry<2>({50, 40}));
  Mask<2> mask = emptyMask<2>(image->geometry);
  for (std::size_t y = 10; y <= 30; ++y)
    for (std::size_t x = 20; x <= 35; ++x)
      mask.voxels[x + 50 * y] = 1;

  // An oblique mask's box is taken along the world's axes, as elastix does, so only the aligned case is 9..31
  // by 19..36.
  const auto aligned = countingImage<2>({{50, 40}, {0.7, 1}, {-3, 2}});
  const auto alignedMask = std::make_shared<Mask<2>>(aligned->geometry, mask.voxels);
  const VoxelLattice<2> grid = gridOfAbout<2>(16, aligned, alignedMask);

  EXPECT_EQ(grid.step, (Size<2>{5, 5}));    // round(sqrt(18 * 23 / 16)) = round(5.09)
  EXPECT_EQ(grid.count, (Size<2>{4, 5}));   // 17 / 5 + 1, 22 / 5 + 1
  EXPECT_EQ(grid.first, (Size<2>{20, 10})); // 19 + (17 - 15) / 2, 9 + (22 - 20) / 2
  const VoxelBox<2> oblique = boxInMask<2>(image->geometry, &mask);
  EXPECT_LE(oblique.first[0], 19u);
  EXPECT_GE(oblique.first[0] + oblique.size[0], 37u);
}

TEST(Samples, RegionOfALevelIsWholeOnAlignedAndOnShrunkGrids)
{
  const ImageGeometry<2> full{{61, 50}, {1.1, 0.9}, {-33, -22.05}};
  const ImageGeometry<2> shrunk{
      {30, 25}, {2.2, 1.8}, {-33 + 0.55, -22.05 + 0.45}}; // its first voxel midway between two
  for (const ImageGeometry<2>& level : {full, shrunk}) {
    const VoxelBox<2> region = regionOfLevel<2>(full, level);

    EXPECT_EQ(region.first, (Size<2>{0, 0}));
    EXPECT_EQ(region.size, level.size);
  }
}

TEST(Samples, RegionOfALevelIsBetweenTheCentresOfTheFullImagesOuterVoxels)
{
  const ImageGeometry<3> full = obliqueGeometry<3>({31, 27, 22});
  const auto movedBy = [&](const Vec<3>& voxels, const Size<3>& size) {
    ImageGeometry<3> level = full;
    level.originMm = full.pointFromIndex()(voxels);
    level.size = size;
    return level;
  };
  // Far beyond rounding, which loses slices in the same way. A last slice a hair before the full image's last
  // centre stays; a hair behind it, it goes; so does a first slice that begins a hair before the first
  // centre.
  const double hair = 1e-6;
  const VoxelBox<3> lost = regionOfLevel<3>(full, movedBy({hair, hair, -hair}, full.size));
  EXPECT_EQ(lost.first, (Size<3>{0, 0, 1}));
  EXPECT_EQ(lost.size, (Size<3>{30, 26, 21}));

  const VoxelBox<3> inside = regionOfLevel<3>(full, movedBy({hair, 2.5, 0.25}, {30, 20, 21}));
  EXPECT_EQ(inside.first, (Size<3>{0, 0, 0}));
  EXPECT_EQ(inside.size, (Size<3>{30, 20, 21}));

  const VoxelBox<3> wider = regionOfLevel<3>(full, movedBy({-2.5, -0.5, -1 - hair}, {40, 40, 40}));
  EXPECT_EQ(wider.first, (Size<3>{3, 1, 2}));
  EXPECT_EQ(wider.size, (Size<3>{30, 26, 21}));
}

TEST(Samples, ContentIsTheBoxOfWhatDiffersFromTheFirstVoxel)
{
  Image<2> image{{{6, 5}, {1, 1}, {0, 0}}, std::vector<float>(30, 7)};
  EXPECT_EQ(contentBox<2>(image).size, image.geometry.size);
  image.voxels[1 * 6 + 2] = 0;
  image.voxels[3 * 6 + 3] = 9;
  const VoxelBox<2> content = contentBox<2>(image);
  EXPECT_EQ(content.first, (Size<2>{2, 1}));
  EXPECT_EQ(content.size, (Size<2>{2, 3}));
}

TEST(Samples, BoxOfAnotherGridHasAMarginAndStaysInItsRegion)
{
  const ImageGeometry<2> full{{40, 40}, {1, 1}, {0, 0}}, half{{20, 20}, {2, 2}, {0.5, 0.5}};
  const VoxelBox<2> box = boxInBox<2>(half, {{0, 0}, {20, 12}}, full, {{10, 20}, {4, 4}}, 3);
  EXPECT_EQ(box.first, (Size<2>{1, 6}));
  EXPECT_EQ(box.size, (Size<2>{10, 6}));
}

TEST(Samples, EmptyMaskIsAnError)
{
  const auto image = countingImage<2>({{5, 4}, {1, 1}, {0, 0}});
  const auto mask = std::make_shared<Mask<2>>(emptyMask<2>(image->geometry));
  EXPECT_EQ(exitCodeOf([&] { gridOfAbout<2>(10, image, mask); }), ExitCode::unreadableInput);
}

TEST(Samples, MaskBesideTheImageIsAnError)
{
  const auto image = countingImage<2>({{5, 4}, {1, 1}, {0, 0}});
  Mask<2> mask = emptyMask<2>({{5, 4}, {1, 1}, {100, 0}});
  mask.voxels[0] = 1;
  EXPECT_THROW(boxInMask<2>(image->geometry, &mask), Error);
}
