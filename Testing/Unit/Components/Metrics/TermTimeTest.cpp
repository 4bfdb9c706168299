#include "Core/Registration/CostTerm.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ParameterText.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tessera {
namespace {

using testing::allComponents;
using testing::parametersOf;

template <int D>
TermTime timeOf(const std::string& metric, const TermSize& size, const std::string& text = "")
{
  return allComponents()
      .create<CostTerm<D>>(metric, parametersOf(text, D, 1, "Metric0"), "test")
      ->timeOf(size);
}

constexpr TermSize splineSize(bool isLattice)
{
  return {.samples = 1000, .isLattice = isLattice, .parameters = 600, .isLinear = false, .pointPairs = 1000};
}

/// Nanoseconds of one thread, if mapping a point took 50 and comparing images at it 30 more.
double cpuOf(const TermTime& time)
{
  return 80 * time.samples + 50 * time.points + time.cpuNanoseconds;
}

// A prediction is wrong by what a new metric takes if it forgets to tell its time.
template <int D>
void everyMetricTellsSomeTime()
{
  int metrics = 0;
  for (const ComponentDescription* description : allComponents().all()) {
    if (description->role != CostTerm<D>::roleName)
      continue;
    ++metrics;
    for (const bool isLattice : {false, true}) {
      const TermTime time = timeOf<D>(description->name, splineSize(isLattice)),
                     twice = timeOf<D>(description->name, {.samples = 2000,
                                                           .isLattice = isLattice,
                                                           .parameters = 1200,
                                                           .isLinear = false,
                                                           .pointPairs = 2000});
      EXPECT_GT(cpuOf(time), 0) << description->name;
      if (description->name == "KNNGraphAlphaMutualInformation") // compares all pairs of samples
        EXPECT_NEAR(twice.cpuNanoseconds - 2 * time.cpuNanoseconds, 2 * 14 * 1e6, 1) << description->name;
      else
        EXPECT_NEAR(cpuOf(twice), 2 * cpuOf(time), 1e-6) << description->name;
      EXPECT_GE(time.cudaNanoseconds, 0) << description->name;
    }
  }
  EXPECT_GE(metrics, 15);
}

TEST(TermTimeTest, EveryMetricTellsSomeTime)
{
  everyMetricTellsSomeTime<2>();
  everyMetricTellsSomeTime<3>();
}

TEST(TermTimeTest, MetricsDifferAsTheyWereMeasured)
{
  const auto dense = [](const char* metric, const std::string& text = "") {
    return cpuOf(timeOf<3>(metric, splineSize(true), text));
  };
  const double squares = dense("AdvancedMeanSquares"), information = dense("AdvancedMattesMutualInformation");
  EXPECT_EQ(squares, 80e3);
  EXPECT_NEAR(information - squares, 9.5e3, 1e-6);
  EXPECT_GT(dense("SelfSimilarity"), 1.1 * information);
  EXPECT_GT(dense("LocalNormalizedCorrelation"), 1.1 * information);
  EXPECT_GT(dense("LocalNormalizedCorrelation", "(LocalWindowSigma 2)"),
            1.8 * dense("LocalNormalizedCorrelation"));
}

TEST(TermTimeTest, PenaltiesTakeTheWayThatTheyWillGo)
{
  const std::string bending = "TransformBendingEnergyPenalty", folding = "TransformFoldingPenalty";
  // A lattice without masks has a closed form, of the coefficients alone.
  TermSize size = splineSize(true);
  const double closed = timeOf<3>(bending, size).cpuNanoseconds;
  EXPECT_EQ(timeOf<3>(bending, size, "(BendingEnergyIntegration \"Exact\")").cpuNanoseconds, closed);
  size.hasMasks = true;
  EXPECT_GT(timeOf<3>(bending, size).cpuNanoseconds, 10 * closed);
  size.isLinear = true;
  EXPECT_EQ(cpuOf(timeOf<3>(bending, size)), 0); // affine maps do not bend
  // Every third voxel along each axis, and axis by axis without masks.
  size = splineSize(true);
  const auto foldingOf = [&](const std::string& text) {
    return timeOf<3>(folding, size, text).cpuNanoseconds;
  };
  const double each = foldingOf("(FoldingSampleGridSpacing 1)");
  EXPECT_NEAR(each, 27 * foldingOf(""), 1e-6);
  EXPECT_LT(each, 0.3 * timeOf<3>(folding, splineSize(false)).cpuNanoseconds);
  size.hasMasks = true;
  EXPECT_GT(foldingOf("(FoldingSampleGridSpacing 1)"), 3 * each);
  const TermTime both = timeOf<3>("MattesMutualInformationWithRigidityPenalty", splineSize(true));
  EXPECT_NEAR(cpuOf(both),
              cpuOf(timeOf<3>("AdvancedMattesMutualInformation", splineSize(true)))
                  + cpuOf(timeOf<3>("TransformRigidityPenalty", splineSize(true))),
              1e-6);
}

}
}
