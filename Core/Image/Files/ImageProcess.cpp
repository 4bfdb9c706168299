#include "Core/Image/Files/ImageProcess.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/Channel.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/ItkTransformFiles/ItkTransformReader.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

int forks = -1; // the end of a socket to the process that makes the processes that read files

/// Calls visit(each member) in one order for both directions.
template <class Header, class Visit>
void visitHeader(Header& h, Visit&& visit)
{
  visit(h.path), visit(h.dimension), visit(h.size), visit(h.spacingMm), visit(h.originMm), visit(h.direction);
  visit(h.components), visit(h.componentType), visit(h.typeInFile), visit(h.meaning);
  visit(h.isReadWhole), visit(h.hasRanges), visit(h.notes);
}

template <class Place, class Visit>
void visitPlace(Place& p, Visit&& visit)
{
  visit(p.path), visit(p.encoding), visit(p.offset), visit(p.byteCount), visit(p.type), visit(p.swapped);
  visit(p.streamAt), visit(p.zlibBytes), visit(p.components), visit(p.apart), visit(p.towardsRas);
  visit(p.scaling.slope), visit(p.scaling.intercept);
}

template <class Reading, class Visit>
void visitReading(Reading& r, Visit&& visit)
{
  visit(r.dicomSeries), visit(r.allowMissingSlices), visit(r.pixelSpacingMm);
}

/// Sends whether `action` succeeded, and its error if it did not.
template <class Action>
bool putOutcome(Channel& channel, const std::string& path, Action&& action)
{
  Error failure(ExitCode::done, "");
  try {
    action();
  } catch (const Channel::Ended&) {
    throw;
  } catch (const Error& error) {
    failure = error;
  } catch (const std::bad_alloc&) {
    failure = Error(
        ExitCode::outOfMemory,
        path + ": reading it needs more memory than there is. Allowed: a smaller image, or more memory.");
  } catch (const std::exception& error) {
    failure = Error(ExitCode::unreadableInput,
                    path + ": it cannot be read: " + error.what() + ". Allowed: " + wholeFile + ".");
  }
  channel.put(failure.code());
  channel.put(std::string(failure.what()));
  if (failure.code() != ExitCode::done)
    channel.flush();
  return failure.code() == ExitCode::done;
}

void getOutcome(Channel& channel)
{
  ExitCode code = ExitCode::done;
  std::string text;
  channel.get(code);
  channel.get(text);
  if (code != ExitCode::done)
    throw Error(code, text);
}

enum class Request : char { open, read, transforms };

/// Opens an image for the program. Empty if that failed or if the program reads the voxels itself.
std::unique_ptr<ImageSource> serveOpen(Channel& channel, bool& isSound)
{
  std::string path;
  ReadingOptions reading;
  channel.get(path);
  visitReading(reading, [&](auto& value) { channel.get(value); });
  std::unique_ptr<ImageSource> source;
  isSound = putOutcome(channel, path, [&] { source = openImageHere(path, reading); });
  if (!isSound)
    return {};
  const auto put = [&](const auto& value) { channel.put(value); };
  visitHeader(source->header(), put);
  const VoxelPlace* const place = source->place();
  put(place != nullptr);
  if (place)
    visitPlace(*place, put);
  channel.flush();
  return place ? nullptr : std::move(source);
}

bool serveRead(Channel& channel, ImageSource& source)
{
  std::vector<std::string> notes;
  std::unique_ptr<std::byte[]> voxels;
  const bool isRead = putOutcome(channel, source.header().path, [&] {
    voxels = std::make_unique_for_overwrite<std::byte[]>(source.byteCount());
    source.read(voxels.get(), 1, notes);
  });
  if (isRead) {
    channel.put(notes);
    channel.putBytes(voxels.get(), source.byteCount());
    channel.flush();
  }
  return isRead;
}

