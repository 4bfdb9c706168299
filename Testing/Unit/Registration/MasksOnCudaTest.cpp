// needs: GPU
#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Registration/Samples/SamplesForCuda.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/MaskScenes.h"
#include "Testing/Support/Scenes/ModelScenes.h"

namespace tessera {
namespace {

using namespace testing;

/// A lattice, its moving image, and a mask, in the device's memory.
template <int D>
struct Warp {
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  SamplesForCuda<D> forCuda;
  SamplesOnCuda<D> samples;
  Buffer<float> image;
  std::shared_ptr<const Buffer<std::uint8_t>> maskVoxels;
  MovingOnCuda<D> moving;

  Warp(const ImagePointer<D>& fixed, std::size_t step, const ImageGeometry<D>& movingGeometry,
       const MaskPointer<D>& mask)
      : forCuda(context, fixed)
  {
    VoxelLattice<D> lattice{fixed, nullptr, {}, {}, {}};
    lattice.step.fill(step);
    for (int d = 0; d < D; ++d)
      lattice.count[d] = (fixed->geometry.size[d] - 1) / step + 1;
    samples = forCuda.of(context, lattice);
    image.fromHost(context, std::vector<float>(movingGeometry.voxelCount(), 1.0f));
    moving.image = InterpolatorOnCuda<D>(image.span().data(), movingGeometry, 1);
    maskVoxels = voxelsOnCuda<D>(context, mask);
    moving.mask = MaskOnCuda<D>(*mask, *maskVoxels);
  }

