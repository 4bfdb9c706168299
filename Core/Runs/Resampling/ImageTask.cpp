#include "Core/Runs/Resampling/ImageTask.h"

#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Runs/HeaderNotes.h"

#include <filesystem>

namespace tessera {

const ImageHeader& headerOf(ImageTask& task)
{
  if (task.header)
    return *task.header;
  ImageHeader& header = task.header.emplace(headerOf(task.input, task.reading));
  if (!task.isLabels && header.components > 1 && header.meaning != PixelMeaning::vector
      && formatHolds(task.format, header.componentType, header.components)) {
    header.meaning = PixelMeaning::vector;
    task.ownType = header.componentType;
  }
  return header;
}

void splitSeries(std::vector<ImageTask>& tasks, PixelType ofResults, int threads, Log& log)
{
  std::vector<ImageTask> all;
  for (ImageTask& task : tasks) {
    try {
      if (!task.failure && headerOf(task).dimension > 3) {
        std::vector<std::string> notes;
        const std::vector<ImagePointer<3>> volumes =
            readVolumes(task.input.path, task.reading, notes, threads);
        if (!task.format.empty())
          checkWritable(task.format, 4, task.isLabels ? task.header->componentType : ofResults);
        for (const std::string& note : notes)
          log.note(task.option + ": " + note);
        task.series = std::make_shared<ResultSeries>();
        task.series->header = *task.header;
        task.series->volumes = volumes.size();
        task.header = withFirstAxes(std::move(*task.header), 3);
        task.header->notes.clear();
        for (; task.volume < volumes.size(); ++task.volume) {
          all.push_back(task);
          all.back().input.inMemory = volumes[task.volume];
        }
        continue;
      }
    } catch (...) {
      task.failure = std::current_exception();
    }
    all.push_back(std::move(task));
  }
  tasks = std::move(all);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    tasks[i].number = i;
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
