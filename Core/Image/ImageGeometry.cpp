#include "Core/Image/ImageGeometry.h"

#include <itkMatrix.h>

namespace tessera {

template <int D>
Matrix<D> ImageGeometry<D>::indexFromOffset() const
{
  const Matrix<D> pointFromIndexMatrix = pointFromIndex().matrix;
  itk::Matrix<double, D, D> matrix;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      matrix(i, j) = pointFromIndexMatrix[i][j];
  const auto inverted = matrix.GetInverse();
  Matrix<D> result;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      result[i][j] = inverted(i, j);
  return result;
}

template Matrix<2> ImageGeometry<2>::indexFromOffset() const;
template Matrix<3> ImageGeometry<3>::indexFromOffset() const;

}
