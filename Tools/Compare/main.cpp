#include "Core/Compute/ContextChoice.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/InputFiles.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Log.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Pictures/ComparisonPictures.h"
#include "Core/Image/Pictures/PictureBytes.h"
#include "Core/Image/Scores/ImageScores.h"
#include "Core/Image/Scores/LabelScores.h"
#include "Core/Image/Scores/OneGrid.h"
#include "Core/Image/Voxels/LabelPair.h"
#include "Core/Runs/HeaderNotes.h"
#include "Core/Runs/InputFilesOfRun.h"
#include "Tools/Common/CalibrationFile.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Common/StandardOutput.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

using namespace tessera;

namespace {

struct CompareOptions {
  std::string first, second, mask; // images; empty: not given
  std::string firstLabels, secondLabels;
  std::string json, pictures;      // a file and a folder
  std::optional<double> greyRange; // L of the structural similarity
  std::vector<std::size_t> voxel;  // of the pictures; empty: the middle
  std::string device = "auto";     // that compares the images
  int threads = 1;
  ReadingOptions reading;
};

void needsBoth(const Arguments& arguments, const std::string& a, const std::string& b,
               const std::string& dashes)
{
  if (arguments.has(a) != arguments.has(b))
    failCommandLine(dashes + (arguments.has(a) ? a : b),
                    "given without " + dashes + (arguments.has(a) ? b : a), "both");
}

std::vector<std::size_t> voxelOf(const std::string& text)
{
  std::vector<std::size_t> voxel;
  for (const std::string& cell : cellsOf(text, ',')) {
    const auto index = numberIn<std::size_t>(cell);
    if (!index)
      failCommandLine("--at " + text, "not understood",
                      "a voxel from 0 for each axis, such as --at 100,80,60");
    voxel.push_back(*index);
  }
  return voxel;
}

ProgramText compareText()
{
  return {
      "tessera-compare",
      "tessera-compare -f fixed.nii.gz -m results/result.1.nii.gz --pictures pictures",
      "Compares two images of one grid, such as the fixed image and the result of a registration, or the "
      "results of two methods: differences, similarity, and pictures. Label maps are compared by their "
      "overlap and the distances of their surfaces.",
      {{"What to compare (-f and -m, or --fLabels and --mLabels, or all four)",
        {{"f", "IMAGE", "the first image"},
         {"m", "IMAGE", "the second image, on the grid of the first one"},
         {"fMask", "IMAGE", "compare only where this mask, on the same grid, is not 0"},
         ownOption("fLabels", "IMAGE", "label map beside -f"),
         ownOption("mLabels", "IMAGE", "label map beside -m, on the grid of --fLabels")}},
       {"How, and what is written",
        {ownOption("range", "L",
                   "range of grey values in the structural similarity (SSIM); without it the largest less "
                   "the least value of the first image"),
         ownOption("pictures", "FOLDER",
                   "write checkerboard.png, difference.png and edges.png: axial, coronal and sagittal "
                   "slices. The folder is made if it is missing"),
         ownOption("at", "X,Y,Z", "voxel through which the slices of the pictures go (default: the middle)"),
         ownOption("json", "FILE", "write the figures as JSON"),
         ownOption("device", "NAME",
                   "where -f and -m are compared: auto (default: a GPU, if there is one and the CPU would "
                   "take longer than it takes to start it), cpu, cuda or cuda:N")}},
       {"Reading images", readingOptionsOfImages()},
       commonOptions()},
      exitCodesText()};
}

/// Throws Error(usage).
CompareOptions compareOptions(const Arguments& arguments)
{
  needsBoth(arguments, "f", "m", "-");
  needsBoth(arguments, "fLabels", "mLabels", "--");
  CompareOptions options{arguments.text("f"),
                         arguments.text("m"),
                         arguments.text("fMask"),
                         arguments.text("fLabels"),
                         arguments.text("mLabels"),
                         arguments.text("json"),
                         arguments.text("pictures"),
                         {},
                         {},
                         arguments.text("device", "auto"),
                         1,
                         readingOptionsOf(arguments)};
  if (options.first.empty() && options.firstLabels.empty())
    failCommandLine("-f and -m, --fLabels and --mLabels", "none given, so there is nothing to compare",
                    "two images or two label maps");
  for (const char* name : {"fMask", "range", "pictures", "at", "device"})
    if (arguments.has(name) && options.first.empty()
        && !(name == std::string("device") && (options.device == "cpu" || options.device == "auto")))
      failCommandLine(std::string(name) == "fMask" ? "-fMask" : std::string("--") + name,
                      "given without -f and -m", "two images with it");
  if (arguments.has("at") && options.pictures.empty())
    failCommandLine("--at", "given without --pictures", "--pictures FOLDER with it");
  if (arguments.has("range")) {
    options.greyRange = numberIn<double>(arguments.text("range"));
    if (!options.greyRange || !std::isfinite(*options.greyRange) || !(*options.greyRange > 0))
      failCommandLine("--range " + arguments.text("range"), "no range", "a number above 0");
  }
  if (arguments.has("at"))
    options.voxel = voxelOf(arguments.text("at"));
  options.threads = threadCount(arguments);

  InputFiles inputs;
  for (const std::string& path :
       {options.first, options.second, options.mask, options.firstLabels, options.secondLabels})
    if (!path.empty())
      addImage(inputs, path, "the input " + path);
  std::vector<std::string> outputs{options.json};
  for (const char* name : {"checkerboard", "difference", "edges"})
    outputs.push_back(options.pictures.empty() ? "" : options.pictures + "/" + name + ".png");
  for (const std::string& output : outputs)
    if (!output.empty() && inputs.at(output))
      failCommandLine(output, "this file is an input", "another place for results");
  return options;
}

using Json = nlohmann::ordered_json;

constexpr const char* pictureNames[] = {"checkerboard", "difference", "edges"}; // in the order of Comparison

template <int D>
LoadedImage<D> loaded(const std::string& option, const std::string& path, const CompareOptions& options,
                      Log& log)
{
  return withContext(option, [&] {
    std::vector<std::string> notes;
    LoadedImage<D> image = readImage<D>(path, options.reading, notes, options.threads);
    for (const std::string& note : notes)
      log.warning(option + ": " + note);
    return image;
  });
}

/// Marks the voxels of the mask at which both images are finite. Empty if all voxels count.
template <int D>
std::vector<std::uint8_t> voxelsInUse(const CompareOptions& options, const LoadedImage<D>& a,
                                      const LoadedImage<D>& b, Log& log)
{
  std::vector<std::uint8_t> use;
  const auto keep = [&use](const std::vector<std::uint8_t>& inside) {
    if (use.empty())
      use.assign(inside.size(), 1);
    for (std::size_t i = 0; i < use.size(); ++i)
      use[i] = use[i] && inside[i];
  };
  if (!options.mask.empty()) {
    std::vector<std::string> notes;
    const Mask<D> mask = withContext(
        "-fMask", [&] { return readMask<D>(options.mask, options.reading, options.threads, &notes); });
    for (const std::string& note : notes)
      log.warning("-fMask: " + note);
    requireOneGrid<D>("-f and -fMask", a.image.geometry, mask.geometry);
    keep(mask.voxels);
  }
  for (const LoadedImage<D>* image : {&a, &b})
    if (image->finiteVoxels)
      keep(image->finiteVoxels->voxels);
  if (!use.empty() && std::ranges::count(use, 0) == static_cast<std::ptrdiff_t>(use.size()))
    failToRead("-fMask and the images", "no voxel is left to compare",
               "a mask with voxels that are finite in both images");
  return use;
}

Json json(const std::optional<double>& value)
{
  return value ? Json(*value) : Json(nullptr);
}

std::string number(const std::optional<double>& value, const char* whyNot)
{
  return value ? decimals(*value, 6) : whyNot;
}

Json json(const ImageScores& s, double greyRange)
{
  Json standardized = nullptr;
  if (s.standardized)
    standardized = {{"meanAbsoluteError", s.standardized->meanAbsoluteError},
                    {"absoluteErrorDeviation", s.standardized->absoluteErrorDeviation},
                    {"sumOfSquaredErrors", s.standardized->sumOfSquaredErrors}};
  return {{"voxels", s.voxels},
          {"meanAbsoluteError", s.meanAbsoluteError},
          {"absoluteErrorDeviation", s.absoluteErrorDeviation},
          {"rootMeanSquareError", s.rootMeanSquareError},
          {"zScored", standardized},
          {"correlation", json(s.correlation)},
          {"normalizedMutualInformation", json(s.mutualInformation)},
          {"histogramBins", scoreHistogramBins},
          {"structuralSimilarity", json(s.structuralSimilarity)},
          {"structuralSimilarityRange", greyRange}};
}

std::string text(const ImageScores& s, double greyRange)
{
  const char* constant = "none: an image is constant";
  std::string lines = "Voxels compared: " + std::to_string(s.voxels) + "\n";
  lines += "MAE: " + decimals(s.meanAbsoluteError, 6) + " (deviation " + decimals(s.absoluteErrorDeviation, 6)
           + "), RMSE: " + decimals(s.rootMeanSquareError, 6) + "\n";
  lines += "z-scored images: "
           + (s.standardized ? "MAE " + decimals(s.standardized->meanAbsoluteError, 6) + " (deviation "
                                   + decimals(s.standardized->absoluteErrorDeviation, 6) + "), SSE "
                                   + decimals(s.standardized->sumOfSquaredErrors, 3)
                             : constant)
           + "\n";
  lines += "NCC: " + number(s.correlation, constant) + "\n";
  lines += "NMI (" + std::to_string(scoreHistogramBins) + " bins): " + number(s.mutualInformation, constant)
           + "\n";
  lines += "SSIM (range " + shortText(greyRange) + "): "
           + number(s.structuralSimilarity, "none: no whole window of 11 voxels an axis counts") + "\n";
  return lines;
}

template <int D>
void writePictures(const CompareOptions& options, const Image<D>& a, const Image<D>& b,
                   const std::vector<std::uint8_t>& use)
{
  Size<D> voxel;
  for (int d = 0; d < D; ++d)
    voxel[d] = options.voxel.empty() ? a.geometry.size[d] / 2 : options.voxel[static_cast<std::size_t>(d)];
  const std::string folder = prepareOutputFolder(options.pictures);
  for (int i = 0; i < 3; ++i) {
    const Picture picture = comparisonPicture<D>(static_cast<Comparison>(i), a, b, use, voxel);
    writeTextFile(folder + pictureNames[i] + ".png", pngBytes(picture.pixels, picture.width));
  }
}

template <int D>
void checkVoxel(const CompareOptions& options, const Size<D>& size)
{
  bool isInside = options.voxel.empty() || options.voxel.size() == D;
  for (std::size_t d = 0; d < D && isInside && !options.voxel.empty(); ++d)
    isInside = options.voxel[d] < size[d];
  if (isInside)
    return;
  const std::string allowed =
      joined(size, ",", [](std::size_t length) { return "0-" + std::to_string(length - 1); });
  failCommandLine("--at", "no voxel of the image", allowed);
}

struct Comparisons {
  Json json;
  std::string text;
};

/// Where two images of so many voxels are compared.
template <int D>
Context contextFor(const CompareOptions& options, std::size_t voxels, Log& log)
{
  constexpr double cpuNsOfVoxel = D == 3 ? 60 : 30, bytesOfVoxel = 2 * sizeof(float) + 1;
  const double cpuSeconds = 1e-9 * cpuNsOfVoxel * static_cast<double>(voxels) / options.threads;
  const ContextChoice choice = chooseContext(
      options.device, "--device", options.threads,
      options.device == "auto" ? whyNotWorthCuda(cpuSeconds) : "",
      [voxels](const Context& context) -> std::string {
        if (voxels > std::numeric_limits<std::uint32_t>::max()) // which a bin of the histogram counts
          return "the images have more than 4294967295 voxels";
        const double needed = bytesOfVoxel * static_cast<double>(voxels),
                     usable = usableDeviceMemory(context);
        return needed <= usable ? ""
                                : "the images need " + memoryText(needed) + " of the GPU's memory, "
                                      + memoryText(usable) + " are free";
      });
  log.detail("Device: " + choice.reason);
  return choice.context;
}

template <int D>
void compareIntensities(const CompareOptions& options, Comparisons& result, Log& log)
{
  const LoadedImage<D> a = loaded<D>("-f", options.first, options, log),
                       b = loaded<D>("-m", options.second, options, log);
  requireOneGrid<D>("-f and -m", a.image.geometry, b.image.geometry);
  checkVoxel<D>(options, a.image.geometry.size);
  const std::vector<std::uint8_t> use = voxelsInUse<D>(options, a, b, log);
  const auto [least, largest] = std::ranges::minmax(a.image.voxels);
  const double greyRange = options.greyRange.value_or(static_cast<double>(largest) - least);
  const ImageScores scores =
      imageScores<D>(contextFor<D>(options, a.image.voxels.size(), log), a.image, b.image, use, greyRange);
  result.json["images"] = json(scores, greyRange);
  result.text += text(scores, greyRange);
  if (!options.pictures.empty())
    writePictures<D>(options, a.image, b.image, use);
}

template <int D>
void compareLabels(const CompareOptions& options, Comparisons& result)
{
  const LabelPair<D> pair =
      readLabelPair<D>({"--fLabels", options.firstLabels}, {"--mLabels", options.secondLabels},
                       options.reading, options.threads);
  requireOneGrid<D>("--fLabels and --mLabels", pair.first->geometry, pair.second->geometry);
  const auto scores = labelScores<D>(Context{Device{}, options.threads}, *pair.first, *pair.second);
  Json list = Json::array();
  double mean = 0;
  for (const auto& [number, s] : scores) {
    const std::int64_t label = pair.label(number);
    list.push_back({{"label", label},
                    {"voxelsFirst", s.voxelsA},
                    {"voxelsSecond", s.voxelsB},
                    {"dice", s.dice},
                    {"hausdorff95Mm", json(s.hausdorff95Mm)},
                    {"meanSurfaceDistanceMm", json(s.meanSurfaceDistanceMm)}});
    const auto mm = [](const auto& distance) {
      return distance ? decimals(*distance, 6) + " mm" : std::string("none (an image lacks it)");
    };
    result.text += "Label " + std::to_string(label) + ": Dice " + decimals(s.dice, 6) + ", Hausdorff 95 % "
                   + mm(s.hausdorff95Mm) + ", mean surface distance " + mm(s.meanSurfaceDistanceMm) + "\n";
    mean += s.dice / static_cast<double>(scores.size());
  }
  result.json["labels"] = std::move(list);
  result.json["meanDice"] = scores.empty() ? Json(nullptr) : Json(mean);
  result.text += scores.empty() ? "No labels but 0\n"
                                : "Mean Dice of " + std::to_string(scores.size())
                                      + " labels: " + decimals(mean, 6) + "\n";
}

template <int D>
int compareAll(const CompareOptions& options, Log& log)
{
  Comparisons result;
  if (!options.first.empty())
    compareIntensities<D>(options, result, log);
  if (!options.firstLabels.empty())
    compareLabels<D>(options, result);
  putStandardOutput(result.text);
  if (!options.json.empty())
    writeTextFile(options.json, result.json.dump(2) + "\n");
  return 0;
}

/// Compares, prints the figures, and writes the files that are asked for. Returns the exit code.
int compareImages(const CompareOptions& options, Log& log)
{
  const std::pair<std::string, std::string> images[] = {{"-f", options.first},
                                                        {"-m", options.second},
                                                        {"-fMask", options.mask},
                                                        {"--fLabels", options.firstLabels},
                                                        {"--mLabels", options.secondLabels}};
  int dimension = 0; // of the first
  for (const auto& [option, path] : images) {
    if (path.empty())
      continue;
    const ImageHeader header = readHeaderAndTell(option, path, options.reading, log, &Log::warning);
    if (dimension == 0 && header.dimension != 2 && header.dimension != 3)
      failToRead(option, "an image of " + std::to_string(header.dimension) + " dimensions",
                 "2 or 3; of a series one volume or its mean (fslroi IN OUT 0 1, fslmaths IN -Tmean OUT)");
    dimension = dimension == 0 ? header.dimension : dimension;
  }
  return dimension == 2 ? compareAll<2>(options, log) : compareAll<3>(options, log);
}

int run(const std::vector<std::string>& tokens, RunLog& log)
{
  const EndOnSignals ending(log);
  const ProgramText text = compareText();
  const Arguments arguments = parseCommandLine(text.groups, tokens, {"f", "m"}); // as for tessera
  if (tokens.empty() || arguments.has("help"))
    return printText(helpText(text));
  if (const std::string version = versionText(arguments, "tessera-compare"); !version.empty())
    return printText(version);
  setVerbosity(arguments, log);
  setPriority(arguments, log);
  return compareImages(compareOptions(arguments), log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run({words + 1, words + count}, log); });
}
