#include "Components/Transforms/Shared/SearchedStart.h"

#include "Components/Transforms/AffineLogTransform.h"
#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/SimilarityTransform.h"
#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Host.h"
#include "Testing/Support/ParameterText.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

/// Three blobs of different sizes on a dark ground, around the point (0, 0, 0).
template <int D>
float sceneAt(const Vec<D>& pointMm)
{
  struct Blob {
    double x, y, z, radiusMm, brightness;
  };
  double value = 0;
  for (const Blob& blob : {Blob{-4, 3, 2, 22, 50}, Blob{18, 6, -4, 9, 70}, Blob{-8, -20, 12, 7, -30}}) {
    const Vec<3> centre{blob.x, blob.y, blob.z};
    double distance2 = 0;
    for (int d = 0; d < D; ++d)
      distance2 += (pointMm[d] - centre[d]) * (pointMm[d] - centre[d]);
    value += blob.brightness * std::exp(-distance2 / (blob.radiusMm * blob.radiusMm));
  }
  return static_cast<float>(value);
}

/// The scene under an inverse map, so that `map` leads from the fixed to the moving image.
template <int D>
ImagePointer<D> sceneImage(const Vec<D>& centerMm, const AffineMap<D>& map, double factor = 1)
{
  auto image = std::make_shared<Image<D>>();
  image->geometry.size.fill(48);
  image->geometry.spacingMm.fill(2);
  for (int d = 0; d < D; ++d)
    image->geometry.originMm[d] = centerMm[d] - 47;
  const AffineMap<D> toPoint = image->geometry.pointFromIndex(), back = inverse(map);
  for (std::size_t voxel = 0; voxel < image->geometry.voxelCount(); ++voxel) {
    Vec<D> index;
    std::size_t rest = voxel;
    for (int d = 0; d < D; ++d, rest /= 48)
      index[d] = static_cast<double>(rest % 48);
    image->voxels.push_back(static_cast<float>(factor * sceneAt<D>(back(toPoint(index)))));
  }
  return image;
}

Matrix<3> turnAbout(const Vec<3>& axis, double angle)
{
  const double length = std::hypot(axis[0], axis[1], axis[2]), s = std::sin(angle), c = std::cos(angle);
  Matrix<3> m = identityMatrix<3>();
  const double x = axis[0] / length, y = axis[1] / length, z = axis[2] / length;
  const Matrix<3> cross = {{{0, -z, y}, {z, 0, -x}, {-y, x, 0}}}, twice = multiply<3>(cross, cross);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      m[i][j] += s * cross[i][j] + (1 - c) * twice[i][j];
  return m;
}

Matrix<2> turnInPlane(double angle)
{
  return {{{std::cos(angle), -std::sin(angle)}, {std::sin(angle), std::cos(angle)}}};
}

/// The largest distance between both maps at the corners of a cube of 40 mm.
template <int D>
double farthest(const AffineMap<D>& a, const AffineMap<D>& b)
{
  double largest = 0;
  for (int corner = 0; corner < 1 << D; ++corner) {
    Vec<D> pointMm;
    for (int d = 0; d < D; ++d)
      pointMm[d] = (corner >> d) & 1 ? 20 : -20;
    const Vec<D> p = a(pointMm), q = b(pointMm);
    double distance2 = 0;
    for (int d = 0; d < D; ++d)
      distance2 += (p[d] - q[d]) * (p[d] - q[d]);
    largest = std::max(largest, std::sqrt(distance2));
  }
  return largest;
}

template <int D>
AffineMap<D> mapOf(const LinearStart<D>& start)
{
  AffineMap<D> map{start.rotation, start.translationMm};
  const Vec<D> turned = apply<D>(start.rotation, start.centerMm);
  for (int d = 0; d < D; ++d)
    map.offset[d] += start.centerMm[d] - turned[d];
  return map;
}

constexpr double degree = 0.017453292519943295;
const AffineMap<3> turned3{turnAbout({1, -2, 2}, 50 * degree), {130, -60, 25}};
const AffineMap<2> turned2{turnInPlane(-150 * degree), {-75, 40}};

TransformStart<3> startOf(const AffineMap<3>& map, double factor = 1)
{
  return {sceneImage<3>({3, -2, 4}, {}), sceneImage<3>(map.offset, map, factor), nullptr, nullptr};
}

