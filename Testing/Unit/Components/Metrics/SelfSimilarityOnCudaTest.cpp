// needs: GPU
#include "Components/Metrics/SelfSimilarity.h"

#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"
#include "Testing/Support/OnGpu/TermsOnGpu.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
TermEvaluation evaluateOn(Context context, const TermScene<D>& scene, const SampleSet<D>& samples,
                          bool withGradient = true)
{
  SelfSimilarity<D> metric(parametersOf("(RequiredRatioOfValidSamples 0.05)", D, 1, "Metric0"));
  return evaluateTerm<D>(context, metric, scene, samples, withGradient);
}

/// All kinds of samples through the scene's chain. A few of a descriptor's numbers are rounded to the next
/// one, which matters more among few samples.
template <int D>
void expectTheCpusSimilarity(TermScene<D>& scene, const std::string& what)
{
  SCOPED_TRACE(what);
  forEachKindOfSamples<D>(scene, 3, [&](const SampleSet<D>& samples) {
    const auto evaluate = [&](const Context& context, bool withGradient) {
      return evaluateOn<D>(context, scene, samples, withGradient);
    };
    expectTheCpusResults(evaluate, {1e-5, evaluate(Context{}, false).term.valid < 1000 ? 5e-4 : 1e-4, 1e-3});
  });
}

template <int D>
void expectTheCpusDescriptor(const Size<D>& size, const Matrix<D>& steps)
{
  const ImageGeometry<D> geometry = obliqueGeometry<D>(size);
  const auto blobs = scatteredBlobs<D>(geometry, 12, 5);
  const Image<D> image = drawImage<D>(geometry, [&](const Vec<D>& p) { return sumOf(blobs, p); });
  Context host, cuda = makeContext({DeviceKind::cuda, 0}, 1);
  Buffer<float> voxels;
  voxels.fromHost(cuda, image.voxels);

  const std::vector<std::uint8_t> expected = SelfSimilarityDescriptor<D>(host, image, steps).values;
  const auto found = [&] {
    return selfSimilaritiesOnCuda<D>(cuda, std::as_const(voxels).span().data(), size, steps).toHost(cuda);
  };
  const std::vector<std::uint8_t> first = found();

  ASSERT_EQ(first.size(), expected.size());
  std::size_t different = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    different += first[i] != expected[i];
    ASSERT_NEAR(first[i], expected[i], 1) << "number " << i << " of " << extentText(size);
  }
  EXPECT_LE(static_cast<double>(different), 1e-3 * static_cast<double>(first.size())) << extentText(size);
  EXPECT_EQ(found(), first) << "not the same bits again";
}

using SelfSimilarityOnCudaTest = testing::GpuTest;

TEST_F(SelfSimilarityOnCudaTest, DescriptorsAreThoseOfTheCpu)
{
  expectTheCpusDescriptor<3>({53, 31, 27}, identityMatrix<3>());
  expectTheCpusDescriptor<3>({300, 5, 4}, identityMatrix<3>());
  expectTheCpusDescriptor<3>({31, 27, 20}, {{{0.9, -0.3, 0.1}, {0.2, 0.8, 0.3}, {-0.1, 0.2, 1.4}}});
  expectTheCpusDescriptor<2>({270, 33}, identityMatrix<2>());
  expectTheCpusDescriptor<2>({41, 36}, {{{0.7, -0.6}, {0.6, 0.7}}});
}

TEST_F(SelfSimilarityOnCudaTest, AgreesWithTheCpuThroughChains)
{
  forEachParametricScene(1,
                         [](auto& scene, const std::string& what) { expectTheCpusSimilarity(scene, what); });
  forEachModelScene<3>(false, expectTheCpusSimilarity<3>); // a field that jumps has no spatial Jacobian
}

TEST_F(SelfSimilarityOnCudaTest, AgreesWithTheCpuInsideMasks)
{
  forEachMaskedScene(1, expectTheCpusSimilarity<3>);
}

TEST_F(SelfSimilarityOnCudaTest, AgreesWithTheCpuAtTheIdentityOfOneGrid)
{
  TermScene<3> scene(1, {27, 20, 18});
  scene.moving = std::make_shared<Image<3>>(scene.fixed->geometry, scene.moving->voxels);
  scene.level.moving = scene.moving;
  scene.use(std::make_shared<BSplineTransform<3>>(
                parametersOf("(FinalGridSpacingInPhysicalUnits 12)", 3, 1, "Transform0")),
            0);
  expectTheCpusSimilarity(scene, "places on voxels");
}

TEST_F(SelfSimilarityOnCudaTest, SlabsAreTheWhole)
{
  TermScene<3> scene(1, {27, 20, 18});
  scene.useBSpline();
  scene.level.registry = &allComponents();
  const TermEvaluation whole = evaluateOn<3>(cuda, scene, scene.lattice(1));
  scene.level.slabs = 5;
  const TermEvaluation cut = evaluateOn<3>(cuda, scene, scene.lattice(1));
  EXPECT_EQ(cut.term.valid, whole.term.valid);
  EXPECT_NEAR(cut.term.value, whole.term.value, 1e-6 * whole.term.value);
  EXPECT_LT(checks::norm(checks::moved(cut.gradient, -1, whole.gradient)),
            1e-5 * checks::norm(whole.gradient));
}

}
}
