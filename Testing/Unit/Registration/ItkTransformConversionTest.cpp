// needs: ITK
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"

#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/SimilarityTransform.h"
#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ErrorText.h"

#include <itkAffineTransform.h>
#include <itkBSplineTransform.h>
#include <itkEuler2DTransform.h>
#include <itkEuler3DTransform.h>
#include <itkRigid2DTransform.h>
#include <itkSimilarity2DTransform.h>
#include <itkSimilarity3DTransform.h>
#include <itkTranslationTransform.h>
#include <itkVersorRigid3DTransform.h>

using namespace tessera;
using namespace tessera::testing;
using namespace tessera::checks;

namespace {

template <int D>
Registry knownTransforms()
{
  Registry registry;
  registry.add<Transform<D>, TranslationTransform<D>>();
  registry.add<Transform<D>, EulerTransform<D>>();
  registry.add<Transform<D>, SimilarityTransform<D>>();
  registry.add<Transform<D>, AffineTransform<D>>();
  registry.add<Transform<D>, BSplineTransform<D>>();
  return registry;
}

template <class Array>
std::vector<double> toVector(const Array& array)
{
  return {array.begin(), array.end()};
}

template <class T>
ItkTransform described(const T& transform)
{
  return {transform.GetTransformTypeAsString(), toVector(transform.GetFixedParameters()),
          toVector(transform.GetParameters())};
}

/// Our transform maps as ITK's does, and gives ITK's description back unless `oneWay`.
template <int D, class T>
void expectSameAsItk(const T& transform, bool oneWay = false)
{
  const ItkTransform description = described(transform);
  const Points<D> points = randomPoints<D>(50, 6, -30, 30);
  Points<D> found(50);
  Context context;

  const auto chain = chainFromItk<D>({description}, knownTransforms<D>(), "file.tfm", {});
  mapChain<D>(context, *chain, points.list(), found.out());

  for (std::size_t i = 0; i < points.count(); ++i) {
    typename T::InputPointType point;
    for (int d = 0; d < D; ++d)
      point[d] = points.mm[d][i];
    const auto expected = transform.TransformPoint(point);
    for (int d = 0; d < D; ++d)
      ASSERT_NEAR(found.mm[d][i], expected[d], 1e-12)
          << description.className; // some 10 roundings of numbers below 100
  }
  if (oneWay)
    return;
  const ItkTransform back = chain->transform->itkTransform(chain->parameters);
  EXPECT_EQ(back.className, description.className);
  EXPECT_EQ(back.parameters, description.parameters);
  EXPECT_EQ(back.fixedParameters, description.fixedParameters);
}

template <class T>
typename T::Pointer itkTransform(const std::vector<double>& parameters, const std::vector<double>& fixed = {})
{
  auto transform = T::New();
  typename T::FixedParametersType fixedArray(fixed.size());
  std::copy(fixed.begin(), fixed.end(), fixedArray.begin());
  if (!fixed.empty())
    transform->SetFixedParameters(fixedArray);
  typename T::ParametersType array(parameters.size());
  std::copy(parameters.begin(), parameters.end(), array.begin());
  transform->SetParameters(array);
  return transform;
}

}

TEST(ItkTransformConversion, PlaneTransformsMapAsItkDoes)
{
  expectSameAsItk<2>(*itkTransform<itk::TranslationTransform<double, 2>>({3, -4}));
  expectSameAsItk<2>(*itkTransform<itk::Euler2DTransform<double>>({0.3, 5, 6}, {7, -8}));
  expectSameAsItk<2>(*itkTransform<itk::Rigid2DTransform<double>>({0.3, 5, 6}, {7, -8}), true);
  expectSameAsItk<2>(*itkTransform<itk::Similarity2DTransform<double>>({1.2, 0.3, 5, 6}, {7, -8}));
  expectSameAsItk<2>(*itkTransform<itk::AffineTransform<double, 2>>({1.1, 0.2, -0.3, 0.9, 5, 6}, {7, -8}));
}

TEST(ItkTransformConversion, SpaceTransformsMapAsItkDoes)
{
  expectSameAsItk<3>(*itkTransform<itk::TranslationTransform<double, 3>>({3, -4, 5}));
  expectSameAsItk<3>(*itkTransform<itk::Euler3DTransform<double>>({0.1, -0.2, 0.3, 5, 6, 7}, {8, -9, 10, 0}));
  expectSameAsItk<3>(*itkTransform<itk::Euler3DTransform<double>>({0.1, -0.2, 0.3, 5, 6, 7}, {8, -9, 10, 1}));
  expectSameAsItk<3>(
      *itkTransform<itk::Similarity3DTransform<double>>({0.1, -0.2, 0.3, 5, 6, 7, 1.2}, {8, -9, 10}));
  expectSameAsItk<3>(
      *itkTransform<itk::VersorRigid3DTransform<double>>({0.1, -0.2, 0.3, 5, 6, 7}, {8, -9, 10}), true);
  expectSameAsItk<3>(*itkTransform<itk::AffineTransform<double, 3>>(
      {1.1, 0.2, -0.3, 0.1, 0.9, 0.2, 0.05, 0, 1.2, 5, 6, 7}, {8, -9, 10}));
}

