#include "Components/Transforms/Shared/AutomaticInitialization.h"

#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

template <int D>
std::shared_ptr<Image<D>> imageOf(const ImageGeometry<D>& geometry)
{
  auto image = std::make_shared<Image<D>>();
  image->geometry = geometry;
  image->voxels.assign(geometry.voxelCount(), 0.0f);
  return image;
}

/// A mask of one voxel or more: the box from `first` to `last`.
MaskPointer<2> boxMask(const ImageGeometry<2>& geometry, const Size<2>& first, const Size<2>& last)
{
  auto mask = std::make_shared<Mask<2>>(geometry, std::vector<std::uint8_t>(geometry.voxelCount(), 0));
  for (std::size_t y = first[1]; y <= last[1]; ++y)
    for (std::size_t x = first[0]; x <= last[0]; ++x)
      mask->voxels[x + geometry.size[0] * y] = 1;
  return mask;
}

class AutomaticInitialization : public ::testing::Test {
protected:
  std::shared_ptr<Image<2>> fixed = imageOf<2>({{11, 21}, {1, 2}, {10, 20}}); // centre (15, 40)
  std::shared_ptr<Image<2>> moving = imageOf<2>({{31, 11}, {2, 1}, {-5, 3}}); // centre (25, 8)
  std::vector<std::string> warnings;
  Context context;

  Parameters text(const std::string& lines, std::size_t dimension = 2)
  {
    return parametersOf(lines, dimension, 1, "Transform0",
                        [this](const std::string& line) { warnings.push_back(line); });
  }
  static std::string automatic(const std::string& method)
  {
    return "(AutomaticTransformInitialization \"true\")\n(AutomaticTransformInitializationMethod \"" + method
           + "\")\n";
  }
  TransformStart<2> start(const MaskPointer<2>& fixedMask = nullptr,
                          const MaskPointer<2>& movingMask = nullptr) const
  {
    return {fixed, moving, fixedMask, movingMask, nullptr};
  }
};

using V = std::vector<double>;

}

TEST_F(AutomaticInitialization, WithoutItTheStartIsTheIdentityAboutTheGeometricalCenter)
{
  EulerTransform<2> transform(text(""));

  EXPECT_EQ(transform.initialize(context, start()), (V{0, 0, 0}));
  EXPECT_EQ(transform.centerMm(), (Vec<2>{15, 40}));
}

TEST_F(AutomaticInitialization, GeometricalCenterAlignsCentersOfImages)
{
  EulerTransform<2> transform(text(automatic("GeometricalCenter")));

  EXPECT_EQ(transform.initialize(context, start(boxMask(fixed->geometry, {0, 0}, {1, 1}))), (V{0, 10, -32}));
}

TEST_F(AutomaticInitialization, GeometricalCenterOfAffineIsThatOfTheMasksBoxInPhysicalSpace)
{
  AffineTransform<2> transform(text(automatic("GeometricalCenter")));
  const ImageGeometry<2> other{{8, 8}, {3, 3}, {100, 200}}; // not the moving image's grid

  const V parameters = transform.initialize(
      context, start(boxMask(fixed->geometry, {2, 4}, {5, 4}), boxMask(other, {1, 2}, {2, 6})));

  EXPECT_EQ(transform.centerMm(), (Vec<2>{13.5, 28}));
  EXPECT_EQ(parameters, (V{1, 0, 0, 1, 104.5 - 13.5, 212 - 28}));
}

TEST_F(AutomaticInitialization, TranslationTakesHalfTheSizeAsElastix)
{
  TranslationTransform<2> transform(text(automatic("GeometricalCenter")));

  // (10 + 5.5, 20 + 2 * 10.5) to (-5 + 2 * 15.5, 3 + 5.5)
  EXPECT_EQ(transform.initialize(context, start()), (V{26 - 15.5, 8.5 - 41}));
}

TEST_F(AutomaticInitialization, CenterOfGravityWeighsByIntensityAndIgnoresMasksForEuler)
{
  fixed->voxels[3 + 11 * 4] = 3;   // (13, 28)
  fixed->voxels[7 + 11 * 4] = 1;   // (17, 28)
  moving->voxels[10 + 31 * 5] = 2; // (15, 8)
  EulerTransform<2> transform(text(automatic("CenterOfGravity")));

  EXPECT_EQ(transform.initialize(context, start(boxMask(fixed->geometry, {7, 4}, {7, 4}))), (V{0, 1, -20}));
  EXPECT_EQ(transform.centerMm(), (Vec<2>{14, 28}));
}

TEST_F(AutomaticInitialization, CenterOfGravityOfAffineCountsOnlyTheMaskAndThreshold)
{
  fixed->voxels[3 + 11 * 4] = 900; // (13, 28)
  fixed->voxels[4 + 11 * 4] = 500; // (14, 28): at the threshold
  fixed->voxels[5 + 11 * 4] = 499;
  fixed->voxels[9 + 11 * 9] = 900;   // outside the mask
  moving->voxels[10 + 31 * 5] = 600; // (15, 8)
  AffineTransform<2> transform(
      text(automatic("CenterOfGravity") + "(CenterOfGravityUsesLowerThreshold \"true\")"));

  const V parameters = transform.initialize(context, start(boxMask(fixed->geometry, {0, 0}, {10, 5})));

  EXPECT_EQ(transform.centerMm(), (Vec<2>{13.5, 28}));
  EXPECT_EQ(parameters, (V{1, 0, 0, 1, 1.5, -20}));
}

