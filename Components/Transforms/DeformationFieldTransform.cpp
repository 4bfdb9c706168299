#include "Components/Transforms/DeformationFieldTransform.h"

#include "Components/Transforms/TransformFileReading.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Image/ImageFile.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

const Parameter<std::string> deformationFieldFileName =
    textParameter("DeformationFieldFileName", "", Arity::single, "image of displacements in mm");
const Parameter<std::int64_t> deformationFieldInterpolationOrder = [] {
  auto parameter = integerParameter("DeformationFieldInterpolationOrder", 0, 0, Arity::single, "", "0 nearest voxel, 1 linear");
  parameter.maximum = 1;
  return parameter;
}();

template <int D>
PointBatch<D>& latticeStorage()
{
  thread_local PointBatch<D> storage;
  return storage;
}

/// The 2^D voxels around a point and where it lies between them.
template <int D>
struct Cell {
  std::size_t offset[2][D]; // of the lower and upper voxel along each axis, times components
  double fraction[D];       // between them
};

/// False outside of the image, which ends half a voxel beyond its voxels' centres.
template <int D>
TESSERA_ALWAYS_INLINE bool findCell(const VectorImage<D>& field, const AffineMap<D>& indexFromPoint, const ListSamples<D>& samples,
                                    std::size_t sample, Cell<D>& cell)
{
  Vec<D> point;
  for (int d = 0; d < D; ++d)
    point[d] = samples.pointMm[d][sample];
  const Vec<D> index = indexFromPoint(point);
  std::size_t stride = D;
  for (int d = 0; d < D; ++d) {
    const auto last = static_cast<double>(field.geometry.size[d]) - 1;
    if (!(index[d] >= -0.5 && index[d] < last + 0.5))
      return false;
    const double lower = std::floor(index[d]);
    cell.fraction[d] = index[d] - lower;
    cell.offset[0][d] = static_cast<std::size_t>(std::max(lower, 0.0)) * stride;
    cell.offset[1][d] = static_cast<std::size_t>(std::min(lower + 1, last)) * stride;
    stride *= field.geometry.size[d];
  }
  return true;
}

/// Calls visit(first component of a corner's displacement, the corner's sides along the axes as bits).
template <int D, class Visit>
TESSERA_ALWAYS_INLINE void forEachCorner(const VectorImage<D>& field, const Cell<D>& cell, Visit&& visit)
{
  for (int corner = 0; corner < 1 << D; ++corner) {
    std::size_t offset = 0;
    for (int d = 0; d < D; ++d)
      offset += cell.offset[corner >> d & 1][d];
    visit(field.voxels.data() + offset, corner);
  }
}

template <int D>
TESSERA_ALWAYS_INLINE double sideWeight(const Cell<D>& cell, int corner, int axis)
{
  return corner >> axis & 1 ? cell.fraction[axis] : 1 - cell.fraction[axis];
}

[[noreturn]] void failNoParameters()
{
  throw Error(ExitCode::usage,
              "DeformationFieldTransform: asked for derivatives by its parameters: it has none. Allowed: to use it "
              "as an initial transform, or in a transform parameter file.");
}

}

template <int D>
const ComponentDescription& DeformationFieldTransform<D>::description()
{
  static const ComponentDescription description{"Transform",
                                                "DeformationFieldTransform",
                                                {},
                                                "x + u(x), u an image of displacements; from transform files",
                                                {deformationFieldFileName, deformationFieldInterpolationOrder}};
  return description;
}

template <int D>
void DeformationFieldTransform<D>::map(Context&, const Samples<D>& samples, std::span<const double>, const PointsOut<D>& out) const
{
  const ListSamples<D> list = asList(samples, latticeStorage<D>());
  for (std::size_t i = 0; i < list.count; ++i) {
    Cell<D> cell;
    double u[D] = {};
    if (findCell(field_, indexFromPoint_, list, i, cell)) {
      if (order_ == 0)
        for (double& fraction : cell.fraction)
          fraction = fraction < 0.5 ? 0 : 1; // ITK rounds half up
      forEachCorner(field_, cell, [&](const float* displacement, int corner) {
        double weight = 1;
        for (int d = 0; d < D; ++d)
          weight *= sideWeight(cell, corner, d);
        for (int k = 0; k < D; ++k)
          u[k] += weight * displacement[k];
      });
    }
    for (int k = 0; k < D; ++k)
      out[k][i] = list.pointMm[k][i] + u[k];
  }
}

