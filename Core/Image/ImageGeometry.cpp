#include "Core/Image/ImageGeometry.h"

#include "Core/Compute/Error.h"

#include <vnl/algo/vnl_determinant.h>
#include <vnl/algo/vnl_matrix_inverse.h>

#include <stdexcept>

namespace tessera {

template <int D>
Matrix<D> ImageGeometry<D>::indexFromOffset() const
{
  const Matrix<D> pointFromIndexMatrix = pointFromIndex().matrix;
  vnl_matrix_fixed<double, D, D> matrix;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      matrix(i, j) = pointFromIndexMatrix[i][j];
  if (!matrix.is_finite()) // of which VNL ends the process
    failAs(ExitCode::usage, "a grid", "its voxels are larger than numbers can be",
           "spacings of images and of grids of control points, and directions, of less");
  if (vnl_determinant(matrix) == 0)
    throw std::runtime_error("a grid whose axes are parallel");
  const vnl_matrix_inverse<double> inverse(matrix.as_ref()); // as itk::Matrix does
  const vnl_matrix_fixed<double, D, D> inverted(inverse.as_matrix());
  Matrix<D> result;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      result[i][j] = inverted(i, j);
  return result;
}

template Matrix<2> ImageGeometry<2>::indexFromOffset() const;
template Matrix<3> ImageGeometry<3>::indexFromOffset() const;
template Matrix<4> ImageGeometry<4>::indexFromOffset() const;

}
