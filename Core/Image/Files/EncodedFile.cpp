#include "Core/Image/Files/EncodedFile.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr std::size_t blocksAtOnce = 128; // at most 32 MiB of blocks are in memory before they are written

[[noreturn]] void failToWrite()
{
  throw std::system_error(errno, std::generic_category());
}

void writeAll(int file, const void* bytes, std::size_t count)
{
  for (const char* next = static_cast<const char*>(bytes); count > 0;) {
    const ssize_t written = ::write(file, next, std::min(count, std::size_t(1) << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      failToWrite();
    next += written;
    count -= static_cast<std::size_t>(written);
  }
}

/// The header of a zlib stream (RFC 1950): a window of 32 KiB, the fastest class of levels, and a check so
/// that it is a multiple of 31.
constexpr const char* zlibHeader = "\x78\x01";

std::string trailer(FileEncoding encoding, std::uint32_t checksum, std::uint64_t byteCount)
{
  std::string text;
  for (int i = 0; i < 4; ++i)
    text += static_cast<char>(checksum >> (encoding == FileEncoding::zlib ? 24 - 8 * i : 8 * i));
  for (int i = 0; i < 4 && encoding == FileEncoding::gzip; ++i)
    text += static_cast<char>(byteCount >> (8 * i));
  return text;
}

}

EncodedFile::EncodedFile(const std::string& path, const std::string& head, const Settings& settings)
    : settings_(settings), checksumKind_(settings.encoding == FileEncoding::zlib ? StreamChecksum::adler32
                                                                                 : StreamChecksum::crc32),
      headBytes_(head.size()), checksum_(firstChecksum(checksumKind_))
{
  file_ = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0)
    failToWrite();
  const std::string start = head
                            + (settings.encoding == FileEncoding::gzip   ? gzipHeader(index_)
                               : settings.encoding == FileEncoding::zlib ? zlibHeader
                                                                         : "");
  writeAll(file_, start.data(), start.size());
  put_ = start.size();
}

EncodedFile::~EncodedFile()
{
  if (file_ >= 0)
    ::close(file_);
}

void EncodedFile::close()
{
  if (::close(std::exchange(file_, -1)) != 0)
    failToWrite();
}

void EncodedFile::checkGiven(bool holds) const
{
  if (!holds)
    throw std::logic_error("EncodedFile: " + std::to_string(given_) + " bytes for "
                           + std::to_string(settings_.byteCount));
}

void EncodedFile::put(std::span<const unsigned char> bytes)
{
  writeAll(file_, bytes.data(), bytes.size());
  put_ += bytes.size();
}

void EncodedFile::writeBlocks(const Blocks& blocks)
{
  const std::uint64_t left = (settings_.byteCount + deflateBlockBytes - 1) / deflateBlockBytes
                             - index_.deflatedBytes.size(); // those of `blocks` and later ones
  std::vector<DeflatedBlock> deflated(std::min(blocks.size(), blocksAtOnce));
  for (std::size_t first = 0; first < blocks.size(); first += deflated.size()) {
    const std::size_t count = std::min(deflated.size(), blocks.size() - first);
    forEachChunk(Context{{}, settings_.threads}, count, [&](std::size_t i) {
      deflated[i] = deflateBlock(blocks[first + i], first + i + 1 >= left, checksumKind_);
    });
    for (std::size_t i = 0; i < count; ++i) {
      index_.deflatedBytes.push_back(static_cast<std::uint32_t>(deflated[i].bytes.size()));
      if (settings_.encoding == FileEncoding::gzip)
        putText(blockMark(index_.deflatedBytes.back()));
      put(deflated[i].bytes);
      checksum_ = joinedChecksum(checksum_, deflated[i].checksum, blocks[first + i].size(), checksumKind_);
    }
  }
}

void EncodedFile::write(std::span<const std::byte> bytes)
{
  given_ += bytes.size();
  checkGiven(given_ <= settings_.byteCount);
  if (settings_.encoding == FileEncoding::plain) {
    put({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
    return;
  }
  const std::size_t completing = std::min(bytes.size(), deflateBlockBytes - pending_.size());
  pending_.insert(pending_.end(), bytes.begin(), bytes.begin() + completing);
  if (pending_.size() < deflateBlockBytes)
    return;
  Blocks blocks{pending_};
  std::size_t position = completing;
  for (; bytes.size() - position >= deflateBlockBytes; position += deflateBlockBytes)
    blocks.push_back(bytes.subspan(position, deflateBlockBytes));
  writeBlocks(blocks);
  pending_.assign(bytes.begin() + position, bytes.end());
}

std::uint64_t EncodedFile::finish()
{
  checkGiven(given_ == settings_.byteCount);
  if (settings_.encoding == FileEncoding::plain)
    return put_ - headBytes_;
  if (!pending_.empty() || index_.deflatedBytes.empty())
    writeBlocks({pending_});
  putText(trailer(settings_.encoding, checksum_, given_));
  const std::uint64_t streamBytes = put_ - headBytes_;
  if (settings_.encoding == FileEncoding::zlib)
    putText(zlibIndexText(index_));
  return streamBytes;
}

void EncodedFile::rewrite(std::uint64_t position, const std::string& bytes)
{
  if (lseek(file_, static_cast<off_t>(position), SEEK_SET) < 0)
    failToWrite();
  writeAll(file_, bytes.data(), bytes.size());
}

}