template <int D>
void DeformationFieldTransform<D>::spatialDerivatives(Context&, const Samples<D>& samples, std::span<const double>,
                                                      double* jacobian, double* hessian) const
{
  constexpr int pairs = symmetricCount(D);
  if (order_ == 0)
    throw Error(ExitCode::usage,
                "DeformationFieldTransform: (DeformationFieldInterpolationOrder 0): the field jumps between voxels, its "
                "spatial Jacobian says nothing. Allowed: (DeformationFieldInterpolationOrder 1).");
  const ListSamples<D> list = asList(samples, latticeStorage<D>());
  const Matrix<D>& axes = indexFromPoint_.matrix;
  for (std::size_t i = 0; i < list.count; ++i) {
    Cell<D> cell;
    double g[D][D] = {}, h[D][D][D] = {}; // by index
    if (findCell(field_, indexFromPoint_, list, i, cell))
      forEachCorner(field_, cell, [&](const float* displacement, int corner) {
        for (int a = 0; a < D; ++a)
          for (int b = a; b < D; ++b) {
            double weight = 1; // differentiated along a, and along b if that is another axis
            for (int d = 0; d < D; ++d)
              weight *= d == a || d == b ? (corner >> d & 1 ? 1 : -1) : sideWeight(cell, corner, d);
            for (int k = 0; k < D; ++k)
              (a == b ? g[k][a] : h[k][a][b]) += weight * displacement[k];
          }
      });
    for (int k = 0; k < D; ++k) {
      for (int j = 0; j < D; ++j) {
        double slope = k == j ? 1 : 0;
        for (int a = 0; a < D; ++a)
          slope += g[k][a] * axes[a][j];
        jacobian[(k * D + j) * list.count + i] = slope;
      }
      for (int p = 0, s = 0; p < D && hessian; ++p)
        for (int q = p; q < D; ++q, ++s) {
          double second = 0;
          for (int a = 0; a < D; ++a)
            for (int b = a + 1; b < D; ++b)
              second += h[k][a][b] * (axes[a][p] * axes[b][q] + axes[b][p] * axes[a][q]);
          hessian[(k * pairs + s) * list.count + i] = second;
        }
    }
  }
}

template <int D>
std::vector<double> DeformationFieldTransform<D>::restore(const Parameters& file)
{
  fileName_ = file.get(deformationFieldFileName);
  if (fileName_.empty())
    file.fail(deformationFieldFileName.name, "not given", "Allowed: the path of an image of displacements");
  order_ = static_cast<int>(file.get(deformationFieldInterpolationOrder));
  const std::string path = pathBesideTransformFile(file, deformationFieldFileName.name, fileName_);
  field_ = readVectorImage<D>(path);
  if (field_.components != D)
    throw Error(ExitCode::unreadableInput, file.where(deformationFieldFileName.name) + ": " + path + " has "
                                               + std::to_string(field_.components) + " components. Allowed: " + std::to_string(D)
                                               + ", a displacement in mm along each axis.");
  indexFromPoint_ = field_.geometry.indexFromPoint();
  return {};
}

template <int D>
std::vector<FileEntry> DeformationFieldTransform<D>::fileEntries() const
{
  return {{deformationFieldFileName.name, {fileName_}, {}},
          {deformationFieldInterpolationOrder.name, {}, {static_cast<double>(order_)}}};
}

template <int D>
ItkTransform DeformationFieldTransform<D>::itkTransform(std::span<const double>) const
{
  if (order_ == 0)
    throw Error(ExitCode::unwritableOutput,
                "DeformationFieldTransform: (DeformationFieldInterpolationOrder 0): ITK's displacement field "
                "transform is linear. Allowed: (DeformationFieldInterpolationOrder 1).");
  const std::string dimension = std::to_string(D);
  ItkTransform itk{
      "DisplacementFieldTransform_double_" + dimension + "_" + dimension, {}, {field_.voxels.begin(), field_.voxels.end()}};
  const ImageGeometry<D>& geometry = field_.geometry;
  for (const std::size_t size : geometry.size)
    itk.fixedParameters.push_back(static_cast<double>(size));
  itk.fixedParameters.insert(itk.fixedParameters.end(), geometry.originMm.begin(), geometry.originMm.end());
  itk.fixedParameters.insert(itk.fixedParameters.end(), geometry.spacingMm.begin(), geometry.spacingMm.end());
  for (const auto& row : geometry.direction)
    itk.fixedParameters.insert(itk.fixedParameters.end(), row.begin(), row.end());
  return itk;
}

template <int D>
std::vector<double> DeformationFieldTransform<D>::initialize(Context&, const TransformStart<D>&)
{
  failNoParameters();
}

template <int D>
void DeformationFieldTransform<D>::prepareForLevel(Context&, std::size_t, std::vector<double>&)
{
  failNoParameters();
}

template <int D>
std::vector<double> DeformationFieldTransform<D>::scales(Context&, const ListSamples<D>&, std::span<const double>) const
{
  failNoParameters();
}

template <int D>
void DeformationFieldTransform<D>::pullBack(Context&, const Samples<D>&, std::span<const double>, const Covectors<D>&,
                                            std::span<double>) const
{
  failNoParameters();
}

template <int D>
void DeformationFieldTransform<D>::pushForward(Context&, const Samples<D>&, std::span<const double>, std::span<const double>,
                                               const PointsOut<D>&) const
{
  failNoParameters();
}

template <int D>
JacobianTerms DeformationFieldTransform<D>::jacobianTerms(Context&, const ListSamples<D>&, std::span<const double>,
                                                          std::span<const double>) const
{
  failNoParameters();
}

template <int D>
void DeformationFieldTransform<D>::pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double>, const double*,
                                                              const double*, std::span<double>) const
{
  failNoParameters();
}

template class DeformationFieldTransform<2>;
template class DeformationFieldTransform<3>;

}
