#pragma once

#include "Core/Image/Image.h"

#include <gtest/gtest.h>

#include <itkImage.h>

#include <algorithm>

namespace tessera::testing {

template <int D>
using ItkImage = itk::Image<float, D>;

template <int D>
typename ItkImage<D>::Pointer toItk(const Image<D>& image)
{
  const auto result = ItkImage<D>::New();
  typename ItkImage<D>::SizeType size;
  typename ItkImage<D>::SpacingType spacing;
  typename ItkImage<D>::PointType origin;
  typename ItkImage<D>::DirectionType direction;
  for (int i = 0; i < D; ++i) {
    size[i] = image.geometry.size[i];
    spacing[i] = image.geometry.spacingMm[i];
    origin[i] = image.geometry.originMm[i];
    for (int j = 0; j < D; ++j)
      direction[i][j] = image.geometry.direction[i][j];
  }
  result->SetRegions(size);
  result->SetSpacing(spacing);
  result->SetOrigin(origin);
  result->SetDirection(direction);
  result->Allocate();
  std::copy(image.voxels.begin(), image.voxels.end(), result->GetBufferPointer());
  return result;
}

template <int D>
Image<D> fromItk(const ItkImage<D>& image)
{
  Image<D> result;
  for (int i = 0; i < D; ++i) {
    result.geometry.size[i] = image.GetBufferedRegion().GetSize()[i];
    result.geometry.spacingMm[i] = image.GetSpacing()[i];
    result.geometry.originMm[i] = image.GetOrigin()[i];
    for (int j = 0; j < D; ++j)
      result.geometry.direction[i][j] = image.GetDirection()[i][j];
  }
  result.voxels.assign(image.GetBufferPointer(), image.GetBufferPointer() + result.geometry.voxelCount());
  return result;
}

template <int D>
void expectSameGeometry(const ImageGeometry<D>& actual, const ImageGeometry<D>& expected)
{
  EXPECT_EQ(actual.size, expected.size);
  EXPECT_EQ(actual.direction, expected.direction);
  for (int d = 0; d < D; ++d) {
    EXPECT_DOUBLE_EQ(actual.spacingMm[d], expected.spacingMm[d]) << "axis " << d;
    EXPECT_NEAR(actual.originMm[d], expected.originMm[d], 1e-11)
        << "axis " << d; // a few roundings of coordinates around 100 mm
  }
}

}
