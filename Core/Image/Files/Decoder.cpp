#include "Core/Image/Files/Decoder.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Failure.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/DecoderProcess.h"
#include "Core/Image/Files/InputError.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace tessera {
namespace {

using ProcessPointer = std::unique_ptr<DecoderProcess>;

/// Processes that wait for their next file.
struct IdleProcesses {
  std::mutex mutex;
  std::vector<ProcessPointer> processes;
  pid_t owner = getpid(); // a forked process must not write to those of its parent

  ProcessPointer take()
  {
    const std::lock_guard lock(mutex);
    if (owner != getpid()) {
      owner = getpid();
      for (ProcessPointer& process : processes)
        static_cast<void>(process.release());
      processes.clear();
    }
    while (!processes.empty()) {
      ProcessPointer process = std::move(processes.back());
      processes.pop_back();
      if (process->isRunning())
        return process;
    }
    return std::make_unique<DecoderProcess>();
  }
  void keep(ProcessPointer process)
  {
    constexpr std::size_t most = 16;
    const std::lock_guard lock(mutex);
    if (process && processes.size() < most)
      processes.push_back(std::move(process));
  }
};

IdleProcesses& idleProcesses()
{
  static IdleProcesses& idle = *[] { // never destroyed: sources may outlive static objects
    std::atexit([] { idleProcesses().processes.clear(); });
    return new IdleProcesses;
  }();
  return idle;
}

/// The beginning of a request. Paths may be relative to the folder of this moment.
Message request(DecoderRequest what)
{
  return Message().put(what, std::filesystem::current_path().string());
}

struct Crashed {};

/// Sends a request about a file and returns the answer, of which the outcome has been taken. Throws the error
/// that it holds, and Crashed if there is no answer.
Message ask(DecoderProcess& process, const Message& request, const std::string& path)
{
  try {
    process.line().send(request);
    Message answer = process.line().receive();
    const auto code = answer.take<ExitCode>();
    const auto text = answer.take<std::string>();
    if (code == ExitCode::done)
      return answer;
    if (!text.empty())
      throw Error(code, text);
  } catch (const ProcessLine::Ended&) {
    if (!process.lackedMemory())
      throw Crashed();
  } catch (const Message::Damaged&) {
    throw Crashed();
  }
  failAs(ExitCode::outOfMemory, path, "it needs more memory than there is",
         "a smaller image, or more memory");
}

Message askToRead(DecoderProcess& process, const Message& request, const std::string& path)
try {
  return ask(process, request, path);
} catch (const Crashed&) {
  failToRead(path, "the library that reads this format has crashed on it", wholeFile);
}

/// The process that has opened an image, until the voxels have been read.
struct Opened {
  ProcessPointer process;
  ~Opened() { idleProcesses().keep(std::move(process)); }
};

/// Has a file written. `failed` begins the message if it cannot be.
void order(const AtomicFile& file, const std::string& failed, const Message& request,
           std::span<const std::byte> voxels = {})
{
  ProcessPointer process = idleProcesses().take();
  std::string wrong;
  try {
    if (!voxels.empty()) {
      const SharedVoxels shared = process->line().newVoxels(voxels.size());
      std::memcpy(shared.bytes().data(), voxels.data(), voxels.size());
    }
    ask(*process, request, file.path());
  } catch (const Crashed&) {
    if (memoryIsLimited())
      failAs(ExitCode::outOfMemory, file.path(),
             "the library that writes this format has crashed under a limit of memory",
             "a higher limit (ulimit -v)");
    wrong = "the library that writes this format has crashed";
  } catch (const Error& error) {
    if (error.code() != ExitCode::unreadableInput)
      throw;
    wrong = error.what();
  } catch (const std::system_error& error) {
    wrong = error.what();
  }
  if (!wrong.empty()) {
    file.checkRoom(request.bytes().size() + voxels.size()); // the cause of most failures and crashes
    file.fail(failed + wrong);
  }
  process->line().freeVoxels();
  idleProcesses().keep(std::move(process));
}

}

void pass(Message& message, ImageHeader& header)
{
  message(header.path, header.dimension, header.size, header.spacingMm, header.originMm, header.direction,
          header.components, header.componentType, header.typeInFile, header.meaning, header.isReadWhole,
          header.hasRanges, header.notes);
}

void pass(Message& message, ReadingOptions& reading)
{
  message(reading.dicomSeries, reading.allowMissingSlices, reading.framesAreSlices, reading.pixelSpacingMm);
}

void pass(Message& message, ItkTransform& transform)
{
  message(transform.className, transform.fixedParameters, transform.parameters);
}

std::unique_ptr<ImageSource> decodeImage(const std::string& path, const ReadingOptions& reading)
{
  ProcessPointer process = idleProcesses().take();
  auto header =
      askToRead(*process, request(DecoderRequest::open).put(path, reading), path).take<ImageHeader>();
  const auto opened = std::make_shared<Opened>(std::move(process));
  const auto readAll = [opened, header, reading](const VoxelConsumer& consumer, int threads) {
    requireMemory(static_cast<double>(byteCountOf(header)),
                  header.path + ": an image of " + extentText(header.size) + " voxels",
                  "a smaller image, or more memory");
    ProcessPointer reader = std::move(opened->process);
    if (!reader) // it can be asked once
      return decodeImage(header.path, reading)->read(consumer, threads);
    askToRead(*reader, request(DecoderRequest::read), header.path);
    passInPieces(reader->line().voxels(byteCountOf(header)).bytes(), threads, consumer);
    reader->line().freeVoxels();
    idleProcesses().keep(std::move(reader));
  };
  return std::make_unique<ImageSource>(std::move(header), readAll);
}

std::vector<ItkTransform> decodeTransforms(const std::string& path)
{
  ProcessPointer process = idleProcesses().take();
  std::vector<ItkTransform> transforms;
  askToRead(*process, request(DecoderRequest::readTransforms).put(path), path)(transforms);
  idleProcesses().keep(std::move(process));
  return transforms;
}

void encodeImage(const AtomicFile& file, const ImageHeader& header, const void* voxels, bool compress)
{
  order(file, "the image cannot be written: ",
        request(DecoderRequest::writeImage).put(file.temporaryPath(), header, compress),
        {static_cast<const std::byte*>(voxels), byteCountOf(header)});
}

void encodeTransforms(const AtomicFile& file, const std::vector<ItkTransform>& transforms, bool composite)
{
  order(file, "the transforms cannot be written: ",
        request(DecoderRequest::writeTransforms).put(file.temporaryPath(), transforms, composite));
}

void encodeField(const AtomicFile& file, const ImageHeader& header, std::span<const float> displacementsMm)
{
  order(file, "the field cannot be written: ",
        request(DecoderRequest::writeField).put(file.temporaryPath(), header),
        std::as_bytes(displacementsMm));
}

}
