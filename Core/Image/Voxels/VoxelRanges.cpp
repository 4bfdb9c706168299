#include "Core/Image/Voxels/VoxelRanges.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/FileChecks/FileNumbers.h"
#include "Core/Image/Files/InputError.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera {
namespace {

constexpr std::size_t pieceBytes = std::size_t(1) << 20;
constexpr std::size_t wordBytes = 8; // pieces are multiples of it, so that they hold whole values of any type

/// An array that is not initialised.
template <class T>
struct Room {
  explicit Room(std::size_t count) : values(std::make_unique_for_overwrite<T[]>(count)), size(count) {}
  std::span<T> span() const { return {values.get(), size}; }

  std::unique_ptr<T[]> values;
  std::size_t size;
};

void toOwnOrder(const VoxelPlace& place, std::span<std::byte> bytes)
{
  const std::size_t size = pixelTypeSize(place.type);
  for (std::size_t i = 0; place.swapped && i < bytes.size(); i += size)
    std::reverse(bytes.data() + i, bytes.data() + i + size);
}

}

VoxelRanges::VoxelRanges(const VoxelPlace& place, const std::string& name) : place_(place), name_(name)
{
  if (!place_.file)
    place_.file = std::make_shared<const InputFile>(place.path, name);
  if (place.encoding != FileEncoding::plain)
    findBlocks();
}

/// Reads the index of the stream, if there is one that fits the file.
void VoxelRanges::findBlocks()
{
  index_ = isGzip() ? gzipIndex(*place_.file, place_.streamAt)
                    : zlibIndex(*place_.file, place_.streamAt, place_.zlibBytes);
  if (index_.blockBytes == 0 || index_.blockBytes % wordBytes != 0 || place_.offset % wordBytes != 0
      || index_.deflatedBytes.size() != (streamBytes() + index_.blockBytes - 1) / index_.blockBytes)
    return;
  starts_ = {index_.firstBlock};
  for (const std::uint32_t bytes : index_.deflatedBytes)
    starts_.push_back(starts_.back() + bytes);
  const std::uint64_t trailerBytes = isGzip() ? 8 : 4,
                      end = isGzip() ? place_.file->size() : place_.streamAt + place_.zlibBytes;
  if (starts_.back() + trailerBytes != end)
    starts_.clear();
  checksums_.resize(index_.deflatedBytes.size());
  isKnown_.resize(checksums_.size());
}

/// Puts the bytes to `to`, or, if that is null, passes them to the consumer.
void VoxelRanges::readPieces(std::uint64_t firstByte, std::uint64_t byteCount, int threads, std::byte* to,
                             const VoxelConsumer& consumer)
{
  if (byteCount == 0)
    return;
  const Context context{{}, threads};
  if (!starts_.empty()) {
    const std::uint64_t first = place_.offset + firstByte, end = first + byteCount;
    const std::size_t firstBlock = first / index_.blockBytes, endBlock = (end - 1) / index_.blockBytes + 1;
    forEachChunk(context, endBlock - firstBlock, [&](std::size_t i) {
      const std::size_t block = firstBlock + i;
      const Room<std::byte> room(blockLength(block));
      inflateBlock(block, room.span());
      const std::uint64_t at = block * index_.blockBytes, from = std::max(first, at),
                          past = std::min(end, at + room.size);
      const std::span<std::byte> bytes = room.span().subspan(from - at, past - from);
      toOwnOrder(place_, bytes);
      if (to)
        std::memcpy(to + (from - first), bytes.data(), bytes.size());
      else
        consumer(from - place_.offset, bytes);
    });
    return;
  }
  const auto readPiece = [&](std::size_t first, std::size_t last) {
    const Room<std::byte> room(to ? 0 : last - first);
    const std::span<std::byte> bytes = to ? std::span(to + first, last - first) : room.span();
    if (place_.encoding == FileEncoding::plain)
      readPlain(firstByte + first, bytes);
    else
      inflate(bytes);
    toOwnOrder(place_, bytes);
    if (!to)
      consumer(firstByte + first, bytes);
  };
  if (place_.encoding == FileEncoding::plain)
    return forEachRange(context, byteCount, pieceBytes, readPiece);
  skipTo(firstByte);
  for (std::uint64_t first = 0; first < byteCount; first += pieceBytes)
    readPiece(first, std::min(first + pieceBytes, byteCount));
}

void VoxelRanges::read(std::uint64_t firstByte, std::uint64_t byteCount, int threads,
                       const VoxelConsumer& consumer)
{
  readPieces(firstByte, byteCount, threads, nullptr, consumer);
}

void VoxelRanges::read(std::uint64_t firstByte, std::span<std::byte> bytes, int threads)
{
  readPieces(firstByte, bytes.size(), threads, bytes.data(), {});
}

void VoxelRanges::finish(int threads)
{
  if (place_.encoding == FileEncoding::plain)
    return;
  if (starts_.empty()) {
    skipTo(std::max(at_, place_.byteCount));
    if (inflater_->finish() != Inflater::Rest::whole)
      failDamaged();
    return;
  }
  forEachChunk(Context{{}, threads}, checksums_.size(), [&](std::size_t block) {
    if (!isKnown_[block])
      inflateBlock(block, Room<std::byte>(blockLength(block)).span());
  });
  std::uint32_t checksum = firstChecksum(checksumKind());
  for (std::size_t block = 0; block < checksums_.size(); ++block)
    checksum = joinedChecksum(checksum, checksums_[block], blockLength(block), checksumKind());
  if (checksum != storedChecksum())
    failDamaged();
}

void VoxelRanges::readPlain(std::uint64_t firstByte, std::span<std::byte> out) const
{
  if (place_.file->read(place_.offset + firstByte, out.data(), out.size()) != out.size())
    failToRead(name_,
               "the file holds less than the " + std::to_string(place_.byteCount) + " bytes of its voxels",
               wholeFile);
}

void VoxelRanges::inflateBlock(std::size_t block, std::span<std::byte> out)
{
  const Room<unsigned char> deflated(index_.deflatedBytes[block]);
  if (place_.file->read(starts_[block], deflated.span().data(), deflated.size) != deflated.size
      || !tessera::inflateBlock(deflated.span(), out))
    failDamaged();
  checksums_[block] = checksumOf(out, checksumKind());
  isKnown_[block] = 1;
}

/// The checksum in the four bytes behind the last block: little-endian for gzip, big-endian for zlib.
std::uint32_t VoxelRanges::storedChecksum() const
{
  return static_cast<std::uint32_t>(numberAt(place_.file->text(starts_.back(), 4), 0, 4, !isGzip()));
}

void VoxelRanges::inflateAway(std::uint64_t count)
{
  std::array<std::byte, std::size_t(1) << 15> skipped;
  for (std::size_t length = 0; count > 0; count -= length) {
    length = std::min<std::uint64_t>(skipped.size(), count);
    inflate(std::span(skipped).first(length));
  }
}

void VoxelRanges::skipTo(std::uint64_t firstByte)
{
  if (!inflater_ || firstByte < at_) {
    inflater_.emplace(*place_.file, place_.streamAt);
    inflateAway(place_.offset);
    at_ = 0;
  }
  inflateAway(firstByte - at_);
}

void VoxelRanges::failDamaged() const
{
  failToRead(name_, "the voxels cannot be read: the compressed data are damaged or cut off", wholeFile);
}

}
