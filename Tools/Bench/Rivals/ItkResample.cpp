#include "Tools/Bench/Rivals/ItkResample.h"

#include "Core/Compute/Error.h"

#include <itkBSplineInterpolateImageFunction.h>
#include <itkCompositeTransform.h>
#include <itkImage.h>
#include <itkLinearInterpolateImageFunction.h>
#include <itkMultiThreaderBase.h>
#include <itkNearestNeighborInterpolateImageFunction.h>
#include <itkResampleImageFilter.h>
#include <itkTransformFactoryBase.h>

#include <algorithm>

namespace tessera {
namespace {

template <int D>
using ImageType = itk::Image<float, D>;
template <int D>
using TransformType = itk::Transform<double, D, D>;

template <int D>
struct ItkGrid {
  typename ImageType<D>::SizeType size;
  typename ImageType<D>::SpacingType spacing;
  typename ImageType<D>::PointType origin;
  typename ImageType<D>::DirectionType direction;

  explicit ItkGrid(const ImageGeometry<D>& geometry)
  {
    for (int i = 0; i < D; ++i) {
      size[i] = geometry.size[i];
      spacing[i] = geometry.spacingMm[i];
      origin[i] = geometry.originMm[i];
      for (int j = 0; j < D; ++j)
        direction[i][j] = geometry.direction[i][j];
    }
  }
};

/// An ITK image on the same voxels, without a copy. They must only be read.
template <int D>
typename ImageType<D>::Pointer itkImageOf(const Image<D>& image)
{
  const ItkGrid<D> grid(image.geometry);
  const auto result = ImageType<D>::New();
  result->SetRegions(grid.size);
  result->SetSpacing(grid.spacing);
  result->SetOrigin(grid.origin);
  result->SetDirection(grid.direction);
  const auto voxels = ImageType<D>::PixelContainer::New();
  voxels->SetImportPointer(const_cast<float*>(image.voxels.data()), image.voxels.size(), false);
  result->SetPixelContainer(voxels);
  return result;
}

template <class Container>
Container containerOf(const std::vector<double>& values)
{
  Container container(static_cast<unsigned>(values.size()));
  std::copy(values.begin(), values.end(), container.begin());
  return container;
}

template <int D>
typename TransformType<D>::Pointer itkTransformOf(const ItkTransform& transform)
{
  const itk::LightObject::Pointer object =
      itk::ObjectFactoryBase::CreateInstance(transform.className.c_str());
  const typename TransformType<D>::Pointer made = dynamic_cast<TransformType<D>*>(object.GetPointer());
  if (!made)
    throw Error(ExitCode::usage,
                "ITK as a baseline: it has no transform \"" + transform.className + "\" of this dimension.");
  made->UnRegister(); // CreateInstance returns an object that has one reference too many
  made->SetFixedParameters(
      containerOf<typename TransformType<D>::FixedParametersType>(transform.fixedParameters));
  made->SetParametersByValue(containerOf<typename TransformType<D>::ParametersType>(transform.parameters));
  return made;
}

template <int D>
typename TransformType<D>::Pointer itkTransformOf(const ItkResampling<D>& what)
{
  if (what.transforms.size() == 1 && !what.compositeOfOne)
    return itkTransformOf<D>(what.transforms.front());
  const auto composite = itk::CompositeTransform<double, D>::New();
  for (const ItkTransform& transform : what.transforms)
    composite->AddTransform(itkTransformOf<D>(transform));
  return typename TransformType<D>::Pointer(composite.GetPointer());
}

template <int D>
typename itk::InterpolateImageFunction<ImageType<D>>::Pointer itkInterpolatorOf(const ItkResampling<D>& what)
{
  using Interpolation = typename ItkResampling<D>::Interpolation;
  using Pointer = typename itk::InterpolateImageFunction<ImageType<D>>::Pointer;
  if (what.interpolation == Interpolation::nearest)
    return Pointer(itk::NearestNeighborInterpolateImageFunction<ImageType<D>>::New());
  if (what.interpolation == Interpolation::linear)
    return Pointer(itk::LinearInterpolateImageFunction<ImageType<D>>::New());
  const auto spline = itk::BSplineInterpolateImageFunction<ImageType<D>, double, double>::New();
  spline->SetSplineOrder(static_cast<unsigned>(what.splineOrder));
  return Pointer(spline.GetPointer());
}

}

template <int D>
struct ItkResample<D>::Filter {
  using Type = itk::ResampleImageFilter<ImageType<D>, ImageType<D>>;
  ImagePointer<D> moving; // holds the voxels that `input` reads
  typename ImageType<D>::Pointer input;
  typename Type::Pointer filter = Type::New();
};

template <int D>
ItkResample<D>::ItkResample(const ItkResampling<D>& what) : filter_(std::make_unique<Filter>())
{
  itk::TransformFactoryBase::RegisterDefaultTransforms();
  const auto threads = static_cast<itk::ThreadIdType>(what.threads);
  itk::MultiThreaderBase::SetGlobalMaximumNumberOfThreads(threads);
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
  filter_->moving = what.moving;
  filter_->input = itkImageOf<D>(*what.moving);
  const ItkGrid<D> grid(what.output);
  auto& filter = *filter_->filter;
  filter.SetInput(filter_->input);
  filter.SetTransform(itkTransformOf<D>(what));
  filter.SetInterpolator(itkInterpolatorOf<D>(what));
  filter.SetSize(grid.size);
  filter.SetOutputSpacing(grid.spacing);
  filter.SetOutputOrigin(grid.origin);
  filter.SetOutputDirection(grid.direction);
  filter.SetDefaultPixelValue(what.outside);
}

template <int D>
ItkResample<D>::~ItkResample() = default;

template <int D>
void ItkResample<D>::run()
{
  filter_->filter->Modified();
  filter_->filter->Update();
}

template <int D>
const float* ItkResample<D>::voxels() const
{
  return filter_->filter->GetOutput()->GetBufferPointer();
}

TESSERA_INSTANTIATE_CLASS(ItkResample);

}
