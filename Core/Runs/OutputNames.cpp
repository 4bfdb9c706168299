#include "Core/Runs/OutputNames.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/TransformFiles/TransformFilePath.h"
#include "Core/Runs/InputFilesOfRun.h"
#include "Core/Runs/Report/RunPage.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>

namespace tessera {
namespace {

/// The names that a stage may give to its files.
template <int D>
class StageNames {
public:
  explicit StageNames(const StageNaming<D>& naming) : naming_(naming) {}

  bool mayHave(const std::string& name) const
  {
    if (mayHaveAtEnd(name))
      return true;
    for (std::size_t level = 0; level < naming_.levels; ++level)
      if (mayHaveOfLevel(name, level))
        return true;
    return false;
  }

private:
  static constexpr const char* transformStem = "TransformParameters";

  std::string nameOf(const std::string& stem, const std::string& suffix, const std::string& extension) const
  {
    return stem + "." + std::to_string(naming_.stage) + suffix + "." + extension;
  }
  bool isResult(const std::string& name, const std::string& stem, const std::string& suffix) const
  {
    const std::vector<std::string> files = filesOfResult(nameOf(stem, suffix, result().format));
    return std::find(files.begin(), files.end(), name) != files.end();
  }
  const ResultImageSettings& result() const { return naming_.resampler.resultImage(); }

  bool mayHaveAtEnd(const std::string& name) const
  {
    const StageSettings& settings = naming_.settings;
    const std::string itk = settings.itkExtension;
    return (settings.writeFinalTransform && name == nameOf(transformStem, "", settings.transformExtension))
           || (!itk.empty() && itk != "txt" && name == nameOf(transformStem, "", itk))
           || (settings.writeItkComposite && name == nameOf(transformStem, "-Composite", itk))
           || (naming_.resampler.writesFinalResult() && isResult(name, result().name, ""))
           || std::ranges::find(naming_.further, name) != naming_.further.end();
  }

  bool mayHaveOfLevel(const std::string& name, std::size_t level) const
  {
    const StageSettings& settings = naming_.settings;
    const std::string suffix = levelSuffix(level);
    if (name == nameOf(transformStem, suffix, settings.transformExtension)
        || (settings.writeIterationInfo && name == nameOf("IterationInfo", suffix, "txt"))
        || (naming_.resampler.writesResultAfterLevel(level) && isResult(name, result().name, suffix))
        || isResult(name, "OptimizationSurface", suffix)
        || (settings.writePyramidImages(level) && isPyramidImage(name, suffix)))
      return true;
    const std::size_t iteration = iterationIn(name, suffix);
    return iteration != none
           && ((settings.writesTransformOfIterations
                && name
                       == nameOf(transformStem, iterationSuffix(level, iteration),
                                 settings.transformExtension))
               || (naming_.resampler.writesResultAfterIterations(level)
                   && isResult(name, result().name, iterationSuffix(level, iteration))));
  }

  /// Covers as many images as a registration may have.
  bool isPyramidImage(const std::string& name, const std::string& suffix) const
  {
    for (const char* side : {"FixedImagePyramid", "MovingImagePyramid"})
      if (name.starts_with(side)) {
        const std::size_t digits = std::string(side).size(), end = name.find('.');
        const std::string number = name.substr(digits, end == std::string::npos ? end : end - digits);
        return !number.empty() && number.find_first_not_of("0123456789") == std::string::npos
               && isResult(name, side + number, suffix);
      }
    return false;
  }

  /// The number behind ".R1.It".
  static std::size_t iterationIn(const std::string& name, const std::string& suffix)
  {
    const std::string mark = suffix + ".It";
    const std::size_t at = name.find(mark);
    std::size_t iteration = none;
    if (at != std::string::npos)
      std::from_chars(name.data() + at + mark.size(), name.data() + name.size(), iteration);
    return iteration;
  }
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  const StageNaming<D>& naming_;
};

/// Whether a text holds another one that neither begins nor ends within a word.
bool holdsWord(const std::string& text, const std::string& word)
{
  const auto isOfWord = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !isOfWord(at - 1)) && !isOfWord(at + word.size()))
      return true;
  return false;
}

/// What messages call an input.
std::string whatIs(const RunInput& input)
{
  const std::string& role = input.role;
  return role.ends_with(":SubTransforms")         ? "the transform"
         : role.ends_with("Labels")               ? "the labels"
         : role == "fp" || role == "mp"           ? "the points"
         : role == "point-weights"                ? "the weights"
         : role == "t0"                           ? "the initial transform"
         : role == "start-at"                     ? "the transform to start at"
         : role[0] == 'p' && input.parameterText  ? "the parameter file"
         : role.find("Mask") != std::string::npos ? "the mask"
                                                  : "the image";
}

/// A file that an entry of a parameter file names.
struct NamedFile {
  std::string entry, path;
  bool isTransform;
};

