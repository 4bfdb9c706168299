#pragma once

#include "Core/Image/Files/Message.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include <sys/types.h>

namespace tessera {

/// Memory that a program and a process of tessera-decode share: the voxels of one image. It counts as memory
/// of both while it is mapped.
class SharedVoxels {
public:
  /// Maps the first bytes of a file in memory. Throws std::bad_alloc.
  SharedVoxels(int file, std::size_t byteCount);
  ~SharedVoxels();
  SharedVoxels(const SharedVoxels&) = delete;
  SharedVoxels& operator=(const SharedVoxels&) = delete;

  std::span<std::byte> bytes() const { return {bytes_, count_}; }

private:
  std::byte* bytes_ = nullptr;
  std::size_t count_;
};

/// One end of the line between a program and a process of it: messages, and memory that both see (-1: none).
class ProcessLine {
public:
  struct Ended {}; // thrown where the other process has gone

  ProcessLine(int socket, int memory) : socket_(socket), memory_(memory) {}
  ProcessLine(const ProcessLine&) = delete;
  ProcessLine& operator=(const ProcessLine&) = delete;
  ~ProcessLine();

  int socket() const { return socket_; }
  void send(const Message&) const;
  Message receive() const;

  /// Memory of a new size, filled with zeros. Throws std::system_error, also if it is above the limit of
  /// files.
  SharedVoxels newVoxels(std::size_t byteCount) const;
  /// The memory that the other process has made.
  SharedVoxels voxels(std::size_t byteCount) const { return SharedVoxels(memory_, byteCount); }
  void freeVoxels() const;

private:
  int socket_, memory_;
};

/// A process of tessera-decode. It reads files one after the other, for one thread at a time, and ends with
/// this program.
class DecoderProcess {
public:
  /// Throws Error(device) with its path if the program cannot be started.
  DecoderProcess();
  ~DecoderProcess();

  const ProcessLine& line() const { return *line_; }
  /// False once it has ended, as the system may have ended it.
  bool isRunning();
  /// Once it has ended without an answer: whether want of memory was the cause. Throws Error(outOfMemory) if
  /// the process could not be loaded.
  bool lackedMemory();

private:
  int wait(); // for its end; the status of waitpid(2)

  pid_t process_ = -1;
  std::unique_ptr<ProcessLine> line_;
};

/// The work of tessera-decode: calls `answer` for each message until the other process has gone or it
/// returns false.
void serveDecoder(const std::function<bool(Message& request, const ProcessLine&)>& answer);

}
