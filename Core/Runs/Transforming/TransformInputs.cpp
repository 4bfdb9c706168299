#include "Core/Runs/Transforming/TransformInputs.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Registration/Chain/JoinedChain.h"
#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Samples/Samples.h"
#include "Core/Registration/StackOfTransforms.h"
#include "Core/Registration/TransformFiles/FieldsOfPrograms.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Registration/TransformFiles/MatrixFiles.h"
#include "Core/Registration/TransformFiles/OtherTransformFiles.h"
#include "Core/Runs/EffectiveParameters.h"
#include "Core/Runs/HeaderNotes.h"
#include "Core/Runs/TransformOutput/InverseRun.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

namespace tessera {
namespace {

/// The type of the images; float if they differ. Those that cannot be read are told of in their turn.
PixelType typeOf(const std::vector<GivenImage>& images, const ReadingOptions& reading)
{
  std::set<PixelType> types;
  for (const GivenImage& image : images)
    try {
      types.insert(headerOf(image, reading).componentType);
    } catch (const Error&) {
    }
  return types.size() == 1 ? *types.begin() : PixelType::float32;
}

template <int D>
std::optional<ImageGeometry<D>> gridOf(const std::string& option, const GivenGrid& image,
                                       const ReadingOptions& reading, Log& log)
{
  if (!image.isGiven())
    return std::nullopt;
  const ImageHeader header = readHeaderAndTell(option, image, reading, log);
  return withContext(option, [&] { return geometryOf<D>(D == 3 ? withFirstAxes(header, 3) : header); });
}

/// The grid with other spacings (mm) and the same outer borders, up to half a voxel; its middle stays. One
/// number is for all axes but a last one of time.
template <int D>
ImageGeometry<D> withSpacing(const ImageGeometry<D>& grid, const std::vector<double>& spacingMm,
                             bool hasTimes)
{
  if (spacingMm.size() != 1 && spacingMm.size() != D)
    failAs(ExitCode::usage, "--spacing", std::to_string(spacingMm.size()) + " numbers",
           std::string("one") + (hasTimes ? " for the axes of space" : "") + ", or " + std::to_string(D)
               + " with commas between them");
  constexpr double maxVoxels = 1e10;
  ImageGeometry<D> result = grid;
  Vec<D> back; // index of the middle
  double voxels = 1;
  for (int d = 0; d < D; ++d) {
    const double spacing = spacingMm.size() > 1     ? spacingMm[static_cast<std::size_t>(d)]
                           : hasTimes && d == D - 1 ? grid.spacingMm[d]
                                                    : spacingMm[0],
                 size = std::max(1.0,
                                 std::round(static_cast<double>(grid.size[d]) * grid.spacingMm[d] / spacing));
    voxels *= size;
    if (!(voxels <= maxVoxels))
      failAs(ExitCode::usage, "--spacing", "the grid would have more than 10^10 voxels", "wider spacings");
    result.size[d] = static_cast<std::size_t>(size);
    result.spacingMm[d] = spacing;
    back[d] = -(size - 1) / 2;
  }
  result.originMm = grid.centerMm();
  result.originMm = result.pointFromIndex()(back);
  return result;
}

template <int D>
VoxelBox<D> givenBox(const ImageGeometry<D>& grid, const TransformRequest& request)
{
  VoxelBox<D> box;
  bool isInside = request.cropFirst.size() == D;
  for (std::size_t d = 0; d < D && isInside; ++d) {
    isInside = request.cropFirst[d] <= request.cropLast[d] && request.cropLast[d] < grid.size[d];
    box.first[d] = request.cropFirst[d];
    box.size[d] = request.cropLast[d] - request.cropFirst[d] + 1;
  }
  if (!isInside)
    failAs(ExitCode::usage, "--crop", "no box of the grid, which has " + extentText(grid.size) + " voxels",
           std::to_string(D) + " numbers a voxel, counted from 0, the first voxel before the last");
  return box;
}

/// The voxels of the grid whose centres lie in the box of the mask, along the mask's axes.
template <int D>
VoxelBox<D> boxOfMask(const ImageGeometry<D>& grid, const std::string& path, const Mask<D>& mask)
{
  const VoxelBox<D> inMask = boundingBox<D>(mask);
  const AffineMap<D> pointFromIndex = mask.geometry.pointFromIndex(), indexFromPoint = grid.indexFromPoint();
  const Bounds<D> sides = sidesOf<D>(inMask);
  Bounds<D> bounds;
  for (int corner = 0; corner < 1 << D; ++corner)
    bounds.add(indexFromPoint(pointFromIndex(sides.corner(corner))));
  VoxelBox<D> box;
  for (int d = 0; d < D; ++d) {
    const double first = std::max(std::ceil(bounds.low[d]), 0.0),
                 last = std::min(std::floor(bounds.high[d]), static_cast<double>(grid.size[d]) - 1);
    if (!(first <= last))
      failAs(ExitCode::unreadableInput, path, "no voxel of the output grid lies in the box of this mask",
             "a mask that overlaps it");
    box.first[d] = static_cast<std::size_t>(first);
    box.size[d] = static_cast<std::size_t>(last - first) + 1;
  }
  return box;
}

/// The voxels of the grid about the mask or in the box of --crop.
template <int D>
ImageGeometry<D> cropped(const ImageGeometry<D>& grid, const TransformRequest& request, Log& log)
{
  if (!request.cropMask.empty())
    readHeaderAndTell("--crop", request.cropMask, request.reading, log);
  const VoxelBox<D> box = request.cropMask.empty() ? givenBox<D>(grid, request) : withContext("--crop", [&] {
    return boxOfMask<D>(grid, request.cropMask,
                        readMask<D>(request.cropMask, request.reading, request.threads));
  });
  ImageGeometry<D> result = grid;
  Vec<D> first;
  for (int d = 0; d < D; ++d) {
    const double margin = std::ceil(request.cropMarginMm / grid.spacingMm[d]),
                 last = std::min(static_cast<double>(box.first[d] + box.size[d] - 1) + margin,
                                 static_cast<double>(grid.size[d] - 1));
    first[d] = std::max(static_cast<double>(box.first[d]) - margin, 0.0);
    result.size[d] = static_cast<std::size_t>(last - first[d]) + 1;
  }
  result.originMm = grid.pointFromIndex()(first);
  return result;
}

/// The map of a matrix as text (--tp-format).
AffineMap<3> readMatrixOf(const TransformRequest& request, const std::string& path,
                          const std::optional<ImageGeometry<3>>& fixed,
                          const std::optional<ImageGeometry<3>>& moving)
{
  if (request.matrixFormat != "fsl")
    return readRasMatrix(path);
  if (!fixed || !moving)
    failAs(ExitCode::usage, path, "FSL's coordinates depend on both images",
           "--grid with the fixed image (-ref of flirt) and --moving with the other (-in)");
  return readFlirt(path, *fixed, *moving);
}

/// A field of FSL (--tp-format fsl); the output grid is that of --grid, else the field's.
TransformFileContent<3> readFieldOfFsl(const Registry& registry, const std::string& path,
                                       const ImageGeometry<3>* grid,
                                       const std::optional<ImageGeometry<3>>& moving)
{
  if (!moving)
    failAs(ExitCode::usage, path, "FSL's coordinates depend on both images",
           "--moving with the moving image (-in of fnirt); the field itself has the other grid");
  VectorImage<3> field = readFnirtField(path, *moving);
  TransformFileContent<3> content = contentWithoutSettings<3>(path, grid ? grid : &field.geometry);
  content.chain = chainFromField<3>(std::move(field), registry, path);
  return content;
}

template <int D>
TransformFileContent<D> readOne(const Registry& registry, const TransformRequest& request,
                                const GivenTransform& transform, const ImageGeometry<D>* grid,
                                const std::optional<ImageGeometry<D>>& moving, Log& log)
{
  const std::string& path = transform.path;
  if (const ChainPointer<D>* const held = transform.held<D>()) {
    TransformFileContent<D> content = contentWithoutSettings<D>(path, grid);
    content.chain = *held;
    if (request.settings)
      content.useDirectionCosines = Parameters(request.settings, "", D, 1).get(useDirectionCosines());
    return content;
  }
  const auto warn = [&log](const std::string& line) { log.warning(line); };
  const bool isField = transformFileKind(path) == TransformFileKind::field,
             isOfFsl = request.matrixFormat == "fsl";
  if (request.matrixFormat.empty() || (isField && !isOfFsl))
    return readTransformFile<D>({Device{}, request.threads}, path, registry, warn, grid);
  if constexpr (D == 3) {
    if (isField)
      return readFieldOfFsl(registry, path, grid, moving);
    TransformFileContent<D> content = contentWithoutSettings<D>(path, grid);
    const std::optional<ImageGeometry<3>> fixed = grid ? std::optional(*grid) : std::nullopt;
    content.chain =
        chainFromItk<D>({itkAffine<D>(readMatrixOf(request, path, fixed, moving))}, registry, path, warn);
    return content;
  } else {
    failAs(ExitCode::usage, "--tp-format " + request.matrixFormat, "its matrices are three-dimensional",
           "images in 3D");
  }
}

/// The inverse of one of several transforms; `before` are those before it, null if there are none.
template <int D>
ChainPointer<D> inverseOfOne(Context& cpu, const Registry& registry, const TransformRequest& request,
                             const ChainPointer<D>& chain, const ChainPointer<D>& before,
                             const ImageGeometry<D>& lattice)
{
  const ImageGeometry<D> region = boxOfGrids<D>(cpu, lattice, before.get()).geometry;
  return needsGrid(request) ? inverseOnGrid<D>(&cpu, chain, registry, region, toleranceInFilesMm)
                            : inverseForPoints<D>(cpu, chain, registry, region.cornersMm());
}

}

std::size_t dimensionOf(const TransformRequest& request)
{
  if (!request.matrixFormat.empty())
    return 3;
  std::optional<std::size_t> ofGrid;
  if (request.grid.isGiven())
    ofGrid = withContext("--grid", [&] {
      return static_cast<std::size_t>(headerOf(request.grid, request.reading).dimension);
    });
  const auto dimensionOf = [&](const GivenTransform& transform) {
    if (!transform.isFile())
      return transform.inMemory.index() + 1;
    return withContext("-tp", [&] { return readTransformDimension(transform.path, ofGrid); });
  };
  const GivenTransform& first = request.transforms.front();
  const std::size_t dimension = dimensionOf(first);
  if (dimension < 2 || dimension > 4)
    failAs(ExitCode::usage, "-tp",
           first.path + ": (FixedImageDimension " + std::to_string(dimension)
               + "): transforms of this dimension are not built",
           "2, 3 or 4");
  for (const GivenTransform& transform : std::span(request.transforms).subspan(1))
    if (const std::size_t other = dimensionOf(transform); other != dimension)
      failAs(ExitCode::usage, "-tp " + transform.path,
             "a transform in " + std::to_string(other) + "D, where " + first.path + " is one in "
                 + std::to_string(dimension) + "D",
             "transforms of one dimension");
  return dimension;
}

template <int D>
TransformInputs<D> readTransforms(Context& cpu, const Registry& registry, const TransformRequest& request,
                                  Log& log)
{
  const std::vector<GivenTransform>& transforms = request.transforms;
  TransformInputs<D> inputs{{}, gridOf<D>("--moving", request.moving, request.reading, log)};
  std::optional<ImageGeometry<D>> grid = gridOf<D>("--grid", request.grid, request.reading, log);
  ChainPointer<D> chain;
  for (std::size_t i = 0; i < transforms.size(); ++i) {
    TransformFileContent<D> content = withContext("-tp", [&] {
      return readOne<D>(registry, request, transforms[i], grid ? &*grid : nullptr, inputs.moving, log);
    });
    if (i > 0 && content.useDirectionCosines != inputs.file.useDirectionCosines)
      failAs(ExitCode::usage, "-tp " + transforms[i].path,
             "(UseDirectionCosines ...) differs from that of the file before it",
             "transforms with the same setting");
    if (i == 0 && !request.spacingMm.empty())
      content.output = withSpacing<D>(content.output, request.spacingMm, D == 4 || hasStack(*content.chain));
    if (i == 0 && !grid)
      grid = content.output; // files without a grid of their own may follow
    if (i == 0 && (!request.cropMask.empty() || !request.cropFirst.empty())) {
      if (!content.useDirectionCosines)
        failAs(ExitCode::usage, "--crop",
               "the transform file has (UseDirectionCosines \"false\"), under which masks lie elsewhere",
               "files with \"true\"");
      content.output = cropped<D>(content.output, request, log);
    }
    const ImageGeometry<D> output = i == 0 ? content.output : inputs.file.output;
    const auto fixed = i == 0 ? content.fixed : inputs.file.fixed;
    if (request.inverseOf.contains(i + 1))
      content.chain = withContext("--inverse-of " + std::to_string(i + 1), [&] {
        return inverseOfOne<D>(cpu, registry, request, content.chain, chain,
                               geometryInUse<D>(output, content.useDirectionCosines));
      });
    chain = joinedChain<D>(chain, content.chain, registry);
    inputs.file = std::move(content);
    inputs.file.output = output;
    inputs.file.fixed = fixed;
  }
  inputs.file.chain = chain;
  if (request.settings)
    inputs.file.map = request.settings;
  if (!request.images.empty() && !request.resultsAreShort && !inputs.file.map->find("ResultImagePixelType"))
    inputs.file.map = withResultType(inputs.file.map, typeOf(request.images, request.reading));
  return inputs;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(readTransforms<D>);

}
