// needs: Sparse; needs: GPU
#include "Core/Sparse/SpGemmOnDevices.h"
#include "Core/Sparse/Rows/RowSharesOnCuda.h"
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <stdexcept>

namespace tessera {
namespace {

using namespace testing;

/// Several contexts on the first device, which may be one of many: what several devices do is done side by
/// side there.
class SpGemmOnDevicesTest : public GpuTest {
protected:
  static std::vector<Context> contextsOn(const std::vector<int>& ordinals)
  {
    std::vector<Context> contexts;
    for (const int ordinal : ordinals)
      contexts.push_back(makeContext({DeviceKind::cuda, ordinal}, 1));
    return contexts;
  }

  /// Multiplies a matrix whose groups use both methods, by each algorithm; the parts together must equal the
  /// whole bit for bit.
  static void expectPartsOfTheWhole(const std::vector<Context>& contexts)
  {
    const CsrMatrix<float> a = mixedMatrix();
    SpGemmOnDevices devices(contexts);
    std::vector<CsrOnCuda<float>> copies;
    std::vector<const CsrOnCuda<float>*> factors;
    for (const Context& context : contexts)
      copies.push_back(broughtToCuda(context, a, "A"));
    for (const CsrOnCuda<float>& copy : copies)
      factors.push_back(&copy);
    for (const SpGemmAlgorithm algorithm :
         {SpGemmAlgorithm::automatic, SpGemmAlgorithm::tiles, SpGemmAlgorithm::rows}) {
      SpGemmOnCudaOptions options;
      options.algorithm = algorithm;
      SpGemmReport report;
      const CsrMatrix<float> whole = broughtToHost(
          contexts[0], SpGemmOnCuda(contexts[0]).multiply(copies[0], copies[0], options, &report));
      const auto parts = devices.multiply(factors, factors, options);
      std::uint64_t at = 0, tileGroups = 0;
      std::size_t row = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const CsrMatrix<float> part = broughtToHost(contexts[i], parts[i].c);
        ASSERT_EQ(parts[i].firstRow, row);
        row += part.rows;
        ASSERT_EQ(part.entries(), whole.rowStart[row] - at);
        for (std::size_t e = 0; e < part.entries(); ++e, ++at) {
          ASSERT_EQ(part.column[e], whole.column[at]);
          ASSERT_EQ(part.value[e], whole.value[at])
              << "entry " << at << ", algorithm " << static_cast<int>(algorithm);
        }
        tileGroups += parts[i].report.tileGroups;
      }
      EXPECT_EQ(row, a.rows);
      EXPECT_EQ(tileGroups, report.tileGroups);
    }
  }

