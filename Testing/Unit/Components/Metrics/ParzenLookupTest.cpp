#include "Components/Metrics/Shared/Histograms/ParzenLookup.h"

#include "Components/Metrics/Shared/Histograms/EntropyTerms.h"
#include "Testing/Support/Naive/NaiveParzen.h"

namespace tessera {
namespace {

using namespace testing;

constexpr LevelFacts usual{0, 100, 0, 100};

/// Numbers up to 2 in single precision, from differences of numbers this large in double precision.
double toleranceOfT(const ParzenAxis& axis)
{
  return std::ldexp(1, -23) + std::ldexp(std::abs(axis.normalizedMin) + axis.bins, -51);
}

TEST(ParzenLookupTest, WhereItIsSureItGivesTheBinsOfTheAxis)
{
  for (const LevelFacts& facts :
       {usual, LevelFacts{-1024, 3071, -1024, 3071}, LevelFacts{0.001f, 0.0013f, 7000, 7001},
        LevelFacts{1e6, 1e6 + 1, -3e7, 5e7}, LevelFacts{5, 5, 0, 0}})
    for (int order = 0; order <= 3; ++order)
      for (const int bins : {8, 32, 64, 200, 4096}) {
        const ParzenWindows windows = histogram({bins, bins, order, order, 0.01, 0.01}, facts).windows();
        const ParzenLookup lookup(windows);
        const Intensities fixed = awkwardIntensities(windows.fixed, facts.fixedMin, facts.fixedMax, 1);
        const Intensities moving = awkwardIntensities(windows.moving, facts.movingMin, facts.movingMax, 2);
        ASSERT_EQ(fixed.size(), moving.size());
        for (std::size_t i = 0; i < fixed.size(); ++i) {
          ParzenPlace quick;
          if (!lookup.quick(fixed[i], moving[i], order, order, quick))
            continue;
          double t, derivative;
          ASSERT_EQ(quick.row, windows.fixedStart(fixed[i], t))
              << "fixed " << fixed[i] << ", order " << order << ", bins " << bins;
          ASSERT_NEAR(quick.fixedT, t, toleranceOfT(windows.fixed));
          ASSERT_EQ(quick.column, windows.movingStart(moving[i], t, derivative)) << "moving " << moving[i];
          ASSERT_NEAR(quick.movingT, t, toleranceOfT(windows.moving));
          ASSERT_EQ(derivative, 1);
        }
      }
}

TEST(ParzenLookupTest, IsSureOfOrdinaryIntensities)
{
  for (const LevelFacts& facts : {usual, LevelFacts{-1024, 3071, -1024, 3071}}) {
    const ParzenLookup lookup(histogram({64, 64, 0, 3, 0.01, 0.01}, facts).windows());
    const Intensities fixed = randomIntensities(100000, 3, facts.fixedMin, facts.fixedMax);
    const Intensities moving = randomIntensities(100000, 4, facts.movingMin, facts.movingMax);
    ParzenPlace place;
    std::size_t unsure = 0;
    for (std::size_t i = 0; i < fixed.size(); ++i)
      unsure += !lookup.quick(fixed[i], moving[i], 0, 3, place);

    EXPECT_LE(unsure, 2u); // within some 2^-29 of an edge
    const auto low = static_cast<float>(facts.fixedMin), movingLow = static_cast<float>(facts.movingMin);
    EXPECT_TRUE(lookup.quick(low, movingLow, 0, 3, place)) << "background";
  }
}

TEST(ParzenLookupTest, IsNeverSureBeyondTheLimitsOrOfWhatIsNoNumber)
{
  const ParzenLookup lookup(histogram({}, usual).windows());
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                  infinity = std::numeric_limits<float>::infinity();
  ParzenPlace place;

  EXPECT_TRUE(lookup.quick(41, 41, 0, 3, place));
  for (const float value : {nan, infinity, -infinity, 1e30f, -50.0f, 150.0f}) {
    EXPECT_FALSE(lookup.quick(value, 41, 0, 3, place)) << value;
    EXPECT_FALSE(lookup.quick(41, value, 0, 3, place)) << value;
  }
  EXPECT_FALSE(lookup.quick(41, 100.5f, 0, 3, place)) << "the soft limiter is at work";
  EXPECT_TRUE(lookup.quick(100.5f, 41, 0, 3, place)) << "fixed intensities are cut off at their bound only";
  EXPECT_FALSE(lookup.quick(101.5f, 41, 0, 3, place));
}

TEST(ParzenLookupTest, FusedWeightsAndSharesHaveTheBitsOfPlainOnes)
{
  constexpr float magic = 8388608; // 2^23: a float at this size counts in ones
  Intensities all = randomIntensities(1000000, 8, 1, 2);
  all.insert(all.end(), {1.0f, 2.0f, 1.5f, std::nextafter(1.0f, 2.0f), std::nextafter(2.0f, 1.0f)});
  for (const float t : all) {
    float plain[4], fused[4];
    bsplineWeights<3, float>(t, plain);
    fusedCubicWeights(t, fused);
    for (int k = 0; k < 4; ++k) {
      ASSERT_EQ(fused[k], plain[k]) << t << ", weight " << k;
      for (const int bits : {16, 19, 22}) {
        const float sum = fmaf(static_cast<float>(1 << bits), plain[k], magic);
        ASSERT_EQ(wholeShare(plain[k], shareScale(bits)),
                  std::bit_cast<unsigned>(sum) - std::bit_cast<unsigned>(magic));
      }
    }
  }
  EXPECT_EQ(wholeShare(1, shareScale(22)), 1u << 22);
  EXPECT_EQ(wholeShare(1, 0), 0u);
}

template <int FixedOrder, int MovingOrder>
void expectSlopesOfHistogram()
{
  const ParzenHistogram of = histogram({32, 32, FixedOrder, MovingOrder, 0.01, 0.01}, usual);
  const ParzenWindows& windows = of.windows();
  const ParzenLookup lookup(windows);
  const std::size_t count = 5000;
  const Intensities fixed = randomIntensities(count, 5, -1, 101);
  const Intensities moving = relatedIntensities(fixed, 6);
  ParzenHistogram::Sums sums = of.zeroSums();
  of.accumulate(sums, fixed.data(), moving.data(), count);
  const auto table = of.finish<MutualInformationTerms>(sums, count);
  const auto tableAt = [&](int row, int column) {
    const double* weight = &table.weights[static_cast<std::size_t>(row) * windows.moving.bins + column];
    return static_cast<float>((MovingOrder == 0 ? weight[0] : weight[1] - weight[0]) * table.perSample);
  };

  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ParzenPlace place;
    if (MovingOrder == 0 || !lookup.quick(fixed[i], moving[i], FixedOrder, MovingOrder, place))
      place = lookup.exact(fixed[i], moving[i]);
    const double expected = of.slope(table, fixed[i], moving[i]);
    largest = std::max(largest, std::abs(expected));
    worst = std::max(worst, std::abs(parzenSlope<FixedOrder, MovingOrder>(place, tableAt) - expected));
  }

  ASSERT_GT(largest, 0);
  EXPECT_LE(worst, 1e-6 * largest) << "orders " << FixedOrder << " and " << MovingOrder;
}

TEST(ParzenLookupTest, SlopesFromDifferencesAreThoseOfTheHistogram)
{
  expectSlopesOfHistogram<0, 0>();
  expectSlopesOfHistogram<0, 1>();
  expectSlopesOfHistogram<0, 2>();
  expectSlopesOfHistogram<0, 3>();
  expectSlopesOfHistogram<1, 3>();
  expectSlopesOfHistogram<2, 2>();
  expectSlopesOfHistogram<3, 1>();
  expectSlopesOfHistogram<3, 3>();
}

}
}
