#include "Core/Sparse/Files/Deflate.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

namespace tessera {
namespace {

// zlib's names for formats: 15 + 16 asks for gzip's header, a negative number for no header.
constexpr int gzipWindow = 15 + 16, rawWindow = -15;
constexpr int fastLevel = 3;
constexpr std::size_t maxInflation = 1032; // deflate compresses to no less than 1/1032
constexpr std::size_t largestPiece = std::numeric_limits<uInt>::max() / 2;

[[noreturn]] void failToInflate(const std::string& where, const std::string& wrong)
{
  failAs(ExitCode::unreadableInput, where, wrong,
         "a whole compressed file; it may have been cut off or damaged while it was copied");
}

class Inflater {
public:
  Inflater(std::string_view bytes, int window, const std::string& where) : bytes_(bytes), where_(where)
  {
    if (inflateInit2(&stream_, window) != Z_OK)
      throw std::bad_alloc();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Writes up to `room` bytes. Returns fewer than `room` only at the end of the data.
  std::size_t fill(char* to, std::size_t room)
  {
    std::size_t filled = 0;
    while (filled < room && !done_) {
      const std::size_t left = bytes_.size() - consumed();
      stream_.avail_in = static_cast<uInt>(std::min(left, largestPiece));
      const uInt asked = static_cast<uInt>(std::min(room - filled, largestPiece));
      stream_.next_out = reinterpret_cast<Bytef*>(to + filled);
      stream_.avail_out = asked;
      const int state = inflate(&stream_, Z_NO_FLUSH);
      filled += asked - stream_.avail_out;
      if (state == Z_STREAM_END)
        nextMember();
      else if (state == Z_BUF_ERROR
               || (state == Z_OK && consumed() == bytes_.size() && stream_.avail_out > 0))
        failToInflate(where_, "the compressed data end too early");
      else if (state != Z_OK)
        failToInflate(where_, std::string("the compressed data are damaged (")
                                  + (stream_.msg ? stream_.msg : "zlib") + ")");
    }
    return filled;
  }
  std::size_t consumed() const
  {
    return static_cast<std::size_t>(reinterpret_cast<const char*>(stream_.next_in) - bytes_.data());
  }

private:
  void nextMember()
  {
    done_ = !isGzip(bytes_.substr(consumed())); // padding behind the last member is ignored
    if (!done_)
      inflateReset(&stream_);
  }

  z_stream stream_{};
  std::string_view bytes_;
  const std::string& where_;
  bool done_ = false;
};

/// A first guess of the inflated length: the file's last 4 bytes, which state it modulo 2^32 (RFC 1952). The
/// guess is right for a file of one member below 4 GiB.
std::size_t statedBytes(std::string_view bytes)
{
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4 && bytes.size() >= 18; ++i)
    value |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[bytes.size() - 4 + i])) << (8 * i);
  return std::min(value, maxInflation * bytes.size());
}

}

bool isGzip(std::string_view bytes)
{
  return bytes.starts_with("\x1f\x8b");
}

Array<char> inflatedGzip(std::string_view bytes, const std::string& where, const TextLimit& limit)
{
  constexpr std::size_t firstBytes = 1 << 20;
  Inflater inflater(bytes, gzipWindow, where);
  std::optional<double> most;
  Array<char> result(firstBytes);
  std::size_t size = 0;
  while (true) {
    size += inflater.fill(result.data() + size, result.size() - size);
    if (!most)
      most = limit({result.data(), size});
    const double allowed = most.value_or(freeTextBytes);
    if (static_cast<double>(size) > allowed)
      failAs(ExitCode::unreadableInput, where,
             "it inflates to more than " + std::to_string(size - 1)
                 + " bytes, and no matrix of its size takes so many",
             "at most " + std::to_string(static_cast<std::size_t>(freeTextBytes) >> 20)
                 + " MiB of comments and blank lines");
    if (size < result.size())
      break;
    const std::size_t wanted = std::max(2 * size, most ? statedBytes(bytes) + 1 : 0);
    const auto room = static_cast<std::size_t>(std::min(static_cast<double>(wanted), allowed + 1));
    requireMemory(static_cast<double>(room),
                  where + ": inflated to more than " + std::to_string(size >> 20) + " MiB",
                  "a file that holds less, or more memory");
    Array<char> larger(room);
    std::memcpy(larger.data(), result.data(), size);
    result = larger;
  }
  result.truncate(size);
  return result;
}

Array<char> inflatedRaw(std::string_view bytes, std::size_t inflatedBytes, const std::string& where)
{
  if (inflatedBytes / maxInflation > bytes.size())
    failToInflate(where,
                  "so few bytes cannot hold the " + std::to_string(inflatedBytes) + " that the file says");
  requireMemory(static_cast<double>(inflatedBytes), where, "a file that holds less, or more memory");
  Inflater inflater(bytes, rawWindow, where);
  Array<char> result(inflatedBytes + 1);
  if (inflater.fill(result.data(), inflatedBytes + 1) != inflatedBytes)
    failToInflate(where, "the compressed data have another length than the file says");
  result.truncate(inflatedBytes);
  return result;
}

std::string gzipMember(std::string_view bytes)
{
  z_stream stream{};
  if (deflateInit2(&stream, fastLevel, Z_DEFLATED, gzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

}
