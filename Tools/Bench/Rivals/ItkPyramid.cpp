#include "Tools/Bench/Rivals/ItkPyramid.h"

#include "Core/Compute/Memory/Transfers.h"
#include "Core/Image/Filters/Shrink.h"

#include <itkBSplineDecompositionImageFilter.h>
#include <itkIdentityTransform.h>
#include <itkImage.h>
#include <itkLinearInterpolateImageFunction.h>
#include <itkMultiThreaderBase.h>
#include <itkRecursiveGaussianImageFilter.h>
#include <itkResampleImageFilter.h>
#include <itkShrinkImageFilter.h>
#include <itkSmoothingRecursiveGaussianImageFilter.h>

namespace tessera {
namespace {

template <int D>
using FloatImage = itk::Image<float, D>;
template <int D>
using FilterType = itk::ImageToImageFilter<FloatImage<D>, FloatImage<D>>;

template <int D>
typename FilterType<D>::Pointer rescaler(const ImageGeometry<D>& geometry, std::size_t factor,
                                         bool takesVoxels)
{
  if (takesVoxels) {
    const auto filter = itk::ShrinkImageFilter<FloatImage<D>, FloatImage<D>>::New();
    filter->SetShrinkFactors(static_cast<unsigned>(factor));
    return filter.GetPointer();
  }
  Size<D> factors;
  factors.fill(factor);
  const ImageGeometry<D> rescaled = rescaledGeometry<D>(geometry, factors);
  const auto filter = itk::ResampleImageFilter<FloatImage<D>, FloatImage<D>>::New();
  typename FloatImage<D>::SizeType size;
  typename FloatImage<D>::SpacingType spacing;
  typename FloatImage<D>::PointType origin;
  for (int d = 0; d < D; ++d) {
    size[d] = rescaled.size[d];
    spacing[d] = rescaled.spacingMm[d];
    origin[d] = rescaled.originMm[d];
  }
  filter->SetSize(size);
  filter->SetOutputSpacing(spacing);
  filter->SetOutputOrigin(origin);
  filter->SetTransform(itk::IdentityTransform<double, D>::New());
  filter->SetInterpolator(itk::LinearInterpolateImageFunction<FloatImage<D>, double>::New());
  filter->SetDefaultPixelValue(0);
  return filter.GetPointer();
}

}

template <int D>
struct ItkFilters<D>::Input {
  typename FloatImage<D>::Pointer image = FloatImage<D>::New();
};

template <int D>
ItkFilters<D>::ItkFilters(const ImagePointer<D>& image, int threads)
    : image_(image), input_(std::make_unique<Input>())
{
  itk::MultiThreaderBase::SetGlobalMaximumNumberOfThreads(static_cast<itk::ThreadIdType>(threads));
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(static_cast<itk::ThreadIdType>(threads));
  typename FloatImage<D>::SizeType size;
  typename FloatImage<D>::SpacingType spacing;
  typename FloatImage<D>::PointType origin;
  for (int d = 0; d < D; ++d) {
    size[d] = image->geometry.size[d];
    spacing[d] = image->geometry.spacingMm[d];
    origin[d] = image->geometry.originMm[d];
  }
  input_->image->SetRegions(size);
  input_->image->SetSpacing(spacing);
  input_->image->SetOrigin(origin);
  const auto voxels = FloatImage<D>::PixelContainer::New();
  voxels->SetImportPointer(const_cast<float*>(image->voxels.data()), image->voxels.size(), false);
  input_->image->SetPixelContainer(voxels);
}

template <int D>
ItkFilters<D>::~ItkFilters() = default;

template <int D>
template <class Filter>
std::vector<float> ItkFilters<D>::run(Filter& filter)
{
  const double start = hostMilliseconds();
  filter.Update();
  milliseconds_ = hostMilliseconds() - start;
  const auto* const output = filter.GetOutput();
  const auto* const voxels = output->GetBufferPointer();
  return {voxels, voxels + output->GetBufferedRegion().GetNumberOfPixels()};
}

template <int D>
std::vector<float> ItkFilters<D>::gaussian(int axis, double sigmaVoxels)
{
  const auto filter = itk::RecursiveGaussianImageFilter<FloatImage<D>, FloatImage<D>>::New();
  filter->SetInput(input_->image);
  filter->SetDirection(static_cast<unsigned>(axis));
  filter->SetZeroOrder();
  filter->SetSigma(sigmaVoxels * image_->geometry.spacingMm[axis]);
  return run(*filter);
}

template <int D>
std::vector<float> ItkFilters<D>::level(double sigmaVoxels, std::size_t factor, bool takesVoxels)
{
  using Smoother = itk::SmoothingRecursiveGaussianImageFilter<FloatImage<D>, FloatImage<D>>;
  const auto smoother = Smoother::New();
  typename Smoother::SigmaArrayType sigmas;
  for (int d = 0; d < D; ++d)
    sigmas[d] = sigmaVoxels * image_->geometry.spacingMm[d];
  smoother->SetInput(input_->image);
  smoother->SetSigmaArray(sigmas);
  if (factor == 1)
    return run(*smoother);
  const auto filter = rescaler<D>(image_->geometry, factor, takesVoxels);
  filter->SetInput(sigmaVoxels > 0 ? smoother->GetOutput() : input_->image.GetPointer());
  return run(*filter);
}

template <int D>
std::vector<float> ItkFilters<D>::splineCoefficients(int order)
{
  const auto filter = itk::BSplineDecompositionImageFilter<FloatImage<D>, itk::Image<double, D>>::New();
  filter->SetSplineOrder(static_cast<unsigned>(order));
  filter->SetInput(input_->image);
  return run(*filter);
}

TESSERA_INSTANTIATE_CLASS(ItkFilters);

}