TEST(SearchedStartTest, FindsATurnAndAShift)
{
  EXPECT_LT(farthest<3>(mapOf(searchedStart<3>(host, startOf(turned3), 60 * degree)), turned3), 2);
  const TransformStart<2> start{sceneImage<2>({3, -2}, {}), sceneImage<2>(turned2.offset, turned2), nullptr,
                                nullptr};
  EXPECT_LT(farthest<2>(mapOf(searchedStart<2>(host, start, 180 * degree)), turned2), 2);
}

TEST(SearchedStartTest, FindsTurnsOfUpTo180Degrees)
{
  for (const AffineMap<3>& map : {AffineMap<3>{turnAbout({1, 0, 0}, 180 * degree), {60, 0, 0}},
                                  AffineMap<3>{turnAbout({-2, 1, 3}, 180 * degree), {-20, 50, 30}},
                                  AffineMap<3>{turnAbout({1, 2, -1}, 150 * degree), {0, -35, 45}},
                                  AffineMap<3>{turnAbout({-1, 1, 1}, 110 * degree), {10, 0, -60}}})
    EXPECT_LT(farthest<3>(mapOf(searchedStart<3>(host, startOf(map), 180 * degree)), map), 2);
}

/// The part of an image from voxel `first` along an axis, `count` voxels thick.
ImagePointer<3> slabOf(const Image<3>& image, int axis, std::size_t first, std::size_t count)
{
  auto slab = std::make_shared<Image<3>>();
  slab->geometry = image.geometry;
  slab->geometry.size[axis] = count;
  Vec<3> corner{};
  corner[axis] = static_cast<double>(first);
  slab->geometry.originMm = image.geometry.pointFromIndex()(corner);
  for (std::size_t voxel = 0; voxel < image.voxels.size(); ++voxel) {
    const Size<3>& size = image.geometry.size;
    const std::size_t index[3] = {voxel % size[0], voxel / size[0] % size[1], voxel / (size[0] * size[1])};
    if (index[axis] >= first && index[axis] < first + count)
      slab->voxels.push_back(image.voxels[voxel]);
  }
  return slab;
}

TEST(SearchedStartTest, FindsAThirdOfTheFieldOfView)
{
  const TransformStart<3> whole = startOf(turned3);
  for (int axis = 0; axis < 3; ++axis)
    for (const bool cropsFixed : {true, false}) {
      TransformStart<3> start = whole;
      (cropsFixed ? start.fixed : start.moving) =
          slabOf(cropsFixed ? *whole.fixed : *whole.moving, axis, 16, 16);
      EXPECT_LT(farthest<3>(mapOf(searchedStart<3>(host, start, 180 * degree)), turned3), 3)
          << (cropsFixed ? "fixed, axis " : "moving, axis ") << axis;
    }
}

TEST(SearchedStartTest, FindsAThickPartInAWideThinOne)
{
  const AffineMap<3> map{turnAbout({0, 0, 1}, 20 * degree), {30, -20, 10}};
  TransformStart<3> start = startOf(map);
  start.fixed = slabOf(*start.fixed, 2, 20, 9);
  for (const int axis : {0, 1})
    start.moving = slabOf(*start.moving, axis, 8, 32);
  start.moving = slabOf(*start.moving, 2, 14, 20); // its volume is the smaller one, and 45 % of it fit in

  EXPECT_LT(farthest<3>(mapOf(searchedStart<3>(host, start, 180 * degree)), map), 6);
}

TEST(SearchedStartTest, TakesTheSmallerOfTwoTurnsThatFitEquallyWell)
{
  // The scene and its copy that is turned by 180 degrees about z.
  const TransformStart<3> once = startOf({});
  auto image = std::make_shared<Image<3>>(*once.fixed);
  image->geometry.originMm.fill(-47);
  for (std::size_t voxel = 0; voxel < image->voxels.size(); ++voxel) {
    const Vec<3> pointMm{2.0 * static_cast<double>(voxel % 48) - 47,
                         2.0 * static_cast<double>(voxel / 48 % 48) - 47,
                         2.0 * static_cast<double>(voxel / (48 * 48)) - 47};
    image->voxels[voxel] = sceneAt<3>(pointMm) + sceneAt<3>({-pointMm[0], -pointMm[1], pointMm[2]});
  }
  const AffineMap<3> turn{turnAbout({0, 0, 1}, 40 * degree), {}};
  auto moving = std::make_shared<Image<3>>(*image);
  moving->geometry.direction = turn.matrix;
  moving->geometry.originMm = turn(image->geometry.originMm);

  const LinearStart<3> found = searchedStart<3>(host, {image, moving, nullptr, nullptr}, 180 * degree);

  EXPECT_LT(farthest<3>(mapOf(found), turn), 2);
}

