#include "Components/Metrics/Shared/Histograms/ParzenBatch.h"

#include "Components/Metrics/Shared/Histograms/EntropyTerms.h"
#include "Testing/Support/Naive/NaiveParzen.h"

namespace tessera {
namespace {

using namespace testing;

/// Awkward pairs of each size, in all orders: whole blocks without an intensity that is limited, and others.
void forEachCase(const std::function<void(const ParzenHistogram&, const Intensities& fixed,
                                          const Intensities& moving)>& check)
{
  for (const LevelFacts& facts :
       {LevelFacts{0, 100, 0, 100}, LevelFacts{-1024, 3071, 0.001f, 0.0013f}, LevelFacts{5, 5, 7000, 7000}})
    for (int fixedOrder = 0; fixedOrder <= 3; ++fixedOrder)
      for (int movingOrder = 0; movingOrder <= 3; ++movingOrder) {
        const ParzenHistogram formula = histogram({16, 24, fixedOrder, movingOrder, 0.01, 0.01}, facts);
        const Intensities fixed =
            awkwardIntensities(formula.windows().fixed, facts.fixedMin, facts.fixedMax, 1);
        Intensities moving =
            awkwardIntensities(formula.windows().moving, facts.movingMin, facts.movingMax, 2);
        moving.resize(fixed.size(), static_cast<float>(facts.movingMax));
        for (std::size_t i = 0; i < 2000; ++i)
          moving[i] =
              std::clamp(moving[i], static_cast<float>(facts.movingMin), static_cast<float>(facts.movingMax));
        check(formula, fixed, moving);
      }
}

TEST(ParzenBatchTest, CountsAreThoseOfOnePairAfterTheOther)
{
  forEachCase([](const ParzenHistogram& formula, const Intensities& fixed, const Intensities& moving) {
    for (const std::size_t count : {std::size_t(1), std::size_t(63), std::size_t(64), std::size_t(65),
                                    std::size_t(257), fixed.size()}) {
      ParzenHistogram::Sums oneByOne = formula.zeroSums(), batch = formula.zeroSums();
      for (std::size_t i = 0; i < count; ++i)
        PairInHistogram(formula.windows(), fixed[i], moving[i]).addTo(oneByOne.counts);

      formula.accumulate(batch, fixed.data(), moving.data(), count);

      ASSERT_EQ(batch.counts, oneByOne.counts) << count << " pairs, orders " << formula.windows().fixed.order
                                               << " and " << formula.windows().moving.order;
    }
  });
}

TEST(ParzenBatchTest, SlopesAreThoseOfOnePairAfterTheOtherToTheBit)
{
  forEachCase([](const ParzenHistogram& formula, const Intensities& fixed, const Intensities& moving) {
    ParzenHistogram::Sums sums = formula.zeroSums();
    formula.accumulate(sums, fixed.data(), moving.data(), fixed.size());
    const ParzenHistogram::Table table = formula.finish<NormalizedTerms>(sums, fixed.size());
    Intensities slopes(fixed.size());

    formula.slopes(table, fixed.data(), moving.data(), fixed.size(), slopes.data());

    for (std::size_t i = 0; i < fixed.size(); ++i)
      ASSERT_EQ(slopes[i], PairInHistogram(formula.windows(), fixed[i], moving[i]).slope(table))
          << fixed[i] << ", " << moving[i];
  });
}

}
}
