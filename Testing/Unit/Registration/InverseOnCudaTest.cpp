// needs: GPU
#include "Components/Transforms/Shared/OnCuda/InverseOnCuda.h"

#include "Core/Registration/Fields/TransformFields.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/ResampledImages.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/InverseScenes.h"

#include <cstring>

namespace tessera {
namespace {

using namespace testing;

constexpr double toleranceMm = 1e-3;

template <int D>
VectorImage<D> fieldOf(Context& context, const TransformChain<D>& inverted, const ImageGeometry<D>& image,
                       RootQuantity quantity)
{
  if (quantity == RootQuantity::displacements)
    return displacementField<D>(context, inverted, image);
  if (quantity == RootQuantity::matrices)
    return jacobianMatrices<D>(context, inverted, image);
  return {image, 1, jacobianDeterminants<D>(context, inverted, image).voxels};
}

void expectCounts(const InverseCounts& counts, const InverseCounts& expected, const std::string& what)
{
  const auto near = [&](std::size_t a, std::size_t b) {
    EXPECT_NEAR(static_cast<double>(a), static_cast<double>(b), static_cast<double>(expected.points) / 1000)
        << what;
  };
  EXPECT_EQ(counts.points, expected.points) << what;
  near(counts.folded, expected.folded);
  near(counts.outside, expected.outside);
  near(counts.insideFolds, expected.insideFolds);
  near(counts.searchedAgain, expected.searchedAgain);
  EXPECT_LE(counts.largestResidualMm, toleranceMm) << what;
}

/// T has other roundings on the device. They decide otherwise about the last step where a residual is about
/// as large as the tolerance: such a root, of one voxel in a hundred, may differ by the tolerance.
template <int D>
void expectTheCpusValues(const ChainPointer<D>& chain, const ImageGeometry<D>& image, const std::string& what)
{
  const auto inverted = inverseChain<D>(chain, allComponents(), image, toleranceMm);
  const InverseTransform<D>& inverse = *asInverse(*inverted);
  Context cpu, cuda = makeContext({DeviceKind::cuda, 0}, 2);
  for (const RootQuantity quantity :
       {RootQuantity::displacements, RootQuantity::determinants, RootQuantity::matrices}) {
    const VectorImage<D> expected = fieldOf<D>(cpu, *inverted, image, quantity);
    const InverseCounts onCpu = inverse.takeCounts();

    const VectorImage<D> field = fieldOf<D>(cuda, *inverted, image, quantity);

    expectCounts(inverse.takeCounts(), onCpu, what);
    ASSERT_EQ(field.voxels.size(), expected.voxels.size());
    std::size_t others = 0;
    for (std::size_t i = 0; i < field.voxels.size(); ++i) {
      const float a = field.voxels[i], b = expected.voxels[i];
      others += !(std::isnan(a) && std::isnan(b)) && !(std::abs(a - b) <= 5e-5F * (1 + std::abs(b)));
    }
    EXPECT_LE(others, field.voxels.size() / 100) << what << ", quantity " << static_cast<int>(quantity);
  }
}

using InverseOnCudaTest = testing::GpuTest;

TEST_F(InverseOnCudaTest, GivesTheCpusFieldsForEveryChain)
{
  forEachChainToInvert<2>(expectTheCpusValues<2>);
  forEachChainToInvert<3>(expectTheCpusValues<3>);
}

/// Files ask for tolerances of which single precision would take too large a part.
TEST_F(InverseOnCudaTest, TightTolerancesAreKept)
{
  constexpr double tightMm = 1e-6;
  Context cpu;
  const FoldingScene<3> scene(3);
  const auto inverted = inverseChain<3>(scene.chain, allComponents(), scene.image, tightMm);
  const VectorImage<3> expected = fieldOf<3>(cpu, *inverted, scene.image, RootQuantity::displacements);
  asInverse(*inverted)->takeCounts();

  const VectorImage<3> field = fieldOf<3>(cuda, *inverted, scene.image, RootQuantity::displacements);

  EXPECT_LE(asInverse(*inverted)->takeCounts().largestResidualMm, tightMm);
  std::size_t others = 0;
  for (std::size_t i = 0; i < field.voxels.size(); ++i) {
    const float a = field.voxels[i], b = expected.voxels[i];
    others += !(std::isnan(a) && std::isnan(b)) && !(std::abs(a - b) <= 2e-6F * (1 + std::abs(b)));
  }
  EXPECT_LE(others, field.voxels.size() / 1000);
}

TEST_F(InverseOnCudaTest, RepeatsBitForBitInAnySlices)
{
  constexpr int D = 3;
  const FoldingScene<D> scene(10);
  const auto inverted = inverseChain<D>(scene.chain, allComponents(), scene.image, toleranceMm);
  const InverseTransform<D>& inverse = *asInverse(*inverted);
  const auto rootsOf = [&](InverseOnCuda<D>& search, std::size_t first, std::size_t count) {
    const std::size_t voxels = scene.image.size[0] * scene.image.size[1] * count;
    std::vector<double> roots(D * voxels);
    cuda.stream->copyToHost(roots.data(), search.rootsMm(cuda, first, count), roots.size() * sizeof(double));
    return roots;
  };
  InverseOnCuda<D> search(cuda, inverse, scene.image), again(cuda, inverse, scene.image);
  const std::size_t slices = scene.image.size[2], slice = scene.image.size[0] * scene.image.size[1];
  const std::vector<double> whole = rootsOf(search, 0, slices), repeated = rootsOf(again, 0, slices);

  EXPECT_EQ(std::memcmp(whole.data(), repeated.data(), whole.size() * sizeof(double)), 0);
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1}, {5, 17}, {slices - 3, 3}}) {
    const std::vector<double> part = rootsOf(again, first, count);
    for (int d = 0; d < D; ++d)
      EXPECT_EQ(std::memcmp(part.data() + d * slice * count, whole.data() + (d * slices + first) * slice,
                            slice * count * sizeof(double)),
                0);
  }
  const InverseCounts counts = inverse.takeCounts();
  EXPECT_GT(counts.outside, 0u);
  EXPECT_GT(counts.insideFolds, 0u);
  EXPECT_GT(counts.searchedAgain, counts.withoutRoot());
}

