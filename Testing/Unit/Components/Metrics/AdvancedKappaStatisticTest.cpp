#include "Components/Metrics/AdvancedKappaStatistic.h"

#include "Testing/Support/Scenes/LabelScene.h"

#include <cmath>
#include <functional>

namespace tessera {
namespace {

using namespace testing;

/// Value and gradient by the formula, sample by sample. The gradient needs dT/dmu of each sample.
template <int D>
TermEvaluation byTheFormula(const LabelScene<D>& scene, const PointList<D>& samples,
                            const std::function<bool(float)>& isForeground, double sign)
{
  const auto& transform = optimizable(*scene.chain->transform);
  const std::vector<double>& parameters = scene.chain->parameters;
  double inFixed = 0, inMoving = 0, inBoth = 0;
  std::vector<double> ofAll(parameters.size()), ofForeground(parameters.size());
  std::size_t valid = 0;
  for (std::size_t i = 0; i < samples.positions(); ++i) {
    checks::Points<D> point(1), mapped(1);
    for (int d = 0; d < D; ++d)
      point.mm[d][0] = samples.mm[d][i];
    mapChain<D>(host, *scene.chain, point.list(), mapped.out());
    float moving = 0;
    std::uint8_t inside = 0;
    scene.interpolator->evaluate(host, mapped.list(), &moving, nullptr, &inside);
    if (!inside)
      continue;
    ++valid;
    const bool isFixed = isForeground(samples.fixed[i]), isMoving = isForeground(moving);
    inFixed += isFixed;
    inMoving += isMoving;
    inBoth += isFixed && isMoving;
    const Vec<D> index = scene.moving->geometry.indexFromPoint()(mapped.list().point(0));
    const Size<D>& size = scene.moving->geometry.size;
    std::array<std::ptrdiff_t, D> voxel;
    for (int d = 0; d < D; ++d)
      voxel[d] = std::lround(index[d]);
    const auto at = [&](int axis, int step) {
      std::size_t offset = 0, stride = 1;
      for (int d = 0; d < D; ++d) {
        offset += stride * static_cast<std::size_t>(voxel[d] + (d == axis ? step : 0));
        stride *= size[d];
      }
      return isForeground(scene.moving->voxels[offset]) ? 1 : 0;
    };
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      std::vector<double> unit(parameters.size());
      unit[k] = 1;
      const checks::Points<D> column = checks::pushed<D>(transform, parameters, unit, point);
      double g = 0;
      for (int d = 0; d < D; ++d)
        if (voxel[d] > 0 && voxel[d] + 1 < static_cast<std::ptrdiff_t>(size[d]))
          g += column.mm[d][0] * (at(d, 1) - at(d, -1));
      ofAll[k] += g;
      ofForeground[k] += isFixed ? g : 0;
    }
  }
  const double sum = inFixed + inMoving;
  TermEvaluation expected{{sign > 0 ? 1 - 2 * inBoth / sum : 2 * inBoth / sum, valid, samples.positions()},
                          {}};
  for (std::size_t k = 0; k < parameters.size(); ++k)
    expected.gradient.push_back(sign * (-2 / sum * ofForeground[k] + 2 * inBoth / (sum * sum) * ofAll[k]));
  return expected;
}

template <int D>
void expectTheFormula(const std::string& text, const std::function<bool(float)>& isForeground, double sign)
{
  const LabelScene<D> scene(unequalSize<D>());
  const SampleSet<D> samples = scene.points(900, -0.05);
  AdvancedKappaStatistic<D> metric(parametersOf(text, D, 1, "Metric0"));
  const TermEvaluation expected = byTheFormula<D>(scene, std::get<PointList<D>>(samples), isForeground, sign);
  const double largest = largestMagnitude(expected.gradient);
  ASSERT_GT(largest, 0);
  ASSERT_LT(expected.term.valid, 900u);

  const TermEvaluation found = evaluateTerm<D>(Context{}, metric, scene, samples);

  EXPECT_EQ(found.term.valid, expected.term.valid);
  EXPECT_DOUBLE_EQ(found.term.value, expected.term.value);
  EXPECT_LE(largestDifference(found.gradient, expected.gradient), 1e-12 * largest);
}

bool isLabel(float intensity)
{
  return std::abs(intensity - labelOfScenes) < 1e-3;
}

bool isAboveZero(float intensity)
{
  return intensity > 1e-3;
}

TEST(AdvancedKappaStatisticTest, ComputesElastixsFormula)
{
  expectTheFormula<2>("(ForegroundValue 7)", isLabel, 1);
  expectTheFormula<3>("(ForegroundValue 7)", isLabel, 1);
  expectTheFormula<3>("(ForegroundValue 7)\n(UseComplement \"false\")", isLabel, -1);
  expectTheFormula<2>("(UseForegroundValue \"false\")", isAboveZero, 1);
}

TEST(AdvancedKappaStatisticTest, WithoutForegroundItIsZero)
{
  const LabelScene<2> scene(unequalSize<2>());
  AdvancedKappaStatistic<2> metric(parametersOf("(ForegroundValue 3.3)", 2, 1, "Metric0"));

  const TermEvaluation found = evaluateTerm<2>(Context{}, metric, scene, scene.points(50));

  EXPECT_EQ(found.term.value, 0);
  EXPECT_EQ(found.gradient, std::vector<double>(found.gradient.size(), 0.0));
}

TEST(AdvancedKappaStatisticTest, ItsGradientLeadsTheLabelsTogether)
{
  LabelScene<2> scene({60, 55});
  AdvancedKappaStatistic<2> metric(parametersOf("(ForegroundValue 7)", 2, 1, "Metric0"));
  std::vector<double>& parameters = scene.chain->parameters;
  parameters = {1, 0, 0, 1, 4, -3};
  const SampleSet<2> samples = scene.lattice(1);
  const double start = evaluateTerm<2>(Context{}, metric, scene, samples, false).term.value;

  for (int step = 0; step < 40; ++step) {
    const std::vector<double> gradient = evaluateTerm<2>(Context{}, metric, scene, samples).gradient;
    const double length = std::hypot(gradient[4], gradient[5]);
    parameters[4] -= 0.15 * gradient[4] / length;
    parameters[5] -= 0.15 * gradient[5] / length;
  }

  EXPECT_LT(evaluateTerm<2>(Context{}, metric, scene, samples, false).term.value, 0.6 * start);
}

TEST(AdvancedKappaStatisticTest, RepeatsItsBitsForAnyThreadCount)
{
  const LabelScene<3> scene({24, 20, 18});
  AdvancedKappaStatistic<3> metric(parametersOf("(ForegroundValue 7)", 3, 1, "Metric0"));
  metric.prepareForLevel(host, scene.level);

  expectSameBitsForAnyThreadCount<3>(metric, scene.lattice(1), scene.chain->parameters);
}

}
}