  /// Which positions count, by fixed-point indices.
  std::vector<bool> counted(const AffineMap<D>& before, const std::array<const float*, D>& field)
  {
    return counting([&](const GatherTarget<D>& target) {
      warpLatticeOnCuda<D>(context, samples, before, field, moving, target);
    });
  }
  /// The same by the CPU's expressions.
  std::vector<bool> countedByPoints(const ChainOnCuda<D>& chain)
  {
    return counting(
        [&](const GatherTarget<D>& target) { gatherOnCuda<D>(context, samples, chain, moving, target); });
  }

private:
  template <class Work>
  std::vector<bool> counting(Work&& work)
  {
    Buffer<float> values(context, samples.count);
    GatherTarget<D> target;
    target.moving = values.span().data();
    work(target);
    std::vector<bool> counts;
    for (const float value : values.toHost(context))
      counts.push_back(!std::isnan(value));
    return counts;
  }
};

template <int D>
ChainOnCuda<D> chainOf(const AffineMap<D>& map)
{
  ChainOnCuda<D> chain;
  chain.count = 1;
  chain.links[0].kind = TransformKind::linear;
  chain.links[0].map = map;
  return chain;
}

/// T that adds `shift` to the index of a geometry, on a grid that is turned: roundings decide for halves.
template <int D>
AffineMap<D> indexShift(const ImageGeometry<D>& geometry, double shift)
{
  Vec<D> by;
  by.fill(shift);
  AffineMap<D> map;
  map.offset = apply<D>(geometry.pointFromIndex().matrix, by);
  return map;
}

/// Three voxels more on each side: no shift of the test comes to the border, which indices in fixed point may
/// miss by 1e-6.
template <int D>
ImageGeometry<D> padded(ImageGeometry<D> geometry)
{
  Vec<D> first;
  first.fill(-3);
  geometry.originMm = geometry.pointFromIndex()(first);
  for (std::size_t& size : geometry.size)
    size += 6;
  return geometry;
}

template <int D>
void expectTheNearestVoxels(const Size<D>& size)
{
  TermScene<D> scene(1, size);
  const ImageGeometry<D> moving = padded<D>(scene.fixed->geometry);
  ImageGeometry<D> coarser = moving;
  coarser.spacingMm[0] *= 1.7;
  for (const double shift : {0.0, 0.5, -0.5, 1.5, 0.25, 0.49999999, 0.50000001, 1.0 / 3}) {
    const AffineMap<D> map = indexShift<D>(moving, shift);
    Warp<D> sameGrid(scene.fixed, 1, moving, checkerboard<D>(moving));
    const std::vector<bool> counted = sameGrid.counted(map, {});
    EXPECT_EQ(counted, sameGrid.countedByPoints(chainOf<D>(map))) << D << "D, shifted by " << shift;
    EXPECT_NE(std::count(counted.begin(), counted.end(), true), 0);
    Warp<D> otherGrid(scene.fixed, 1, moving, checkerboard<D>(coarser));
    EXPECT_EQ(otherGrid.counted(map, {}), otherGrid.countedByPoints(chainOf<D>(map)))
        << D << "D, mask of another grid, " << shift;
  }
}

using MasksOnCudaTest = testing::GpuTest;

TEST_F(MasksOnCudaTest, WarpsAskTheNearestVoxelOfTheMovingMaskAsPointsDo)
{
  expectTheNearestVoxels<2>({133, 71});
  expectTheNearestVoxels<3>({67, 37, 23});
}

TEST_F(MasksOnCudaTest, WarpsByAFieldAskTheNearestVoxelOfTheMovingMaskAsPointsDo)
{
  TermScene<3> scene(1, {67, 37, 23});
  const ImageGeometry<3>& fixed = scene.fixed->geometry;
  Warp<3> warp(scene.fixed, 1, fixed, checkerboard<3>(fixed));
  const std::size_t count = warp.samples.count;
  std::array<std::vector<float>, 3> planar;
  std::vector<float> interleaved(3 * count);
  std::array<Buffer<float>, 3> field;
  std::array<const float*, 3> arrays;
  for (int d = 0; d < 3; ++d) {
    for (const double mm : checks::randomVector(count, 70 + d, -9, 9))
      planar[d].push_back(static_cast<float>(mm));
    for (std::size_t i = 0; i < count; ++i)
      interleaved[3 * i + d] = planar[d][i];
    field[d].fromHost(warp.context, planar[d]);
    arrays[d] = field[d].span().data();
  }
  Buffer<float> voxels; // the same field as a transform, which the points of the lattice ask at its voxels
  voxels.fromHost(warp.context, interleaved);
  ChainOnCuda<3> chain;
  chain.count = 1;
  chain.links[0].kind = TransformKind::displacementImage;
  chain.links[0].map = fixed.indexFromPoint();
  std::ranges::copy(fixed.size, chain.links[0].points.begin());
  chain.links[0].order = 0;
  chain.links[0].displacements = voxels.span().data();

  const std::vector<bool> counted = warp.counted(AffineMap<3>{}, arrays);

  const std::vector<bool> byPoints = warp.countedByPoints(chain);
  std::size_t different = 0;
  for (std::size_t i = 0; i < count; ++i)
    different += counted[i] != byPoints[i];
  EXPECT_LE(different, 2u) << "only at the image's border, where indices may be off by 1e-6 of a voxel: "
                           << count * 1e-6;
  EXPECT_GT(std::count(counted.begin(), counted.end(), true), 1000);
}

template <int D>
void expectTheFixedMask(const Size<D>& size, std::size_t step)
{
  TermScene<D> scene(1, size);
  ImageGeometry<D> other = scene.fixed->geometry;
  other.spacingMm[D - 1] *= 0.8;
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  SamplesForCuda<D> forCuda(context, scene.fixed);
  for (const ImageGeometry<D>& geometry : {scene.fixed->geometry, other, scene.fixed->geometry}) {
    scene.level.fixedMask = checkerboard<D>(geometry);
    const SampleSet<D> set = scene.lattice(step);
    const SamplesOnCuda<D> samples = forCuda.of(context, set);
    std::vector<std::uint8_t> asked(samples.count);
    context.stream->copyToHost(asked.data(), samples.asked, asked.size());

    const PointList<D> points = allSamples<D>(VoxelLattice<D>{
        scene.fixed, nullptr, {}, std::get<VoxelLattice<D>>(set).step, std::get<VoxelLattice<D>>(set).count});
    for (std::size_t i = 0; i < asked.size(); ++i) {
      Vec<D> pointMm;
      for (int d = 0; d < D; ++d)
        pointMm[d] = points.mm[d][i];
      ASSERT_EQ(asked[i] != 0, scene.level.fixedMask->contains(pointMm)) << "position " << i;
    }
  }
}

TEST_F(MasksOnCudaTest, LatticesAreAskedWhereTheFixedMaskContainsThem)
{
  expectTheFixedMask<2>({133, 71}, 1);
  expectTheFixedMask<3>({67, 37, 23}, 1);
  expectTheFixedMask<3>({67, 37, 23}, 3);
}

}
}
