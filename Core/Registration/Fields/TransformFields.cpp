#include "Core/Registration/Fields/TransformFields.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Fields/FieldSlabs.h"
#include "Core/Registration/Fields/WholeField.h"
#include "Core/Registration/Inverse/InverseTransform.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Core/Registration/TransformParts.h"

namespace tessera {
namespace {

template <int D>
using BatchMatrices = std::array<double, D * D * batchCapacity>;

template <int D>
void requireFieldMemory(const char* what, const ImageGeometry<D>& lattice, std::size_t components)
{
  requireMemory(extentCount(lattice.size) * static_cast<double>(components * sizeof(float)),
                std::string(what) + " of " + extentText(lattice.size) + " voxels",
                "a smaller or coarser output grid");
}

void requireCpuForPoints(const Context& context)
{
  if (context.onCuda())
    throw Error(ExitCode::device, "a field by points: it has no CUDA form. Allowed: the device \"cpu\".");
}

template <int D>
void evaluate(Context& context, const TransformChain<D>& chain, const FieldMethod<D>& method,
              FieldEvaluation<D> function, std::vector<float>& values)
{
  if (context.onCuda())
    evaluateInSlabs<D>(context, *method.interpolator, function, method.field, chain.parameters, values);
  else
    (*method.interpolator.*function)(context, method.field, {chain.parameters.data(), nullptr},
                                     {values.data(), FieldLayout::interleaved, nullptr});
}

/// Whether the chain is an inverse whose field kernels have computed.
template <int D>
bool isInverseOnCuda(Context& context, const TransformChain<D>& chain, const ImageGeometry<D>& lattice,
                     RootQuantity quantity, std::vector<float>& values)
{
  if constexpr (D == 4) {
    return false;
  } else {
    const InverseTransform<D>* inverse = context.onCuda() ? asInverse(chain) : nullptr;
    if (!inverse)
      return false;
    const TransformChain<D>& inverted = inverse->inverted();
    if (const std::string why = whyNotInOtherKernels(inverted); !why.empty())
      throw Error(ExitCode::device,
                  "CUDA: an inverse: " + why + ": has no CUDA form. Allowed: the device \"cpu\".");
    inverted.transform->cudaForm()->otherKernels()->fieldOfInverse(context, *inverse, lattice, quantity,
                                                                   values);
    return true;
  }
}

/// Calls body(first, count, jacobian) for every batch of voxels; the layout of `jacobian` is that of
/// Transform::spatialDerivatives.
template <int D, class Body>
void forEachJacobianBatch(Context& context, const TransformChain<D>& chain, const ImageGeometry<D>& lattice,
                          Body&& body)
{
  requireCpuForPoints(context);
  forEachVoxelBatch<D>(context, lattice, [&](std::size_t first, PointBatch<D>& points) {
    BatchMatrices<D> jacobian;
    chainSpatialDerivatives<D>(context, chain, points.list(), jacobian.data(), nullptr);
    body(first, points.count, jacobian);
  });
}

}

template <int D>
VectorImage<D> displacementField(Context& context, const TransformChain<D>& chain,
                                 const ImageGeometry<D>& lattice, const std::optional<FieldMethod<D>>& method)
{
  requireFieldMemory<D>("deformation field", lattice, D);
  VectorImage<D> field{lattice, D, largeVector<float>(context, D * lattice.voxelCount())};
  if (isInverseOnCuda<D>(context, chain, lattice, RootQuantity::displacements, field.voxels))
    return field;
  if (method) {
    evaluate(context, chain, *method, &FieldInterpolator<D>::displacements, field.voxels);
    return field;
  }
  if (const WholeField<D>* whole = wholeFieldOf(chain);
      whole && whole->whyNoField(context.device.kind, chain.parameters, lattice).empty()) {
    whole->wholeField(context, chain.parameters, lattice, field.voxels);
    return field;
  }
  requireCpuForPoints(context);
  forEachVoxelBatch<D>(context, lattice, [&](std::size_t first, PointBatch<D>& points) {
    std::array<std::array<double, batchCapacity>, D> mapped;
    mapChain<D>(context, chain, points.list(), pointersTo<D>(mapped));
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < points.count; ++i)
        field.voxels[D * (first + i) + d] = static_cast<float>(mapped[d][i] - points.mm[d][i]);
  });
  return field;
}

template <int D>
Image<D> jacobianDeterminants(Context& context, const TransformChain<D>& chain,
                              const ImageGeometry<D>& lattice, const std::optional<FieldMethod<D>>& method)
{
  requireFieldMemory<D>("determinants of the spatial Jacobian", lattice, 1);
  Image<D> image{lattice, largeVector<float>(context, lattice.voxelCount())};
  if (isInverseOnCuda<D>(context, chain, lattice, RootQuantity::determinants, image.voxels))
    return image;
  if (method) {
    evaluate(context, chain, *method, &FieldInterpolator<D>::jacobianDeterminants, image.voxels);
    return image;
  }
  forEachJacobianBatch<D>(
      context, chain, lattice, [&](std::size_t first, std::size_t count, const BatchMatrices<D>& jacobian) {
        for (std::size_t i = 0; i < count; ++i)
          image.voxels[first + i] = static_cast<float>(determinant(jacobianAt<D>(jacobian.data(), count, i)));
      });
  return image;
}

template <int D>
VectorImage<D> jacobianMatrices(Context& context, const TransformChain<D>& chain,
                                const ImageGeometry<D>& lattice, const std::optional<FieldMethod<D>>& method)
{
  requireFieldMemory<D>("matrices of the spatial Jacobian", lattice, D * D);
  VectorImage<D> image{lattice, D * D, largeVector<float>(context, D * D * lattice.voxelCount())};
  if (isInverseOnCuda<D>(context, chain, lattice, RootQuantity::matrices, image.voxels))
    return image;
  if (method) {
    evaluate(context, chain, *method, &FieldInterpolator<D>::jacobians, image.voxels);
    return image;
  }
  forEachJacobianBatch<D>(
      context, chain, lattice, [&](std::size_t first, std::size_t count, const BatchMatrices<D>& jacobian) {
        for (std::size_t i = 0; i < count; ++i)
          for (int entry = 0; entry < D * D; ++entry)
            image.voxels[D * D * (first + i) + entry] = static_cast<float>(jacobian[entry * count + i]);
      });
  return image;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(displacementField<D>, jacobianDeterminants<D>, jacobianMatrices<D>);

}
