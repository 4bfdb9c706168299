#include "Core/Registration/TransformFiles/TransformFile.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/ShearedGrid.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Chain/EachTimeTransform.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/StackOfTransforms.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Registration/TransformFiles/OpenTransformFile.h"
#include "Core/Registration/TransformFiles/OtherTransformFiles.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include <cmath>
#include <filesystem>
#include <limits>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr const char* noInitial = "NoInitialTransform";
const Parameter<std::string> transformName = textParameter("Transform", "", Arity::single, "the transform");
const Parameter<std::string> transformFileName =
    textParameter("TransformFileName", "", Arity::single, "file of ITK transforms");
const Parameter<std::string> initialNew =
    textParameter("InitialTransformParameterFileName", "", Arity::single,
                  "file of the initial transform, from version 5.2 on");
const Parameter<std::string> initialOld =
    textParameter("InitialTransformParametersFileName", "", Arity::single,
                  "file of the initial transform, up to version 5.1");
const Parameter<std::int64_t> numberOfParameters =
    integerParameter("NumberOfParameters", 0, 0, Arity::single, "", "how many TransformParameters there are");
const Parameter<bool> binaryFormat =
    booleanParameter("UseBinaryFormatForTransformationParameters", false, Arity::single,
                     "TransformParameters names a binary file");
const Parameter<std::int64_t> fixedDimension =
    integerParameter("FixedImageDimension", 0, 1, Arity::single, "", "dimension of the fixed image");
const Parameter<std::int64_t> movingDimension =
    integerParameter("MovingImageDimension", 0, 1, Arity::single, "", "dimension of the moving image");
const Parameter<std::int64_t> sizeRow =
    integerParameter("Size", 0, 1, Arity::list, "voxels", "size of the output");
const Parameter<std::int64_t> indexRow =
    integerParameter("Index", 0, std::numeric_limits<std::int32_t>::min(), Arity::list, "voxels",
                     "index of the first output voxel");
const Parameter<double> spacingRow =
    realParameter("Spacing", none, Arity::list, "mm", "spacing of the output");
const Parameter<double> originRow =
    realParameter("Origin", none, Arity::list, "mm", "point of the index 0 of the output");
const Parameter<double> directionRow = realParameter(
    "Direction", none, Arity::list, "", "unit vectors of the output's axes, one after the other");

/// Reports every error in a transform file as one of the input.
template <class Read>
auto asInput(Read&& read)
{
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.code() == ExitCode::usage ? ExitCode::unreadableInput : error.code(), error.what());
  }
}

bool isOfOtherProgram(const std::string& path)
{
  return transformFileKind(path) != TransformFileKind::parameters;
}

/// The files that are allowed in place of one that holds no transform.
constexpr const char *allowedForStart = "a TransformParameters.N.txt, .tfm or .h5",
                     *allowedForOutput = "a transform file, such as TransformParameters.0.txt";

void refuseParameterFile(const ParameterMap& map, const std::string& allowed)
{
  const auto has = [&](const char* name) { return map.find(name) != nullptr; };
  if ((has("Registration") || has("Metric") || has("Optimizer")) && !has("NumberOfParameters")
      && !has("TransformParameters"))
    failAs(ExitCode::unreadableInput, map.fileName(), "this is a parameter file, not a transform file",
           allowed);
}

/// Whether a line of the file begins as the one that names the transform.
bool namesTransform(const std::string& path)
{
  for (const std::string& line : linesOf(readTextFile(path).text))
    if (const std::string_view text = trimmed(line);
        text.starts_with("(Transform") || text.starts_with("Transform"))
      return true;
  return false;
}

/// Reads a transform file. The error about another file does not quote it: a path may come from somewhere
/// else than the one who sees the message.
ParameterMap readParametersOf(const std::string& path, const std::string& allowed,
                              std::vector<std::string>& notes)
{
  try {
    return readParameterFile(path, notes);
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage || !fs::is_regular_file(path) || namesTransform(path))
      throw;
  }
  failAs(ExitCode::unreadableInput, path, "this is no transform file", allowed);
}

TransformMap readMap(const std::string& path, const std::string& allowed, const Parameters::Warn& warn)
{
  if (std::error_code ignored; !fs::exists(path, ignored))
    failAs(ExitCode::unreadableInput, path, "no such file", allowed);
  std::vector<std::string> notes;
  auto map = std::make_shared<ParameterMap>(readParametersOf(path, allowed, notes));
  refuseParameterFile(*map, allowed);
  for (const std::string& note : notes)
    if (warn)
      warn(note);
  return map;
}

