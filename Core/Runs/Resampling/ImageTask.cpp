#include "Core/Runs/Resampling/ImageTask.h"

#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Runs/HeaderNotes.h"

#include <filesystem>

namespace tessera {

const ImageHeader& headerOf(ImageTask& task)
{
  if (!task.header)
    task.header = headerOf(task.input, PixelType::float32, task.reading);
  return *task.header;
}

std::string imageStem(const std::string& path)
{
  namespace fs = std::filesystem;
  std::string whole = path;
  while (whole.size() > 1 && whole.back() == '/')
    whole.pop_back();
  std::string name = fs::path(whole).filename().string();
  const std::string format = formatOf(name);
  if (!format.empty())
    name.resize(name.size() - format.size() - 1);
  else if (!dicomPlace(whole))
    name = fs::path(name).stem().string();
  return name;
}

}
