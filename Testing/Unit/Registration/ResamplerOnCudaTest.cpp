// needs: GPU
#include "Components/Resamplers/Shared/ResamplingOnCuda.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/SimilarityTransform.h"
#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/BSplineChains.h"
#include "Testing/Support/Scenes/MaskScenes.h"
#include "Testing/Support/Scenes/ModelScenes.h"

namespace tessera {
namespace {

using namespace testing;

/// A grid of its own across that of a scene's images, and beyond it.
template <int D>
ImageGeometry<D> turnedAcross(const ImageGeometry<D>& geometry)
{
  Size<D> size{};
  for (int d = 0; d < D; ++d)
    size[d] = geometry.size[d] + 7 - static_cast<std::size_t>(2 * d);
  ImageGeometry<D> turned = turnedLattice<D>(size, geometry.spacingMm);
  const Vec<D> to = geometry.centerMm(), from = turned.centerMm();
  for (int d = 0; d < D; ++d)
    turned.originMm[d] += to[d] - from[d];
  return turned;
}

template <int D>
std::string methodOf(const Resampling<D>& r, const std::string& interpolator)
{
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  const auto prepared = resampleInterpolator<D>(interpolator);
  prepared->prepareForLevel(context, r.moving, 0);
  const MovingToResample<D> moving(context, {prepared.get(), r.valid}, Extrapolation::constant, 0);
  return ResamplingOnCuda<D>(context, *r.chain, r.output).method(moving);
}

template <int D>
void expectTheCpus(const Resampling<D>& r, const std::string& interpolator, const std::string& what)
{
  const Context cuda = makeContext({DeviceKind::cuda, 0}, 2);
  const std::vector<float> values = r.on(cuda, interpolator);
  expectSameImage(values, r.on({{}, 2}, interpolator), interpolator, what);
  EXPECT_EQ(r.on(cuda, interpolator), values) << what << ", " << interpolator << ": not the same bits again";
}

/// Onto the fixed grid, along which a B-spline's grid lies, and onto another.
template <int D>
void expectTheCpusByAllInterpolators(const TermScene<D>& scene, const std::string& what)
{
  for (const std::string& interpolator : resampleInterpolators)
    for (const bool aligned : {true, false}) {
      const ImageGeometry<D>& fixed = scene.fixed->geometry;
      expectTheCpus<D>({scene.chain.get(), aligned ? fixed : turnedAcross<D>(fixed),
                        imageFor<D>(interpolator, scene.moving->geometry), nullptr},
                       interpolator, what + (aligned ? "" : ", on a turned grid"));
    }
}

template <int D, class Transform>
void useLinear(TermScene<D>& scene, double amplitude)
{
  scene.use(std::make_shared<Transform>(parametersOf("", D, 1, "Transform0")), amplitude);
}

template <int D>
void expectLinearOnes()
{
  TermScene<D> scene(1, unequalSize<D>());
  useLinear<D, TranslationTransform<D>>(scene, 5);
  expectTheCpusByAllInterpolators<D>(scene, "translation");
  useLinear<D, EulerTransform<D>>(scene, 0.2);
  expectTheCpusByAllInterpolators<D>(scene, "Euler");
  useLinear<D, SimilarityTransform<D>>(scene, 0.1);
  expectTheCpusByAllInterpolators<D>(scene, "similarity");
  scene.useAffine();
  expectTheCpusByAllInterpolators<D>(scene, "affine");
}

using ResamplerOnCuda = testing::GpuTest;

TEST_F(ResamplerOnCuda, LinearTransformsGiveTheCpusImages)
{
  expectLinearOnes<2>();
  expectLinearOnes<3>();
}

TEST_F(ResamplerOnCuda, BSplinesAloneAndInChainsGiveTheCpusImages)
{
  forEachBendingScene<2>(expectTheCpusByAllInterpolators<2>);
  forEachBendingScene<3>(expectTheCpusByAllInterpolators<3>);
}

TEST_F(ResamplerOnCuda, LandmarksAndFieldsGiveTheCpusImages)
{
  forEachModelScene<2>(true, expectTheCpusByAllInterpolators<2>);
  forEachModelScene<3>(true, expectTheCpusByAllInterpolators<3>);
}

/// Translation after affine after B-spline after Euler after similarity.
template <int D>
void expectFiveInAChain()
{
  for (const Combination combination : {Combination::compose, Combination::add}) {
    TermScene<D> scene(1, unequalSize<D>());
    useLinear<D, SimilarityTransform<D>>(scene, 0.03);
    scene.useAsInitial(combination);
    useLinear<D, EulerTransform<D>>(scene, 0.05);
    scene.useAsInitial(combination);
    useBSpline<D>(scene, 3, false);
    scene.useAsInitial(combination);
    scene.useAffine();
    scene.useAsInitial(combination);
    useLinear<D, TranslationTransform<D>>(scene, 2);
    expectTheCpusByAllInterpolators<D>(scene,
                                       combination == Combination::add ? "five added" : "five composed");
  }
}

TEST_F(ResamplerOnCuda, FiveInAChainGiveTheCpusImages)
{
  expectFiveInAChain<2>();
  expectFiveInAChain<3>();
}

TEST_F(ResamplerOnCuda, KernelsGoAboutItAsTheyShould)
{
  TermScene<3> scene(1, unequalSize<3>());
  const auto method = [&](bool aligned) {
    const ImageGeometry<3>& fixed = scene.fixed->geometry;
    return methodOf<3>({scene.chain.get(), aligned ? fixed : turnedAcross<3>(fixed), scene.moving, nullptr},
                       "3");
  };
  scene.useAffine();
  EXPECT_EQ(method(true), "one linear map");
  useBSpline<3>(scene, 3, false);
  EXPECT_EQ(method(true), "a B-spline at each voxel");
  EXPECT_EQ(method(false), "a B-spline at each voxel");
  scene.useAsInitial(Combination::compose);
  scene.useAffine();
  EXPECT_EQ(method(true), "a B-spline at each voxel");
  useBSpline<3>(scene, 3, true);
  EXPECT_EQ(method(true), "points in double precision");
}

/// Whole and broken numbers of voxels between control points, few and many, sizes that fill blocks and do
/// not, voxels outside the grid.
template <int D>
void expectTheCpusOnGrids(const std::vector<Size<D>>& sizes, const std::vector<Vec<D>>& spacings)
{
  for (const Size<D>& size : sizes)
    for (const Vec<D>& spacing : spacings)
      for (const double share : {0.0, 0.31}) { // of the lattice that lies outside the grid
        const Vec<D> spacingMm = perAxis<D>(0.7, 0.35);
        Vec<D> moveMm{};
        for (int d = 0; d < D; ++d)
          moveMm[d] = 0.0137 * spacingMm[d] + share * spacingMm[d] * static_cast<double>(size[d]);
        const ImageGeometry<D> lattice = turnedLattice<D>(size, spacingMm);
        const auto chain = randomBSplineChain<D>(gridAcross<D>(lattice, spacing, 3, moveMm), 3);
        for (const std::string interpolator : {"linear", "3", "nearest"})
          expectTheCpus<D>({&chain, lattice, imageFor<D>(interpolator, lattice), nullptr}, interpolator,
                           "size " + std::to_string(size[0]) + ", spacing " + std::to_string(spacing[0]));
      }
}

TEST_F(ResamplerOnCuda, GridsOfAllSizesGiveTheCpusImages)
{
  expectTheCpusOnGrids<3>({{131, 67, 13}, {64, 21, 5}, {1, 64, 9}, {33, 1, 4}},
                          {{5, 5, 5}, {5.37, 21.7, 3}, {1, 2.5, 1.3}, {9, 8, 260}});
  expectTheCpusOnGrids<2>({{131, 67}, {1, 64}, {64, 1}}, {{5, 3}, {5.37, 21.7}, {1, 1.3}, {9, 260}});
}

TEST_F(ResamplerOnCuda, ImagesOfOneSliceGiveTheCpusImages)
{
  const ImageGeometry<3> slice = obliqueGeometry<3>({37, 29, 1});
  TermScene<3> scene(1, {37, 29, 1});
  for (const bool withSpline : {false, true}) {
    scene.chain = std::make_shared<TransformChain<3>>();
    useLinear<3, TranslationTransform<3>>(scene, 0.4);
    if (withSpline) {
      scene.useAsInitial(Combination::compose);
      useBSpline<3>(scene, 3, false, 0.4);
    }
    for (const std::string& interpolator : resampleInterpolators)
      expectTheCpus<3>({scene.chain.get(), slice, imageFor<3>(interpolator, slice), nullptr}, interpolator,
                       "one slice");
  }
}

template <int D>
void expectTheCpusWithMasks()
{
  TermScene<D> scene(1, unequalSize<D>());
  const ImageGeometry<D> other = turnedAcross<D>(scene.moving->geometry);
  for (const bool withSpline : {false, true}) {
    scene.chain = std::make_shared<TransformChain<D>>();
    scene.useAffine();
    if (withSpline) {
      scene.useAsInitial(Combination::compose);
      useBSpline<D>(scene, 3, false);
    }
    for (const std::string& interpolator : resampleInterpolators)
      for (const MaskPointer<D>& valid : {checkerboard<D>(scene.moving->geometry), checkerboard<D>(other)})
        expectTheCpus<D>({scene.chain.get(), scene.fixed->geometry,
                          imageFor<D>(interpolator, scene.moving->geometry), valid},
                         interpolator, "with a mask");
  }
}

TEST_F(ResamplerOnCuda, VoxelsThatAreNotValidAreOutsideAsOnTheCpu)
{
  expectTheCpusWithMasks<2>();
  expectTheCpusWithMasks<3>();
}

template <int D>
void expectTheCpusExtrapolated()
{
  TermScene<D> scene(1, unequalSize<D>());
  const ImageGeometry<D> beyond = turnedAcross<D>(scene.fixed->geometry);
  for (const std::string extrapolation : {"Nearest", "Mirror"})
    for (const bool withSpline : {false, true}) {
      scene.chain = std::make_shared<TransformChain<D>>();
      useLinear<D, TranslationTransform<D>>(scene, 20);
      if (withSpline) {
        scene.useAsInitial(Combination::compose);
        useBSpline<D>(scene, 3, false);
      }
      for (const std::string& interpolator : resampleInterpolators)
        for (const MaskPointer<D>& valid : {MaskPointer<D>(), checkerboard<D>(scene.moving->geometry)})
          expectTheCpus<D>({scene.chain.get(), beyond, imageFor<D>(interpolator, scene.moving->geometry),
                            valid, extrapolation},
                           interpolator, extrapolation);
    }
}

TEST_F(ResamplerOnCuda, ExtrapolatesAsTheCpu)
{
  expectTheCpusExtrapolated<2>();
  expectTheCpusExtrapolated<3>();
}

/// All voxels of a grid that is half a voxel off, or has every second voxel, lie on a border between two of
/// the image.
template <int D>
void expectTheCpusTies(bool withSpline)
{
  const Size<D> size = perAxis<D>(std::size_t(24));
  const ImageGeometry<D> image = centredGeometry<D>(size, perAxis<D>(0.75));
  ImageGeometry<D> shifted = image, coarse = image;
  for (int d = 0; d < D; ++d) {
    shifted.originMm[d] -= 0.375;
    coarse.spacingMm[d] = 1.5;
    coarse.originMm[d] -= 0.375;
  }
  TermScene<D> scene(1, size);
  useLinear<D, TranslationTransform<D>>(scene, 0);
  std::fill(scene.chain->parameters.begin(), scene.chain->parameters.end(), 0.0);
  if (withSpline)
    useBSpline<D>(scene, 3, false, 0);
  for (const std::string& interpolator : resampleInterpolators)
    for (const ImageGeometry<D>& output : {image, shifted, coarse})
      expectTheCpus<D>({scene.chain.get(), output, imageFor<D>(interpolator, image), nullptr}, interpolator,
                       "ties");
}

TEST_F(ResamplerOnCuda, TiesAreBrokenAsOnTheCpu)
{
  for (const bool withSpline : {false, true}) {
    expectTheCpusTies<2>(withSpline);
    expectTheCpusTies<3>(withSpline);
  }
}

template <int D>
void expectTheSameInSlices(const TermScene<D>& scene, const std::string& what)
{
  const Context cuda = makeContext({DeviceKind::cuda, 0}, 2);
  for (const std::string interpolator : {"linear", "3", "labels"}) {
    const Resampling<D> r{scene.chain.get(), scene.fixed->geometry,
                          imageFor<D>(interpolator, scene.moving->geometry), nullptr};
    const std::vector<float> whole = r.on(cuda, interpolator);
    std::vector<float> joined;
    for (std::size_t first = 0; first < r.output.size[D - 1]; first += 5)
      for (const float value : r.on(cuda, interpolator, {first, 5}))
        joined.push_back(value);
    EXPECT_TRUE(joined == whole) << what << ", " << interpolator;
  }
}

TEST_F(ResamplerOnCuda, SlicesAreThoseOfTheWhole)
{
  forEachBendingScene<2>(expectTheSameInSlices<2>);
  forEachBendingScene<3>(expectTheSameInSlices<3>);
}

/// Several images, each with what it asks for, on a grid of `finer` times as many voxels along each axis.
struct LargeImages {
  TermScene<3> scene{1, {27, 22, 17}};
  ImageGeometry<3> output = scene.fixed->geometry;
  Context cuda = makeContext({DeviceKind::cuda, 0}, 2);
  std::vector<std::string> names{"linear", "nearest", "3"};
  std::vector<std::unique_ptr<Interpolator<3>>> interpolators;
  std::vector<ResampleSource<3>> sources;
  DefaultResampler<3> resampler{parametersOf("(DefaultPixelValue -4096)", 3, 1, "")};

