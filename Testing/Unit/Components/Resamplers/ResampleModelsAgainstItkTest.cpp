// needs: ITK
#include "Testing/Support/Checks/ItkResampleChecks.h"
#include "Testing/Support/Scenes/ModelTransforms.h"

#include <itkDisplacementFieldTransform.h>
#include <itkElasticBodyReciprocalSplineKernelTransform.h>
#include <itkElasticBodySplineKernelTransform.h>
#include <itkThinPlateR2LogRSplineKernelTransform.h>
#include <itkThinPlateSplineKernelTransform.h>
#include <itkTransformFactory.h>
#include <itkVectorNearestNeighborInterpolateImageFunction.h>
#include <itkVolumeSplineKernelTransform.h>

using namespace tessera;
using namespace tessera::testing;

namespace {

/// ITK's spline of landmarks, ready to map points once it has its parameters: the targets are its fixed
/// parameters.
template <class Base>
class SolvedSpline : public Base {
public:
  using Self = SolvedSpline;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  void SetParameters(const typename Base::ParametersType& sources) override
  {
    Base::SetParameters(sources);
    this->SetStiffness(0.1); // as splineOf has it
    this->ComputeWMatrix();
  }
};

/// ITK's displacement field by the nearest voxel.
template <int D>
class NearestFieldTransform : public itk::DisplacementFieldTransform<double, D> {
public:
  using Self = NearestFieldTransform;
  using Base = itk::DisplacementFieldTransform<double, D>;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  itkTypeMacro(NearestFieldTransform, DisplacementFieldTransform);

protected:
  NearestFieldTransform()
  {
    this->SetInterpolator(
        itk::VectorNearestNeighborInterpolateImageFunction<typename Base::DisplacementFieldType,
                                                           double>::New());
  }
};

/// They are made by their names.
class ResampleModelsAgainstItk : public ::testing::Test {
protected:
  static void SetUpTestSuite()
  {
    itk::TransformFactory<
        SolvedSpline<itk::ThinPlateR2LogRSplineKernelTransform<double, 2>>>::RegisterTransform();
    itk::TransformFactory<SolvedSpline<itk::ThinPlateSplineKernelTransform<double, 3>>>::RegisterTransform();
    itk::TransformFactory<
        SolvedSpline<itk::ThinPlateR2LogRSplineKernelTransform<double, 3>>>::RegisterTransform();
    itk::TransformFactory<SolvedSpline<itk::VolumeSplineKernelTransform<double, 3>>>::RegisterTransform();
    itk::TransformFactory<
        SolvedSpline<itk::ElasticBodySplineKernelTransform<double, 3>>>::RegisterTransform();
    itk::TransformFactory<
        SolvedSpline<itk::ElasticBodyReciprocalSplineKernelTransform<double, 3>>>::RegisterTransform();
    itk::TransformFactory<NearestFieldTransform<2>>::RegisterTransform();
    itk::TransformFactory<NearestFieldTransform<3>>::RegisterTransform();
  }
};

/// A transform, here and in ITK.
template <int D>
struct Model {
  TransformChain<D> link;
  ItkTransform itk;
};

template <int D>
Model<D> splineModel(const ImageGeometry<D>& fixed, const std::string& type)
{
  const PointPairs<D> pairs = scatteredLandmarks<D>(fixed, 13, 1.5);
  Model<D> model{splineOf<D>(type, pairs, "(SplinePoissonRatio 0.25)\n"), {}}; // ITK's
  const std::string dimension = std::to_string(D);
  // in 2D every spline is the same here
  model.itk.className =
      (D == 2 ? "ThinPlateR2LogRSpline" : type) + "KernelTransform_double_" + dimension + "_" + dimension;
  model.itk.fixedParameters = model.link.parameters;
  for (const Vec<D>& pointMm : pairs.fixedMm)
    model.itk.parameters.insert(model.itk.parameters.end(), pointMm.begin(), pointMm.end());
  return model;
}

template <int D>
Model<D> fieldModel(const ImageGeometry<D>& grid, const Vec<D>& centerMm, int order)
{
  const TransformChain<D> linear = randomField<D>(grid, centerMm, 1);
  Model<D> model{order == 1 ? linear : randomField<D>(grid, centerMm, 0), linear.transform->itkTransform({})};
  if (order == 0)
    model.itk.className.replace(0, std::string("Displacement").size(), "Nearest");
  return model;
}

/// Left-handed, turned against both images; it ends within the fixed one.
template <int D>
ImageGeometry<D> gridWithin(const ImageGeometry<D>& fixed, const Size<D>& size)
{
  ImageGeometry<D> grid = obliqueGeometry<D>(size);
  for (auto& row : grid.direction)
    std::swap(row[0], row[1]);
  for (int d = 0; d < D; ++d)
    grid.spacingMm[d] =
        0.7 * static_cast<double>(fixed.size[d]) * fixed.spacingMm[d] / static_cast<double>(size[d]);
  return grid;
}

template <int D>
Size<D> fieldSize()
{
  if constexpr (D == 2)
    return {9, 7};
  else
    return {9, 7, 5};
}

/// Letters as letterChain's, and P a spline of landmarks of this type, F and N a linear and a nearest field;
/// the last is applied first.
template <int D>
void expectAsItk(const ResampleScene<D>& scene, const std::string& word,
                 const std::string& splineType = "ThinPlateSpline",
                 const Size<D>& sizeOfField = fieldSize<D>(), int highestOrder = 5)
{
  const ImageGeometry<D>& fixed = scene.fixed->geometry;
  TransformChain<D> chain;
  std::vector<ItkTransform> transforms;
  for (auto letter = word.rbegin(); letter != word.rend(); ++letter) {
    Model<D> model;
    if (*letter == 'P') {
      model = splineModel<D>(fixed, splineType);
    } else if (*letter == 'F' || *letter == 'N') {
      model = fieldModel<D>(gridWithin<D>(fixed, sizeOfField), fixed.centerMm(), *letter == 'F' ? 1 : 0);
    } else {
      model.link = letterChain<D>(std::string(1, *letter), scene.fixed);
      model.itk = itkTransformsOf<D>(model.link).front();
    }
    if (chain.transform)
      model.link.initial = std::make_shared<TransformChain<D>>(chain);
    chain = model.link;
    transforms.insert(transforms.begin(), model.itk);
  }
  for (const InterpolationWay& way : interpolationWays)
    if (way.name != "BSplineInterpolator" || way.order <= highestOrder)
      expectAsItk<D>(scene, chain, transforms, way, word + " " + splineType);
}

const std::vector<std::string> pairsOfModels{"PF", "FP", "PN", "NP", "PP", "FF", "FN", "PA", "AP",
                                             "FE", "SF", "NT", "TN", "PB", "BP", "FB", "BF"};

TEST_F(ResampleModelsAgainstItk, SplinesOfLandmarksIn2D)
{
  expectAsItk<2>(ResampleScene<2>({37, 41}, {33, 38}), "P", "ThinPlateSpline");
  expectAsItk<2>(ResampleScene<2>({37, 41}, {33, 38}), "P", "ThinPlateR2LogRSpline");
}

TEST_F(ResampleModelsAgainstItk, SplinesOfLandmarksIn3D)
{
  const ResampleScene<3> scene({17, 19, 13}, {16, 15, 14});
  for (const std::string& type : splineTypes)
    for (const char* word : {"P", "PE", "AP"})
      expectAsItk<3>(scene, word, type);
}

TEST_F(ResampleModelsAgainstItk, Fields)
{
  const ResampleScene<2> plane({37, 41}, {33, 38});
  const ResampleScene<3> space({17, 19, 13}, {16, 15, 14});
  for (const char* word : {"F", "N"}) {
    expectAsItk<2>(plane, word);
    expectAsItk<3>(space, word);
  }
}

TEST_F(ResampleModelsAgainstItk, ChainsOfTwoIn2D)
{
  const ResampleScene<2> scene({37, 41}, {33, 38});
  for (const std::string& word : pairsOfModels)
    expectAsItk<2>(scene, word);
}

TEST_F(ResampleModelsAgainstItk, ChainsOfTwoIn3D)
{
  const ResampleScene<3> scene({17, 19, 13}, {16, 15, 14});
  for (const std::string& word : pairsOfModels)
    expectAsItk<3>(scene, word);
}

TEST_F(ResampleModelsAgainstItk, ImagesAndFieldsOfOneSlice)
{
  const ResampleScene<3> onto({23, 19, 1}, {21, 18, 12}), from({23, 19, 7}, {22, 18, 1});
  for (const char* word : {"P", "F", "N", "PF"}) {
    expectAsItk<3>(onto, word);
    expectAsItk<3>(from, word, "ThinPlateSpline", fieldSize<3>(),
                   1); // ITK has no coefficients of lines shorter than its support
    expectAsItk<3>(onto, word, "ThinPlateSpline", {9, 7, 1});
    expectAsItk<3>(from, word, "ThinPlateSpline", {1, 7, 5}, 1);
  }
}

/// Fixed voxels on those of the field, midway between them, and on its border.
TEST_F(ResampleModelsAgainstItk, OnVoxelsOfAFieldAndMidwayBetweenThem)
{
  ResampleScene<3> scene({9, 9, 7}, {9, 9, 7});
  auto moving = std::make_shared<Image<3>>(*scene.moving);
  moving->geometry = {{9, 9, 7}, {2, 1, 4}, {-8, 16, 4}, identityMatrix<3>()};
  scene.moving = moving;
  scene.fixed = std::make_shared<Image<3>>(*moving);
  const ImageGeometry<3> grid{{3, 5, 3}, {4, 2, 8}, {}, identityMatrix<3>()};
  for (const int order : {0, 1}) {
    const Model<3> model = fieldModel<3>(grid, moving->geometry.centerMm(), order);
    for (const InterpolationWay& way : interpolationWays)
      expectAsItk<3>(scene, model.link, {model.itk}, way, "field of order " + std::to_string(order));
  }
}

}
