// needs: GPU
#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/BSplineChains.h"

// Kernels treat runs of voxels as a whole where all of a run lies inside the moving image or outside of it.
// Lattices and displacements here bring runs to every place relative to its border.
namespace tessera {
namespace {

using namespace testing;

template <int D>
void expectTheCpus(const TransformChain<D>& chain, const ImageGeometry<D>& image,
                   const ImageGeometry<D>& output, const std::string& what)
{
  const Context cuda = makeContext({DeviceKind::cuda, 0}, 2);
  for (const std::string interpolator : {"linear", "nearest", "1", "2", "3", "labels"}) {
    const Resampling<D> r{&chain, output, imageFor<D>(interpolator, image), nullptr};
    expectSameImage(r.on(cuda, interpolator), r.on({{}, 2}, interpolator), interpolator, what);
  }
}

template <int D>
TransformChain<D> translation(const Vec<D>& mm)
{
  TransformChain<D> chain;
  chain.transform = std::make_shared<TranslationTransform<D>>(parametersOf("", D, 1, ""));
  chain.parameters.assign(mm.begin(), mm.end());
  return chain;
}

/// A grid about the same centre, turned by an angle in the plane of x and y, with voxels `zoom` times as
/// large.
template <int D>
ImageGeometry<D> turnedAndZoomed(const ImageGeometry<D>& image, const Size<D>& size, double degrees,
                                 double zoom)
{
  Vec<D> spacingMm = image.spacingMm;
  for (double& spacing : spacingMm)
    spacing *= zoom;
  ImageGeometry<D> grid = centredGeometry<D>(size, spacingMm);
  const double radians = degrees * 3.14159265358979323846 / 180, c = std::cos(radians), s = std::sin(radians);
  grid.direction[0][0] = grid.direction[1][1] = c;
  grid.direction[0][1] = -s;
  grid.direction[1][0] = s;
  const Vec<D> wanted = image.centerMm(), is = grid.centerMm();
  for (int d = 0; d < D; ++d)
    grid.originMm[d] += wanted[d] - is[d] + 0.013;
  return grid;
}

/// By whole runs of 32 x 32 voxels and by parts of them, and by bits on either side of the image's border.
template <int D>
void expectTheCpusShifted(const Size<D>& size, const std::vector<double>& shiftsInVoxels)
{
  const ImageGeometry<D> image = centredGeometry<D>(size, perAxis<D>(0.75));
  for (const double shift : shiftsInVoxels)
    for (int axis = 0; axis < D; ++axis)
      for (const double sign : {-1.0, 1.0}) {
        Vec<D> mm{};
        mm[axis] = sign * shift * 0.75;
        expectTheCpus<D>(translation<D>(mm), image, image, "shifted by " + std::to_string(sign * shift));
      }
}

using ResamplingRunsOnCuda = testing::GpuTest;

TEST_F(ResamplingRunsOnCuda, RunsNearTheBorderGiveTheCpusImages)
{
  const std::vector<double> shifts{0, 1e-7, 0.25, 0.499999, 0.5, 0.500001, 1, 2.5, 31.75, 500};
  expectTheCpusShifted<3>({96, 70, 9}, shifts);
  expectTheCpusShifted<2>({200, 150}, shifts);
}

TEST_F(ResamplingRunsOnCuda, TurnedAndZoomedLatticesGiveTheCpusImages)
{
  const ImageGeometry<3> image = centredGeometry<3>({110, 90, 34}, {0.8, 0.9, 1.1});
  const ImageGeometry<2> slice = centredGeometry<2>({210, 190}, {0.8, 0.9});
  for (const double degrees : {0.0, 3.0, 30.0, 90.0, 200.0})
    for (const double zoom : {0.5, 1.0, 1.7, 2.0, 9.0}) {
      const std::string what = std::to_string(degrees) + " degrees, zoom " + std::to_string(zoom);
      expectTheCpus<3>(translation<3>({0, 0, 0}), image,
                       turnedAndZoomed<3>(image, {101, 75, 11}, degrees, zoom), what);
      expectTheCpus<2>(translation<2>({0, 0}), slice, turnedAndZoomed<2>(slice, {131, 170}, degrees, zoom),
                       what);
    }
}

/// Runs along the last axis that cross the border at any angle, hardly move along an axis of the image, or go
/// backwards.
TEST_F(ResamplingRunsOnCuda, PathsAcrossTheBorderGiveTheCpusImages)
{
  const ImageGeometry<3> image = centredGeometry<3>({40, 34, 31}, {0.8, 0.9, 1.1});
  for (const double degrees : {1e-7, 1e-5, 1e-3, 1.0, 20.0, 90.0, 180.0})
    for (const int axis : {0, 1}) {
      ImageGeometry<3> tilted = turnedAndZoomed<3>(image, {43, 35, 67}, 0, 0.7);
      const Vec<3> wanted = tilted.centerMm();
      const double radians = degrees * 3.14159265358979323846 / 180, c = std::cos(radians),
                   s = std::sin(radians);
      tilted.direction[axis][axis] = tilted.direction[2][2] = c;
      tilted.direction[axis][2] = -s;
      tilted.direction[2][axis] = s;
      const Vec<3> is = tilted.centerMm();
      for (int d = 0; d < 3; ++d)
        tilted.originMm[d] += wanted[d] - is[d];
      const std::string what = "tilted by " + std::to_string(degrees) + " degrees";
      expectTheCpus<3>(translation<3>({3.1, -9.3, 12.7}), image, tilted, what);
      expectTheCpus<3>(randomBSplineChain<3>(gridAcross<3>(tilted, {10, 9.3, 11}, 3, {}), 3), image, tilted,
                       what + ", bent");
    }
}

/// Displacements that differ by more than a run from control point to control point.
template <int D>
void expectTheCpusBent(const Size<D>& size, double largestMm)
{
  const ImageGeometry<D> image = turnedLattice<D>(size, perAxis<D>(0.7, 0.35));
  const auto chain = randomBSplineChain<D>(gridAcross<D>(image, perAxis<D>(7.3, 2.4), 3, {}), largestMm);
  ImageGeometry<D> across = turnedAndZoomed<D>(image, size, 30, 0.9);
  for (const bool aligned : {true, false})
    expectTheCpus<D>(chain, image, aligned ? image : across,
                     "displacements of " + std::to_string(largestMm)
                         + (aligned ? " mm" : " mm, on a turned grid"));
}

TEST_F(ResamplingRunsOnCuda, LongDisplacementsGiveTheCpusImages)
{
  for (const double largestMm : {0.01, 4.0, 60.0}) {
    expectTheCpusBent<3>({101, 77, 19}, largestMm);
    expectTheCpusBent<2>({150, 140}, largestMm);
  }
}

TEST_F(ResamplingRunsOnCuda, ThinImagesGiveTheCpusImages)
{
  for (const Size<3>& size :
       {Size<3>{70, 40, 1}, Size<3>{70, 40, 2}, Size<3>{70, 3, 40}, Size<3>{4, 70, 4}, Size<3>{1, 1, 40}}) {
    const ImageGeometry<3> image = turnedLattice<3>(size, {0.8, 0.9, 1.1});
    const std::string what =
        std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
    expectTheCpus<3>(translation<3>({0.31, -0.23, 0.17}), image, image, what);
    expectTheCpus<3>(randomBSplineChain<3>(gridAcross<3>(image, {6, 5, 4}, 3, {}), 0.6), image, image,
                     what + ", bent");
  }
}

/// Lattices of so many voxels that each lane of a warp takes as many rows as it ever does.
TEST_F(ResamplingRunsOnCuda, LargeLatticesGiveTheCpusImages)
{
  const ImageGeometry<3> image = centredGeometry<3>({112, 90, 64}, {0.8, 0.9, 1.1});
  const ImageGeometry<3> straight = turnedAndZoomed<3>(image, {322, 257, 205}, 0, 0.35);
  const ImageGeometry<3> turned = turnedAndZoomed<3>(image, straight.size, 4, 0.35);
  const auto bent = randomBSplineChain<3>(gridAcross<3>(straight, {10, 9.3, 11}, 3, {}), 2);
  const auto moved = translation<3>({0.3, 4.1, -0.7});
  const Context cpu{{}, 8};
  for (const TransformChain<3>* chain : {&bent, &moved})
    for (const bool isTurned : {false, true})
      for (const std::string interpolator : {"linear", "3"}) {
        const Resampling<3> r{chain, isTurned ? turned : straight, imageFor<3>(interpolator, image), nullptr};
        expectSameImage(r.on(cuda, interpolator), r.on(cpu, interpolator), interpolator,
                        isTurned ? "large, turned" : "large");
      }
  for (const std::string extrapolation : {"Nearest", "Mirror"}) {
    const Resampling<3> r{&moved, turned, imageFor<3>("linear", image), nullptr, extrapolation};
    expectSameImage(r.on(cuda, "linear"), r.on(cpu, "linear"), "linear", "large, " + extrapolation);
  }
}

/// The same where lanes cross cells of the image, and its border, at every angle that boxes of it have room
/// for, and beyond.
TEST_F(ResamplingRunsOnCuda, LargeLatticesAcrossTheBorderGiveTheCpusImages)
{
  const Context cpu{{}, 8};
  const ImageGeometry<3> image = centredGeometry<3>({240, 231, 222}, {0.8, 0.9, 1.1});
  const auto moved = translation<3>({0.3, 4.1, -0.7});
  const ImagePointer<3> moving = imageFor<3>("linear", image);
  for (const double zoom : {0.97, 1.3})
    for (const double degrees : {0.0, 5.0}) {
      const Resampling<3> r{&moved, turnedAndZoomed<3>(image, {258, 262, 249}, degrees, zoom), moving,
                            nullptr};
      expectSameImage(r.on(cuda, "linear"), r.on(cpu, "linear"), "linear",
                      std::to_string(degrees) + " degrees, zoom " + std::to_string(zoom));
    }
}

/// Rows of a 2D lattice are its slices: whatever are asked for at once, runs are the same.
TEST_F(ResamplingRunsOnCuda, SlicesAreThoseOfTheWhole)
{
  const ImageGeometry<2> image = turnedLattice<2>({150, 140}, {0.7, 1.05});
  const auto bent = randomBSplineChain<2>(gridAcross<2>(image, {7.3, 9.7}, 3, {}), 3),
             straight = translation<2>({1.37, -2.41});
  for (const TransformChain<2>* chain : {&bent, &straight})
    for (const double degrees : {0.0, 40.0})
      for (const std::string interpolator : {"linear", "3", "nearest"}) {
        ImageGeometry<2> output = degrees == 0 ? image : turnedAndZoomed<2>(image, image.size, degrees, 1.1);
        const Resampling<2> r{chain, output, imageFor<2>(interpolator, image), nullptr};
        const std::vector<float> whole = r.on(cuda, interpolator);
        std::vector<float> joined;
        for (std::size_t first = 0; first < output.size[1]; first += 13)
          for (const float value : r.on(cuda, interpolator, {first, 13}))
            joined.push_back(value);
        EXPECT_TRUE(joined == whole) << interpolator << ", " << degrees << " degrees: not the same bits";
      }
}

}
}
