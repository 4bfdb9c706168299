#include "Core/Image/Compression/BlockIndex.h"

#include "Core/Image/Compression/BlockDeflate.h"
#include "Core/Image/FileChecks/FileNumbers.h"

namespace tessera {
namespace {

constexpr std::size_t fixedHeaderBytes = 10, lengthBytes = 2;
constexpr std::size_t subfieldHeadBytes = 4; // two letters and a length
constexpr std::size_t partsOfMark = 7, bitsOfPart = 5;
constexpr std::uint64_t mostBytes = std::uint64_t(1) << 31; // of a block
const std::string emptyBlock("\0\0\0\xff\xff", 5); // stored: the last bits of its first byte are free
constexpr std::size_t zlibHeaderBytes = 2;
const std::string behindZlib = "TSBI";

void append(std::string& text, std::uint64_t value, std::size_t byteCount)
{
  for (std::size_t i = 0; i < byteCount; ++i)
    text += static_cast<char>(value >> (8 * i));
}

std::uint32_t number(const std::string& text, std::size_t position, std::size_t byteCount)
{
  return static_cast<std::uint32_t>(numberAt(text, position, byteCount, false));
}

std::string lengthsText(const BlockIndex& index)
{
  std::string text;
  append(text, index.blockBytes, 4);
  for (const std::uint32_t bytes : index.deflatedBytes)
    append(text, bytes, 4);
  return text;
}

/// Goes from mark to mark, and ends early where there is none.
BlockIndex indexOfMarks(const InputFile& file, std::size_t blockBytes, std::uint64_t firstBlock)
{
  constexpr std::size_t trailerBytes = 8;
  BlockIndex index{blockBytes, {}, firstBlock};
  for (std::uint64_t at = firstBlock; at + trailerBytes < file.size(); at += index.deflatedBytes.back()) {
    std::string mark = file.text(at, partsOfMark * emptyBlock.size());
    mark.resize(partsOfMark * emptyBlock.size()); // if the file ends before it does
    std::uint64_t length = 0;
    for (std::size_t part = partsOfMark; part-- > 0;)
      length = length << bitsOfPart
               | static_cast<unsigned char>(mark[part * emptyBlock.size()]) >> (8 - bitsOfPart);
    if (length > mostBytes || mark != blockMark(static_cast<std::uint32_t>(length)))
      break;
    index.deflatedBytes.push_back(static_cast<std::uint32_t>(mark.size() + length));
  }
  return index;
}

BlockIndex indexOf(const std::string& lengths, std::uint64_t firstBlock)
{
  BlockIndex index{number(lengths, 0, 4), {}, firstBlock};
  for (std::size_t i = 4; i < lengths.size(); i += 4)
    index.deflatedBytes.push_back(number(lengths, i, 4));
  return index;
}

}

std::string blockMark(std::uint32_t deflatedBytes)
{
  std::string mark;
  for (std::size_t part = 0; part < partsOfMark; ++part) {
    mark += emptyBlock;
    mark[mark.size() - emptyBlock.size()] =
        static_cast<char>((std::uint64_t(deflatedBytes) >> (bitsOfPart * part) & 31) << (8 - bitsOfPart));
  }
  return mark;
}

std::string gzipHeader(const BlockIndex& index)
{
  const std::string lengths = lengthsText(index);
  // Deflate, an extra field, no time, Unix.
  std::string text("\x1f\x8b\x08\x04\0\0\0\0\0\x03", fixedHeaderBytes);
  append(text, subfieldHeadBytes + lengths.size(), lengthBytes);
  text += "TS";
  append(text, lengths.size(), 2);
  return text + lengths;
}

BlockIndex gzipIndex(const InputFile& file, std::uint64_t position)
{
  constexpr std::size_t first = fixedHeaderBytes + lengthBytes, least = first + subfieldHeadBytes + 8;
  const std::string text = file.text(position, first + 65535);
  if (text.size() < least || !text.starts_with(std::string("\x1f\x8b\x08\x04", 4))
      || text.compare(first, 2, "TS") != 0)
    return {};
  const std::size_t extra = number(text, fixedHeaderBytes, 2), payload = number(text, first + 2, 2);
  if (extra != subfieldHeadBytes + payload || payload < 4 || payload % 4 != 0 || text.size() < first + extra)
    return {};
  if (payload == 4)
    return indexOfMarks(file, number(text, first + subfieldHeadBytes, 4), position + first + extra);
  return indexOf(text.substr(first + subfieldHeadBytes, payload), position + first + extra);
}

std::string zlibIndexText(const BlockIndex& index)
{
  return behindZlib + lengthsText(index);
}

BlockIndex zlibIndex(const InputFile& file, std::uint64_t position, std::uint64_t streamBytes)
{
  const std::uint64_t fileBytes = file.size(), end = position + streamBytes;
  if (end < position || fileBytes < end + behindZlib.size() + 8)
    return {};
  const std::uint64_t lengths = fileBytes - end - behindZlib.size();
  if (lengths % 4 != 0 || lengths > streamBytes // a block is not shorter than its four bytes in the index
      || file.text(position, 1) != "\x78" || file.text(end, behindZlib.size()) != behindZlib)
    return {};
  const std::string text = file.text(end + behindZlib.size(), lengths);
  return text.size() == lengths ? indexOf(text, position + zlibHeaderBytes) : BlockIndex{};
}

}
