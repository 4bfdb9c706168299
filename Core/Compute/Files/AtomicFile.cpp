#include "Core/Compute/Files/AtomicFile.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <span>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// Waits until the content of a file is on the disk. Returns errno; a file system that cannot do this is no
/// failure.
int syncToDisk(const std::string& path)
{
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return errno;
  const int failure = fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  close(file);
  return failure;
}

[[noreturn]] void failByLimitOfFiles(const std::string& path, const std::string& wrong)
{
  failAs(ExitCode::outOfMemory, path, wrong, "a higher limit of open files (ulimit -n)");
}

/// Throws if a call failed by the limit of open files, which threads may keep no longer when fail() looks.
void checkLimitOfFiles(int failure, const std::string& path, const std::string& wrong)
{
  if (failure == EMFILE || failure == ENFILE)
    failByLimitOfFiles(path, wrong);
}

/// Whether the limit of open files is reached, which libraries that write do not tell apart.
bool noFileCanBeOpened()
{
  const int file = open("/", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return errno == EMFILE || errno == ENFILE;
  close(file);
  return false;
}

}

AtomicFile::AtomicFile(const std::string& path) : path_(path), folder_(fs::path(path).parent_path().string())
{
  if (folder_.empty())
    folder_.push_back('.');
  const std::string name = fs::path(path).filename().string();
  std::error_code ignored;
  if (name.size() > NAME_MAX)
    failAs(ExitCode::usage, path, "its name has " + std::to_string(name.size()) + " bytes",
           "names of at most " + std::to_string(NAME_MAX) + " bytes");
  // Moving a file to its place would take that of a device away, such as /dev/null.
  const fs::file_status there = fs::status(path, ignored);
  if (name.empty() || (fs::exists(there) && !fs::is_regular_file(there)))
    failAs(ExitCode::unwritableOutput, path,
           std::string("this is a ") + kindOfFile(there.type()) + ", not a file",
           "the name of a file, or of nothing");
  if (!fs::is_directory(folder_, ignored))
    fail("there is no folder " + folder_);
  static std::mutex mutex;
  static std::set<std::string> swept;
  if (const std::lock_guard lock(mutex); swept.insert(folder_).second)
    removeAbandoned(folder_);
  try {
    hidden_.emplace(folder_, prefix);
  } catch (const std::system_error& error) {
    const std::string wrong = "the folder cannot be written to (" + error.code().message() + ")";
    checkLimitOfFiles(error.code().value(), path_, wrong);
    fail(wrong);
  }
  temporaryPath_ = *hidden_ / name;
}

void AtomicFile::commit(Sync sync)
{
  std::vector<std::array<std::string, 2>> moves; // from, to
  for (const fs::directory_entry& entry : fs::directory_iterator(hidden_->path()))
    if (const std::string file = entry.path().string(); file != temporaryPath_)
      moves.push_back({file, folder_ + "/" + entry.path().filename().string()});
  moves.push_back({temporaryPath_, path_});
  for (const auto& [from, to] : moves)
    if (const int failure = sync == Sync::yes ? syncToDisk(from) : 0; failure != 0) {
      const std::string wrong = "cannot be brought to the disk (" + std::string(std::strerror(failure)) + ")";
      checkLimitOfFiles(failure, path_, wrong);
      fail(wrong);
    }
  const std::string replaced = temporaryPath_ + ".replaced";
  int failure = 0;
  {
    // All files are moved or none, whenever the program is ended by a signal that can be caught. Where it is
    // killed in between, an old header must not name new voxels: it goes away first. Nothing here takes
    // memory.
    const auto together = ScratchFolder::holdAll();
    const bool isAway = moves.size() > 1 && std::rename(path_.c_str(), replaced.c_str()) == 0;
    for (const auto& [from, to] : moves)
      if (failure == 0 && std::rename(from.c_str(), to.c_str()) != 0)
        failure = errno;
    if (failure != 0 && isAway)
      std::rename(replaced.c_str(), path_.c_str());
  }
  if (failure != 0)
    fail("cannot be moved to its place (" + std::string(std::strerror(failure)) + ")");
}

void AtomicFile::checkRoom(std::size_t byteCount) const
{
  const std::string probe = temporaryPath_ + ".room";
  const int file = open(probe.c_str(), O_CREAT | O_WRONLY, 0600);
  const int failure = file < 0 ? errno : posix_fallocate(file, 0, static_cast<off_t>(byteCount));
  if (file >= 0)
    close(file);
  unlink(probe.c_str());
  if (failure != 0)
    fail("there is no room for " + std::to_string(byteCount) + " bytes (" + std::strerror(failure) + ")");
}

void AtomicFile::fail(const std::string& wrong) const
{
  if (noFileCanBeOpened())
    failByLimitOfFiles(path_, wrong);
  std::error_code failure;
  const fs::space_info space = fs::space(folder_, failure);
  const std::string room =
      failure ? "" : "; " + std::to_string(space.available >> 20) + " MiB are free there";
  rlimit size{};
  const bool isLimited = getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY;
  throw Error(ExitCode::unwritableOutput,
              path_ + ": " + wrong
                  + ". Allowed: a file in a folder that exists, may be written to and has room" + room
                  + (isLimited ? "; and no larger than a file may be here, " + std::to_string(size.rlim_cur)
                                     + " bytes (ulimit -f)."
                               : "."));
}

namespace {

template <class Piece>
void writePieces(const std::string& path, std::span<const Piece> pieces, Sync sync)
{
  AtomicFile file(path);
  errno = 0;
  std::ofstream stream(file.temporaryPath(), std::ios::binary);
  for (const Piece& piece : pieces) // nothing is written once one could not be
    stream.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  stream.close();
  if (!stream)
    file.fail("cannot be written whole (" + std::string(std::strerror(errno)) + ")");
  file.commit(sync);
}

}

void writeTextFile(const std::string& path, std::string_view text, Sync sync)
{
  writePieces(path, std::span<const std::string_view>(&text, 1), sync);
}

void writeTextFile(const std::string& path, const std::vector<std::string>& pieces, Sync sync)
{
  writePieces(path, std::span(pieces), sync);
}

}
