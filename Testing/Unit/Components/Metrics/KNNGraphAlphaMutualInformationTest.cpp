#include "Components/Metrics/KNNGraphAlphaMutualInformation.h"

#include "Testing/Support/Checks/MetricTermChecks.h"
#include "Testing/Support/Scenes/FeatureScenes.h"

#include <array>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

template <int D>
KNNGraphAlphaMutualInformation<D> metricOf(const TermScene<D>& scene, const std::string& text = "",
                                           const FeatureImages<D>& features = {})
{
  KNNGraphAlphaMutualInformation<D> metric(parametersOf(text, D, 1, "Metric0"));
  metric.setFeatures(features);
  metric.prepareForLevel(host, scene.level);
  return metric;
}

template <int D>
KNNGraphAlphaMutualInformation<D> withoutFeatures(const TermScene<D>& scene, const std::string& text)
{
  return metricOf<D>(scene, text);
}

/// The graphs by sorting, with all distances in double.
struct NaiveGraphs {
  NeighbourGraphSettings settings;
  SampleFeatures features;

  double feature(int f, std::size_t i) const { return features.values[f * features.count + i]; }
  double distance(std::size_t i, std::size_t j, int first, int last) const
  {
    double sum = 0;
    for (int f = first; f < last; ++f)
      sum += (feature(f, i) - feature(f, j)) * (feature(f, i) - feature(f, j));
    return std::sqrt(sum);
  }
  bool counts(std::size_t i) const { return feature(0, i) == feature(0, i); }
  std::vector<std::size_t> neighbours(std::size_t i, int first, int last) const
  {
    std::vector<std::size_t> others;
    for (std::size_t j = 0; j < features.count; ++j)
      if (counts(j) && distance(i, j, first, last) > 0)
        others.push_back(j);
    std::ranges::stable_sort(others, {}, [&](std::size_t j) { return distance(i, j, first, last); });
    others.resize(std::min<std::size_t>(others.size(), settings.neighbours));
    return others;
  }
  double length(std::size_t i, int first, int last) const
  {
    double sum = 0;
    for (const std::size_t j : neighbours(i, first, last))
      sum += distance(i, j, first, last);
    return sum;
  }
  double summand(std::size_t i) const
  {
    const int fixed = settings.fixedFeatures, all = settings.features();
    return std::pow(length(i, 0, all) / std::sqrt(length(i, 0, fixed) * length(i, fixed, all)),
                    settings.exponent);
  }
  double sum() const
  {
    double sum = 0;
    for (std::size_t i = 0; i < features.count; ++i)
      sum += counts(i) ? summand(i) : 0;
    return sum;
  }
};

/// Random features, of which some samples have the same ones and some do not count.
NaiveGraphs randomGraphs(std::size_t count, int fixed, int moving, int k)
{
  NaiveGraphs graphs{{k, fixed, moving, 0.3 * (fixed + moving), 1e-5}, {count, {}}};
  const std::size_t size = static_cast<std::size_t>(fixed + moving) * count;
  for (const double value : checks::randomVector(size, count, -50, 50))
    graphs.features.values.push_back(static_cast<float>(value));
  for (std::size_t i = 7; i < count; i += 11)
    for (int f = 0; f < fixed + moving; ++f)
      graphs.features.values[f * count + i] = graphs.features.values[f * count + i - 3];
  for (std::size_t i = 2; i < count; i += 13)
    graphs.features.values[i] = graphs.features.values[fixed * count + i] = notANumber;
  return graphs;
}

TEST(KNNGraphAlphaMutualInformationTest, SummandsByHand)
{
  const NeighbourGraphSettings settings{1, 1, 1, 1, 1e-5};
  const SampleFeatures features{4, {0, 1, 3, 7, /* moving */ 0, 2, 3, 10}};
  std::vector<GraphSample> samples;
  std::vector<double> summands;

  findNeighbours(Context{}, settings, features, samples, summands);

  // Nearest distances: fixed 1, 1, 2, 4; moving 2, 1, 1, 7; both 5^(1/2), 5^(1/2), 5^(1/2), 65^(1/2).
  const double expected[] = {std::sqrt(5.0 / 2), std::sqrt(5.0), std::sqrt(5.0 / 2), std::sqrt(65.0 / 28)};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(summands[i], expected[i], 1e-6) << i;
}

