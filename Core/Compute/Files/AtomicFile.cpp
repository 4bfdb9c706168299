#include "Core/Compute/Files/AtomicFile.h"

#include "Core/Compute/Error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

}

AtomicFile::AtomicFile(const std::string& path) : path_(path), folder_(fs::path(path).parent_path().string())
{
  if (folder_.empty())
    folder_.push_back('.');
  const std::string name = fs::path(path).filename().string();
  std::error_code ignored;
  if (name.empty() || fs::is_directory(path, ignored))
    fail("this is a folder, not a file");
  if (!fs::is_directory(folder_, ignored))
    fail("there is no folder " + folder_);
  try {
    hidden_.emplace(folder_, ".tessera-partial-");
  } catch (const std::system_error& error) {
    fail("the folder cannot be written to (" + error.code().message() + ")");
  }
  temporaryPath_ = *hidden_ / name;
}

void AtomicFile::commit()
{
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(hidden_->path()))
    if (entry.path() != temporaryPath_)
      files.push_back(entry.path());
  files.emplace_back(temporaryPath_);
  // All files are moved or none, whenever the program is ended.
  const auto together = ScratchFolder::holdAll();
  for (const fs::path& file : files) {
    std::error_code failure;
    fs::rename(file, fs::path(folder_) / file.filename(), failure);
    if (failure)
      fail("cannot be moved to its place (" + failure.message() + ")");
  }
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
  std::error_code failure;
  const fs::space_info space = fs::space(folder_, failure);
  const std::string room =
      failure ? "" : "; " + std::to_string(space.available >> 20) + " MiB are free there";
  throw Error(ExitCode::unwritableOutput,
              path_ + ": " + wrong
                  + ". Allowed: a file in a folder that exists, may be written to and has room" + room + ".");
}

void writeTextFile(const std::string& path, std::string_view text)
{
  AtomicFile file(path);
  errno = 0;
  std::ofstream stream(file.temporaryPath(), std::ios::binary);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  if (!stream)
    file.fail("cannot be written whole (" + std::string(std::strerror(errno)) + ")");
  file.commit();
}

}
