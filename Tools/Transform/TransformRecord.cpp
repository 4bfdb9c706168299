#include "Tools/Transform/TransformRecord.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Runs/InputFilesOfRun.h"
#include "Tools/Common/Provenance.h"
#include "Tools/Common/Signals.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

std::mutex currentMutex;
TransformRecord* current = nullptr; // for the thread that ends the program

/// The number by which the system knows a file; 0 if there is none. A file that takes another's place has
/// another number, whatever the clocks of its server and of this machine say.
ino_t numberOf(const std::string& path)
{
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// The header alone of an image whose other files it does not tell.
std::vector<std::string> filesOf(const std::string& image)
{
  try {
    return filesOfImage(image);
  } catch (const Error&) {
    return {image};
  }
}

std::vector<RunInput> inputsOf(const TransformRequest& request)
{
  std::vector<RunInput> inputs;
  for (const auto& [path, inMemory] : request.transforms) {
    InputFiles chain;
    addTransform(chain, path, "");
    inputs.push_back({"tp", path, {}});
    for (const auto& [place, file] : chain.files())
      inputs.back().files.push_back(file.path);
  }
  for (const auto& [role, images] : {std::pair{"in", &request.images}, std::pair{"labels", &request.labels}})
    for (const GivenImage& image : *images)
      inputs.push_back({role, image.path, filesOf(image.path)});
  if (const std::string& points = request.points.path; !points.empty())
    inputs.push_back({"def", points, {points}});
  for (const auto& [role, path] : {std::pair{"grid", request.grid.path}, std::pair{"crop", request.cropMask},
                                   std::pair{"moving", request.moving.path}})
    if (!path.empty())
      inputs.push_back({role, path, filesOf(path)});
  return inputs;
}

}

void TransformRecord::checkStay(const InputFiles& inputs, const std::string& folder)
{
  if (const InputFiles::Input* const input = inputs.at(folder + name))
    failWrittenOver("-out", "the record " + folder + name, input->what);
}

void TransformRecord::replace(const std::string& folder, const std::string& commandLine,
                              const Failure& failure)
{
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::exists(std::filesystem::path(folder) / name, ignored))
    return;
  TransformOptions options;
  options.commandLine = commandLine;
  try {
    TransformRecord(options, folder + "/").write(failure, {});
  } catch (const std::exception&) { // the run's own error is reported, not this one
  }
}

TransformRecord::TransformRecord(const TransformOptions& options, std::string folder)
    : options_(options), digestsOfInputs_(inputsOf(options.request)), folder_(std::move(folder)),
      started_(currentTime())
{
  std::error_code failure;
  std::filesystem::remove(folder_ + name, failure);
  if (failure)
    failAs(ExitCode::unwritableOutput, folder_ + name,
           "the record of an earlier run cannot be removed (" + failure.message() + ")",
           "an output folder in which it is a file");
  const std::lock_guard lock(currentMutex);
  current = this;
}

TransformRecord::~TransformRecord()
{
  const std::lock_guard lock(currentMutex);
  current = nullptr;
}

void TransformRecord::addOutputs(const std::vector<std::string>& paths, bool areWritten)
{
  const std::lock_guard lock(mutex_);
  for (const std::string& path : paths)
    for (const std::string& file : filesOfResult(path))
      outputs_.push_back({file, areWritten ? 0 : numberOf(file)});
}

std::string TransformRecord::text(const Failure& failure, const std::vector<std::string>& warnings)
{
  if (failure.code > 128)
    digestsOfInputs_.stop(); // for which another thread may be waiting
  const std::lock_guard lock(mutex_);
  Json outside = Json::array();
  for (const auto& [path, share] : found_.outside)
    outside.push_back({{"path", path}, {"share", share}});
  std::vector<std::string> written;
  for (const auto& [path, before] : outputs_)
    if (const ino_t now = numberOf(path); now != 0 && now != before)
      written.push_back(path);
  Json time = Json::object();
  for (const TimeRow& row : found_.time)
    time[row.part] = {{"ms", row.milliseconds}, {"device", row.device}};
  Json record{{"program", "tessera-transform"},
              {"status", failure.code == 0    ? "done"
                         : failure.code > 128 ? "interrupted"
                                              : "failed"},
              {"exitCode", failure.code},
              {"message", failure.message}};
  record.update(provenance());
  record.update(Json{{"command", options_.commandLine},
                     {"started", started_},
                     {"finished", currentTime()},
                     {"seconds", secondsSince(clock_)},
                     {"device", found_.device},
                     {"deviceReason", found_.deviceReason},
                     {"threads", options_.request.threads},
                     {"inputFiles", json(digestsOfInputs_.of(failure))},
                     {"outputs", jsonOfOutputs(written,
                                               [this](const std::string& path, const std::stop_token&) {
                                                 return digestsOfOutputs.of(path);
                                               })},
                     {"pointsOutside", found_.pointsOutside},
                     {"outside", outside},
                     {"time", time},
                     {"warnings", warnings}});
  return record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void TransformRecord::write(const Failure& failure, const std::vector<std::string>& warnings, bool settles)
{
  const std::string record = text(failure, warnings);
  if (settles)
    settleEnd();
  // Without the mutex: once the program is to end, a thread that would write a file waits until it has ended.
  writeTextFile(folder_ + name, record);
}

int TransformRecord::recorded(Log& log, const std::function<int()>& run)
{
  int code = 0;
  try {
    digestsOfInputs_.start();
    code = run();
  } catch (...) {
    try {
      write(failureOf(std::current_exception(), caughtSignal()), log.warnings(), true);
    } catch (const Error&) { // the run's own error is reported, not this one
    }
    throw;
  }
  write({code, code == 0 ? "" : "some of the images could not be written; the log says which and why."},
        log.warnings(), true);
  return code;
}

void TransformRecord::writeInterrupted(int signal)
{
  const std::lock_guard lock(currentMutex);
  try {
    if (current)
      current->write({128 + signal, "interrupted by signal " + std::to_string(signal)
                                        + ": the run is not complete; results that are there are whole."},
                     {});
  } catch (const std::exception&) { // the program ends all the same
  }
}

}
