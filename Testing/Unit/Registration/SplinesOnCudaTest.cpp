// needs: GPU
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/ParameterPullBack.h"
#include "Core/Registration/Samples/SamplesForCuda.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/ModelScenes.h"

#include <utility>

namespace tessera {
namespace {

using namespace testing;

template <int D>
std::array<const float*, D> arraysOf(const Buffer<float>& values)
{
  std::array<const float*, D> arrays;
  for (int d = 0; d < D; ++d)
    arrays[d] = values.span().data() + d * (values.size() / D);
  return arrays;
}

/// For samples that look into no fixed image.
template <int D>
ImagePointer<D> anyImage()
{
  ImageGeometry<D> geometry;
  geometry.size.fill(1);
  geometry.spacingMm.fill(1);
  return std::make_shared<Image<D>>(Image<D>{geometry, std::vector<float>(1)});
}

/// T(x) of a whole chain in double: where another transform that is composed with it would be asked.
template <int D>
checks::Points<D> mappedOnCuda(Context& context, const TransformChain<D>& chain, const SampleSet<D>& set)
{
  HeldChainOnCuda<D> held(context, chain);
  Buffer<double> parameters;
  if (!chain.transform->linear())
    parameters.fromHost(context, chain.parameters);
  ChainOnCuda<D> onCuda = held.at(context, parameters.size() > 0 ? std::as_const(parameters).span()
                                                                 : std::span<const double>(chain.parameters));
  onCuda.links[onCuda.count++].kind = TransformKind::linear;
  SamplesForCuda<D> forCuda(context, anyImage<D>());
  const SamplesOnCuda<D> samples = forCuda.of(context, set);
  Buffer<float> covectors;
  covectors.fromHost(context, std::vector<float>(D * samples.count, 1.0f));
  Buffer<double> points(context, D * samples.count), values(context, D * samples.count);
  covectorsOnCuda<D>(context, samples, 0, samples.count, onCuda, arraysOf<D>(covectors), nullptr,
                     points.span().data(), values.span().data());
  const std::vector<double> host = points.toHost(context);
  checks::Points<D> mapped(samples.count);
  for (int d = 0; d < D; ++d)
    std::copy_n(host.begin() + static_cast<std::ptrdiff_t>(d * samples.count), samples.count,
                mapped.mm[d].begin());
  return mapped;
}

template <int D>
checks::Points<D> mappedOnCpu(const TransformChain<D>& chain, const PointList<D>& points)
{
  checks::Points<D> mapped(points.positions());
  for (std::size_t first = 0; first < points.positions(); first += batchCapacity) {
    ListSamples<D> batch;
    PointsOut<D> out;
    batch.count = std::min(batchCapacity, points.positions() - first);
    for (int d = 0; d < D; ++d) {
      batch.pointMm[d] = points.mm[d].data() + first;
      out[d] = mapped.mm[d].data() + first;
    }
    mapChain<D>(host, chain, batch, out);
  }
  return mapped;
}

template <int D>
void expectTheCpusPoints(const TermScene<D>& scene, const std::string& what)
{
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  const SampleSet<D> set = scene.points(2049, -0.3); // a good part lies outside of fields and landmarks
  const checks::Points<D> expected = mappedOnCpu<D>(*scene.chain, std::get<PointList<D>>(set));

  const checks::Points<D> found = mappedOnCuda<D>(context, *scene.chain, set);

  // some hundred roundings of some 100 mm, but for log's last bit
  EXPECT_LE(largestDifference(found, expected), 1e-10) << what;
  EXPECT_EQ(mappedOnCuda<D>(context, *scene.chain, set).mm, found.mm) << what << ": not the same bits again";
}

using SplinesOnCudaTest = testing::GpuTest;

TEST_F(SplinesOnCudaTest, SplinesAndFieldsMapPointsAsOnTheCpuInAllChains)
{
  forEachModelScene<2>(true, expectTheCpusPoints<2>);
  forEachModelScene<3>(true, expectTheCpusPoints<3>);
}

TEST_F(SplinesOnCudaTest, FieldsAloneMapPointsAsOnTheCpu)
{
  for (const int order : {0, 1}) {
    TermScene<2> flat(1, {41, 36});
    useField<2>(flat, order);
    expectTheCpusPoints<2>(flat, "2D field of order " + std::to_string(order));
    TermScene<3> scene(1, {27, 22, 17});
    useField<3>(scene, order);
    expectTheCpusPoints<3>(scene, "field of order " + std::to_string(order));
  }
}

TEST_F(SplinesOnCudaTest, ASplineOfManyLandmarksMapsPointsAsOnTheCpu)
{
  TermScene<3> scene(1, {27, 22, 17});
  useSpline<3>(scene, "ThinPlateSpline", 411);
  expectTheCpusPoints<3>(scene, "411 landmarks");
}

/// Samples with made-up covectors, their gradient on the device.
template <int D>
struct PullBack {
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  PointList<D> points;
  std::vector<float> covectors;