/// The key that names the initial transform, where the file has both. Tessera writes one value for both, and
/// programs edit the key that they know: mostly the older one alone. A file with a digest had an initial
/// transform, one without had none; so the value that is not as it was is the edited one.
const Parameter<std::string>& keyOfInitial(const Parameters& file, const std::string& newest,
                                           const std::string& old)
{
  if (newest.empty() || old.empty())
    return newest.empty() ? initialOld : initialNew;
  if (newest == old)
    return initialNew;
  const bool hadInitial = file.has(initialTransformDigest),
             isEdited = newest == noInitial || old == noInitial;
  const bool takesOld = isEdited ? (old == noInitial) == hadInitial : hadInitial;
  file.warn(file.where(initialNew.name) + ": " + initialOld.name + " says \"" + old + "\"; "
            + (takesOld   ? "that one is used, which was edited."
               : isEdited ? "it is not used, because this one was edited."
                          : "the newer key is used, as elastix does."));
  return takesOld ? initialOld : initialNew;
}

/// The path of the initial transform; empty if there is none.
std::string initialPath(const Parameters& file)
{
  const std::string newest = file.get(initialNew), old = file.get(initialOld);
  const Parameter<std::string>& key = keyOfInitial(file, newest, old);
  const std::string& path = &key == &initialNew ? newest : old;
  if (path.empty() || path == noInitial)
    return "";
  return pathBesideTransformFile(file, key.name, path);
}

void checkDimensions(const Parameters& file, std::size_t dimension)
{
  for (const auto* row : {&fixedDimension, &movingDimension})
    if (file.has(row->name) && static_cast<std::size_t>(file.get(*row)) != dimension)
      file.fail(
          row->name, "a transform in another dimension than the " + std::to_string(dimension) + "D images",
          "Allowed: " + std::to_string(dimension) + (dimension == 4 ? "; 3 as -t0, for every time" : ""));
}

void checkParameterCount(const Parameters& file)
{
  const ParameterEntry* values = file.map().find("TransformParameters");
  if (!file.has(numberOfParameters.name) || file.get(binaryFormat))
    return;
  const std::size_t given = values ? values->values.size() : 0,
                    said = static_cast<std::size_t>(file.get(numberOfParameters));
  if (given != said)
    file.fail(numberOfParameters.name, "TransformParameters has " + std::to_string(given) + " values",
              "Allowed: figures that agree");
}

/// Reads a chain from its end to its start, and knows which files are open.
template <int D>
class ChainReader {
public:
  using Chain = ChainPointer<D>;

  ChainReader(const Context& host, const Registry& registry, const Parameters::Warn& warn)
      : host_(host), registry_(registry), warn_(warn)
  {
  }

  Chain read(const std::string& path)
  {
    if (isOfOtherProgram(path))
      return readOtherTransforms<D>(path, registry_, warn_);
    const TransformMap map = readMap(path, allowedForStart, warn_);
    const Parameters file(map, "", D, 1, warn_);
    if constexpr (D == 4)
      if (file.get(fixedDimension) == 3) { // of every time
        const ChainPointer<3> chain =
            ChainReader<3>(host_, registry_, warn_).fromFile({map, "", 3, 1, warn_});
        if (hasStack(*chain))
          file.fail(transformName.name, "it is for the times of pictures, not for volumes",
                    "Allowed: a transform of volumes, for every time, or one of dimension 4");
        return std::make_shared<TransformChain<4>>(
            TransformChain<4>{.transform = std::make_shared<EachTimeTransform>(chain)});
      }
    return fromFile(file);
  }

  Chain fromFile(const Parameters& file)
  {
    const OpenTransformFile open(open_, file.map().fileName());
    checkDimensions(file, D);
    const std::string before = initialPath(file);
    return after(before.empty() ? nullptr : readBefore(file, before), file);
  }

