#include "Components/Transforms/WeightedCombinationTransform.h"

#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/ParameterText.h"

namespace tessera {
namespace {

using namespace checks;
using namespace testing;

/// An affine transform and a B-spline after another affine transform, in files.
template <int D>
class Combination {
public:
  explicit Combination(bool normalized)
      : transform(
          [&] {
            std::string names;
            for (const std::string& name : writeFiles())
              names += " \"" + name + "\"";
            return parametersOf("(SubTransforms" + names + ")\n(NormalizeCombinationWeights \""
                                    + (normalized ? "true" : "false") + "\")",
                                D, 1, "Transform0");
          }(),
          allComponents())
  {
  }

  TemporaryFolder folder;
  WeightedCombinationTransform<D> transform;

  /// The second transform of the combination, alone.
  Points<D> bySecond(const Points<D>& points) const
  {
    Points<D> result(points.count());
    mapChain<D>(host, *readTransformChain<D>({}, folder / "spline.txt", allComponents(), {}), points.list(),
                result.out());
    return result;
  }

private:
  std::vector<std::string> writeFiles()
  {
    const std::string zeros = D == 2 ? " 0 0" : " 0 0 0", sizes = D == 2 ? " 7 8" : " 7 8 6",
                      spacing = D == 2 ? " 20 18" : " 20 18 22",
                      identity = D == 2 ? " 1 0 0 1" : " 1 0 0 0 1 0 0 0 1",
                      origin = D == 2 ? " -50 -50" : " -50 -50 -50";
    const auto values = [](const std::vector<double>& list) {
      std::string text = "(TransformParameters";
      for (const double value : list)
        text += " " + std::to_string(value);
      return text + ")\n";
    };
    const std::string affine = "(Transform \"AffineTransform\")\n(CenterOfRotationPoint" + zeros + ")\n";
    std::vector<double> matrix = D == 2
                                     ? std::vector<double>{1.1, 0.2, -0.1, 0.9, 3, -4}
                                     : std::vector<double>{1.1, 0.2, 0, -0.1, 0.9, 0.1, 0, 0.05, 1, 3, -4, 2};
    const std::string first = folder.write("affine.txt", affine + values(matrix));
    for (double& entry : matrix)
      entry *= 1.05;
    const std::string before = folder.write("before.txt", affine + values(matrix));
    const std::size_t points = D == 2 ? 56 : 336;
    const std::string second = folder.write(
        "spline.txt", "(Transform \"BSplineTransform\")\n(GridSize" + sizes + ")\n(GridIndex" + zeros
                          + ")\n(GridSpacing" + spacing + ")\n(GridOrigin" + origin + ")\n(GridDirection"
                          + identity + ")\n(BSplineTransformSplineOrder 3)\n"
                          + values(randomVector(D * points, 3, -4, 4))
                          + "(InitialTransformParameterFileName \"" + before + "\")\n");
    return {first, second};
  }
};

template <int D>
Points<D> somePoints()
{
  return randomPoints<D>(600, 5, -15, 30); // more than a batch, for the sums over all samples
}

template <int D>
Points<D> fewPoints()
{
  return randomPoints<D>(40, 6, -15, 30);
}

TEST(WeightedCombinationTransform, IsTheWeightedSumOfDisplacements)
{
  const Combination<2> plain(false), normalized(true);
  const Points<2> points = fewPoints<2>();
  const Points<2> second = plain.bySecond(points);

  const Points<2> sum = mapped<2>(plain.transform, {0.5, 2}, points),
                  mean = mapped<2>(normalized.transform, {0.5, 2}, points);

  for (std::size_t i = 0; i < points.count(); ++i) {
    const double x = points.mm[0][i], y = points.mm[1][i];
    const double firstMm[] = {1.1 * x + 0.2 * y + 3, -0.1 * x + 0.9 * y - 4};
    for (int d = 0; d < 2; ++d) {
      const double u1 = firstMm[d] - points.mm[d][i], u2 = second.mm[d][i] - points.mm[d][i];
      EXPECT_NEAR(sum.mm[d][i], points.mm[d][i] + 0.5 * u1 + 2 * u2, 1e-12);
      EXPECT_NEAR(mean.mm[d][i], (0.5 * firstMm[d] + 2 * second.mm[d][i]) / 2.5, 1e-12);
    }
  }
}

template <int D>
void expectDerivatives(bool normalized)
{
  const Combination<D> of(normalized);
  const std::vector<double> weights{0.7, -0.2};
  expectPullBackIsAdjointOfPushForward<D>(of.transform, weights, fewPoints<D>());
  // 1e-16 times 50 mm over a step of 1e-4, and the step's square times third derivatives by the weights
  expectPushForwardMatchesFiniteDifferences<D>(of.transform, weights, fewPoints<D>(), 1e-4, 1e-6);
  expectSpatialDerivativesMatchFiniteDifferences<D>(of.transform, weights, fewPoints<D>(), 1e-4, 1e-8, 1e-6);
  expectPullBackOfSpatialDerivativesMatchesFiniteDifferences<D>(of.transform, weights, fewPoints<D>(), 1e-4,
                                                                1e-6);
  expectJacobianTermsMatchNaive<D>(of.transform, weights, {2, 0.5}, somePoints<D>(), 1e-11);
}

TEST(WeightedCombinationTransform, DerivativesMatchFiniteDifferences)
{
  for (const bool normalized : {false, true}) {
    expectDerivatives<2>(normalized);
    expectDerivatives<3>(normalized);
  }
}

TEST(WeightedCombinationTransform, StartsAtTheIdentityOrAtTheMean)
{
  EXPECT_EQ(Combination<2>(false).transform.initialize(host, {}), (std::vector<double>{0, 0}));
  EXPECT_EQ(Combination<2>(true).transform.initialize(host, {}), (std::vector<double>{0.5, 0.5}));
}

TEST(WeightedCombinationTransform, ScalesAreOnesGivenOrEstimated)
{
  const Combination<2> of(false);
  const auto scalesWith = [&](const std::string& text) {
    const WeightedCombinationTransform<2> transform(
        parametersOf("(SubTransforms \"" + std::string(of.folder / "affine.txt") + "\")\n" + text, 2, 1,
                     "Transform0"),
        allComponents());
    return transform.scales(host, somePoints<2>().list(), std::vector<double>{0});
  };
  const Points<2> points = somePoints<2>();
  double squares = 0;
  for (std::size_t i = 0; i < points.count(); ++i)
    squares += std::pow(0.1 * points.mm[0][i] + 0.2 * points.mm[1][i] + 3, 2)
               + std::pow(-0.1 * points.mm[0][i] - 0.1 * points.mm[1][i] - 4, 2);

  EXPECT_EQ(scalesWith(""), std::vector<double>{1});
  EXPECT_EQ(scalesWith("(Scales 7)"), std::vector<double>{7});
  EXPECT_NEAR(scalesWith("(AutomaticScalesEstimation \"true\")").at(0), squares / 600, 1e-9 * squares / 600);
  EXPECT_PRED2(contains, errorText([&] { scalesWith("(Scales 7 8)"); }), "2 values");
}

TEST(WeightedCombinationTransform, IsReadFromAFileWithPathsBesideIt)
{
  const Combination<2> of(true);
  const std::string file = of.folder.write(
      "combined.txt", "(Transform \"WeightedCombinationTransform\")\n(NumberOfParameters 2)\n"
                      "(TransformParameters 0.25 0.5)\n(NormalizeCombinationWeights \"true\")\n"
                      "(SubTransforms \"affine.txt\" \"spline.txt\")\n");
  const Points<2> points = fewPoints<2>();
  Points<2> found(points.count());

  mapChain<2>(host, *readTransformChain<2>({}, file, allComponents(), {}), points.list(), found.out());

  const Points<2> expected = mapped<2>(of.transform, {0.25, 0.5}, points);
  EXPECT_EQ(found.mm, expected.mm);
}

TEST(WeightedCombinationTransform, RefusesWhatCannotBeCombined)
{
  const Combination<2> normalized(true);
  const auto make = [](const std::string& text) {
    return
        [text] { WeightedCombinationTransform<2>(parametersOf(text, 2, 1, "Transform0"), allComponents()); };
  };
  EXPECT_PRED2(contains, errorText(make("")), "SubTransforms");
  EXPECT_PRED2(contains, errorText(make("(SubTransforms \"absent.txt\")"), ExitCode::unreadableInput),
               "absent.txt");
  EXPECT_PRED2(contains,
               errorText(
                   [&] {
                     mapped<2>(normalized.transform, {1, -1}, fewPoints<2>());
                   },
                   ExitCode::registrationFailed),
               "sum of the weights");
  const TemporaryFolder folder;
  const std::string itself =
      folder.write("itself.txt", "(Transform \"WeightedCombinationTransform\")\n(TransformParameters 1)\n"
                                 "(SubTransforms \"itself.txt\")\n");
  EXPECT_PRED2(
      contains,
      errorText([&] { readTransformChain<2>({}, itself, allComponents(), {}); }, ExitCode::unreadableInput),
      "contain itself");
  folder.write("v0.txt",
               "(Transform \"TranslationTransform\")\n(NumberOfParameters 2)\n(TransformParameters 1 2)\n");
  for (int i = 1; i <= 8; ++i) { // names 10^8 files
    std::string names;
    for (int k = 0; k < 10; ++k)
      names += " \"v" + std::to_string(i - 1) + ".txt\"";
    folder.write("v" + std::to_string(i) + ".txt",
                 "(Transform \"WeightedCombinationTransform\")\n(TransformParameters 1 1 1 1 1 1 1 1 1 1)\n"
                 "(SubTransforms"
                     + names + ")\n");
  }
  EXPECT_PRED2(contains,
               errorText([&] { readTransformChain<2>({}, folder / "v8.txt", allComponents(), {}); },
                         ExitCode::unreadableInput),
               "of too many files");
}

}
}
