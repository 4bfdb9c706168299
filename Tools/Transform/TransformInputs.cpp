#include "Tools/Transform/TransformInputs.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Registration/Chain/JoinedChain.h"
#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Samples/Samples.h"
#include "Core/Registration/TransformFiles/FieldsOfPrograms.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Registration/TransformFiles/MatrixFiles.h"
#include "Core/Registration/TransformFiles/OtherTransformFiles.h"
#include "Core/Runs/HeaderNotes.h"
#include "Core/Runs/TransformOutput/InverseRun.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

template <int D>
std::optional<ImageGeometry<D>> gridOf(const std::string& option, const std::string& path,
                                       const ReadingOptions& reading, Log& log)
{
  if (path.empty())
    return std::nullopt;
  const ImageHeader header = readHeaderAndTell(option, path, reading, log);
  return withContext(option, [&] { return geometryOf<D>(header); });
}

/// The grid with other spacings (mm) and the same outer borders, up to half a voxel; its middle stays.
template <int D>
ImageGeometry<D> withSpacing(const ImageGeometry<D>& grid, const std::vector<double>& spacingMm)
{
  if (spacingMm.size() != 1 && spacingMm.size() != D)
    throw Error(ExitCode::usage, "--spacing: " + std::to_string(spacingMm.size())
                                     + " numbers. Allowed: one, or " + std::to_string(D)
                                     + " with commas between them.");
  constexpr double maxVoxels = 1e10;
  ImageGeometry<D> result = grid;
  Vec<D> back; // index of the middle
  double voxels = 1;
  for (int d = 0; d < D; ++d) {
    const double spacing = spacingMm[spacingMm.size() == 1 ? 0 : static_cast<std::size_t>(d)],
                 size = std::max(1.0,
                                 std::round(static_cast<double>(grid.size[d]) * grid.spacingMm[d] / spacing));
    voxels *= size;
    if (!(voxels <= maxVoxels))
      throw Error(ExitCode::usage, "--spacing: the grid would have more than 10^10 voxels. Allowed: wider "
                                   "spacings.");
    result.size[d] = static_cast<std::size_t>(size);
    result.spacingMm[d] = spacing;
    back[d] = -(size - 1) / 2;
  }
  result.originMm = grid.centerMm();
  result.originMm = result.pointFromIndex()(back);
  return result;
}

template <int D>
VoxelBox<D> givenBox(const ImageGeometry<D>& grid, const TransformOptions& options)
{
  VoxelBox<D> box;
  bool isInside = options.cropFirst.size() == D;
  for (std::size_t d = 0; d < D && isInside; ++d) {
    isInside = options.cropFirst[d] <= options.cropLast[d] && options.cropLast[d] < grid.size[d];
    box.first[d] = options.cropFirst[d];
    box.size[d] = options.cropLast[d] - options.cropFirst[d] + 1;
  }
  if (!isInside)
    throw Error(ExitCode::usage, "--crop: no box of the grid, which has " + extentText(grid.size)
                                     + " voxels. Allowed: " + std::to_string(D)
                                     + " numbers a voxel, counted from 0, the first voxel before the last.");
  return box;
}

/// The voxels of the grid whose centres lie in the box of the mask, along the mask's axes.
template <int D>
VoxelBox<D> boxOfMask(const ImageGeometry<D>& grid, const std::string& path, const Mask<D>& mask)
{
  const VoxelBox<D> inMask = boundingBox<D>(mask);
  const AffineMap<D> pointFromIndex = mask.geometry.pointFromIndex(), indexFromPoint = grid.indexFromPoint();
  Vec<D> lowest, highest;
  lowest.fill(std::numeric_limits<double>::infinity());
  highest.fill(-std::numeric_limits<double>::infinity());
  for (unsigned corner = 0; corner < 1u << D; ++corner) {
    Vec<D> index;
    for (int d = 0; d < D; ++d)
      index[d] = static_cast<double>(inMask.first[d] + (corner >> d & 1u) * inMask.size[d]) - 0.5;
    index = indexFromPoint(pointFromIndex(index));
    for (int d = 0; d < D; ++d) {
      lowest[d] = std::min(lowest[d], index[d]);
      highest[d] = std::max(highest[d], index[d]);
    }
  }
  VoxelBox<D> box;
  for (int d = 0; d < D; ++d) {
    const double first = std::max(std::ceil(lowest[d]), 0.0),
                 last = std::min(std::floor(highest[d]), static_cast<double>(grid.size[d]) - 1);
    if (!(first <= last))
      throw Error(ExitCode::unreadableInput, path
                                                 + ": no voxel of the output grid lies in the box of this "
                                                   "mask. Allowed: a mask that overlaps it.");
    box.first[d] = static_cast<std::size_t>(first);
    box.size[d] = static_cast<std::size_t>(last - first) + 1;
  }
  return box;
}

