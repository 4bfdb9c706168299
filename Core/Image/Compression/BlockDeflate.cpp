#include "Core/Image/Compression/BlockDeflate.h"

#include <new>
#include <utility>

#include <zlib.h>

namespace tessera {
namespace {

constexpr int rawWindow = -15; // 32 KiB, neither header nor checksum
constexpr int memoryLevel = 8; // the default of zlib

}

std::uint32_t firstChecksum(StreamChecksum kind)
{
  return kind == StreamChecksum::crc32 ? 0 : 1;
}

std::uint32_t checksumOf(std::span<const std::byte> bytes, StreamChecksum kind)
{
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  const uLong first = firstChecksum(kind);
  return static_cast<std::uint32_t>(kind == StreamChecksum::crc32 ? crc32_z(first, data, bytes.size())
                                                                  : adler32_z(first, data, bytes.size()));
}

std::uint32_t joinedChecksum(std::uint32_t first, std::uint32_t second, std::size_t secondBytes,
                             StreamChecksum kind)
{
  const auto length = static_cast<z_off_t>(secondBytes);
  return static_cast<std::uint32_t>(kind == StreamChecksum::crc32 ? crc32_combine(first, second, length)
                                                                  : adler32_combine(first, second, length));
}

namespace {

std::vector<unsigned char> deflated(std::span<const std::byte> block, int level, bool isLast)
{
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, rawWindow, memoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::vector<unsigned char> bytes(deflateBound(&stream, block.size()) + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, isLast ? Z_FINISH : Z_FULL_FLUSH); // the output buffer is large enough
  bytes.resize(stream.total_out);
  bytes.shrink_to_fit(); // the block is kept until those before it are written
  deflateEnd(&stream);
  return bytes;
}

}

DeflatedBlock deflateBlock(std::span<const std::byte> block, bool isLast, StreamChecksum kind)
{
  constexpr int fast = 1, thorough = 6;
  std::vector<unsigned char> bytes = deflated(block, fast, isLast);
  if (5 * bytes.size() < block.size()) // labels, masks, background: a thorough search takes little time there
    bytes = deflated(block, thorough, isLast);
  return {std::move(bytes), checksumOf(block, kind)};
}

bool inflateBlock(std::span<const unsigned char> deflated, std::span<std::byte> block)
{
  z_stream stream{};
  if (inflateInit2(&stream, rawWindow) != Z_OK)
    throw std::bad_alloc();
  stream.next_in = const_cast<Bytef*>(deflated.data());
  stream.avail_in = static_cast<uInt>(deflated.size());
  stream.next_out = reinterpret_cast<Bytef*>(block.data());
  stream.avail_out = static_cast<uInt>(block.size());
  const int code = inflate(&stream, Z_SYNC_FLUSH);
  const bool isWhole = (code == Z_OK || code == Z_STREAM_END) && stream.avail_out == 0;
  inflateEnd(&stream);
  return isWhole;
}

}
