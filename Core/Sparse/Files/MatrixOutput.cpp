#include "Core/Sparse/Files/MatrixOutput.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Files/Deflate.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr std::size_t memberBytes = std::size_t(1) << 20, membersAtOnce = 32;

}

MatrixOutput::MatrixOutput(const Context& context, const std::string& path)
    : context_(context), descriptor_(STDOUT_FILENO), compress_(path.ends_with(".gz"))
{
  if (path == "-")
    return;
  file_ = std::make_unique<AtomicFile>(path);
  descriptor_ = open(file_->temporaryPath().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    file_->fail("cannot be written (" + std::string(std::strerror(errno)) + ")");
}

MatrixOutput::~MatrixOutput()
{
  if (file_ && descriptor_ >= 0)
    close(descriptor_);
}

void MatrixOutput::put(std::string_view bytes)
{
  if (!compress_)
    return write(bytes);
  waiting_.append(bytes);
  if (waiting_.size() >= membersAtOnce * memberBytes)
    compressWaiting();
}

void MatrixOutput::compressWaiting()
{
  std::vector<std::string> members((waiting_.size() + memberBytes - 1) / memberBytes);
  forEachChunk(context_, members.size(), [&](std::size_t i) {
    members[i] = gzipMember(std::string_view(waiting_).substr(i * memberBytes, memberBytes));
  });
  for (const std::string& member : members)
    write(member);
  waiting_.clear();
}

void MatrixOutput::write(std::string_view bytes)
{
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      const std::string reason = "cannot be written whole (" + std::string(std::strerror(errno)) + ")";
      if (file_)
        file_->fail(reason);
      failAs(ExitCode::unwritableOutput, "stdout", reason, "a pipe or file that takes all of it");
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void MatrixOutput::finish()
{
  if (compress_)
    compressWaiting();
  if (!file_)
    return;
  const int closed = close(std::exchange(descriptor_, -1));
  if (closed != 0)
    file_->fail("cannot be written whole (" + std::string(std::strerror(errno)) + ")");
  file_->commit();
}

}
