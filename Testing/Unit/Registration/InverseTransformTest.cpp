#include "Core/Registration/Inverse/InverseTransform.h"

#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/InverseScenes.h"

#include <cstring>

namespace tessera {
namespace {

using namespace testing;
using checks::Points;

constexpr double tightMm = 1e-9;

template <int D>
Points<D> mappedBy(const TransformChain<D>& chain, const Points<D>& points)
{
  Points<D> result(points.count());
  mapChain<D>(host, chain, points.list(), result.out());
  return result;
}

/// Points of the image, away from its border by a share of its size.
template <int D>
Points<D> pointsWithin(const ImageGeometry<D>& image, std::size_t count, double border)
{
  Points<D> points(count);
  const std::vector<double> places = checks::randomVector(D * count, 17, border, 1 - border);
  for (std::size_t i = 0; i < count; ++i) {
    Vec<D> index;
    for (int d = 0; d < D; ++d)
      index[d] = places[i * D + d] * static_cast<double>(image.size[d] - 1);
    const Vec<D> pointMm = image.pointFromIndex()(index);
    for (int d = 0; d < D; ++d)
      points.mm[d][i] = pointMm[d];
  }
  return points;
}

/// Whether T keeps its orientation at every voxel of the image: then it has one root for each of their
/// images.
template <int D>
bool isUnfolded(const TransformChain<D>& chain, const ImageGeometry<D>& image)
{
  const Image<D> determinants = jacobianDeterminants<D>(host, chain, image);
  return *std::ranges::min_element(determinants.voxels) > 0.1;
}

/// T(T^-1(y)) = y for images y of points of the image. If T is one to one, also T^-1(T(x)) = x, and the
/// points of the image itself have roots.
template <int D>
void expectInverse(const ChainPointer<D>& chain, const ImageGeometry<D>& image, bool isOneToOne,
                   const std::string& what)
{
  const auto inverted = inverseChain<D>(chain, allComponents(), image, tightMm);
  const Points<D> points = pointsWithin<D>(image, 300, 0.15), images = mappedBy(*chain, points),
                  back = mappedBy(*inverted, images);

  EXPECT_LE(largestDifference(mappedBy(*chain, back), images), 1e-6) << what;
  if (!isOneToOne)
    return;
  EXPECT_LE(largestDifference(back, points), 1e-6) << what;
  EXPECT_LE(largestDifference(mappedBy(*chain, mappedBy(*inverted, points)), points), 1e-6) << what;
}

template <class Dimension>
class InverseTransformTest : public ::testing::Test {
public:
  static constexpr int D = Dimension::value;
};
using Dimensions = ::testing::Types<std::integral_constant<int, 2>, std::integral_constant<int, 3>>;
TYPED_TEST_SUITE(InverseTransformTest, Dimensions);

TYPED_TEST(InverseTransformTest, UndoesEveryChain)
{
  constexpr int D = TestFixture::D;
  std::size_t oneToOne = 0;
  const auto visit = [&](const TermScene<D>& scene, const std::string& what) {
    const bool jumps = contains(what, "field"); // at the border of the field, within the image
    const bool isOneToOne = !jumps && isUnfolded<D>(*scene.chain, scene.fixed->geometry);
    oneToOne += isOneToOne;
    expectInverse<D>(scene.chain, scene.fixed->geometry, isOneToOne, what);
  };
  forEachBendingScene<D>(visit);
  forEachModelScene<D>(false, visit);
  EXPECT_GE(oneToOne, 15u);
  const ResampleScene<D> scene(unequalSize<D>(), unequalSize<D>());
  const ImageGeometry<D>& image = scene.fixed->geometry;
  const auto gentle = [&](const TransformChain<D>& chain, const std::string& what) {
    ASSERT_TRUE(isUnfolded<D>(chain, image)) << what;
    expectInverse<D>(std::make_shared<TransformChain<D>>(chain), image, true, what);
  };
  for (const char* word : {"T", "E", "S", "A", "TAE"})
    gentle(letterChain<D>(word, scene.fixed), word);
  forEachGentleField<D>(image, gentle);
}

TYPED_TEST(InverseTransformTest, UndoesAWeightedCombination)
{
  constexpr int D = TestFixture::D;
  const TemporaryFolder folder;
  const std::string center = std::string("(CenterOfRotationPoint") + (D == 2 ? " 0 0)\n" : " 0 0 0)\n");
  const std::string first = folder.write(
                        "affine.txt",
                        "(Transform \"AffineTransform\")\n" + center
                            + (D == 2 ? "(TransformParameters 1.1 0.2 -0.1 0.9 3 -4)\n"
                                      : "(TransformParameters 1.1 0.2 0 -0.1 0.9 0.1 0 0.05 1 3 -4 2)\n")),
                    second = folder.write("euler.txt",
                                          "(Transform \"EulerTransform\")\n" + center
                                              + (D == 2 ? "(TransformParameters 0.3 5 1)\n"
                                                        : "(TransformParameters 0.3 0.1 -0.2 5 1 2)\n"));
  const auto chain = std::make_shared<TransformChain<D>>();
  chain->transform = allComponents().create<Transform<D>>(
      "WeightedCombinationTransform",
      parametersOf("(SubTransforms \"" + first + "\" \"" + second + "\")\n", D, 1, "Transform0"), "test");
  chain->parameters = {0.4, 0.7};

  expectInverse<D>(chain, obliqueGeometry<D>(unequalSize<D>()), true, "combination");
}

TYPED_TEST(InverseTransformTest, DerivativesAreThoseOfDifferences)
{
  constexpr int D = TestFixture::D;
  TermScene<D> scene(1, unequalSize<D>());
  scene.useAffine();
  scene.useAsInitial(Combination::compose);
  useBSpline<D>(scene, 3, false);
  const auto inverted = inverseChain<D>(scene.chain, allComponents(), scene.fixed->geometry, tightMm);

  ASSERT_TRUE(chainHasHessian<D>(*inverted));
  // Differences are off by the order of the step squared, and by roots within 1e-9 mm.
  checks::expectSpatialMatchesFiniteDifferences<D>(
      [&](const ListSamples<D>& list, const PointsOut<D>& out) { mapChain<D>(host, *inverted, list, out); },
      [&](const ListSamples<D>& list, double* jacobian, double* hessian) {
        chainSpatialDerivatives<D>(host, *inverted, list, jacobian, hessian);
      },
      pointsWithin<D>(scene.fixed->geometry, 40, 0.2), 1e-3, 1e-5, 1e-5);
}

template <int D>
const InverseTransform<D>& transformOf(const TransformChain<D>& inverted)
{
  return dynamic_cast<const InverseTransform<D>&>(*inverted.transform);
}

/// Every voxel is a root of its image, so the images of all voxels have roots, also where T folds.
TYPED_TEST(InverseTransformTest, FindsARootBesideFoldsWhereverThereIsOne)
{
  constexpr int D = TestFixture::D;
  constexpr double toleranceMm = 1e-3;
  const FoldingScene<D> scene(8);
  const Image<D> determinants = jacobianDeterminants<D>(host, *scene.chain, scene.image);
  ASSERT_GT(std::ranges::count_if(determinants.voxels, [](float det) { return det <= 0; }), 200);
  const auto inverted = inverseChain<D>(scene.chain, allComponents(), scene.image, toleranceMm);
  double largestMm = 0;
  std::size_t folded = 0;

  forEachVoxelBatch<D>(host, scene.image, [&](std::size_t, PointBatch<D>& points) {
    PointBatch<D> images, back;
    images.count = back.count = points.count;
    mapChain<D>(host, *scene.chain, points.list(), images.out());
    mapChain<D>(host, *inverted, images.list(), back.out());
    std::vector<double> jacobian(D * D * points.count);
    chainSpatialDerivatives<D>(host, *scene.chain, back.list(), jacobian.data(), nullptr);
    mapChain<D>(host, *scene.chain, back.list(), back.out());
    for (std::size_t i = 0; i < points.count; ++i) {
      Matrix<D> m;
      for (int entry = 0; entry < D * D; ++entry)
        m[entry / D][entry % D] = jacobian[entry * points.count + i];
      folded += determinant(m) <= 0;
      Vec<D> difference;
      for (int d = 0; d < D; ++d)
        difference[d] = back.mm[d][i] - images.mm[d][i];
      const double lengthMm =
          std::sqrt(std::inner_product(difference.begin(), difference.end(), difference.begin(), 0.0));
      ASSERT_FALSE(std::isnan(lengthMm));
      largestMm = std::max(largestMm, lengthMm);
    }
  });

  const InverseCounts counts = transformOf<D>(*inverted).takeCounts();
  EXPECT_LE(largestMm, toleranceMm);
  EXPECT_NEAR(counts.largestResidualMm, largestMm, 1e-12); // roundings of coordinates of some hundred mm
  EXPECT_EQ(counts.points, scene.image.voxelCount());
  EXPECT_EQ(counts.withoutRoot(), 0u);
  EXPECT_EQ(counts.folded, folded);
}

TYPED_TEST(InverseTransformTest, PlacesWithoutARootAreCountedAndHaveTheSameBitsForAnyThreads)
{
  constexpr int D = TestFixture::D;
  Context one, three;
  three.threads = 3;
  const FoldingScene<D> scene(10);
  const auto inverted = inverseChain<D>(scene.chain, allComponents(), scene.image, 1e-3),
             again = inverseChain<D>(scene.chain, allComponents(), scene.image, 1e-3);

  const VectorImage<D> field = displacementField<D>(one, *inverted, scene.image),
                       other = displacementField<D>(three, *again, scene.image);

  EXPECT_EQ(std::memcmp(field.voxels.data(), other.voxels.data(), field.voxels.size() * sizeof(float)), 0);
  const auto empty = static_cast<std::size_t>(
      std::ranges::count_if(field.voxels, [](float value) { return std::isnan(value); }));
  const InverseCounts counts = transformOf<D>(*inverted).takeCounts();
  EXPECT_EQ(counts.withoutRoot() * D, empty);
  EXPECT_GT(counts.outside, 0u);
  EXPECT_GT(counts.insideFolds, 0u);
  EXPECT_EQ(transformOf<D>(*inverted).takeCounts().points, 0u);
}

TYPED_TEST(InverseTransformTest, RefusesWhatHasNoInverse)
{
  constexpr int D = TestFixture::D;
  const ImageGeometry<D> image = obliqueGeometry<D>(unequalSize<D>());
  const auto refusal = [&](const TransformChain<D>& chain, ExitCode code) {
    return errorText(
        [&] {
          const auto inverted =
              inverseChain<D>(std::make_shared<TransformChain<D>>(chain), allComponents(), image, tightMm);
          mappedBy(*inverted, pointsWithin<D>(image, 9, 0.3));
        },
        code);
  };
  TransformChain<D> flat = letterChain<D>("A", std::make_shared<Image<D>>(image));
  flat.parameters = D == 2 ? std::vector<double>{1, 2, 2, 4, 0, 0}
                           : std::vector<double>{1, 2, 3, 2, 4, 6, 0, 0, 1, 0, 0, 0};
  TransformChain<D> spline = randomBSplineChain<D>(gridAcross<D>(image, image.spacingMm, 3), 0.1);
  spline.initial = std::make_shared<TransformChain<D>>(flat);

  EXPECT_PRED2(contains, refusal(flat, ExitCode::usage), "its matrix is singular");
  EXPECT_PRED2(contains, refusal(spline, ExitCode::usage), "its matrix is singular");
  TransformChain<D> hole = randomBSplineChain<D>(gridAcross<D>(image, image.spacingMm, 3), 0.1);
  std::ranges::fill(hole.parameters, std::numeric_limits<double>::quiet_NaN());
  EXPECT_PRED2(contains, refusal(hole, ExitCode::unreadableInput), "no number at a finite point");
}

}
}