TEST(SearchedStartTest, ASmallOverlapMustFitMuchBetter)
{
  // The scene comes back every 42 mm along x, and half of the moving image is noisy. A shift by 42 mm leaves
  // the noise out.
  TransformStart<3> start = startOf({});
  auto fixed = std::make_shared<Image<3>>(*start.fixed);
  const AffineMap<3> toPoint = fixed->geometry.pointFromIndex();
  for (std::size_t voxel = 0; voxel < fixed->voxels.size(); ++voxel) {
    const Size<3> index{voxel % 48, voxel / 48 % 48, voxel / (48 * 48)};
    Vec<3> pointMm = toPoint(
        {static_cast<double>(index[0] % 21), static_cast<double>(index[1]), static_cast<double>(index[2])});
    pointMm[0] += 27;
    fixed->voxels[voxel] = sceneAt<3>(pointMm);
  }
  auto moving = std::make_shared<Image<3>>(*fixed);
  std::uint32_t random = 1;
  for (std::size_t voxel = 0; voxel < moving->voxels.size(); ++voxel) {
    random = random * 1664525 + 1013904223;
    if (voxel % 48 >= 27)
      moving->voxels[voxel] += 10 * static_cast<float>(random >> 16) / 65536.0f;
  }

  const LinearStart<3> found = searchedStart<3>(host, {fixed, moving, nullptr, nullptr}, 180 * degree);

  EXPECT_LT(farthest<3>(mapOf(found), {}), 2);
}

TEST(SearchedStartTest, DetailsCountBesideTheBrightnessOfTheField)
{
  // Both images are brighter towards one side, as near a coil, but not towards the same one. Turned by 180
  // degrees they share that brightness, and in place the cubes of 6 mm alone.
  TransformStart<3> start = startOf({});
  for (const double perVoxel : {-1.0, 1.0}) {
    auto image = std::make_shared<Image<3>>(*start.fixed);
    std::vector<float> cubes(16 * 16 * 16);
    std::uint32_t random = 1;
    for (float& cube : cubes) {
      random = random * 1664525 + 1013904223;
      cube = 30 * static_cast<float>(random >> 16) / 65536.0f;
    }
    for (std::size_t voxel = 0; voxel < image->voxels.size(); ++voxel) {
      const std::size_t x = voxel % 48, y = voxel / 48 % 48, z = voxel / (48 * 48);
      image->voxels[voxel] =
          cubes[x / 3 + 16 * (y / 3) + 256 * (z / 3)] + static_cast<float>(perVoxel * static_cast<double>(x));
    }
    (perVoxel < 0 ? start.moving : start.fixed) = image;
  }

  EXPECT_LT(farthest<3>(mapOf(searchedStart<3>(host, start, 180 * degree)), {}), 2);
}

TEST(SearchedStartTest, FindsItInImagesOfInvertedContrast)
{
  EXPECT_LT(farthest<3>(mapOf(searchedStart<3>(host, startOf(turned3, -1), 60 * degree)), turned3), 2);
}

TEST(SearchedStartTest, ComparesMasksAlone)
{
  // Bright bars, which are in other places in the two images, lie outside both masks.
  TransformStart<3> start = startOf(turned3);
  for (const bool isFixed : {true, false}) {
    auto image = std::make_shared<Image<3>>(isFixed ? *start.fixed : *start.moving);
    std::vector<std::uint8_t> inside(image->voxels.size(), 1);
    for (std::size_t voxel = 0; voxel < image->voxels.size(); ++voxel) {
      const std::size_t x = voxel % 48, z = voxel / (48 * 48);
      if (isFixed ? x < 8 : z >= 40) {
        image->voxels[voxel] = 500;
        inside[voxel] = 0;
      }
    }
    (isFixed ? start.fixedMask : start.movingMask) =
        std::make_shared<Mask<3>>(image->geometry, std::move(inside));
    (isFixed ? start.fixed : start.moving) = image;
  }

  EXPECT_LT(farthest<3>(mapOf(searchedStart<3>(host, start, 60 * degree)), turned3), 2.5);
}

TEST(SearchedStartTest, OneMaskAloneChangesNothing)
{
  TransformStart<3> start = startOf(turned3);
  const LinearStart<3> expected = searchedStart<3>(host, start, 60 * degree);
  std::vector<std::uint8_t> inside(start.fixed->voxels.size(), 0);
  std::fill_n(inside.begin() + 48 * 48 * 20, 48 * 48 * 4, 1);
  start.fixedMask = std::make_shared<Mask<3>>(start.fixed->geometry, std::move(inside));

  const LinearStart<3> found = searchedStart<3>(host, start, 60 * degree);

  EXPECT_EQ(found.translationMm, expected.translationMm);
  EXPECT_EQ(found.rotation, expected.rotation);
}

