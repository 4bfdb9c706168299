#include "Core/Registration/TransformFields.h"

#include "Core/Compute/Memory.h"
#include "Core/Registration/VoxelBatches.h"

namespace tessera {
namespace {

template <int D>
using BatchMatrices = std::array<double, D * D * batchCapacity>;

template <int D>
void requireFieldMemory(const char* what, const ImageGeometry<D>& lattice, std::size_t components)
{
  requireMemory(extentCount(lattice.size) * static_cast<double>(components * sizeof(float)),
                std::string(what) + " of " + extentText(lattice.size) + " voxels", "a smaller or coarser output grid");
}

/// Calls body(first, count, jacobian) with the layout of Transform::spatialDerivatives for every batch of voxels.
template <int D, class Body>
void forEachJacobianBatch(Context& context, const TransformChain<D>& chain, const ImageGeometry<D>& lattice, Body&& body)
{
  forEachVoxelBatch<D>(context, lattice, [&](std::size_t first, PointBatch<D>& points) {
    BatchMatrices<D> jacobian;
    chainSpatialDerivatives<D>(context, chain, points.list(), jacobian.data(), nullptr);
    body(first, points.count, jacobian);
  });
}

}

template <int D>
VectorImage<D> displacementField(Context& context, const TransformChain<D>& chain, const ImageGeometry<D>& lattice)
{
  requireFieldMemory<D>("deformation field", lattice, D);
  VectorImage<D> field{lattice, D, std::vector<float>(D * lattice.voxelCount())};
  forEachVoxelBatch<D>(context, lattice, [&](std::size_t first, PointBatch<D>& points) {
    std::array<std::array<double, batchCapacity>, D> mapped;
    PointsOut<D> out;
    for (int d = 0; d < D; ++d)
      out[d] = mapped[d].data();
    mapChain<D>(context, chain, points.list(), out);
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < points.count; ++i)
        field.voxels[D * (first + i) + d] = static_cast<float>(mapped[d][i] - points.mm[d][i]);
  });
  return field;
}

template <int D>
Image<D> jacobianDeterminants(Context& context, const TransformChain<D>& chain, const ImageGeometry<D>& lattice)
{
  requireFieldMemory<D>("determinants of the spatial Jacobian", lattice, 1);
  Image<D> image{lattice, std::vector<float>(lattice.voxelCount())};
  forEachJacobianBatch<D>(context, chain, lattice, [&](std::size_t first, std::size_t count, const BatchMatrices<D>& jacobian) {
    for (std::size_t i = 0; i < count; ++i) {
      Matrix<D> m;
      for (int entry = 0; entry < D * D; ++entry)
        m[entry / D][entry % D] = jacobian[entry * count + i];
      image.voxels[first + i] = static_cast<float>(determinant(m));
    }
  });
  return image;
}

template <int D>
VectorImage<D> jacobianMatrices(Context& context, const TransformChain<D>& chain, const ImageGeometry<D>& lattice)
{
  requireFieldMemory<D>("matrices of the spatial Jacobian", lattice, D * D);
  VectorImage<D> image{lattice, D * D, std::vector<float>(D * D * lattice.voxelCount())};
  forEachJacobianBatch<D>(context, chain, lattice, [&](std::size_t first, std::size_t count, const BatchMatrices<D>& jacobian) {
    for (std::size_t i = 0; i < count; ++i)
      for (int entry = 0; entry < D * D; ++entry)
        image.voxels[D * D * (first + i) + entry] = static_cast<float>(jacobian[entry * count + i]);
  });
  return image;
}

template VectorImage<2> displacementField(Context&, const TransformChain<2>&, const ImageGeometry<2>&);
template VectorImage<3> displacementField(Context&, const TransformChain<3>&, const ImageGeometry<3>&);
template Image<2> jacobianDeterminants(Context&, const TransformChain<2>&, const ImageGeometry<2>&);
template Image<3> jacobianDeterminants(Context&, const TransformChain<3>&, const ImageGeometry<3>&);
template VectorImage<2> jacobianMatrices(Context&, const TransformChain<2>&, const ImageGeometry<2>&);
template VectorImage<3> jacobianMatrices(Context&, const TransformChain<3>&, const ImageGeometry<3>&);

}
