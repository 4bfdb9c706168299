#include "Core/Runs/TransformOutput/ForeignOutput.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/ItkTransformFiles/MatlabTransformFile.h"
#include "Core/Image/ItkTransformFiles/NiftiField.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Chain/JoinedChain.h"
#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Inverse/ChainInverse.h"
#include "Core/Registration/TransformFiles/FieldsOfPrograms.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Registration/TransformFiles/MatrixFiles.h"
#include "Core/Runs/TransformOutput/InverseRun.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

template <int D>
using Chain = ChainPointer<D>;

template <int D>
Chain<D> chainOf(const AffineMap<D>& map, const Registry& registry, Chain<D> initial = nullptr)
{
  return chainFromItk<D>({itkAffine<D>(map)}, registry, "--write", {}, std::move(initial));
}

/// The chain of T's inverse; it is found on the lattice's image under T's linear part.
template <int D>
Chain<D> backwards(Context& context, const Registry& registry, const TransformOutput<D>& output,
                   const AffineMap<D>& linear)
{
  if (output.invertsTo)
    return output.invertsTo;
  const Chain<D> linearChain = chainOf<D>(linear, registry);
  return inverseOnGrid<D>(&context, output.chain, registry,
                          boxOfGrids<D>(context, output.lattice, linearChain.get()).geometry,
                          toleranceInFilesMm);
}

template <int D>
std::vector<std::string> writeAnts(Context& context, const Registry& registry,
                                   const TransformOutput<D>& output, Log& log)
{
  const std::vector<std::string> paths = filesOfOutput(output.path, TransformFormat::ants);
  if (const auto map = asLinearMap<D>(output.chain.get(), output.chain->parameters)) {
    writeMatlabTransform(paths[0], itkAffine<D>(*map));
    return {paths[0]};
  }
  const AffineMap<D> linear =
      output.invertsTo ? inverseOfLinear<D>(linearPart<D>(*output.invertsTo)) : linearPart<D>(*output.chain);
  const Chain<D> warp = chainOf<D>(inverseOfLinear<D>(linear), registry, output.chain),
                 back = joinedChain<D>(chainOf<D>(linear, registry),
                                       backwards(context, registry, output, linear), registry);
  const VectorImage<D> warpField = wholeField<D>(context, registry, output, *warp, log),
                       backField = wholeField<D>(context, registry, output, *back, log);
  writeVectorImage<D>(paths[1], warpField, true, context.threads);
  writeVectorImage<D>(paths[2], backField, true, context.threads);
  writeMatlabTransform(paths[0], itkAffine<D>(linear));
  return paths;
}

void writeFnirt(Context& context, const Registry& registry, const TransformOutput<3>& output, Log& log)
{
  VectorImage<3> field = wholeField<3>(context, registry, output, *output.chain, log);
  const AffineMap<3> fixed = fslFromPoint(output.output), moving = fslFromPoint(*output.moving);
  replaceVectors(field, [&](const Vec<3>& pointMm, Vec<3> mappedMm) {
    for (int d = 0; d < 3; ++d)
      mappedMm[d] += pointMm[d];
    Vec<3> difference = moving(mappedMm);
    const Vec<3> from = fixed(pointMm);
    for (int d = 0; d < 3; ++d)
      difference[d] -= from[d];
    return difference;
  });
  writeNiftiVectors(output.path, field, NiftiVectors::fnirt, context.threads);
}

void writeNiftyRegField(Context& context, const Registry& registry, const TransformOutput<3>& output,
                        Log& log)
{
  VectorImage<3> field = wholeField<3>(context, registry, output, *output.chain, log);
  replaceVectors(field, [](const Vec<3>& pointMm, const Vec<3>& vector) {
    return Vec<3>{-(pointMm[0] + vector[0]), -(pointMm[1] + vector[1]), pointMm[2] + vector[2]};
  });
  writeNiftiVectors(output.path, field, NiftiVectors::niftyreg, context.threads);
}

void writeLinear(const TransformOutput<3>& output, const AffineMap<3>& map)
{
  switch (output.format) {
  case TransformFormat::fsl:
    return writeTextFile(output.path, flirtText(map, output.output, *output.moving));
  case TransformFormat::freesurfer:
    return writeTextFile(output.path,
                         ltaText(map, output.output, *output.moving, output.fixedName, output.movingName));
  default:
    return writeTextFile(output.path, rasMatrixText(map));
  }
}

void writeThreeDimensional(Context& context, const Registry& registry, const TransformOutput<3>& output,
                           Log& log)
{
  if (const auto map = asLinearMap<3>(output.chain.get(), output.chain->parameters))
    return writeLinear(output, *map);
  if (output.format == TransformFormat::fsl)
    return writeFnirt(context, registry, output, log);
  if (output.format == TransformFormat::niftyreg)
    return writeNiftyRegField(context, registry, output, log);
  writeVectorImage<3>(output.path, wholeField<3>(context, registry, output, *output.chain, log), true,
                      context.threads);
}

}

template <int D>
VectorImage<D> outputField(Context& context, const Registry& registry, const TransformOutput<D>& output,
                           const TransformChain<D>& chain, Log& log)
{
  const auto method = FieldMethods<D>(registry, chain, output.lattice, "auto", "--write")
                          .choose(context.device.kind, FieldQuantity::displacements);
  VectorImage<D> field = displacementField<D>(context, chain, output.lattice, method);
  logRoots<D>(chain, field.geometry.voxelCount(), "voxels", log);
  field.geometry = output.output;
  return field;
}

template <int D>
VectorImage<D> wholeField(Context& context, const Registry& registry, const TransformOutput<D>& output,
                          const TransformChain<D>& chain, Log& log)
{
  VectorImage<D> field = outputField<D>(context, registry, output, chain, log);
  leadOutside(field);
  return field;
}

template <int D>
void leadOutside(VectorImage<D>& field)
{
  constexpr double lengths = 10; // more would move the neighbours by the rounding of places in NIfTI
  double squaredMm = 0;
  for (int d = 0; d < D; ++d) {
    const double lengthMm = static_cast<double>(field.geometry.size[d]) * field.geometry.spacingMm[d];
    squaredMm += lengthMm * lengthMm;
  }
  const auto farMm = static_cast<float>(lengths * std::sqrt(squaredMm));
  std::ranges::replace_if(
      field.voxels, [](float value) { return std::isnan(value); }, farMm);
}

template <int D>
std::vector<std::string> writeForeign(Context& context, const Registry& registry,
                                      const TransformOutput<D>& output, Log& log)
{
  if (output.format == TransformFormat::ants)
    return writeAnts<D>(context, registry, output, log);
  if constexpr (D == 3)
    writeThreeDimensional(context, registry, output, log);
  return {output.path};
}

TESSERA_INSTANTIATE_FUNCTIONS(outputField<D>, wholeField<D>, leadOutside<D>, writeForeign<D>);

}