TEST(SearchedStartTest, WithoutAnAngleItOnlyShifts)
{
  const AffineMap<3> shift{identityMatrix<3>(), {40, -70, 25}};

  const LinearStart<3> found = searchedStart<3>(host, startOf(shift), 0);

  EXPECT_EQ(found.rotation, identityMatrix<3>());
  EXPECT_LT(farthest<3>(mapOf(found), shift), 1);
}

TEST(SearchedStartTest, RepeatsItsBitsForAnyThreadCount)
{
  const TransformStart<3> start = startOf(turned3);
  Context one{{}, 1}, three{{}, 3};
  const LinearStart<3> first = searchedStart<3>(one, start, 180 * degree);
  const LinearStart<3> again = searchedStart<3>(three, start, 180 * degree);
  EXPECT_EQ(again.rotation, first.rotation);
  EXPECT_EQ(again.translationMm, first.translationMm);
}

TEST(SearchedStartTest, AnImageOfOneIntensityIsAnError)
{
  TransformStart<3> start = startOf(turned3);
  auto flat = std::make_shared<Image<3>>(*start.moving);
  std::ranges::fill(flat->voxels, 7.0f);
  start.moving = flat;
  const std::string error =
      errorText([&] { searchedStart<3>(host, start, 1); }, ExitCode::registrationFailed);
  EXPECT_PRED2(contains, error, "the moving image has only one intensity");
}

template <class T, int D>
void expectStartsAt(const AffineMap<D>& map, const TransformStart<D>& start, const std::string& more = "",
                    double toleranceMm = 2)
{
  T transform(parametersOf("(AutomaticTransformInitialization \"true\")\n"
                           "(AutomaticTransformInitializationMethod \"Search\")\n"
                           "(AutomaticTransformInitializationSearchAngle "
                               + std::string(D == 2 ? "180" : "60") + ")\n" + more,
                           D, 1));
  const std::vector<double> parameters = transform.initialize(host, start);
  EXPECT_LT(farthest<D>(transform.pointMap(parameters), map), toleranceMm) << transform.name() << more;
}

TEST(SearchedStartTest, AllLinearTransformsStartThere)
{
  const TransformStart<2> start2{sceneImage<2>({3, -2}, {}), sceneImage<2>(turned2.offset, turned2), nullptr,
                                 nullptr};
  expectStartsAt<EulerTransform<2>, 2>(turned2, start2);
  expectStartsAt<SimilarityTransform<2>, 2>(turned2, start2);
  expectStartsAt<AffineTransform<2>, 2>(turned2, start2, "(CenterOfRotationPoint 30 -40)");
  expectStartsAt<AffineLogTransform<2>, 2>(turned2, start2);

  const TransformStart<3> start3 = startOf(turned3);
  expectStartsAt<EulerTransform<3>, 3>(turned3, start3);
  expectStartsAt<EulerTransform<3>, 3>(turned3, start3, "(ComputeZYX \"true\")");
  expectStartsAt<EulerTransform<3>, 3>(turned3, start3, "(CenterOfRotationPoint 10 -50 80)");
  expectStartsAt<SimilarityTransform<3>, 3>(turned3, start3);
  expectStartsAt<AffineTransform<3>, 3>(turned3, start3);
  expectStartsAt<AffineLogTransform<3>, 3>(turned3, start3);

  const AffineMap<3> shift{identityMatrix<3>(), {40, -70, 25}};
  expectStartsAt<TranslationTransform<3>, 3>(shift, startOf(shift), "", 1);
}

TEST(SearchedStartTest, NothingIsSearchedWhereAnotherTransformIsTheStart)
{
  TransformStart<3> start = startOf(turned3);
  auto flat = std::make_shared<Image<3>>(*start.moving);
  std::ranges::fill(flat->voxels, 7.0f); // a search would be an error
  start.moving = flat;
  TransformChain<3> before{.transform = std::make_shared<TranslationTransform<3>>(parametersOf("", 3, 1)),
                           .parameters = {1, 2, 3}};
  start.initial = &before;
  EulerTransform<3> transform(parametersOf("(AutomaticTransformInitialization \"true\")\n"
                                           "(AutomaticTransformInitializationMethod \"Search\")\n",
                                           3, 1));
  EXPECT_EQ(transform.initialize(host, start), std::vector<double>(6));
}

}
}