  /// Dense groups of rows first, scattered ones behind; each range alone would choose otherwise than all
  /// together.
  static CsrMatrix<float> mixedMatrix()
  {
    Dice dice(25);
    EntryMap<float> entries;
    for (std::uint32_t i = 0; i < 803; ++i)
      for (std::uint32_t j = 0; j < 60; ++j)
        if (i < 200)
          entries[{i, (i / 8 * 8 + j) % 803}] = static_cast<float>(dice.unit());
        else if (j < 6)
          entries[{i, static_cast<std::uint32_t>(dice.below(803))}] = static_cast<float>(dice.unit());
    return matrixOf(803, 803, entries);
  }
};

TEST_F(SpGemmOnDevicesTest, PartsSideBySideAreTheWholeBitForBit)
{
  expectPartsOfTheWhole(contextsOn({0}));
  expectPartsOfTheWhole(contextsOn({0, 0}));
  expectPartsOfTheWhole(contextsOn({0, 0, 0, 0, 0}));
}

TEST_F(SpGemmOnDevicesTest, PartsOnTwoDevicesAreTheWholeBitForBit)
{
  if (const std::size_t count = findCudaDevices().found.size(); count < 2)
    GTEST_SKIP() << "this machine has " << count << " CUDA device, two are needed";
  expectPartsOfTheWhole(contextsOn({0, 1}));
  expectPartsOfTheWhole(contextsOn({1, 0}));
}

TEST_F(SpGemmOnDevicesTest, RangesOfChosenOptionsHaveTheBitsOfTheWhole)
{
  const Context context = contextsOn({0}).front();
  Dice dice(37);
  EntryMap<float> entries; // two groups of forty are dense: too few for tiles, but one of two in their range
  for (std::uint32_t i = 0; i < 320; ++i)
    for (std::uint32_t j = 0; j < (i < 16 ? 300u : 3u); ++j)
      entries[{i, static_cast<std::uint32_t>(i < 16 ? j : dice.below(320))}] =
          static_cast<float>(dice.unit());
  const CsrMatrix<float> a = matrixOf(320, 320, entries);
  const CsrOnCuda<float> onCuda = broughtToCuda(context, a, "A");
  SpGemmOnCuda spGemm(context);
  for (const double threshold : {productsPerTilePairOnCuda, 0.5}) {
    SpGemmOnCudaOptions options;
    options.productsPerTilePair = threshold;
    const CsrMatrix<float> whole = broughtToHost(context, spGemm.multiply(onCuda, onCuda, options));
    const SpGemmOnCudaOptions chosen = spGemm.choiceFor(onCuda, onCuda, options);
    for (const auto& [first, last] : {std::pair{0, 32}, std::pair{32, 320}}) {
      const CsrMatrix<float> range =
          broughtToHost(context, spGemm.multiplyRows(onCuda, onCuda, first, last, chosen));
      ASSERT_EQ(range.entries(), whole.rowStart[last] - whole.rowStart[first]);
      for (std::size_t e = 0; e < range.entries(); ++e)
        ASSERT_EQ(range.value[e], whole.value[whole.rowStart[first] + e]) << "threshold " << threshold;
    }
  }
}

TEST_F(SpGemmOnDevicesTest, RowsAreSharedOutByProducts)
{
  const Context context = contextsOn({0}).front();
  const CsrMatrix<float> a = mixedMatrix();
  const CsrOnCuda<float> onCuda = broughtToCuda(context, a, "A");
  std::vector<std::uint64_t> before{0};
  for (std::size_t row = 0; row < a.rows; ++row) {
    before.push_back(before.back());
    for (std::uint64_t i = a.rowStart[row]; i < a.rowStart[row + 1]; ++i)
      before.back() += a.rowEntries(a.column[i]);
  }
  std::uint64_t largestGroup = 0;
  for (std::size_t row = 0; row < a.rows; row += 8)
    largestGroup = std::max(largestGroup, before[std::min(row + 8, a.rows)] - before[row]);
  for (const std::size_t parts : {1, 2, 3, 8}) {
    const std::vector<std::size_t> starts = balancedRowStarts(context, onCuda.view(), onCuda.view(), parts);
    ASSERT_EQ(starts.size(), parts + 1);
    EXPECT_EQ(starts.front(), 0u);
    EXPECT_EQ(starts.back(), a.rows);
    for (std::size_t i = 0; i < parts; ++i) {
      EXPECT_EQ(starts[i] % 8, 0u);
      EXPECT_NEAR(static_cast<double>(before[starts[i + 1]] - before[starts[i]]),
                  static_cast<double>(before.back()) / parts,
                  static_cast<double>(largestGroup)) // both ends are moved by less than a group
          << "part " << i << " of " << parts;
    }
  }
}

TEST_F(SpGemmOnDevicesTest, ProductsOfTheHostWithAllOptionsAreThoseOfOneDevice)
{
  const std::vector<Context> contexts = contextsOn({0, 0, 0});
  const CsrMatrix<float> a = mixedMatrix();
  SpGemmOptions<float> options;
  expectSame(multiplyOnDevices(contexts, a, a, options), multiply(contexts[0], a, a, options));
  options.transposeB = true;
  options.mask = wholeMatrix<float>(803, 803, 50, 3);
  options.scale = 0.3f;
  options.accumulate = wholeMatrix<float>(803, 803, 5, 4);
  options.dropTolerance = 0.01;
  SpGemmReport report, ofOne;
  const CsrMatrix<float> whole = multiply(contexts[0], a, a, options, &ofOne);
  expectSame(multiplyOnDevices(contexts, a, a, options, &report), whole);
  EXPECT_EQ(report.products, ofOne.products);
  EXPECT_EQ(report.ranges, 3u);
  options.algorithm = SpGemmAlgorithm::rows; // tiles would not fit into the limit
  const CsrMatrix<float> byRows = multiply(contexts[0], a, a, options);
  options.maxMemoryBytes = 400000;
  expectSame(multiplyOnDevices(contexts, a, a, options, &report), byRows);
  EXPECT_GT(report.ranges, 3u);
  options.half = true;
  options.algorithm = SpGemmAlgorithm::tsparse;
  options.maxMemoryBytes = 0;
  expectSame(multiplyOnDevices(contexts, a, a, options), multiply(contexts[0], a, a, options));

  const CsrMatrix<std::int64_t> few = wholeMatrix<std::int64_t>(3, 3, 2, 5); // fewer rows than parts
  expectSame(multiplyOnDevices(contexts, few, few), multiply(Context{{}, 1}, few, few));
}

TEST_F(SpGemmOnDevicesTest, ProductsOfTheHostOnTwoDevicesAreThoseOfOne)
{
  if (const std::size_t count = findCudaDevices().found.size(); count < 2)
    GTEST_SKIP() << "this machine has " << count << " CUDA device, two are needed";
  const std::vector<Context> contexts = contextsOn({0, 1});
  const CsrMatrix<float> a = mixedMatrix(), b = wholeMatrix<float>(803, 700, 9, 8);
  expectSame(multiplyOnDevices(contexts, a, a), multiply(contexts[0], a, a));
  expectSame(multiplyOnDevices(contexts, a, b), multiply(contexts[0], a, b));
}

TEST_F(SpGemmOnDevicesTest, AnErrorOfOneDeviceIsThatOfAll)
{
  const std::vector<Context> contexts = contextsOn({0, 0});
  const CsrMatrix<float> a = mixedMatrix(), other = wholeMatrix<float>(9, 9, 2, 6);
  EXPECT_PRED2(contains, messageOf([&] { multiplyOnDevices(contexts, a, other); }),
               "A is 803 x 803 and B 9 x 9");
}

TEST(SpGemmOnDevices, ContextsOnTheCpuAreRefused)
{
  const std::vector<Context> contexts(2);
  const CsrMatrix<float> a = wholeMatrix<float>(9, 9, 2, 6);
  EXPECT_PRED2(contains, messageOf([&] { SpGemmOnDevices products(contexts); }), "CUDA devices");
  EXPECT_PRED2(contains, messageOf([&] { multiplyOnDevices(contexts, a, a); }), "CUDA devices");
}

TEST(OnThreadsOfTheirOwn, ThrowsTheFirstError)
{
  std::vector<int> done(4);
  try {
    onThreadsOfTheirOwn(4, [&](std::size_t i) {
      done[i] = 1;
      if (i % 2 == 1)
        throw std::runtime_error("thread " + std::to_string(i));
    });
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "thread 1");
  }
  EXPECT_EQ(done, std::vector<int>(4, 1));
}

}
}
