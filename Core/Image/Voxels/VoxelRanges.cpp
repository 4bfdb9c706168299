#include "Core/Image/Voxels/VoxelRanges.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Compression/Inflater.h"
#include "Core/Image/Files/InputError.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

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

void swapBytes(std::span<std::byte> bytes, std::size_t size)
{
  for (std::size_t i = 0; i < bytes.size(); i += size)
    std::reverse(bytes.data() + i, bytes.data() + i + size);
}

class OpenedVoxels : public VoxelRanges {
public:
  OpenedVoxels(const VoxelPlace& place, const std::string& name) : place_(place), name_(name) {}

protected:
  void toOwnOrder(std::span<std::byte> bytes) const
  {
    if (place_.swapped)
      swapBytes(bytes, pixelTypeSize(place_.type));
  }
  void deliver(std::uint64_t firstByte, std::span<std::byte> bytes, const VoxelConsumer& consumer) const
  {
    toOwnOrder(bytes);
    consumer(firstByte, bytes);
  }
  [[noreturn]] void failDamaged() const
  {
    failToRead(name_, "the voxels cannot be read: the compressed data are damaged or cut off", wholeFile);
  }

  VoxelPlace place_;
  std::string name_;
};

class PlainVoxels final : public OpenedVoxels {
public:
  using OpenedVoxels::OpenedVoxels;

  void read(std::uint64_t firstByte, std::uint64_t byteCount, int threads,
            const VoxelConsumer& consumer) override
  {
    forEachRange(Context{{}, threads}, byteCount, pieceBytes, [&](std::size_t first, std::size_t last) {
      const Room<std::byte> piece(last - first);
      readPiece(firstByte + first, piece.span());
      consumer(firstByte + first, piece.span());
    });
  }

  void read(std::uint64_t firstByte, std::span<std::byte> bytes, int threads) override
  {
    forEachRange(Context{{}, threads}, bytes.size(), pieceBytes, [&](std::size_t first, std::size_t last) {
      readPiece(firstByte + first, bytes.subspan(first, last - first));
    });
  }

  void finish(int) override {}

private:
  void readPiece(std::uint64_t firstByte, std::span<std::byte> out) const
  {
    if (place_.file->read(place_.offset + firstByte, out.data(), out.size()) != out.size())
      failToRead(name_,
                 "the file holds less than the " + std::to_string(place_.byteCount) + " bytes of its voxels",
                 wholeFile);
    toOwnOrder(out);
  }
};

/// A compressed stream without an index: one thread has to inflate everything before a byte.
class StreamVoxels final : public OpenedVoxels {
public:
  using OpenedVoxels::OpenedVoxels;
  using VoxelRanges::read;

  void read(std::uint64_t firstByte, std::uint64_t byteCount, int, const VoxelConsumer& consumer) override
  {
    skipTo(firstByte);
    const Room<std::byte> piece(std::min<std::uint64_t>(pieceBytes, byteCount));
    while (at_ < firstByte + byteCount) {
      const std::uint64_t first = at_;
      const std::span<std::byte> bytes =
          piece.span().first(std::min<std::uint64_t>(piece.size, firstByte + byteCount - first));
      inflate(bytes);
      deliver(first, bytes, consumer);
    }
  }

  void read(std::uint64_t firstByte, std::span<std::byte> bytes, int) override
  {
    skipTo(firstByte);
    for (std::size_t done = 0; done < bytes.size();) {
      const std::span<std::byte> piece = bytes.subspan(done, std::min(pieceBytes, bytes.size() - done));
      inflate(piece);
      toOwnOrder(piece);
      done += piece.size();
    }
  }

  void finish(int) override
  {
    skipTo(std::max(at_, place_.byteCount));
    if (!inflater_->finish())
      failDamaged();
  }

private:
  void inflate(std::span<std::byte> bytes)
  {
    if (!inflater_->fill(bytes))
      failDamaged();
    at_ += bytes.size();
  }

  void inflateAway(std::uint64_t count)
  {
    std::array<std::byte, std::size_t(1) << 15> skipped;
    while (count > 0) {
      const std::size_t length = std::min<std::uint64_t>(skipped.size(), count);
      inflate(std::span(skipped).first(length));
      count -= length;
    }
  }

  void skipTo(std::uint64_t firstByte)
  {
    if (!inflater_ || firstByte < at_) {
      inflater_.emplace(*place_.file, place_.streamAt);
      inflateAway(place_.offset);
      at_ = 0;
    }
    inflateAway(firstByte - at_);
  }

  std::optional<Inflater> inflater_;
  std::uint64_t at_ = 0; // position of the inflater in the voxels
};

/// The length of an inflated stream, and how many of its bytes precede the voxels.
struct StreamLength {
  explicit StreamLength(const VoxelPlace& place)
      : isGzip(place.encoding == FileEncoding::gzip), skipped(place.offset), bytes(skipped + place.byteCount),
        checksum(isGzip ? StreamChecksum::crc32 : StreamChecksum::adler32), trailerBytes(isGzip ? 8 : 4)
  {
  }

  bool isGzip;
  std::uint64_t skipped, bytes;
  StreamChecksum checksum;
  std::uint64_t trailerBytes;
};