/// The voxels of the grid about the mask or in the box of --crop.
template <int D>
ImageGeometry<D> cropped(const ImageGeometry<D>& grid, const TransformOptions& options, Log& log)
{
  if (!options.cropMask.empty())
    readHeaderAndTell("--crop", options.cropMask, options.reading, log);
  const VoxelBox<D> box = options.cropMask.empty() ? givenBox<D>(grid, options) : withContext("--crop", [&] {
    return boxOfMask<D>(grid, options.cropMask,
                        readMask<D>(options.cropMask, options.reading, options.threads));
  });
  ImageGeometry<D> result = grid;
  Vec<D> first;
  for (int d = 0; d < D; ++d) {
    const double margin = std::ceil(options.cropMarginMm / grid.spacingMm[d]),
                 last = std::min(static_cast<double>(box.first[d] + box.size[d] - 1) + margin,
                                 static_cast<double>(grid.size[d] - 1));
    first[d] = std::max(static_cast<double>(box.first[d]) - margin, 0.0);
    result.size[d] = static_cast<std::size_t>(last - first[d]) + 1;
  }
  result.originMm = grid.pointFromIndex()(first);
  return result;
}

/// The map of a matrix as text (--tp-format).
AffineMap<3> readMatrixOf(const TransformOptions& options, const std::string& path,
                          const std::optional<ImageGeometry<3>>& fixed,
                          const std::optional<ImageGeometry<3>>& moving)
{
  if (options.matrixFormat != "fsl")
    return readRasMatrix(path);
  if (!fixed || !moving)
    throw Error(ExitCode::usage, path
                                     + ": FSL's coordinates depend on both images. Allowed: --grid with the "
                                       "fixed image (-ref of flirt) and --moving with the other (-in).");
  return readFlirt(path, *fixed, *moving);
}

/// A field of FSL (--tp-format fsl); the output grid is that of --grid, else the field's.
TransformFileContent<3> readFieldOfFsl(const Registry& registry, const std::string& path,
                                       const ImageGeometry<3>* grid,
                                       const std::optional<ImageGeometry<3>>& moving)
{
  if (!moving)
    throw Error(ExitCode::usage,
                path
                    + ": FSL's coordinates depend on both images. Allowed: --moving with the "
                      "moving image (-in of fnirt); the field itself has the other grid.");
  VectorImage<3> field = readFnirtField(path, *moving);
  TransformFileContent<3> content = contentWithoutSettings<3>(path, grid ? grid : &field.geometry);
  content.chain = chainFromField<3>(std::move(field), registry, path);
  return content;
}

template <int D>
TransformFileContent<D> readOne(const Registry& registry, const TransformOptions& options,
                                const std::string& path, const ImageGeometry<D>* grid,
                                const std::optional<ImageGeometry<D>>& moving, Log& log)
{
  const auto warn = [&log](const std::string& line) { log.warning(line); };
  const bool isField = transformFileKind(path) == TransformFileKind::field,
             isOfFsl = options.matrixFormat == "fsl";
  if (options.matrixFormat.empty() || (isField && !isOfFsl))
    return readTransformFile<D>({Device{}, options.threads}, path, registry, warn, grid);
  if constexpr (D == 3) {
    if (isField)
      return readFieldOfFsl(registry, path, grid, moving);
    TransformFileContent<D> content = contentWithoutSettings<D>(path, grid);
    const std::optional<ImageGeometry<3>> fixed = grid ? std::optional(*grid) : std::nullopt;
    content.chain =
        chainFromItk<D>({itkAffine<D>(readMatrixOf(options, path, fixed, moving))}, registry, path, warn);
    return content;
  } else {
    throw Error(ExitCode::usage, "--tp-format " + options.matrixFormat
                                     + ": its matrices are three-dimensional. Allowed: images in 3D.");
  }
}