  /// The order of the maps takes the place of the initial transforms that they name, but for the first one.
  Chain fromMaps(std::span<const TransformMap> maps)
  {
    if (maps.empty())
      throw Error(ExitCode::unreadableInput, "a chain of 0 transforms. Allowed: at least one transform.");
    Chain chain;
    for (const TransformMap& map : maps) {
      refuseParameterFile(*map, allowedForOutput);
      const Parameters file(map, "", D, 1, warn_);
      checkDimensions(file, D);
      chain = chain ? after(chain, file) : fromFile(file);
    }
    return chain;
  }

private:
  /// The transform of a map after `initial`.
  Chain after(const Chain& initial, const Parameters& file)
  {
    const std::string name = file.get(transformName);
    if (name.empty())
      file.fail(transformName.name, "not given", "Allowed: the name of a transform");
    const bool adds = file.get(stageparameters::howToCombineTransforms()) == "Add";
    if (name == "File")
      return fromItk(file, initial, adds);
    checkParameterCount(file);
    std::shared_ptr<Transform<D>> transform =
        registry_.create<Transform<D>>(name, file, file.where(transformName.name));
    std::vector<double> values = transform->restore(host_, file);
    return std::make_shared<TransformChain<D>>(TransformChain<D>{
        initial, adds ? Combination::add : Combination::compose, transform, std::move(values)});
  }

  Chain readBefore(const Parameters& file, const std::string& path)
  {
    constexpr std::size_t shownFiles = 5; // of a long chain
    if (open_.size() > shownFiles)
      return read(path);
    return withContext(file.map().fileName() + ": its initial transform", [&] { return read(path); });
  }

  Chain fromItk(const Parameters& file, const Chain& initial, bool adds)
  {
    if (!file.has(transformFileName.name))
      file.fail(transformName.name, "without TransformFileName",
                "Allowed: (TransformFileName \"...\") of an ITK transform file beside it");
    const std::string path =
        pathBesideTransformFile(file, transformFileName.name, file.get(transformFileName));
    const std::vector<ItkTransform> transforms = itkTransformsOf(path);
    if (!adds || !initial)
      return chainFromItk<D>(transforms, registry_, path, warn_, initial);
    if (transforms.size() != 1)
      file.fail(stageparameters::howToCombineTransforms().name,
                std::to_string(transforms.size()) + " transforms are to be added to another",
                "Allowed: Compose, or one transform in " + path);
    TransformChain<D> single = *chainFromItk<D>(transforms, registry_, path, warn_);
    single.initial = initial;
    single.combination = Combination::add;
    return std::make_shared<TransformChain<D>>(std::move(single));
  }

  const Context& host_;
  const Registry& registry_;
  const Parameters::Warn& warn_;
  std::vector<std::string> open_;
};

/// All `count` values of a list; `fallback` if the file does not have the parameter.
template <class T>
std::vector<double> valuesOf(const Parameters& file, const Parameter<T>& row,
                             const std::vector<double>& fallback)
{
  const std::vector<T> given = file.all(row);
  if (given.empty())
    return fallback;
  if (given.size() != fallback.size())
    file.fail(row.name, std::to_string(given.size()) + " values",
              "Allowed: " + std::to_string(fallback.size()) + " values");
  return {given.begin(), given.end()};
}

template <int D>
ImageGeometry<D> readGeometry(const Parameters& file)
{
  if (!file.has(sizeRow.name))
    file.fail(sizeRow.name, "not given: the output has no grid",
              "Allowed: " + std::to_string(D) + " numbers of voxels");
  const std::vector<double> size = valuesOf(file, sizeRow, std::vector<double>(D));
  const std::vector<double> index = valuesOf(file, indexRow, std::vector<double>(D, 0.0));
  const std::vector<double> spacing = valuesOf(file, spacingRow, std::vector<double>(D, 1.0));
  const std::vector<double> origin = valuesOf(file, originRow, std::vector<double>(D, 0.0));
  std::vector<double> identity(D * D, 0.0);
  for (int d = 0; d < D; ++d)
    identity[d * D + d] = 1;
  const std::vector<double> direction = valuesOf(file, directionRow, identity);
  ImageGeometry<D> geometry;
  Vec<D> first;
  for (int d = 0; d < D; ++d) {
    if (!(spacing[d] > 0))
      file.fail(spacingRow.name, "not above 0", "Allowed: distances above 0");
    geometry.size[d] = static_cast<std::size_t>(size[d]);
    geometry.spacingMm[d] = spacing[d];
    geometry.originMm[d] = origin[d];
    first[d] = index[d];
    for (int row = 0; row < D; ++row)
      geometry.direction[row][d] = direction[d * D + row];
  }
  if (!(std::abs(determinant(geometry.direction)) > 1e-6))
    file.fail(directionRow.name, "the axes do not span the space", "Allowed: orthogonal unit vectors");
  geometry.originMm = geometry.pointFromIndex()(first);
  return geometry;
}

