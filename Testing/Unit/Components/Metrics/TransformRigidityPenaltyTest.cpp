#include "Components/Metrics/TransformRigidityPenalty.h"

#include "Core/Image/Files/ImageFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/BendingScenes.h"

#include <functional>

namespace tessera {
namespace {

using namespace testing;

template <int D>
const BSplineGrid<D>& gridOf(const TermScene<D>& scene)
{
  return static_cast<const BSplineTransform<D>&>(*scene.chain->transform).grid();
}

/// Calls visit(control point, index, whether it is on the border of the grid).
template <int D, class Visit>
void forEachControlPoint(const BSplineGrid<D>& grid, Visit visit)
{
  forEachIndex<D>(grid.points.size, [&](const Vec<D>& index, std::size_t point) {
    bool isOnBorder = false;
    for (int d = 0; d < D; ++d)
      isOnBorder = isOnBorder || index[d] == 0 || index[d] == static_cast<double>(grid.points.size[d] - 1);
    visit(point, index, isOnBorder);
  });
}

/// An image with a voxel for each control point, 1 where `isRigid`.
template <int D>
Image<D> rigidityOnGrid(const BSplineGrid<D>& grid, const std::function<bool(const Vec<D>&, bool)>& isRigid)
{
  Image<D> image{grid.points, std::vector<float>(grid.pointCount())};
  forEachControlPoint<D>(grid, [&](std::size_t point, const Vec<D>& index, bool isOnBorder) {
    image.voxels[point] = isRigid(index, isOnBorder) ? 1 : 0;
  });
  return image;
}

template <int D>
TransformRigidityPenalty<D> penaltyOf(const TermScene<D>& scene, const std::string& text = "")
{
  TransformRigidityPenalty<D> penalty(parametersOf(text, D, 1, "Metric0"));
  penalty.prepareForLevel(host, scene.level);
  return penalty;
}

double column(const std::vector<TermColumn>& columns, const std::string& name)
{
  const auto found = std::ranges::find(columns, name, &TermColumn::name);
  EXPECT_NE(found, columns.end()) << name;
  return found->value;
}

/// The columns after an evaluation with coefficients u(point of the grid's own axes in mm, index), rigid
/// inside the border.
template <int D>
std::vector<TermColumn> columnsOf(const std::function<Vec<D>(const Vec<D>&)>& uOfGridMm)
{
  TermScene<D> scene(1, unequalSize<D>());
  useBSpline<D>(scene, 3, false, 0);
  const BSplineGrid<D>& grid = gridOf(scene);
  const TemporaryFolder folder;
  const std::string image = folder / "inside.mha";
  writeImage<D>(image, rigidityOnGrid<D>(grid, [](const Vec<D>&, bool border) { return !border; }),
                PixelType::float32, false);
  forEachControlPoint<D>(grid, [&](std::size_t point, Vec<D> index, bool) {
    for (int d = 0; d < D; ++d)
      index[d] *= grid.points.spacingMm[d];
    const Vec<D> u = uOfGridMm(index);
    for (int k = 0; k < D; ++k)
      scene.chain->parameters[k * grid.pointCount() + point] = u[k];
  });
  auto penalty =
      penaltyOf<D>(scene, "(FixedRigidityImageName \"" + image + "\")\n(DilateRigidityImages \"false\")");
  gradientOf<D>(penalty, {}, scene.chain->parameters);
  return penalty.columns();
}

TEST(TransformRigidityPenaltyTest, OfAnAffineMapByHandInTheWorldsAxes)
{
  TermScene<3> scene(1, unequalSize<3>());
  useBSpline<3>(scene, 3, false, 0);
  const Matrix<3> direction = gridOf(scene).points.direction;
  ASSERT_GT(std::abs(direction[0][1]), 0.1) << "not turned";
  const Matrix<3> jacobian{{{1.2, 0.1, 0}, {0, 0.9, 0.2}, {0, 0, 1}}};
  double orthonormality = 0;
  for (int a = 0; a < 3; ++a)
    for (int b = a; b < 3; ++b) {
      double product = a == b ? -1 : 0;
      for (int k = 0; k < 3; ++k)
        product += jacobian[k][a] * jacobian[k][b];
      orthonormality += product * product;
    }

  const auto columns = columnsOf<3>([&](const Vec<3>& gridMm) {
    const Vec<3> mm = apply<3>(direction, gridMm);
    const Vec<3> mapped = apply<3>(jacobian, mm);
    return Vec<3>{mapped[0] - mm[0], mapped[1] - mm[1], mapped[2] - mm[2]};
  });

  EXPECT_NEAR(column(columns, "Metric-OC"), orthonormality, 1e-12);
  EXPECT_NEAR(column(columns, "Metric-PC"), 0.08 * 0.08, 1e-12);
  EXPECT_NEAR(column(columns, "Metric-LC"), 0, 1e-12);
}

TEST(TransformRigidityPenaltyTest, ATurnCostsNothing)
{
  const double c = std::cos(0.7), s = std::sin(0.7);
  TermScene<2> scene(1, unequalSize<2>());
  useBSpline<2>(scene, 3, false, 0);
  const Matrix<2> direction = gridOf(scene).points.direction;

  const auto columns = columnsOf<2>([&](const Vec<2>& gridMm) {
    const Vec<2> mm = apply<2>(direction, gridMm);
    return Vec<2>{c * mm[0] - s * mm[1] - mm[0] + 5, s * mm[0] + c * mm[1] - mm[1] - 3};
  });

  for (const char* name : {"Metric-LC", "Metric-OC", "Metric-PC"})
    EXPECT_NEAR(column(columns, name), 0, 1e-20) << name;
}

TEST(TransformRigidityPenaltyTest, LinearityHasElastixsHalvesAndSpacings)
{
  TermScene<3> scene(1, unequalSize<3>());
  useBSpline<3>(scene, 3, false, 0);
  const Vec<3> spacingMm = gridOf(scene).points.spacingMm;

  const auto square = columnsOf<3>([](const Vec<3>& mm) { return Vec<3>{0, 0, 3 * mm[1] * mm[1]}; });
  const auto product = columnsOf<3>([](const Vec<3>& mm) { return Vec<3>{0, 2 * mm[0] * mm[2], 0}; });

  EXPECT_NEAR(column(square, "Metric-LC"), 3 * 3, 1e-9); // half of a second derivative of 6
  const double mixed = 2 / (spacingMm[0] * spacingMm[2]);
  EXPECT_NEAR(column(product, "Metric-LC"), mixed * mixed, 1e-9 * mixed * mixed);
}

template <int D>
void expectDifferences(TermScene<D>& scene, const std::string& text, const std::string& what)
{
  SCOPED_TRACE(what);
  auto penalty = penaltyOf<D>(scene, text);
  // The penalty is a polynomial of degree 2 D; a step of 1e-4 mm leaves its square and rounding.
  expectGradientMatchesFiniteDifferences<D>(penalty, {}, scene.chain->parameters, 1e-4, 1e-6);
}

template <int D>
void expectDifferencesEverywhere()
{
  TermScene<D> scene(1, unequalSize<D>());
  useBSpline<D>(scene, 3, false);
  expectDifferences<D>(scene, "", "all rigid");
  expectDifferences<D>(scene,
                       "(LinearityConditionWeight 300)\n(OrthonormalityConditionWeight 0.2)\n"
                       "(PropernessConditionWeight 0)",
                       "weighted");
  expectDifferences<D>(scene, "(UseOrthonormalityCondition \"false\")\n(UsePropernessCondition \"false\")",
                       "linearity");

  const TemporaryFolder folder;
  const auto half = [](const Vec<D>& index, bool) { return index[0] > 2; };
  writeImage<D>(folder / "half.mha", rigidityOnGrid<D>(gridOf(scene), half), PixelType::float32, false);
  const std::string half2 = std::string("RigidityImageName \"") + (folder / "half.mha").c_str() + "\")\n";
  expectDifferences<D>(scene, "(Fixed" + half2 + "(DilateRigidityImages \"false\")", "fixed image");
  expectDifferences<D>(scene, "(Moving" + half2 + "(DilateRigidityImages \"false\")", "moving image");
  scene.useAsInitial(Combination::compose);
  useBSpline<D>(scene, 3, false);
  expectDifferences<D>(scene, "", "after another B-spline");
}

TEST(TransformRigidityPenaltyTest, GradientMatchesFiniteDifferences)
{
  expectDifferencesEverywhere<2>();
  expectDifferencesEverywhere<3>();
}

TEST(TransformRigidityPenaltyTest, ColumnsAreThePartsOfTheSum)
{
  TermScene<2> scene(1, unequalSize<2>());
  useBSpline<2>(scene, 3, false);
  auto penalty = penaltyOf<2>(scene, "(LinearityConditionWeight 3)\n(UseOrthonormalityCondition \"false\")\n"
                                     "(UsePropernessCondition \"false\")\n"
                                     "(CalculatePropernessCondition \"false\")");
  auto linearity = penaltyOf<2>(scene, "(LinearityConditionWeight 3)\n(OrthonormalityConditionWeight 0)\n"
                                       "(PropernessConditionWeight 0)");
  std::vector<double> gradient(scene.chain->parameters.size());

  const double value = penalty.evaluate(host, {}, scene.chain->parameters, gradient).value;
  const double alone = linearity.evaluate(host, {}, scene.chain->parameters, {}).value;

  EXPECT_EQ(value, alone);
  EXPECT_EQ(value, 3 * column(penalty.columns(), "Metric-LC"));
  EXPECT_GT(column(penalty.columns(), "Metric-OC"), 0);
  EXPECT_EQ(column(penalty.columns(), "Metric-PC"), 0);
  double squared = 0;
  for (const double g : gradient)
    squared += g * g;
  EXPECT_NEAR(column(penalty.columns(), "||Gradient-LC||"), std::sqrt(squared), 1e-12 * std::sqrt(squared));
  EXPECT_EQ(column(penalty.columns(), "||Gradient-OC||"), 0);
}

/// The sum of rigidity over all control points is that of the values at T(control point) in the moving image
/// or, if larger, at the control point in the fixed one.
TEST(TransformRigidityPenaltyTest, TakesTheLargerOfBothImages)
{
  TermScene<2> scene(1, unequalSize<2>());
  useBSpline<2>(scene, 3, false, 0);
  const BSplineGrid<2>& grid = gridOf(scene);
  std::vector<double>& parameters = scene.chain->parameters;
  std::fill(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(grid.pointCount()), 1.0);
  const TemporaryFolder folder;
  Image<2> fixed = rigidityOnGrid<2>(grid, [](const Vec<2>& index, bool) { return index[0] == 1; });
  Image<2> moving = rigidityOnGrid<2>(grid, [](const Vec<2>& index, bool) { return index[1] == 2; });
  for (float& value : moving.voxels)
    value *= 0.5F;
  for (int d = 0; d < 2; ++d) // one mm to the side, and no control point is displaced by half a voxel
    moving.geometry.originMm[d] += d == 0 ? 1 : 0;
  writeImage<2>(folder / "fixed.mha", fixed, PixelType::float32, false);
  writeImage<2>(folder / "moving.mha", moving, PixelType::float32, false);
  const std::string folderPath = folder.path();
  RigidityImages<2> images(parametersOf("(FixedRigidityImageName \"" + folderPath
                                            + "/fixed.mha\")\n(MovingRigidityImageName \"" + folderPath
                                            + "/moving.mha\")\n(DilateRigidityImages \"false\")",
                                        2, 1, "Metric0"),
                           {});
  images.prepareForLevel(host, 0, grid, {});
  std::vector<double> values(grid.pointCount(), -1);

  images.atControlPoints(host, static_cast<const BSplineTransform<2>&>(*scene.chain->transform), parameters,
                         values);

  forEachControlPoint<2>(grid, [&](std::size_t point, const Vec<2>& index, bool) {
    EXPECT_EQ(values[point], index[0] == 1 ? 1.0 : index[1] == 2 ? 0.5 : 0.0) << index[0] << " " << index[1];
  });
}

TEST(TransformRigidityPenaltyTest, DilatesByTheSpacingOfTheGridInVoxels)
{
  TermScene<2> scene(1, unequalSize<2>());
  useBSpline<2>(scene, 3, false, 0);
  BSplineGrid<2> grid = gridOf(scene);
  grid.points.spacingMm = {3.9, 2.1};
  Image<2> image{grid.points, std::vector<float>(grid.pointCount())};
  image.geometry.spacingMm = {1, 1};
  image.geometry.size = grid.points.size = {21, 17};
  image.voxels.assign(21 * 17, 0);
  image.voxels[10 + 21 * 8] = 0.75F;
  const TemporaryFolder folder;
  writeImage<2>(folder / "point.mha", image, PixelType::float32, false);
  RigidityImages<2> images(parametersOf("(MovingRigidityImageName \"" + std::string(folder / "point.mha")
                                            + "\")\n(DilationRadiusMultiplier 2)",
                                        2, 1, "Metric0"),
                           {});

  images.prepareForLevel(Context{}, 0, grid, {});

  for (std::size_t i = 0; i < 21 * 17; ++i) {
    const bool isIn = i % 21 >= 3 && i % 21 <= 17 && i / 21 >= 4 && i / 21 <= 12; // by 7 and 4 voxels
    EXPECT_EQ(images.moving()->voxels[i], isIn ? 0.75F : 0) << i % 21 << " " << i / 21;
  }
}

TEST(TransformRigidityPenaltyTest, IsZeroWhereNothingIsRigid)
{
  TermScene<2> scene(1, unequalSize<2>());
  useBSpline<2>(scene, 3, false);
  const TemporaryFolder folder;
  writeImage<2>(folder / "none.mha",
                rigidityOnGrid<2>(gridOf(scene), [](const auto&, bool) { return false; }), PixelType::float32,
                false);
  auto penalty = penaltyOf<2>(scene, "(FixedRigidityImageName \"" + std::string(folder / "none.mha") + "\")");
  std::vector<double> gradient(scene.chain->parameters.size(), 7);

  EXPECT_EQ(penalty.evaluate(host, {}, scene.chain->parameters, gradient).value, 0);
  EXPECT_EQ(gradient, std::vector<double>(gradient.size(), 0.0));
}

TEST(TransformRigidityPenaltyTest, RefusesWhatItCannotDo)
{
  TermScene<2> scene(1, unequalSize<2>());
  const auto refusal = [&] { return errorText([&] { penaltyOf<2>(scene); }); };
  useBSpline<2>(scene, 2, false);
  EXPECT_PRED2(contains, refusal(), "BSplineTransformSplineOrder 3");
  useBSpline<2>(scene, 3, true);
  EXPECT_PRED2(contains, refusal(), "UseCyclicTransform");
  scene.useAffine();
  EXPECT_PRED2(contains, refusal(), "AffineTransform");

  useBSpline<2>(scene, 3, false);
  const TemporaryFolder folder;
  Image<2> image = rigidityOnGrid<2>(gridOf(scene), [](const auto&, bool) { return true; });
  image.voxels[3] = -1;
  writeImage<2>(folder / "negative.mha", image, PixelType::float32, false);
  const auto with = [&](const std::string& name) {
    return [&scene, path = std::string(folder / name)] {
      penaltyOf<2>(scene, "(MovingRigidityImageName \"" + path + "\")");
    };
  };
  EXPECT_PRED2(contains, errorText(with("negative.mha")), "below 0");
  EXPECT_PRED2(contains, errorText(with("absent.mha"), ExitCode::unreadableInput), "absent.mha");
}

TEST(TransformRigidityPenaltyTest, RepeatsItsBitsForAnyThreadCount)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  auto penalty = penaltyOf<3>(scene);

  expectSameBitsForAnyThreadCount<3>(penalty, {}, scene.chain->parameters);
}

}
}