/// Returns the named files that exist. Parameters that could not be read name none; the run tells why.
std::vector<NamedFile> filesNamedIn(const StageText& stage)
{
  std::vector<NamedFile> files;
  if (!stage.map)
    return files;
  try {
    const Parameters parameters(stage.map, "", 0, 1);
    for (const ParameterEntry& entry : stage.map->entries()) {
      const bool isImage = entry.name.ends_with("RigidityImageName"),
                 isTransform = entry.name == "SubTransforms";
      for (const std::string& path : entry.values)
        if (isTransform)
          files.push_back({entry.name, pathBesideTransformFile(parameters, entry.name, path), true});
        else if (std::error_code ignored; isImage && std::filesystem::exists(path, ignored))
          files.push_back({entry.name, path, false});
    }
  } catch (const Error&) {
  }
  return files;
}

}

std::string levelSuffix(std::size_t level)
{
  return ".R" + std::to_string(level);
}

std::string iterationSuffix(std::size_t level, std::size_t iteration)
{
  char text[32];
  std::snprintf(text, sizeof text, ".It%07zu", iteration);
  return levelSuffix(level) + text;
}

std::string stemOfInverse(const RunRequest& request)
{
  return inverseStem + ("." + std::to_string(request.stages.size() - 1));
}

std::vector<std::string> namesOfInverse(const RunRequest& request, const std::string& resultFormat)
{
  if (!request.inverseToo)
    return {};
  const std::string stem = stemOfInverse(request);
  return {stem + ".txt", stem + ".nii.gz", stem + ".mha", inverseLabelsStem + ("." + resultFormat)};
}

std::vector<RunInput>
runInputsOf(const RunRequest& request,
            const std::function<std::vector<std::string>(const std::string& path)>& filesOf)
{
  std::vector<RunInput> inputs;
  const auto filesOrPath = [&](const std::string& path) {
    try {
      return filesOf(path);
    } catch (const Error&) { // reading the file will report the error
      return std::vector<std::string>{path};
    }
  };
  const auto add = [&](const std::string& role, const auto& given, bool isImage) {
    if (given.isGiven())
      inputs.push_back({role, given.path,
                        !given.isFile() ? std::vector<std::string>{}
                        : isImage       ? filesOrPath(given.path)
                                        : std::vector<std::string>{given.path}});
  };
  const auto addImages = [&](const std::string& role, const auto& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      add(role + std::to_string(i), all[i], true);
  };
  addImages("f", request.fixed);
  addImages("m", request.moving);
  if (!request.seriesReference.empty())
    inputs.push_back({"reference", request.seriesReference, {}, request.seriesReference});
  addImages("fMask", request.fixedMasks);
  addImages("mMask", request.movingMasks);
  add("fLabels", request.fixedLabels, true);
  add("mLabels", request.movingLabels, true);
  addImages("warp", request.warped);
  addImages("warp-labels", request.warpedLabels);
  add("fp", request.fixedPoints, false);
  add("mp", request.movingPoints, false);
  add("point-weights", request.pointWeights, false);
  const auto addChain = [&](const std::string& role, const GivenTransform& given) {
    if (!given.isFile())
      return;
    InputFiles chain;
    addTransform(chain, given.path, "");
    RunInput& input = inputs.emplace_back(RunInput{role, given.path, {}});
    for (const auto& [place, file] : chain.files())
      input.files.push_back(file.path);
  };
  addChain("t0", request.initialTransform);
  addChain("start-at", request.startAt);
  for (std::size_t i = 0; i < request.stages.size(); ++i) {
    const StageText& stage = request.stages[i];
    const std::string role = "p" + std::to_string(i);
    inputs.push_back({role, stage.path, {stage.path}, stage.text});
    for (const NamedFile& named : filesNamedIn(stage)) // they are inputs, too
      inputs.push_back({role + ":" + named.entry, named.path,
                        named.isTransform ? filesOfTransform(named.path) : filesOrPath(named.path)});
  }
  return inputs;
}

InputFiles inputFilesOf(const std::vector<RunInput>& inputs)
{
  InputFiles files;
  for (const RunInput& input : inputs) {
    const std::string what = whatIs(input) + " " + input.path;
    for (const std::string& file : input.files)
      files.add(file, what);
  }
  return files;
}

std::vector<std::string> namesOfRecord(bool hasPage)
{
  std::vector<std::string> names{summaryName, runName};
  if (hasPage)
    names.insert(names.end(), {pageName, thumbnailName});
  return names;
}

void checkInputsStay(const InputFiles& inputs, const std::string& folder, bool hasPage)
{
  inputs.checkStayBesideLog(folder + logName);
  for (const std::string& name : namesOfRecord(hasPage))
    if (const InputFiles::Input* const input = inputs.at(folder + name))
      failWrittenOver("-out", "the summary " + folder + name, input->what);
}

std::string inputNamedIn(const std::string& message, const InputFiles& files)
{
  std::string named;
  for (const auto& [place, input] : files.files())
    if (input.path.size() > named.size() && holdsWord(message, input.path))
      named = input.path;
  return named;
}

template <int D>
void checkInputsStay(const InputFiles& inputs, const std::string& folder, const StageNaming<D>& naming)
{
  const StageNames<D> names(naming);
  const std::optional<FilePlace> results = filePlace((std::filesystem::path(folder) / logName).string());
  for (const auto& [place, input] : inputs.files())
    if (results && place.isBeside(*results) && names.mayHave(place.name))
      failWrittenOver(naming.given, "its " + place.name, input.what);
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(checkInputsStay<D>);

}