  PullBack(const TermScene<D>& scene, std::size_t count)
      : points(std::get<PointList<D>>(scene.points(count, -0.1)))
  {
    for (const double value : checks::randomVector(D * count, 81))
      covectors.push_back(static_cast<float>(value));
    for (int d = 0; d < D && count > 1; ++d) // one that does not count
      covectors[d * count] = 0;
  }

  std::vector<double> gradient(const TransformChain<D>& chain, bool overwrites = true)
  {
    HeldChainOnCuda<D> held(context, chain);
    SamplesForCuda<D> forCuda(context, anyImage<D>());
    Buffer<double> parameters, gradient;
    parameters.fromHost(context, chain.parameters);
    gradient.fromHost(context, std::vector<double>(chain.parameters.size(), 0.25));
    Buffer<float> onCuda;
    onCuda.fromHost(context, covectors);
    ParameterPullBack<D> pullBack;
    pullBack.add(context, forCuda.of(context, points), held.at(context, std::as_const(parameters).span()),
                 arraysOf<D>(onCuda), nullptr, gradient.span(), {overwrites});
    return gradient.toHost(context);
  }

  /// sum of <v, T(x)>
  double product(const checks::Points<D>& at) const
  {
    double sum = 0;
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < at.count(); ++i)
        sum += covectors[d * at.count() + i] * at.mm[d][i];
    return sum;
  }
};

/// T is linear in its parameters, so that differences of any length are derivatives: <J s, v> = <s, J^T v>,
/// in all directions.
template <int D>
void expectTheAdjoint(const TermScene<D>& scene, std::size_t count, const std::string& what)
{
  PullBack<D> samples(scene, count);
  TransformChain<D> chain = *scene.chain;
  const std::vector<double> gradient = samples.gradient(chain);
  EXPECT_EQ(samples.gradient(chain), gradient) << what << ": not the same bits again";
  const std::vector<double> added = samples.gradient(chain, false);
  double norm = 0;
  for (std::size_t k = 0; k < gradient.size(); ++k) {
    EXPECT_NEAR(added[k], gradient[k] + 0.25, 1e-14 * (1 + std::abs(gradient[k]))) << what;
    norm += gradient[k] * gradient[k];
  }
  const double before = samples.product(mappedOnCuda<D>(samples.context, chain, samples.points));
  for (std::size_t trial = 0; trial < 8; ++trial) {
    std::vector<double> step(gradient.size(), 0.0);
    if (trial < 4)
      step[trial * (gradient.size() - 1) / 3] = 1;
    else
      step = checks::randomVector(gradient.size(), trial);
    chain.parameters = checks::moved(scene.chain->parameters, 1, step);
    const double after = samples.product(mappedOnCuda<D>(samples.context, chain, samples.points));
    const double magnitude =
        std::sqrt(norm) + 100 * std::sqrt(static_cast<double>(count)); // of the sums that are subtracted, mm
    EXPECT_NEAR(std::inner_product(step.begin(), step.end(), gradient.begin(), 0.0), after - before,
                1e-10 * magnitude)
        << what << ", " << count << " samples, direction " << trial;
  }
}

TEST_F(SplinesOnCudaTest, PullBackIsTheAdjointForAllKernelsAndAwkwardSizes)
{
  for (const std::string& type : splineTypes)
    for (const std::size_t landmarks : {4, 28, 29, 61}) { // 32 and 33 rows among them
      TermScene<3> scene(1, {27, 22, 17});
      useSpline<3>(scene, type, landmarks);
      for (const std::size_t count : {1, 31, 33, 2049})
        expectTheAdjoint<3>(scene, count, type + " of " + std::to_string(landmarks));
    }
  TermScene<2> flat(1, {41, 36});
  useSpline<2>(flat, "ThinPlateSpline", 17);
  expectTheAdjoint<2>(flat, 2049, "2D");
}

TEST_F(SplinesOnCudaTest, PullBackThroughChainsAndOfChunksIsTheAdjoint)
{
  for (const Combination combination : {Combination::compose, Combination::add}) {
    TermScene<3> scene(1, {27, 22, 17});
    useField<3>(scene, 1);
    scene.useAsInitial(combination);
    useBSpline<3>(scene, 3, false);
    scene.useAsInitial(combination);
    useSpline<3>(scene, "ElasticBodySpline");
    expectTheAdjoint<3>(scene, 2049, combination == Combination::add ? "added" : "composed");
  }
  TermScene<2> many(1, {41, 36});
  useSpline<2>(many, "ThinPlateSpline", 5);
  expectTheAdjoint<2>(many, (std::size_t(1) << 20) + 4097, "two chunks");
}

}
}
