#include "Core/Registration/Fields/FieldSlabs.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/Buffer.h"

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

// Bytes that a method may need beside a second copy of the control points.
constexpr std::size_t forTables = std::size_t(16) << 20;

template <int D>
std::string extentOf(const AlignedField<D>& field)
{
  return joined(field.axes, " x ", [](const FieldAxis& axis) { return std::to_string(axis.voxels); });
}

/// The number of slices in a slab that fits in the device's memory beside the control points.
template <int D>
int slicesOfSlab(const Context& context, const AlignedField<D>& field, std::size_t coefficientBytes,
                 std::size_t sliceBytes, std::size_t slabBytes)
{
  const std::size_t free = context.stream->freeBytes(), fixed = 2 * coefficientBytes + forTables;
  if (fixed + sliceBytes > free)
    throw Error(ExitCode::outOfMemory,
                "a field of " + extentOf(field) + " voxels on cuda:" + std::to_string(context.device.ordinal)
                    + ": " + std::to_string(fixed + sliceBytes)
                    + " bytes are needed for the control points and one "
                    + "slice of voxels: " + std::to_string(free)
                    + " are free. Allowed: a smaller or coarser output grid, or the device \"cpu\".");
  const std::size_t slices = std::max(std::size_t(1), std::min(slabBytes, free - fixed) / sliceBytes);
  return static_cast<int>(std::min<std::size_t>(slices, field.axes[D - 1].voxels));
}

}

template <int D>
void evaluateInSlabs(Context& context, const FieldInterpolator<D>& method, FieldEvaluation<D> function,
                     const AlignedField<D>& field, std::span<const double> coefficients, std::span<float> out,
                     std::size_t slabBytes)
{
  const int slices = field.axes[D - 1].voxels;
  const std::size_t sliceValues = out.size() / slices;
  const int maxSlices = slicesOfSlab(context, field, coefficients.size() * sizeof(float),
                                     sliceValues * sizeof(float), slabBytes);
  Buffer<float> points, slab(context, sliceValues * maxSlices);
  points.fromHost(context, std::vector<float>(coefficients.begin(), coefficients.end()));
  for (int first = 0; first < slices; first += maxSlices) {
    const int count = std::min(maxSlices, slices - first);
    (method.*function)(context, field.slab(first, count), {nullptr, points.span().data()},
                       {slab.span().data(), FieldLayout::interleaved, nullptr});
    context.stream->copyToHost(out.data() + sliceValues * first, slab.span().data(),
                               sliceValues * count * sizeof(float));
  }
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(evaluateInSlabs<D>);

}
