#include "Core/Compute/Error.h"
#include "Core/Image/Files/Decoder.h"
#include "Core/Image/Files/DecoderProcess.h"
#include "Core/Image/Files/InputError.h"
#include "Tools/Decode/DicomSeries.h"
#include "Tools/Decode/ItkImage.h"
#include "Tools/Decode/ItkSupport.h"
#include "Tools/Decode/ItkTransforms.h"

#include <cstdio>
#include <ctime>
#include <new>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

using namespace tessera;

namespace {

bool writesHdf5 = false;

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
    try {
      if (what != DecoderRequest::read)
        path = request.take<std::string>();
      writesHdf5 =
          what > DecoderRequest::readTransforms && (path.ends_with(".h5") || path.ends_with(".hdf5"));
      answer = done(what, path, request, line);
      isSound = true;
    } catch (const Error& error) {
      answer = outcome(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      answer =
          outcome(ExitCode::outOfMemory,
                  path + ": it needs more memory than there is. Allowed: a smaller image, or more memory.");
    } catch (const std::exception& error) {
      const bool isRead = what <= DecoderRequest::readTransforms;
      answer = outcome(ExitCode::unreadableInput, isRead ? path + ": it cannot be read: " + error.what()
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
    std::puts(
        "tessera-decode reads and writes files for the other programs of Tessera, which start it. It takes "
        "no command line.");
    return static_cast<int>(count > 1 ? ExitCode::done : ExitCode::usage); // --help
  }
  quietenGdcm();
  Decoder decoder;
  serveDecoder([&](Message& request, const ProcessLine& line) { return decoder.answer(request, line); });
  return 0;
}