template <int D, class ReadChain>
TransformFileContent<D> contentOf(const TransformMap& map, const Parameters::Warn& warn,
                                  const ImageGeometry<D>* grid, ReadChain&& readChain)
{
  TransformFileContent<D> content;
  content.map = map;
  for (const std::string& line : unknownTransformFileEntries(*map))
    if (warn)
      warn(line);
  const Parameters file(map, "", D, 1, warn);
  if (grid && !file.has(fixedDimension.name))
    file.warn(file.where(fixedDimension.name) + ": not given. It is taken to be " + std::to_string(D)
              + ", as in the grid.");
  content.chain = readChain(file);
  if (!grid || file.has(sizeRow.name))
    content.fixed = readGeometry<D>(file);
  content.output = grid ? *grid : *content.fixed;
  content.useDirectionCosines = file.get(useDirectionCosines());
  return content;
}

}

template <int D>
TransformFileContent<D> contentWithoutSettings(const std::string& path, const ImageGeometry<D>* grid)
{
  if (!grid)
    throw Error(
        ExitCode::unreadableInput,
        path
            + (transformFileKind(path) == TransformFileKind::itk ? ": a file of ITK transforms"
                                                                 : ": a matrix")
            + ", which has no output grid. Allowed: --grid IMAGE beside it, or a transform parameter file "
              "(*.txt) with Size, Spacing, Origin, Direction, (Transform \"File\") and (TransformFileName \""
            + path + "\").");
  ParameterMap settings(path);
  settings.add({"ResultImageFormat", {whyNotHeld("nii.gz", *grid).empty() ? "nii.gz" : "mha"}, 0});
  settings.add({"ResultImagePixelType", {"float"}, 0});
  return {.output = *grid, .map = std::make_shared<ParameterMap>(std::move(settings))};
}

template <int D>
TransformFileContent<D> readTransformFile(const Context& host, const std::string& path,
                                          const Registry& registry, const Parameters::Warn& warn,
                                          const ImageGeometry<D>* grid)
{
  return asInput([&] {
    TransformFileContent<D> content;
    if (isOfOtherProgram(path)) {
      std::optional<ImageGeometry<D>> gridOfField;
      if (!grid && transformFileKind(path) == TransformFileKind::field)
        gridOfField = geometryOf<D>(readImageHeader(path, {}));
      content = contentWithoutSettings<D>(path, gridOfField ? &*gridOfField : grid);
      content.chain = readTransformChain<D>(host, path, registry, warn);
      return content;
    }
    return contentOf<D>(readMap(path, allowedForOutput, warn), warn, grid, [&](const Parameters& file) {
      return ChainReader<D>(host, registry, warn).fromFile(file);
    });
  });
}

template <int D>
TransformFileContent<D> transformFromMaps(const Context& host, std::span<const TransformMap> maps,
                                          const Registry& registry, const Parameters::Warn& warn,
                                          const ImageGeometry<D>* grid)
{
  return asInput([&] {
    const auto chain = chainFromMaps<D>(host, maps, registry, warn);
    return contentOf<D>(maps.back(), warn, grid, [&](const Parameters&) { return chain; });
  });
}

template <int D>
ChainPointer<D> chainFromMaps(const Context& host, std::span<const TransformMap> maps,
                              const Registry& registry, const Parameters::Warn& warn)
{
  return asInput([&] { return ChainReader<D>(host, registry, warn).fromMaps(maps); });
}

template <int D>
ChainPointer<D> readTransformChain(const Context& host, const std::string& path, const Registry& registry,
                                   const Parameters::Warn& warn)
{
  return asInput([&] { return ChainReader<D>(host, registry, warn).read(path); });
}

std::size_t readTransformDimension(const std::string& path, std::optional<std::size_t> ofGrid)
{
  return asInput([&] {
    if (isOfOtherProgram(path))
      return dimensionOfOtherTransforms(path);
    const Parameters file(readMap(path, allowedForOutput, {}), "", 0, 1);
    const bool isGiven = file.has(fixedDimension.name);
    if (!isGiven && !ofGrid)
      file.fail(fixedDimension.name, "not given",
                "Allowed: 2, 3 or 4, in a transform file such as TransformParameters.0.txt");
    return !isGiven ? *ofGrid : static_cast<std::size_t>(file.get(fixedDimension));
  });
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(contentWithoutSettings<D>, readTransformFile<D>, transformFromMaps<D>,
                                   chainFromMaps<D>, readTransformChain<D>);

}