/// The position of each block and the end of the last one. Empty if the index does not fit the file.
std::vector<std::uint64_t> blockStarts(const VoxelPlace& place, const StreamLength& stream,
                                       const BlockIndex& index)
{
  if (index.blockBytes == 0 || index.blockBytes % wordBytes != 0 || stream.skipped % wordBytes != 0
      || index.deflatedBytes.size() != (stream.bytes + index.blockBytes - 1) / index.blockBytes)
    return {};
  std::vector<std::uint64_t> starts{index.firstBlock};
  for (const std::uint32_t bytes : index.deflatedBytes)
    starts.push_back(starts.back() + bytes);
  const std::uint64_t end = stream.isGzip ? place.file->size() : place.streamAt + place.zlibBytes;
  return starts.back() + stream.trailerBytes == end ? starts : std::vector<std::uint64_t>{};
}

/// A compressed stream with an index: several threads inflate only the blocks that are needed.
class BlockVoxels final : public OpenedVoxels {
public:
  BlockVoxels(const VoxelPlace& place, const std::string& name, const BlockIndex& index,
              std::vector<std::uint64_t> starts)
      : OpenedVoxels(place, name), stream_(place), index_(index), starts_(std::move(starts)),
        checksums_(index_.deflatedBytes.size()), isKnown_(checksums_.size(), 0)
  {
  }
  using VoxelRanges::read;

  void read(std::uint64_t firstByte, std::uint64_t byteCount, int threads,
            const VoxelConsumer& consumer) override
  {
    if (byteCount == 0)
      return;
    const std::uint64_t first = stream_.skipped + firstByte, end = first + byteCount;
    const std::size_t firstBlock = first / index_.blockBytes, endBlock = (end - 1) / index_.blockBytes + 1;
    forEachChunk(Context{{}, threads}, endBlock - firstBlock, [&](std::size_t i) {
      const std::size_t b = firstBlock + i;
      const Room<std::byte> room(blockLength(b));
      inflate(b, room.span());
      const std::uint64_t at = b * index_.blockBytes, from = std::max(first, at),
                          to = std::min(end, at + room.size);
      deliver(from - stream_.skipped, room.span().subspan(from - at, to - from), consumer);
    });
  }

  void finish(int threads) override
  {
    forEachChunk(Context{{}, threads}, checksums_.size(), [&](std::size_t b) {
      if (!isKnown_[b])
        inflate(b, Room<std::byte>(blockLength(b)).span());
    });
    std::uint32_t checksum = firstChecksum(stream_.checksum);
    for (std::size_t b = 0; b < checksums_.size(); ++b)
      checksum = joinedChecksum(checksum, checksums_[b], blockLength(b), stream_.checksum);
    if (checksum != storedChecksum())
      failDamaged();
  }

private:
  std::size_t blockLength(std::size_t b) const
  {
    return std::min<std::uint64_t>(index_.blockBytes, stream_.bytes - b * index_.blockBytes);
  }

  void inflate(std::size_t b, std::span<std::byte> block)
  {
    const Room<unsigned char> deflated(index_.deflatedBytes[b]);
    if (place_.file->read(starts_[b], deflated.span().data(), deflated.size) != deflated.size
        || !inflateBlock(deflated.span(), block))
      failDamaged();
    checksums_[b] = checksumOf(block, stream_.checksum);
    isKnown_[b] = 1;
  }

  /// The checksum in the four bytes behind the last block: little-endian for gzip, big-endian for zlib.
  std::uint32_t storedChecksum() const
  {
    unsigned char bytes[4] = {};
    place_.file->read(starts_.back(), bytes, sizeof bytes);
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      value |= static_cast<std::uint32_t>(bytes[i]) << (stream_.isGzip ? 8 * i : 24 - 8 * i);
    return value;
  }

  StreamLength stream_;
  BlockIndex index_;
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint32_t> checksums_; // one for each block that was inflated
  std::vector<std::uint8_t> isKnown_;
};

}

void VoxelRanges::read(std::uint64_t firstByte, std::span<std::byte> bytes, int threads)
{
  read(firstByte, bytes.size(), threads, [&](std::uint64_t first, std::span<const std::byte> piece) {
    std::memcpy(bytes.data() + (first - firstByte), piece.data(), piece.size());
  });
}

std::unique_ptr<VoxelRanges> openVoxels(const VoxelPlace& given, const std::string& name)
{
  VoxelPlace place = given;
  if (!place.file)
    place.file = std::make_shared<const InputFile>(place.path, name);
  if (place.encoding == FileEncoding::plain)
    return std::make_unique<PlainVoxels>(place, name);
  const StreamLength stream(place);
  const BlockIndex index = stream.isGzip ? gzipIndex(*place.file, place.streamAt)
                                         : zlibIndex(*place.file, place.streamAt, place.zlibBytes);
  if (std::vector<std::uint64_t> starts = blockStarts(place, stream, index); !starts.empty())
    return std::make_unique<BlockVoxels>(place, name, index, std::move(starts));
  return std::make_unique<StreamVoxels>(place, name);
}

}