template <class Transforms, class Visit>
void visitTransforms(Transforms& transforms, Visit&& visit)
{
  for (auto& [className, fixedParameters, parameters] : transforms)
    visit(className), visit(fixedParameters), visit(parameters);
}

bool serveTransforms(Channel& channel)
{
  std::string path;
  channel.get(path);
  std::vector<ItkTransform> transforms;
  const bool isRead = putOutcome(channel, path, [&] { transforms = readItkTransformsHere(path); });
  if (isRead) {
    channel.put(transforms.size());
    visitTransforms(transforms, [&](const auto& value) { channel.put(value); });
    channel.flush();
  }
  return isRead;
}

/// The work of a process that reads files: one after the other, until one of them cannot be read. What a
/// damaged file may have left in memory ends with the process.
void serve(Channel& channel)
{
  std::unique_ptr<ImageSource> source;
  for (bool isSound = true; isSound;) {
    Request request{};
    channel.get(request);
    if (request == Request::open) {
      source = serveOpen(channel, isSound);
    } else if (request == Request::transforms) {
      isSound = serveTransforms(channel);
    } else {
      isSound = serveRead(channel, *source);
      source.reset();
    }
  }
}

/// Receives one end of a socket; -1 if the program has ended.
int receiveSocket(int from)
{
  char byte = 0;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))];
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  ssize_t got = 0;
  while ((got = recvmsg(from, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
    ;
  const cmsghdr* const head = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  int socket = -1;
  if (head && head->cmsg_type == SCM_RIGHTS)
    std::memcpy(&socket, CMSG_DATA(head), sizeof socket);
  return socket;
}

bool sendSocket(int to, int socket)
{
  char byte = 0;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof socket);
  std::memcpy(CMSG_DATA(head), &socket, sizeof socket);
  ssize_t sent = 0;
  while ((sent = sendmsg(to, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
    ;
  return sent == 1;
}

/// Makes a process for each socket that it receives, until the program ends.
void makeProcesses(int from)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifndef __SANITIZE_ADDRESS__
  const int nowhere = ::open("/dev/null", O_WRONLY); // what libraries print may come from a hostile file
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  close(nowhere);
#endif
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) // of the terminal: the program decides what they mean
    std::signal(signal, SIG_IGN);
  for (int socket; (socket = receiveSocket(from)) >= 0; close(socket)) {
    while (waitpid(-1, nullptr, WNOHANG) > 0)
      ;
    const pid_t process = fork();
    if (process > 0)
      continue;
    Channel channel(socket);
    try {
      if (process < 0) {
        putOutcome(channel, "", [] {
          throw Error(ExitCode::outOfMemory, "the system refused a process that reads a file ("
                                                 + std::string(std::strerror(errno))
                                                 + "). Allowed: a higher limit of processes (ulimit -u, or "
                                                   "that of the container).");
        });
      } else {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(from);
        serve(channel);
      }
    } catch (const Channel::Ended&) { // the program has no use for the image any more
    }
    if (process == 0)
      _exit(0);
  }
  while (wait(nullptr) > 0) // so that what they took counts as that of the program
    ;
}

[[noreturn]] void failWithoutAnswer(const std::string& path)
{
  failToRead(path, "the library that reads this format has crashed on it", wholeFile);
}

using ChannelPointer = std::unique_ptr<Channel>;

/// Channels to processes that wait for their next image.
struct IdleProcesses {
  std::mutex mutex;
  std::vector<ChannelPointer> channels;

  ChannelPointer take()
  {
    const std::lock_guard lock(mutex);
    if (channels.empty())
      return {};
    ChannelPointer channel = std::move(channels.back());
    channels.pop_back();
    return channel;
  }
  void keep(ChannelPointer channel)
  {
    constexpr std::size_t most = 16;
    const std::lock_guard lock(mutex);
    if (channel && channels.size() < most)
      channels.push_back(std::move(channel));
  }
};

IdleProcesses& idleProcesses()
{
  static IdleProcesses& idle = *new IdleProcesses; // never destroyed: sources may outlive static objects
  return idle;
}

ChannelPointer newProcess()
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  auto channel = std::make_unique<Channel>(ends[0]);
  sendSocket(forks, ends[1]); // if it fails, there is no answer
  close(ends[1]);
  return channel;
}

ChannelPointer idleOrNewProcess()
{
  if (ChannelPointer channel = idleProcesses().take())
    return channel;
  return newProcess();
}

/// An image that another process reads.
class ApartSource final : public ImageSource {
public:
  ApartSource(ImageHeader header, const ReadingOptions& reading, ChannelPointer channel)
      : ImageSource(std::move(header)), reading_(reading), channel_(std::move(channel))
  {
  }
  ~ApartSource() override { idleProcesses().keep(std::move(channel_)); }

  using ImageSource::read;

  void read(std::byte* buffer, int, std::vector<std::string>& notes) override
  {
    requireMemory(static_cast<double>(byteCount()),
                  header().path + ": an image of " + extentText(header().size) + " voxels",
                  "a smaller image, or more memory");
    if (!channel_) // it can be asked once
      return ImageProcess::open(header().path, reading_)->read(buffer, 1, notes);
    ChannelPointer channel = std::move(channel_);
    try {
      channel->put(Request::read);
      getOutcome(*channel);
      std::vector<std::string> ofImage;
      channel->get(ofImage);
      notes.insert(notes.end(), ofImage.begin(), ofImage.end());
      channel->getBytes(buffer, byteCount());
      idleProcesses().keep(std::move(channel));
    } catch (const Channel::Ended&) {
      failWithoutAnswer(header().path);
    }
  }

private:
  ReadingOptions reading_;
  ChannelPointer channel_; // empty once the voxels have been read
};

}

