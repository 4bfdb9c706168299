#include "Core/Runs/Transforming/TransformResults.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/ShearedGrid.h"
#include "Core/Runs/InputFilesOfRun.h"
#include "Core/Runs/TransformOutput/TransformOutput.h"

#include <map>

namespace tessera {
namespace {

std::string given(const ImageTask& task)
{
  return task.option + " " + task.input.path;
}

void checkNamesDiffer(const TransformRequest& request, const std::vector<ImageTask>& tasks)
{
  std::map<std::string, std::string> byStem; // stem of a result: the option and input that it comes from
  for (const FieldAskedFor& field : fieldsOf(request, 0))
    byStem.emplace(field.stem, field.option);
  for (const ImageTask& task : tasks) {
    const auto [other, isNew] = byStem.emplace(task.outputStem, given(task));
    if (!isNew)
      failAs(ExitCode::usage, other->second + " and " + given(task),
             "both results would be called " + task.outputStem,
             "images of different names, or one run for each");
  }
}

/// Throws Error(usage) if a result would be written over a file that the run reads.
void checkInputsStay(const TransformRequest& request, const std::vector<ImageTask>& tasks,
                     const std::string& format)
{
  const std::string folder = folderOf(request);
  const InputFiles inputs = inputFilesOf(request);
  const auto check = [&](const std::string& option, const std::string& path) {
    inputs.checkStay(option, filesOfResult(path));
  };
  for (const FieldAskedFor& field : fieldsOf(request, 0))
    check(field.option, folder + field.stem + "." + format);
  for (const ImageTask& task : tasks)
    check(given(task), folder + task.outputStem + "." + format);
  if (!request.write.empty())
    for (const std::string& path :
         filesOfOutput(request.write, transformFormat(request.format, request.write)))
      check("--write", path);
  if (request.description)
    check("--describe-transform", folder + descriptionName);
  if (request.points.isGiven())
    check("-def " + request.points.path, folder + nameOfOutputPoints(request.points.path));
}

}

std::string nameOfOutputPoints(const std::string& path)
{
  return "outputpoints." + kindOfPointsFile(path);
}

std::string folderOf(const TransformRequest& request)
{
  const std::string& folder = request.outputFolder;
  return folder.empty() || folder.ends_with('/') ? folder : folder + "/";
}

InputFiles inputFilesOf(const TransformRequest& request)
{
  InputFiles inputs;
  for (const GivenTransform& transform : request.transforms)
    if (transform.isFile())
      addTransform(inputs, transform.path, "the transform " + transform.path);
  const auto add = [&](const auto& image) {
    if (image.isFile())
      addImage(inputs, image.path, "the image " + image.path);
  };
  add(request.grid);
  add(GivenImage{request.cropMask});
  add(request.moving);
  if (request.points.isFile())
    inputs.add(request.points.path, "the points " + request.points.path);
  for (const std::string& list : request.lists)
    inputs.add(list, "the list " + list);
  for (const auto* images : {&request.images, &request.labels})
    for (const GivenImage& image : *images)
      add(image);
  return inputs;
}

void refuseIn4D(const TransformRequest& request)
{
  const std::string lacking = !request.write.empty()                     ? "--write"
                              : request.description                      ? "--describe-transform"
                              : request.labelInterpolation == "majority" ? "--label-interpolation majority"
                                                                         : "";
  if (!lacking.empty())
    failAs(ExitCode::usage, lacking, "the transform is of dimension 4", "transforms in 2D and 3D");
}

std::vector<ImageTask> namedImages(const TransformRequest& request, const ResultImageSettings& settings)
{
  std::vector<ImageTask> tasks;
  for (const bool areLabels : {false, true})
    for (const GivenImage& image : areLabels ? request.labels : request.images)
      tasks.push_back({areLabels ? request.labelsOption : request.imagesOption,
                       image,
                       areLabels,
                       imageStem(image.path),
                       request.reading,
                       tasks.size(),
                       {},
                       settings.format});
  const bool isSingle = tasks.size() == 1 && request.lists.empty();
  if (isSingle)
    tasks.front().outputStem = settings.name;
  if (request.outputFolder.empty())
    return tasks;
  if (!isSingle)
    checkNamesDiffer(request, tasks);
  checkInputsStay(request, tasks, settings.format);
  return tasks;
}

template <int D>
std::vector<ResultToWrite> resultsOf(const TransformRequest& request, const ResultImageSettings& settings,
                                     const std::vector<ImageTask>& tasks, const ImageGeometry<D>& grid)
{
  std::vector<ResultToWrite> results;
  const auto add = [&](const std::string& stem, std::size_t bytesAVoxel) {
    results.push_back({filesOfResult(folderOf(request) + stem + "." + settings.format),
                       extentCount(grid.size) * static_cast<double>(bytesAVoxel),
                       formatCompresses(settings.format, settings.compress)});
  };
  for (const FieldAskedFor& field : fieldsOf(request, D))
    add(field.stem, static_cast<std::size_t>(field.components) * sizeof(float));
  for (const ImageTask& task : tasks)
    add(task.outputStem, task.isLabels ? 1 : pixelTypeSize(settings.pixelType));
  return results;
}

template <int D>
void checkFormat(const TransformRequest& request, const ResultImageSettings& settings,
                 const Parameters& parameters, const ImageGeometry<D>& grid)
{
  try {
    if (!request.images.empty())
      checkWritable(settings.format, D, settings.pixelType);
    for (const FieldAskedFor& field : fieldsOf(request, D))
      checkWritable(settings.format, D, PixelType::float32, field.components);
    if (hasFields(request) || hasImages(request))
      checkHoldsGrid(settings.format, grid);
  } catch (const Error& error) {
    throw Error(ExitCode::usage, parameters.where("ResultImageFormat") + ": " + error.what());
  }
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(resultsOf<D>, checkFormat<D>);

}