TEST(ItkTransformConversion, ObliqueBSplineMapsAsItkDoes)
{
  // 6 x 7 control points, 12 mm apart, turned by 36.87 degrees.
  expectSameAsItk<2>(*itkTransform<itk::BSplineTransform<double, 2, 3>>(
      randomVector(84, 1), {6, 7, -20, -60, 12, 12, 0.8, -0.6, 0.6, 0.8}));
  expectSameAsItk<2>(*itkTransform<itk::BSplineTransform<double, 2, 2>>(
      randomVector(84, 1), {6, 7, -20, -60, 12, 12, 0.8, -0.6, 0.6, 0.8}));
}

TEST(ItkTransformConversion, BSplinesOfOtherOrdersMapAsItkDoes)
{
  const std::vector<double> plane{6, 7, -20, -60, 12, 12, 0.8, -0.6, 0.6, 0.8},
      space{6, 7, 5, -20, -60, -30, 12, 12, 14, 0.8, -0.6, 0, 0.6, 0.8, 0, 0, 0, 1};
  expectSameAsItk<2>(*itkTransform<itk::BSplineTransform<double, 2, 1>>(randomVector(84, 1), plane));
  expectSameAsItk<3>(*itkTransform<itk::BSplineTransform<double, 3, 1>>(randomVector(630, 1), space));
  expectSameAsItk<3>(*itkTransform<itk::BSplineTransform<double, 3, 2>>(randomVector(630, 1), space));
  expectSameAsItk<2>(*itkTransform<itk::BSplineTransform<double, 2, 0>>(randomVector(84, 1), plane), true);
  expectSameAsItk<3>(*itkTransform<itk::BSplineTransform<double, 3, 0>>(randomVector(630, 1), space), true);
}

TEST(ItkTransformConversion, ThatABSplineOfOrder0MovesNoPointIsTold)
{
  const ItkTransform spline{
      "BSplineTransform_double_2_2_0", {2, 2, 0, 0, 1, 1, 1, 0, 0, 1}, std::vector<double>(8, 1.0)};
  std::string told;
  chainFromItk<2>({spline}, knownTransforms<2>(), "file.tfm", [&](const std::string& line) { told += line; });
  EXPECT_EQ(told, "file.tfm: BSplineTransform_double_2_2_0: a B-spline of order 0 moves no point, as in ITK "
                  "and SimpleITK.");
}

TEST(ItkTransformConversion, VersorOfLengthOneIsShortenedAsItkDoes)
{
  const std::vector<double> parameters{0.6, 0.8, 0.1, 5, 6, 7, 1.2}; // longer than 1
  const auto transform = itkTransform<itk::Similarity3DTransform<double>>(parameters, {8, -9, 10});
  ItkTransform description = described(*transform);
  description.parameters = parameters;
  Context context;
  Points<3> points = randomPoints<3>(1, 6, {-30, -30, -30}, {30, 30, 30}), found(1);

  const auto chain = chainFromItk<3>({description}, knownTransforms<3>(), "file.tfm", {});
  mapChain<3>(context, *chain, points.list(), found.out());

  itk::Point<double, 3> point;
  for (int d = 0; d < 3; ++d)
    point[d] = points.mm[d][0];
  const auto expected = transform->TransformPoint(point);
  for (int d = 0; d < 3; ++d)
    EXPECT_NEAR(found.mm[d][0], expected[d],
                1e-9); // w is the root of a cancellation, 1e-5 +- 1e-11, times 60 mm
}

TEST(ItkTransformConversion, OfSeveralTheLastIsAppliedFirst)
{
  const ItkTransform turn{"Euler2DTransform_double_2_2", {0, 0}, {std::acos(-1) / 2, 0, 0}};
  const ItkTransform shift{"TranslationTransform_double_2_2", {}, {1, 0}};
  Context context;
  Points<2> points(1), found(1);

  const auto chain = chainFromItk<2>({turn, shift}, knownTransforms<2>(), "file.tfm", {});
  mapChain<2>(context, *chain, points.list(), found.out());

  EXPECT_NEAR(found.mm[0][0], 0, 1e-15);
  EXPECT_NEAR(found.mm[1][0], 1, 1e-15);
}

TEST(ItkTransformConversion, IdentityIsATranslationByNothing)
{
  const auto chain =
      chainFromItk<3>({{"IdentityTransform_double_3_3", {}, {}}}, knownTransforms<3>(), "file.tfm", {});

  EXPECT_EQ(chain->parameters, (std::vector<double>{0, 0, 0}));
}

TEST(ItkTransformConversion, WhatHasNoCounterpartIsAnErrorThatNamesWhatHas)
{
  const auto failure = [](const ItkTransform& transform) {
    return errorText([&] { chainFromItk<3>({transform}, knownTransforms<3>(), "file.tfm", {}); },
                     ExitCode::unreadableInput);
  };
  EXPECT_TRUE(failure({"ScaleTransform_double_3_3", {}, {}})
                  .starts_with("file.tfm: ScaleTransform_double_3_3: no transform of this class is read. "
                               "Allowed: TranslationTransform, "));
  EXPECT_PRED2(contains, failure({"", {}, {}}), "no transform of this class is read");
  EXPECT_PRED2(contains, failure({"AffineTransform_double_2_2", {0, 0}, {}}),
               "a transform in 2D where 3D is needed");
  EXPECT_PRED2(contains, failure({"AffineTransform_double_3_3", {0, 0}, {}}),
               "2 fixed parameters. Allowed: 3.");
}