template <int D>
void expectTheCpusImages()
{
  const FoldingScene<D> scene(6);
  const auto inverted = inverseChain<D>(scene.chain, allComponents(), scene.image, toleranceMm);
  const auto moving = std::make_shared<Image<D>>(noiseImage<D>(scene.image, 3));
  Context cpu, cuda = makeContext({DeviceKind::cuda, 0}, 2);
  const auto resampler = resamplerOf<D>("(DefaultPixelValue -77)\n");
  for (const std::string name : {"FinalLinearInterpolator", "FinalNearestNeighborInterpolator"}) {
    const auto onCpu = preparedInterpolator<D>(cpu, name, moving),
               onCuda = preparedInterpolator<D>(cuda, name, moving);
    const ResampleSource<D> sources[] = {{onCuda.get(), nullptr}, {onCuda.get(), nullptr}};
    const Image<D> expected = resampledImage(*resampler, cpu, *inverted, {onCpu.get(), nullptr}, scene.image);

    const std::vector<Image<D>> images = resampledImages(*resampler, cuda, *inverted, sources, scene.image);

    const auto [lowest, highest] = std::ranges::minmax_element(moving->voxels);
    std::size_t others = 0, outside = 0;
    for (std::size_t i = 0; i < expected.voxels.size(); ++i) {
      others += std::abs(images[0].voxels[i] - expected.voxels[i]) > 1e-3F * (*highest - *lowest);
      outside += images[0].voxels[i] == -77;
    }
    EXPECT_LE(others, expected.voxels.size() / 100) << name;
    EXPECT_GT(outside, 0u) << name;
    EXPECT_EQ(images[0].voxels, images[1].voxels) << name;
    EXPECT_EQ(asInverse(*inverted)->takeCounts().points, 2 * expected.voxels.size())
        << "once on each device, for both images";
  }
}

TEST_F(InverseOnCudaTest, ResamplesTheCpusImages)
{
  expectTheCpusImages<2>();
  expectTheCpusImages<3>();
}

TEST_F(InverseOnCudaTest, RefusesAChainThatIsNoNumber)
{
  const ImageGeometry<3> image = obliqueGeometry<3>(unequalSize<3>());
  auto chain = std::make_shared<TransformChain<3>>(
      randomBSplineChain<3>(gridAcross<3>(image, image.spacingMm, 3), 0.1));
  std::ranges::fill(chain->parameters, std::numeric_limits<double>::quiet_NaN());
  const auto inverted = inverseChain<3>(chain, allComponents(), image, toleranceMm);

  EXPECT_TRUE(
      contains(errorText([&] { displacementField<3>(cuda, *inverted, image); }, ExitCode::unreadableInput),
               "no number at a finite point"));
}

}
}
