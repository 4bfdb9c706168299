#include "Core/Compute/Files/TextFile.h"

#include "Core/Compute/Memory/Memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

struct Descriptor {
  int file;
  ~Descriptor()
  {
    if (file >= 0)
      close(file);
  }
};

/// Throws where the machine is at fault, not the file.
void checkMachine(int failure, const std::string& path)
{
  if (failure == EIO || failure == EMFILE || failure == ENFILE || failure == ENOMEM)
    throw std::system_error(failure, std::generic_category(), path);
}

/// Appends the rest of an open file, `pieceBytes` at a time.
std::string appendRest(int file, const std::string& path, std::size_t pieceBytes, std::string& text)
{
  while (true) {
    const std::size_t before = text.size();
    if (text.capacity() < before + pieceBytes) {
      requireMemory(2.0 * static_cast<double>(before + pieceBytes), path + ": a text of this length",
                    "a shorter text, or more memory");
      text.reserve(2 * (before + pieceBytes));
    }
    text.resize(before + pieceBytes);
    const ssize_t got = read(file, text.data() + before, pieceBytes);
    const int failure = errno;
    text.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0)
      return "";
    if (got < 0 && failure == EAGAIN) { // a pipe with a writer
      pollfd wanted{file, POLLIN, 0};
      poll(&wanted, 1, -1);
    } else if (got < 0 && failure != EINTR) {
      checkMachine(failure, path);
      return "the file cannot be read to its end (" + std::string(std::strerror(failure)) + ")";
    }
  }
}

TextFile readFile(const std::string& path, bool isRegular, std::size_t largestBytes)
{
  TextFile result;
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0)
    checkMachine(errno, path);
  const Descriptor closesIt{file};
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0)
    result.failure = errno == ENOENT || errno == ENOTDIR
                         ? noSuchFile
                         : "the file cannot be opened (" + std::string(std::strerror(errno)) + ")";
  else if (S_ISDIR(status.st_mode))
    result.failure = "this is a folder";
  else if (!S_ISREG(status.st_mode) && (isRegular || !S_ISFIFO(status.st_mode)))
    result.failure = S_ISFIFO(status.st_mode) ? "this is no file but a pipe" : "this is no file but a device";
  else if (S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) > largestBytes)
    result.failure = "the file has more than " + std::to_string(largestBytes >> 20) + " MiB";
  else
    result.failure =
        appendRest(file, path, std::clamp<std::size_t>(status.st_size + 1, 1 << 12, 1 << 20), result.text);
  return result;
}

}

const char* kindOfFile(std::filesystem::file_type type)
{
  using enum std::filesystem::file_type;
  return type == directory ? "folder" : type == fifo ? "pipe" : type == symlink ? "link" : "device";
}

TextFile readTextFile(const std::string& path)
{
  return readFile(path, false, std::numeric_limits<std::size_t>::max());
}

TextFile readStateFile(const std::string& path, std::size_t largestBytes)
{
  return readFile(path, true, largestBytes);
}

std::string pathOnThisSystem(const std::string& path)
{
  std::string withSlashes = path;
  std::ranges::replace(withSlashes, '\\', '/');
  const bool isOther = withSlashes != path && access(path.c_str(), F_OK) != 0;
  return isOther && access(withSlashes.c_str(), F_OK) == 0 ? withSlashes : path;
}

std::vector<std::string> piecesOf(std::string_view text, char separator)
{
  std::vector<std::string> pieces;
  for (std::size_t start = 0, end = 0; start < text.size(); start = end + 1) {
    end = std::min(text.find(separator, start), text.size());
    pieces.emplace_back(text.substr(start, end - start));
  }
  return pieces;
}

std::vector<std::string> wordsOf(std::string_view text)
{
  constexpr std::string_view blanks = " \t\n\v\f\r";
  std::vector<std::string> words;
  for (std::size_t start = 0; (start = text.find_first_not_of(blanks, start)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, start), text.size());
    words.emplace_back(text.substr(start, end - start));
    start = end;
  }
  return words;
}

std::vector<std::string> cellsOf(std::string_view line, char separator)
{
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  std::vector<std::string> cells(1);
  bool isQuoted = false;
  for (std::size_t i = 0; i < line.size(); ++i)
    if (isQuoted && line.substr(i, 2) == "\"\"")
      cells.back() += line[i++];
    else if (line[i] == '"' && (isQuoted || cells.back().empty()))
      isQuoted = !isQuoted;
    else if (line[i] == separator && !isQuoted)
      cells.emplace_back();
    else
      cells.back() += line[i];
  return cells;
}

}
