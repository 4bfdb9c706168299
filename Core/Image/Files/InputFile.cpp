#include "Core/Image/Files/InputFile.h"

#include "Core/Image/Files/InputError.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {

InputFile::InputFile(const std::string& path, const std::string& name)
    : name_(name), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC))
{
  if (file_ < 0 && (errno == EMFILE || errno == ENFILE)) // not the file is at fault
    throw std::system_error(errno, std::generic_category(), name);
  if (file_ < 0)
    failToRead(name, "the file cannot be opened (" + std::string(std::strerror(errno)) + ")",
               "a file that may be read");
}

InputFile::~InputFile()
{
  close(file_);
}

std::size_t InputFile::read(std::uint64_t position, void* bytes, std::size_t count) const
{
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got =
        pread(file_, static_cast<char*>(bytes) + done, count - done, static_cast<off_t>(position + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      failToRead(name_, "the file cannot be read (" + std::string(std::strerror(errno)) + ")", wholeFile);
    if (got == 0)
      break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::string InputFile::text(std::uint64_t position, std::size_t count) const
{
  std::string bytes(count, '\0');
  bytes.resize(read(position, bytes.data(), count));
  return bytes;
}

std::uint64_t InputFile::size() const
{
  struct stat status {};
  return fstat(file_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}