TEST(KNNGraphAlphaMutualInformationTest, FormulaByHand)
{
  const AlphaMutualInformation information(0.75, 1e-5);
  EXPECT_NEAR(information.finish({6}, 16).value, 4 * std::log(6.0 / 8), 1e-12);
  EXPECT_NEAR(information.finish({6}, 16).slope, 4.0 / 6, 1e-12);
  EXPECT_EQ(information.finish({1e-6}, 16).value, 0);
}

TEST(KNNGraphAlphaMutualInformationTest, SummandsAreThoseOfSortedDistances)
{
  const std::array<int, 4> cases[] = {
      {97, 1, 1, 5}, {61, 2, 3, 20}, {17, 1, 4, 50}, {2, 1, 1, 1}, {301, 3, 1, 1}};
  for (const auto& [count, fixed, moving, k] : cases) {
    SCOPED_TRACE(std::to_string(count) + " samples, " + std::to_string(k) + " neighbours");
    const NaiveGraphs naive = randomGraphs(count, fixed, moving, k);
    std::vector<GraphSample> samples;
    std::vector<double> summands;

    findNeighbours(Context{}, naive.settings, naive.features, samples, summands);

    for (std::size_t i = 0; i < naive.features.count; ++i)
      if (naive.counts(i))
        EXPECT_NEAR(summands[i], naive.summand(i), 1e-5 * naive.summand(i)) << i;
      else
        EXPECT_TRUE(std::isnan(summands[i])) << i;
  }
}

TEST(KNNGraphAlphaMutualInformationTest, CovectorsMatchFiniteDifferencesOfTheSum)
{
  // The gradient of moving feature m along axis d at sample i, which moves the features as T(x) moves.
  const NaiveGraphs naive = randomGraphs(59, 2, 3, 6);
  const std::size_t count = naive.features.count;
  std::vector<float> gradients;
  for (const double value : checks::randomVector(3 * 2 * count, 8, -2, 2))
    gradients.push_back(static_cast<float>(value));
  std::vector<GraphSample> samples;
  std::vector<double> summands;
  std::vector<float> covectors;

  findNeighbours(Context{}, naive.settings, naive.features, samples, summands);
  pullBackGraphs(Context{}, naive.settings, naive.features, samples, gradients, 2, covectors);

  for (std::size_t i = 0; i < count; ++i)
    for (int d = 0; d < 2; ++d) {
      const auto sumAt = [&](double step) {
        NaiveGraphs moved = naive;
        for (int m = 0; m < 3; ++m)
          moved.features.values[(2 + m) * count + i] +=
              static_cast<float>(step * gradients[(m * 2 + d) * count + i]);
        return moved.sum();
      };
      const double expected = naive.counts(i) && i % 11 != 7 && i % 11 != 4
                                  ? (sumAt(2e-3) - sumAt(-2e-3)) / 4e-3
                                  : covectors[d * count + i];
      EXPECT_NEAR(covectors[d * count + i], expected, 2e-3) << "sample " << i << ", axis " << d;
    }
}

