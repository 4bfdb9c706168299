#include "Core/Image/Compression/BlockDeflate.h"

#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include <isa-l.h>
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
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  return (kind == StreamChecksum::crc32 ? crc32_gzip_refl : isal_adler32)(firstChecksum(kind), data,
                                                                          bytes.size());
}

std::uint32_t joinedChecksum(std::uint32_t first, std::uint32_t second, std::size_t secondBytes,
                             StreamChecksum kind)
{
  const auto length = static_cast<z_off_t>(secondBytes);
  return static_cast<std::uint32_t>(kind == StreamChecksum::crc32 ? crc32_combine(first, second, length)
                                                                  : adler32_combine(first, second, length));
}

std::vector<unsigned char> deflatedFast(std::span<const std::byte> block, bool isLast)
{
  constexpr std::uint32_t workBytes = ISAL_DEF_LVL2_DEFAULT;
  const auto work = std::make_unique_for_overwrite<std::uint8_t[]>(workBytes);
  std::vector<unsigned char> bytes(block.size() + block.size() / 4
                                   + 1024); // dense data are stored as they are
  isal_zstream stream;
  isal_deflate_init(&stream);
  stream.level = 2;
  stream.level_buf = work.get();
  stream.level_buf_size = workBytes;
  stream.flush = isLast ? NO_FLUSH : FULL_FLUSH;
  stream.end_of_stream = isLast;
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(block.data()));
  stream.avail_in = static_cast<std::uint32_t>(block.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<std::uint32_t>(bytes.size());
  if (isal_deflate(&stream) != COMP_OK || stream.avail_in > 0 || stream.avail_out == 0)
    throw std::logic_error("ISA-L did not compress a block");
  bytes.resize(stream.total_out);
  return bytes;
}

namespace {

std::vector<unsigned char> deflatedThoroughly(std::span<const std::byte> block, bool isLast)
{
  z_stream stream{};
  constexpr int level = 6;
  if (deflateInit2(&stream, level, Z_DEFLATED, rawWindow, memoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::vector<unsigned char> bytes(deflateBound(&stream, block.size()) + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  deflate(&stream, isLast ? Z_FINISH : Z_FULL_FLUSH); // the output buffer is large enough
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

}

DeflatedBlock deflateBlock(std::span<const std::byte> block, bool isLast, StreamChecksum kind)
{
  std::vector<unsigned char> bytes = deflatedFast(block, isLast);
  if (5 * bytes.size() < block.size()) // labels, masks, background: a thorough search takes little time there
    bytes = deflatedThoroughly(block, isLast);
  bytes.shrink_to_fit(); // the block is kept until those before it are written
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
