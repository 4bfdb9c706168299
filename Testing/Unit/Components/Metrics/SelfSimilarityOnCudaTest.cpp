// needs: GPU
#include "Components/Metrics/SelfSimilarity.h"

#include "Components/Transforms/EulerTransform.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Filters/SelfSimilarityOnCuda.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/MaskScenes.h"
#include "Testing/Support/Scenes/ModelScenes.h"

#include <cmath>
#include <numeric>

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

double norm(const std::vector<double>& a)
{
  return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0));
}

double relativeDifference(std::vector<double> a, const std::vector<double>& b)
{
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] -= b[i];
  return norm(a) / norm(b);
}

/// A few of a descriptor's numbers are rounded to the next one, which matters more among few samples.
void expectAgreement(const TermEvaluation& cpu, const TermEvaluation& cuda, const std::string& what)
{
  const double ofGradient = cpu.term.valid < 1000 ? 5e-4 : 1e-4;
  EXPECT_EQ(cuda.term.asked, cpu.term.asked) << what;
  EXPECT_NEAR(static_cast<double>(cuda.term.valid), static_cast<double>(cpu.term.valid),
              1e-3 * static_cast<double>(cpu.term.valid))
      << what << ": samples within rounding of the border may differ";
  EXPECT_NEAR(cuda.term.value, cpu.term.value, 1e-5 * cpu.term.value) << what;
  EXPECT_LT(relativeDifference(cuda.gradient, cpu.gradient), ofGradient) << what;
}

/// All kinds of samples through the scene's chain.
template <int D>
void expectTheCpusResults(TermScene<D>& scene, const std::string& what)
{
  scene.level.registry = &allComponents();
  const Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
  const std::pair<const char*, SampleSet<D>> sets[] = {{"points", scene.points(2500, 0)},
                                                       {"every voxel", scene.lattice(1)},
                                                       {"every third voxel", scene.lattice(3)}};
  for (const auto& [name, samples] : sets) {
    const std::string of = what + ", " + name;
    const TermEvaluation first = evaluateOn<D>(cuda, scene, samples);
    expectAgreement(evaluateOn<D>(Context{}, scene, samples), first, of);
    EXPECT_EQ(evaluateOn<D>(cuda, scene, samples).gradient, first.gradient) << of << ": not the same bits";
    EXPECT_EQ(evaluateOn<D>(cuda, scene, samples, false).term.value, first.term.value)
        << of << ": value alone";
  }
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

TEST(SelfSimilarityOnCudaTest, DescriptorsAreThoseOfTheCpu)
{
  TESSERA_NEEDS_GPU();
  expectTheCpusDescriptor<3>({53, 31, 27}, identityMatrix<3>());
  expectTheCpusDescriptor<3>({300, 5, 4}, identityMatrix<3>());
  expectTheCpusDescriptor<3>({31, 27, 20}, {{{0.9, -0.3, 0.1}, {0.2, 0.8, 0.3}, {-0.1, 0.2, 1.4}}});
  expectTheCpusDescriptor<2>({270, 33}, identityMatrix<2>());
  expectTheCpusDescriptor<2>({41, 36}, {{{0.7, -0.6}, {0.6, 0.7}}});
}

TEST(SelfSimilarityOnCudaTest, AgreesWithTheCpuThroughChains)
{
  TESSERA_NEEDS_GPU();
  for (const Combination combination : {Combination::compose, Combination::add}) {
    const std::string joined = combination == Combination::add ? " added to " : " after ";
    TermScene<3> scene(1, {27, 20, 18});
    scene.useAffine();
    expectTheCpusResults(scene, "affine");
    scene.useAsInitial(combination);
    scene.useBSpline();
    expectTheCpusResults(scene, "B-spline" + joined + "affine");
    scene.useAsInitial(combination);
    scene.use(std::make_shared<EulerTransform<3>>(parametersOf("", 3, 1, "Transform0")), 0.02);
    expectTheCpusResults(scene, "Euler" + joined + "B-spline" + joined + "affine");

    TermScene<2> flat(3, {41, 36}); // the order of the interpolator does not matter
    flat.useAffine();
    flat.useAsInitial(combination);
    flat.useBSpline();
    expectTheCpusResults(flat, "2D B-spline" + joined + "affine");
  }
}

TEST(SelfSimilarityOnCudaTest, AgreesWithTheCpuThroughSplinesAndFields)
{
  TESSERA_NEEDS_GPU();
  forEachModelScene<3>( // a field that jumps has no spatial Jacobian
      false, [&](TermScene<3>& scene, const std::string& what) { expectTheCpusResults(scene, what); });
}

TEST(SelfSimilarityOnCudaTest, AgreesWithTheCpuInsideMasks)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 20, 18});
  useMasksOfABall(scene);
  scene.useBSpline();
  expectTheCpusResults(scene, "B-spline in masks");
  scene.useAffine();
  expectTheCpusResults(scene, "affine in masks");
}

TEST(SelfSimilarityOnCudaTest, AgreesWithTheCpuAtTheIdentityOfOneGrid)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 20, 18});
  scene.moving = std::make_shared<Image<3>>(scene.fixed->geometry, scene.moving->voxels);
  scene.level.moving = scene.moving;
  scene.use(std::make_shared<BSplineTransform<3>>(
                parametersOf("(FinalGridSpacingInPhysicalUnits 12)", 3, 1, "Transform0")),
            0);
  expectTheCpusResults(scene, "places on voxels");
}

TEST(SelfSimilarityOnCudaTest, SlabsAreTheWhole)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 20, 18});
  scene.useBSpline();
  scene.level.registry = &allComponents();
  const Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
  const TermEvaluation whole = evaluateOn<3>(cuda, scene, scene.lattice(1));
  scene.level.slabs = 5;
  const TermEvaluation cut = evaluateOn<3>(cuda, scene, scene.lattice(1));
  EXPECT_EQ(cut.term.valid, whole.term.valid);
  EXPECT_NEAR(cut.term.value, whole.term.value, 1e-6 * whole.term.value);
  EXPECT_LT(relativeDifference(cut.gradient, whole.gradient), 1e-5);
}

}
}