ImageProcess::ImageProcess()
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  process_ = fork();
  if (process_ == 0) {
    close(ends[0]);
    makeProcesses(ends[1]);
    _exit(0);
  }
  const int failure = errno;
  close(ends[1]);
  forks = ends[0];
  if (process_ < 0) {
    close(std::exchange(forks, -1));
    throw std::system_error(failure, std::generic_category(), "fork");
  }
}

ImageProcess::~ImageProcess()
{
  idleProcesses().channels.clear();
  close(std::exchange(forks, -1));
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR)
    ;
}

bool ImageProcess::isRunning()
{
  return forks >= 0;
}

std::unique_ptr<ImageSource> ImageProcess::open(const std::string& path, const ReadingOptions& reading)
{
  ChannelPointer channel = idleOrNewProcess();
  try {
    channel->put(Request::open);
    channel->put(path);
    visitReading(reading, [&](const auto& value) { channel->put(value); });
    getOutcome(*channel);
    const auto get = [&](auto& value) { channel->get(value); };
    ImageHeader header;
    visitHeader(header, get);
    bool hasPlace = false;
    get(hasPlace);
    if (!hasPlace)
      return std::make_unique<ApartSource>(std::move(header), reading, std::move(channel));
    VoxelPlace place;
    visitPlace(place, get);
    idleProcesses().keep(std::move(channel));
    return makePlacedSource(std::move(header), std::move(place));
  } catch (const Channel::Ended&) {
    failWithoutAnswer(path);
  }
}

std::vector<ItkTransform> ImageProcess::readTransforms(const std::string& path)
{
  ChannelPointer channel = idleOrNewProcess();
  try {
    channel->put(Request::transforms);
    channel->put(path);
    getOutcome(*channel);
    std::size_t count = 0;
    channel->get(count);
    std::vector<ItkTransform> transforms(count);
    visitTransforms(transforms, [&](auto& value) { channel->get(value); });
    idleProcesses().keep(std::move(channel));
    return transforms;
  } catch (const Channel::Ended&) {
    failWithoutAnswer(path);
  }
}

}
