#include "Core/Image/BlockDeflate.h"

#include <algorithm>
#include <fstream>
#include <new>

#include <zlib.h>

namespace tessera {
namespace {

constexpr int rawWindow = -15; // 32 KiB, neither header nor checksum
constexpr int memoryLevel = 8; // zlib's own
constexpr std::size_t fixedHeaderBytes = 10, lengthBytes = 2;
constexpr std::size_t subfieldHeadBytes = 4;                            // two letters and a length
constexpr std::size_t mostBlocks = (65535 - subfieldHeadBytes - 4) / 4; // an extra field has a length of 16 bits

void append(std::string& text, std::uint64_t value, std::size_t byteCount)
{
  for (std::size_t i = 0; i < byteCount; ++i)
    text += static_cast<char>(value >> (8 * i));
}

std::uint32_t number(const std::string& text, std::size_t position, std::size_t byteCount)
{
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < byteCount; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[position + i])) << (8 * i);
  return value;
}

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

std::uint32_t joinedChecksum(std::uint32_t first, std::uint32_t second, std::size_t secondBytes, StreamChecksum kind)
{
  const auto length = static_cast<z_off_t>(secondBytes);
  return static_cast<std::uint32_t>(kind == StreamChecksum::crc32 ? crc32_combine(first, second, length)
                                                                  : adler32_combine(first, second, length));
}

DeflatedBlock deflateBlock(std::span<const std::byte> block, int level, bool isLast, StreamChecksum kind)
{
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, rawWindow, memoryLevel, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  DeflatedBlock result{std::vector<unsigned char>(deflateBound(&stream, block.size()) + 16), checksumOf(block, kind)};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  stream.next_out = result.bytes.data();
  stream.avail_out = static_cast<uInt>(result.bytes.size());
  deflate(&stream, isLast ? Z_FINISH : Z_FULL_FLUSH); // the room is enough for all of it
  result.bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
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

std::size_t gzipBlockBytes(std::uint64_t byteCount)
{
  std::size_t blockBytes = deflateBlockBytes;
  while (byteCount > blockBytes * mostBlocks)
    blockBytes *= 2;
  return blockBytes;
}

std::string gzipHeader(const GzipIndex& index)
{
  const std::size_t payload = 4 + 4 * index.deflatedBytes.size();
  std::string text("\x1f\x8b\x08\x04\0\0\0\0\0\x03", fixedHeaderBytes); // deflate, an extra field, no time, Unix
  append(text, subfieldHeadBytes + payload, lengthBytes);
  text += "TS";
  append(text, payload, 2);
  append(text, index.blockBytes, 4);
  for (const std::uint32_t bytes : index.deflatedBytes)
    append(text, bytes, 4);
  return text;
}

GzipIndex gzipIndex(const std::string& path)
{
  constexpr std::size_t first = fixedHeaderBytes + lengthBytes, least = first + subfieldHeadBytes + 8;
  std::string text(first + 65535, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() < least || !text.starts_with(std::string("\x1f\x8b\x08\x04", 4)) || text.compare(first, 2, "TS") != 0)
    return {};
  const std::size_t extra = number(text, fixedHeaderBytes, 2), payload = number(text, first + 2, 2);
  if (extra != subfieldHeadBytes + payload || payload % 4 != 0 || text.size() < first + extra)
    return {};
  GzipIndex index{number(text, first + subfieldHeadBytes, 4), {}, first + extra};
  for (std::size_t i = 4; i < payload; i += 4)
    index.deflatedBytes.push_back(number(text, first + subfieldHeadBytes + i, 4));
  return index;
}

}