/// The inverse of one of several transforms; `before` are those before it, null if there are none.
template <int D>
std::shared_ptr<const TransformChain<D>>
inverseOfOne(Context& cpu, const Registry& registry, const TransformOptions& options,
             const std::shared_ptr<const TransformChain<D>>& chain,
             const std::shared_ptr<const TransformChain<D>>& before, const ImageGeometry<D>& lattice)
{
  const ImageGeometry<D> region = boxOfGrids<D>(cpu, lattice, before.get()).geometry;
  return needsGrid(options) ? inverseOnGrid<D>(cpu, chain, registry, region, toleranceInFilesMm)
                            : inverseForPoints<D>(cpu, chain, registry, cornersOf<D>(region));
}

}

std::size_t dimensionOfTransforms(const TransformOptions& options)
{
  if (!options.matrixFormat.empty())
    return 3;
  const auto dimensionOf = [](const std::string& path) {
    return withContext("-tp", [&] { return readTransformDimension(path); });
  };
  const std::size_t dimension = dimensionOf(options.transformFiles.front());
  if (dimension != 2 && dimension != 3)
    throw Error(ExitCode::usage, "-tp: " + options.transformFiles.front() + ": (FixedImageDimension "
                                     + std::to_string(dimension)
                                     + "): transforms of this dimension are not built. Allowed: 2 or 3.");
  for (const std::string& path : options.transformFiles)
    if (const std::size_t other = dimensionOf(path); other != dimension)
      throw Error(ExitCode::usage, "-tp " + path + ": a transform in " + std::to_string(other) + "D, where "
                                       + options.transformFiles.front() + " is one in "
                                       + std::to_string(dimension)
                                       + "D. Allowed: transforms of one dimension.");
  return dimension;
}

template <int D>
TransformInputs<D> readTransforms(Context& cpu, const Registry& registry, const TransformOptions& options,
                                  Log& log)
{
  const std::vector<std::string>& paths = options.transformFiles;
  TransformInputs<D> inputs{{}, gridOf<D>("--moving", options.moving, options.reading, log)};
  std::optional<ImageGeometry<D>> grid = gridOf<D>("--grid", options.grid, options.reading, log);
  std::shared_ptr<const TransformChain<D>> chain;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    TransformFileContent<D> content = withContext("-tp", [&] {
      return readOne<D>(registry, options, paths[i], grid ? &*grid : nullptr, inputs.moving, log);
    });
    if (i > 0 && content.useDirectionCosines != inputs.file.useDirectionCosines)
      throw Error(ExitCode::usage,
                  "-tp " + paths[i]
                      + ": (UseDirectionCosines ...) differs from that of the file before it. "
                        "Allowed: transforms with the same setting.");
    if (i == 0 && !options.spacingMm.empty())
      content.output = withSpacing<D>(content.output, options.spacingMm);
    if (i == 0 && !grid)
      grid = content.output; // files without a grid of their own may follow
    if (i == 0 && (!options.cropMask.empty() || !options.cropFirst.empty())) {
      if (!content.useDirectionCosines)
        throw Error(ExitCode::usage,
                    "--crop: the transform file has (UseDirectionCosines \"false\"), under which "
                    "masks lie elsewhere. Allowed: files with \"true\".");
      content.output = cropped<D>(content.output, options, log);
    }
    const ImageGeometry<D> output = i == 0 ? content.output : inputs.file.output;
    const auto fixed = i == 0 ? content.fixed : inputs.file.fixed;
    if (options.inverseOf.contains(i + 1))
      content.chain = withContext("--inverse-of " + std::to_string(i + 1), [&] {
        return inverseOfOne<D>(cpu, registry, options, content.chain, chain,
                               geometryInUse<D>(output, content.useDirectionCosines));
      });
    chain = joinedChain<D>(chain, content.chain, registry);
    inputs.file = std::move(content);
    inputs.file.output = output;
    inputs.file.fixed = fixed;
  }
  inputs.file.chain = chain;
  return inputs;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template TransformInputs<D> readTransforms(Context&, const Registry&, const TransformOptions&, Log&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