TEST_F(AutomaticInitialization, GravitySamplesAreTakenOnAGrid)
{
  fixed->voxels.assign(fixed->voxels.size(), 1.0f);
  fixed->voxels[1] = 1000; // between grid voxels: 231 voxels, 60 wanted, step round(sqrt(3.85)) = 2
  moving->voxels.assign(moving->voxels.size(), 1.0f);
  AffineTransform<2> transform(
      text(automatic("CenterOfGravity") + "(NumberOfSamplesForCenteredTransformInitialization 60)"));

  transform.initialize(context, start());

  EXPECT_EQ(transform.centerMm(), (Vec<2>{15, 40}));
}

TEST_F(AutomaticInitialization, CenterOfGravityOfTranslationCountsEveryVoxelOfTheMask)
{
  fixed->voxels[3 + 11 * 4] = 3;   // (13, 28)
  fixed->voxels[7 + 11 * 4] = 1;   // (17, 28)
  fixed->voxels[9 + 11 * 9] = 900; // outside the mask
  moving->voxels[10 + 31 * 5] = 2; // (15, 8)
  TranslationTransform<2> transform(text(automatic("CenterOfGravity")));

  EXPECT_EQ(transform.initialize(context, start(boxMask(fixed->geometry, {0, 0}, {10, 5}))), (V{1, -20}));
}

TEST_F(AutomaticInitialization, OriginsCoincide)
{
  AffineTransform<2> transform(text(automatic("Origins")));

  EXPECT_EQ(transform.initialize(context, start()), (V{1, 0, 0, 1, -15, -17}));
  EXPECT_EQ(transform.centerMm(), (Vec<2>{25 + 15, 8 + 17}));
}

TEST_F(AutomaticInitialization, GeometryTopAlignsHighestSlices)
{
  const auto fixed3 = imageOf<3>({{10, 10, 5}, {1, 1, 4}, {0, 0, 0}}),
             moving3 = imageOf<3>({{20, 20, 10}, {1, 1, 2}, {3, 4, 5}});
  AffineTransform<3> transform(text(automatic("GeometryTop"), 3));

  const V parameters = transform.initialize(context, {fixed3, moving3, nullptr, nullptr, nullptr});

  EXPECT_EQ(transform.centerMm(), (Vec<3>{5, 5, 10})); // corners 0 and size, as elastix
  EXPECT_EQ(parameters, (V{1, 0, 0, 0, 1, 0, 0, 0, 1, 13 - 5, 14 - 5, 25 - 20}));
}

TEST_F(AutomaticInitialization, GeometryTopNeedsThreeDimensions)
{
  AffineTransform<2> transform(text(automatic("GeometryTop")));
  EXPECT_THROW(transform.initialize(context, start()), Error);
}

TEST_F(AutomaticInitialization, MethodOfAnotherTransformIsGeometricalCenterWithAWarning)
{
  EulerTransform<2> transform(text(automatic("Origins")));

  EXPECT_EQ(transform.initialize(context, start()), (V{0, 10, -32}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_PRED2(contains, warnings[0], "GeometricalCenter is used");
}

TEST_F(AutomaticInitialization, UnknownMethodIsAnErrorThatListsTheMethods)
{
  EulerTransform<2> transform(text(automatic("CentreOfGravity")));
  const std::string message = errorText([&] { transform.initialize(context, start()); });
  for (const char* method : {"GeometricalCenter", "CenterOfGravity", "Origins", "GeometryTop"})
    EXPECT_PRED2(contains, message, method);
}

TEST_F(AutomaticInitialization, EmptyImageHasNoCenterOfGravity)
{
  EulerTransform<2> transform(text(automatic("CenterOfGravity")));
  EXPECT_EQ(exitCodeOf([&] { transform.initialize(context, start()); }), ExitCode::registrationFailed);
}

TEST_F(AutomaticInitialization, InitialTransformMovesTheCenterAndForbidsTheTranslation)
{
  const auto shift = std::make_shared<TransformChain<2>>();
  shift->transform = std::make_shared<TranslationTransform<2>>(text(""));
  shift->parameters = {100, 200};
  TransformStart<2> begin = start();
  begin.initial = shift.get();
  EulerTransform<2> composed(text(automatic("GeometricalCenter")));
  EulerTransform<2> added(text(automatic("GeometricalCenter") + "(HowToCombineTransforms \"Add\")"));

  EXPECT_EQ(composed.initialize(context, begin), (V{0, 0, 0}));
  EXPECT_EQ(composed.centerMm(), (Vec<2>{115, 240}));
  added.initialize(context, begin);
  EXPECT_EQ(added.centerMm(), (Vec<2>{15, 40}));
}

TEST_F(AutomaticInitialization, CenterOfRotationIsAnIndexAndWinsOverThePoint)
{
  EulerTransform<2> byIndex(text("(CenterOfRotation 2 3)\n(CenterOfRotationPoint 1 1)"));
  EulerTransform<2> byPoint(text("(CenterOfRotation 2)\n(CenterOfRotationPoint 12 30)"));

  byIndex.initialize(context, start());
  byPoint.initialize(context, start());

  EXPECT_EQ(byIndex.centerMm(), (Vec<2>{12, 26}));
  EXPECT_EQ(byPoint.centerMm(), (Vec<2>{12, 30}));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(AutomaticInitialization, CenterOutsideTheImageIsWarnedOf)
{
  EulerTransform<2> transform(text("(CenterOfRotation 200 3)"));

  transform.initialize(context, start());

  EXPECT_EQ(warnings.size(), 1u);
}