TEST(KNNGraphAlphaMutualInformationTest, FeaturesAreTheImagesAtTheSamples)
{
  TermScene<3> scene(3, {24, 20, 18});
  scene.useBSpline();
  const Features<3> features(Context{}, scene);
  auto metric =
      metricOf<3>(scene, "(Alpha 0.9)\n(KNearestNeighbours 7)\n(FixedImageInterpolatorBSplineOrder 1 3)",
                  features.images());
  const PointList<3> samples = std::get<PointList<3>>(scene.points(300, -0.1));
  BSplineInterpolator<3> ofFixed(parametersOf("(BSplineInterpolationOrder 3)", 3, 1, "Interpolator0"));
  ofFixed.prepareForLevel(host, features.fixed, 0);
  NaiveGraphs naive{{7, 2, 2, 0.4, 1e-5}, {300, std::vector<float>(4 * 300)}};
  std::size_t valid = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    PointBatch<3> point, mapped;
    point.count = mapped.count = 1;
    for (int d = 0; d < 3; ++d)
      point.mm[d][0] = samples.mm[d][i];
    mapChain<3>(host, *scene.chain, point.list(), mapped.out());
    float* const values = naive.features.values.data() + i;
    std::array<std::uint8_t, 3> inside;
    values[0] = samples.fixed[i];
    ofFixed.evaluate(host, point.list(), values + 300, nullptr, &inside[0]);
    scene.interpolator->evaluate(host, mapped.list(), values + 600, nullptr, &inside[1]);
    features.ofMoving->evaluate(host, mapped.list(), values + 900, nullptr, &inside[2]);
    if (inside[0] && inside[1] && inside[2])
      ++valid;
    else
      values[0] = values[600] = notANumber;
  }
  ASSERT_LT(valid, 300u);
  ASSERT_GT(valid, 150u);

  const TermValue found = metric.evaluate(host, samples, scene.chain->parameters, {});

  EXPECT_EQ(found.asked, 300u);
  EXPECT_EQ(found.valid, valid);
  const double expected = std::log(naive.sum() / std::pow(valid, 0.9)) / (1 - 0.9);
  EXPECT_NEAR(found.value, expected, 1e-6 * std::abs(expected));
}

/// All other samples are neighbours: where these change, the value has a kink.
template <int D>
void expectGradient(TermScene<D>& scene, double step, const std::string& what)
{
  SCOPED_TRACE(what);
  constexpr double tolerance = 1e-4;
  const Features<D> features(Context{}, scene);
  auto metric = metricOf<D>(scene, "(Alpha 0.9)\n(KNearestNeighbours 100)", features.images());

  expectGradientMatchesFiniteDifferences<D>(metric, scene.points(60, 0.2), scene.chain->parameters, step,
                                            tolerance);
}

template <int D>
void expectGradientsInEveryChain()
{
  TermScene<D> scene(3, unequalSize<D>());
  scene.useAffine();
  scene.chain->parameters.back() += 2;
  expectGradient<D>(scene, 1e-3, "affine");
  scene.useAsInitial(Combination::compose);
  useBSpline<D>(scene, 3, false);
  expectGradient<D>(scene, 3e-3, "B-spline after affine");
  scene.useAsInitial(Combination::add);
  useBSpline<D>(scene, 2, false);
  expectGradient<D>(scene, 3e-3, "B-spline added to both");
}

TEST(KNNGraphAlphaMutualInformationTest, GradientMatchesFiniteDifferences)
{
  expectGradientsInEveryChain<2>();
  expectGradientsInEveryChain<3>();
}

TEST(KNNGraphAlphaMutualInformationTest, LeavesOutWhatMapsOutOfTheMovingMask)
{
  expectMovingMaskCounts(withoutFeatures<3>);
}

TEST(KNNGraphAlphaMutualInformationTest, RepeatsItsBitsForAnyThreadCount)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  const Features<3> features(Context{}, scene);
  auto metric = metricOf<3>(scene, "", features.images());

  expectSameBitsForAnyThreadCount<3>(metric, scene.lattice(2), scene.chain->parameters);
}

TEST(KNNGraphAlphaMutualInformationTest, RefusesMoreSamplesThanItCanCompare)
{
  TermScene<2> scene(1, {420, 320});
  scene.useAffine();
  auto metric = metricOf<2>(scene);
  EXPECT_THROW(metric.evaluate(host, scene.lattice(1), scene.chain->parameters, {}), Error);
}

}
}