  explicit LargeImages(std::size_t finer)
  {
    for (int d = 0; d < 3; ++d) {
      output.spacingMm[d] /= static_cast<double>(finer);
      output.size[d] *= finer;
    }
    for (const std::string& name : names) {
      interpolators.push_back(resampleInterpolator<3>(name));
      interpolators.back()->prepareForLevel(cuda, imageFor<3>(name, scene.moving->geometry), 0);
      sources.push_back({interpolators.back().get(), nullptr});
    }
  }
};

/// More than a chunk, so that chunks are copied while others are computed.
TEST_F(ResamplerOnCuda, SeveralLargeImagesAreThoseOfEachAlone)
{
  LargeImages r(8);
  r.scene.useAffine();

  const std::vector<Image<3>> results =
      resampledImages(r.resampler, r.cuda, *r.scene.chain, r.sources, r.output);

  for (std::size_t s = 0; s < r.names.size(); ++s) {
    const Resampling<3> alone{r.scene.chain.get(), r.output,
                              imageFor<3>(r.names[s], r.scene.moving->geometry), nullptr};
    expectSameImage(results[s].voxels, alone.on({{}, 2}, r.names[s]), r.names[s], "one of three");
  }
}

TEST_F(ResamplerOnCuda, PlacesThatNoIntegerHoldsAreOutside)
{
  TermScene<3> scene(1, unequalSize<3>());
  for (const double farMm : {1e6, 1e9, 1e30}) {
    useLinear<3, TranslationTransform<3>>(scene, 0);
    scene.chain->parameters[1] = farMm;
    expectTheCpus<3>(
        {scene.chain.get(), scene.fixed->geometry, imageFor<3>("linear", scene.moving->geometry), nullptr},
        "linear", "far away");
    useBSpline<3>(scene, 3, false);
    scene.chain->parameters[scene.chain->parameters.size() / 2] = farMm;
    expectTheCpus<3>(
        {scene.chain.get(), scene.fixed->geometry, imageFor<3>("3", scene.moving->geometry), nullptr}, "3",
        "far away by a B-spline");
  }
}

}
}
