#include "Core/Compute/Error.h"
#include "Core/Compute/Failure.h"
#include "Core/Image/Files/Decoder.h"
#include "Core/Image/Files/DecoderProcess.h"
#include "Core/Image/Files/InputError.h"
#include "Tools/Decode/DicomSeries.h"
#include "Tools/Decode/ItkImage.h"
#include "Tools/Decode/ItkSupport.h"
#include "Tools/Decode/ItkTransforms.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

using namespace tessera;

// GDCM gives JPEG frames that it cannot decode to a program of Debian's, which does not end on frames that
// are cut, and leaves its files in /tmp. These two stand in for the C library's, so that nothing is started.
extern "C" [[gnu::visibility("default")]] int system(const char*)
{
  return -1;
}

extern "C" [[gnu::visibility("default")]] char* tempnam(const char*, const char*) noexcept
{
  return strdup("/dev/null/none"); // GDCM frees it
}

namespace {

bool writesHdf5 = false, newHasFailed = false;

/// Whether a request failed, or a library crashed, because memory was refused to C++ or, as far as errno
/// tells, to C.
bool lacksMemory()
{
  return newHasFailed || errno == ENOMEM;
}

/// Tells the program which waits for an answer, by the exit code, if the library needed more memory.
void tellWantOfMemory()
{
  if (lacksMemory())
    _exit(static_cast<int>(ExitCode::outOfMemory));
}

extern "C" void endOnCrash(int signal)
{
  tellWantOfMemory();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watchMemory()
{
  std::set_new_handler([] {
    newHasFailed = true;
    throw std::bad_alloc();
  });
  std::atexit(tellWantOfMemory); // libjpeg and HDF5 call exit()
#ifndef __SANITIZE_ADDRESS__     // which tells where
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT})
    std::signal(signal, endOnCrash);
#endif
}

/// The outcome of an action, before what it gives.
Message outcome(ExitCode code, const std::string& text = "")
{
  return Message().put(code, text);
}

/// Answers one request after the other.
class Decoder {
public:
  /// False after a request that failed: what a damaged file may have left in memory ends with the process.
  bool answer(Message& request, const ProcessLine& line)
  {
    const auto what = request.take<DecoderRequest>();
    static_cast<void>(!chdir(request.take<std::string>().c_str()));
    std::string path = image_.header.path;
    Message answer;
    bool isSound = false;
    newHasFailed = false;
    errno = 0;
    try {
      if (what != DecoderRequest::read)
        path = request.take<std::string>();
      writesHdf5 =
          what > DecoderRequest::readTransforms && (path.ends_with(".h5") || path.ends_with(".hdf5"));
      answer = done(what, path, request, line);
      isSound = !lacksMemory(); // libraries leave out what they got no memory for, such as a pixel's size
      if (!isSound)
        answer = outcome(ExitCode::outOfMemory);
    } catch (const Error& error) {
      answer = lacksMemory() && error.code() == ExitCode::unreadableInput
                   ? outcome(ExitCode::outOfMemory)
                   : outcome(error.code(), error.what());
    } catch (const std::exception& error) {
      const bool isRead = what <= DecoderRequest::readTransforms;
      const Failure failure = failureOf(std::current_exception()); // it knows limits of the system
      answer = lacksMemory() ? outcome(ExitCode::outOfMemory)
               : failure.code == static_cast<int>(ExitCode::outOfMemory)
                   ? outcome(ExitCode::outOfMemory, failure.message)
                   : outcome(ExitCode::unreadableInput, isRead ? path + ": it cannot be read: " + error.what()
                                                                     + ". Allowed: " + wholeFile + "."
                                                               : itkMessage(error));
    }
    line.send(answer);
    return isSound;
  }

private:
  Message done(DecoderRequest what, const std::string& path, Message& request, const ProcessLine& line)
  {
    if (what == DecoderRequest::open) {
      image_ = openByItk(path, request.take<ReadingOptions>());
      return outcome(ExitCode::done).put(image_.header);
    }
    if (what == DecoderRequest::read) {
      const DecodedImage image = std::exchange(image_, {});
      image.read(line.newVoxels(byteCountOf(image.header)).bytes().data());
      return outcome(ExitCode::done);
    }
    if (what == DecoderRequest::readTransforms)
      return outcome(ExitCode::done).put(readItkTransformsByItk(path));
    if (what == DecoderRequest::writeTransforms) {
      const auto transforms = request.take<std::vector<ItkTransform>>();
      writeTransformsByItk(path, transforms, request.take<bool>());
      return outcome(ExitCode::done);
    }
    const auto header = request.take<ImageHeader>();
    const SharedVoxels voxels = line.voxels(byteCountOf(header));
    if (what == DecoderRequest::writeImage)
      writeByItk(path, header, voxels.bytes().data(), request.take<bool>());
    else
      writeFieldByItk(path, header, reinterpret_cast<const float*>(voxels.bytes().data()));
    return outcome(ExitCode::done);
  }

  DecodedImage image_; // the last one that was opened
};

}

/// HDF5 keeps the time at which each of its objects was made, and ITK's writers cannot tell it not to. Files
/// with the same content shall have the same bytes.
extern "C" __attribute__((visibility("default"))) int gettimeofday(timeval* now, void*) noexcept
{
  timespec time{};
  if (!writesHdf5)
    clock_gettime(CLOCK_REALTIME, &time);
  *now = {time.tv_sec, time.tv_nsec / 1000};
  return 0;
}

int main(int count, char**)
{
  int kind = 0;
  socklen_t length = sizeof kind;
  if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &kind, &length) != 0) {
    std::puts("tessera-decode reads and writes files for the other programs of Tessera, which start it. It "
              "takes no command line.");
    return static_cast<int>(count > 1 ? ExitCode::done : ExitCode::usage); // --help
  }
  quietenGdcm();
  watchMemory();
  Decoder decoder;
  serveDecoder([&](Message& request, const ProcessLine& line) { return decoder.answer(request, line); });
  return 0;
}
