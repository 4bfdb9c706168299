#include "Core/Image/Files/DecoderProcess.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// A program that links the installed libraries has this text from TesseraConfig.cmake.
extern "C" __attribute__((weak)) const char tesseraDecodeFile[];

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int socketOfDecoder = 0, memoryOfDecoder = 3, firstFree = 4; // its only descriptors beside output

[[noreturn]] void failBySystem(int failure)
{
  throw Error(ExitCode::outOfMemory, "the system refused a process that reads or writes a file ("
                                         + std::generic_category().message(failure)
                                         + "). Allowed: higher limits of processes, open files and memory "
                                           "(ulimit, or those of the container).");
}

/// The program or shared library of this code, behind all links.
fs::path fileOfThisCode()
{
  const auto here = reinterpret_cast<std::uintptr_t>(&fileOfThisCode);
  for (const std::string& line : linesOf(readTextFile("/proc/self/maps").text)) {
    std::uintptr_t first = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &first, &end) == 2 && first <= here && here < end)
      return line.substr(std::min(line.find('/'), line.size()));
  }
  return {};
}

const std::string& decoderFile()
{
  static const std::string found = [] {
    const fs::path folder = fileOfThisCode().parent_path(),
                   installed = folder.parent_path() / "libexec/tessera/tessera-decode";
    std::error_code ignored;
    for (const fs::path& path : {folder / "tessera-decode", installed})
      if (fs::exists(path, ignored))
        return path.string();
    return tesseraDecodeFile ? std::string(tesseraDecodeFile) : installed.string();
  }();
  return found;
}

/// A descriptor above those that a new process gets.
int movedUp(int descriptor)
{
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, firstFree);
  close(descriptor);
  return moved;
}

void sendAll(int socket, const void* bytes, std::size_t count)
{
  for (const char* next = static_cast<const char*>(bytes); count > 0;) {
    const ssize_t sent = ::send(socket, next, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      throw ProcessLine::Ended();
    next += sent;
    count -= static_cast<std::size_t>(sent);
  }
}

void receiveAll(int socket, void* bytes, std::size_t count)
{
  for (char* next = static_cast<char*>(bytes); count > 0;) {
    const ssize_t got = recv(socket, next, count, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      throw ProcessLine::Ended();
    next += got;
    count -= static_cast<std::size_t>(got);
  }
}

}

SharedVoxels::SharedVoxels(int file, std::size_t byteCount) : count_(byteCount)
{
  void* const mapped =
      mmap(nullptr, std::max<std::size_t>(byteCount, 1), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED)
    throw std::bad_alloc();
  bytes_ = static_cast<std::byte*>(mapped);
}

SharedVoxels::~SharedVoxels()
{
  munmap(bytes_, std::max<std::size_t>(count_, 1));
}

ProcessLine::~ProcessLine()
{
  close(socket_);
  close(memory_);
}

void ProcessLine::send(const Message& message) const
{
  const std::size_t count = message.bytes().size();
  sendAll(socket_, &count, sizeof count);
  sendAll(socket_, message.bytes().data(), count);
}

Message ProcessLine::receive() const
{
  std::size_t count = 0;
  receiveAll(socket_, &count, sizeof count);
  std::string bytes(count, '\0');
  receiveAll(socket_, bytes.data(), count);
  return Message(std::move(bytes));
}

SharedVoxels ProcessLine::newVoxels(std::size_t byteCount) const
{
  if (ftruncate(memory_, 0) != 0 || ftruncate(memory_, static_cast<off_t>(byteCount)) != 0)
    throw std::system_error(errno, std::generic_category(), "memory for the voxels");
  return SharedVoxels(memory_, byteCount);
}

void ProcessLine::freeVoxels() const
{
  static_cast<void>(!ftruncate(memory_, 0));
}

DecoderProcess::DecoderProcess()
{
  const std::string& program = decoderFile();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    failBySystem(errno);
  const int socket = movedUp(ends[1]), memory = movedUp(memfd_create("tessera-voxels", MFD_CLOEXEC));
  line_ = std::make_unique<ProcessLine>(ends[0], memory);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, socketOfDecoder);
  posix_spawn_file_actions_adddup2(&actions, memory, memoryOfDecoder);
#ifndef __SANITIZE_ADDRESS__ // what libraries print may come from a hostile file
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
#endif
  posix_spawn_file_actions_addclosefrom_np(&actions, firstFree);
  posix_spawnattr_t settings;
  posix_spawnattr_init(&settings);
  sigset_t blocked; // signals of the terminal: this program decides what they mean
  sigemptyset(&blocked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&blocked, signal);
  posix_spawnattr_setsigmask(&settings, &blocked);
  posix_spawnattr_setflags(&settings, POSIX_SPAWN_SETSIGMASK);
  std::string name = "tessera-decode";
  char* const arguments[] = {name.data(), nullptr};
  const int failure = memory < 0 || socket < 0
                          ? errno
                          : posix_spawn(&process_, program.c_str(), &actions, &settings, arguments, environ);
  posix_spawnattr_destroy(&settings);
  posix_spawn_file_actions_destroy(&actions);
  close(socket);
  if (failure == ENOENT || failure == EACCES || failure == ENOEXEC)
    failAs(ExitCode::device, program,
           std::string("this program, which reads and writes all but plain NIfTI, MetaImage and NRRD, ")
               + (failure == ENOENT ? "is missing" : "cannot be started"),
           "tessera-decode beside the other programs of Tessera, or in ../libexec/tessera, where packages "
           "have it");
  if (failure != 0)
    failBySystem(failure);
}

DecoderProcess::~DecoderProcess()
{
  line_.reset(); // it ends then
  wait();        // so that what it took counts as that of the program
}

int DecoderProcess::wait()
{
  int state = 0;
  while (process_ > 0 && waitpid(process_, &state, 0) < 0 && errno == EINTR)
    ;
  process_ = -1;
  return state;
}

bool DecoderProcess::lackedMemory()
{
  const int state = wait(), notLoaded = 127;
  if (WIFEXITED(state) && WEXITSTATUS(state) == notLoaded)
    failAs(ExitCode::outOfMemory, decoderFile(), "the system could not load this program",
           "its shared libraries, and higher limits of memory (ulimit -v) and open files (ulimit -n)");
  return WIFSIGNALED(state) ? WTERMSIG(state) == SIGKILL
                            : WEXITSTATUS(state) == static_cast<int>(ExitCode::outOfMemory);
}

bool DecoderProcess::isRunning()
{
  if (process_ > 0 && waitpid(process_, nullptr, WNOHANG) != 0)
    process_ = -1;
  return process_ > 0;
}

void serveDecoder(const std::function<bool(Message& request, const ProcessLine&)>& answer)
{
  try { // to end with the program, also in the midst of a file
    std::thread([] {
      pollfd program{socketOfDecoder, 0, 0};
      while (poll(&program, 1, -1) < 0 && errno == EINTR)
        ;
      _exit(0);
    }).detach();
  } catch (const std::system_error&) { // too many threads: it ends after the file
  }
  const ProcessLine line(socketOfDecoder, memoryOfDecoder);
  try {
    for (bool isSound = true; isSound;) {
      Message request = line.receive();
      isSound = answer(request, line);
    }
  } catch (const ProcessLine::Ended&) { // the program has no use for the file any more
  }
}

}
