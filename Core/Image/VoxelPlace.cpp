#include "Core/Image/VoxelPlace.h"

#include "Core/Compute/Parallel.h"
#include "Core/Image/InputError.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

namespace tessera {
namespace {

constexpr std::size_t pieceBytes = std::size_t(1) << 20;
constexpr std::size_t wordBytes = 8; // pieces are whole numbers of voxels of any type

[[noreturn]] void failDamaged(const std::string& name)
{
  failToRead(name, "the voxels cannot be read: the compressed data are damaged or cut off", wholeFile);
}

class InputFile {
public:
  InputFile(const std::string& path, const std::string& name) : name_(name), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC))
  {
    if (file_ < 0)
      failToRead(name, "the file cannot be opened (" + std::string(std::strerror(errno)) + ")", "a file that may be read");
  }
  ~InputFile() { close(file_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fewer bytes at the end of the file.
  std::size_t read(std::uint64_t position, void* bytes, std::size_t count) const
  {
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = pread(file_, static_cast<char*>(bytes) + done, count - done, static_cast<off_t>(position + done));
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        failToRead(name_, "the voxels cannot be read (" + std::string(std::strerror(errno)) + ")", wholeFile);
      if (got == 0)
        break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

private:
  std::string name_;
  int file_;
};

/// Memory that is not set to zero before it is used.
template <class T>
struct Room {
  explicit Room(std::size_t count) : values(std::make_unique_for_overwrite<T[]>(count)), size(count) {}
  std::span<T> span() const { return {values.get(), size}; }

  std::unique_ptr<T[]> values;
  std::size_t size;
};

void swapBytes(std::byte* bytes, std::size_t count, std::size_t size)
{
  for (std::size_t i = 0; i < count; i += size)
    std::reverse(bytes + i, bytes + i + size);
}

/// Gives a piece on, in this machine's byte order.
void deliver(const VoxelPlace& place, std::uint64_t firstByte, std::span<std::byte> bytes, const VoxelConsumer& consumer)
{
  if (place.swapped)
    swapBytes(bytes.data(), bytes.size(), pixelTypeSize(place.type));
  consumer(firstByte, bytes);
}

/// A piece of the file straight to its place.
void readPlain(const VoxelPlace& place, const InputFile& file, const std::string& name, std::uint64_t first,
               std::span<std::byte> out)
{
  if (file.read(place.offset + first, out.data(), out.size()) != out.size())
    failToRead(name, "the file holds less than the " + std::to_string(place.byteCount) + " bytes of its voxels", wholeFile);
}

/// The bytes that the stream holds, and how many of them stand before the voxels.
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

/// What a zlib or gzip stream holds, from its beginning; a gzip file may have several members.
class Inflater {
public:
  Inflater(const InputFile& file, std::uint64_t position) : file_(file), position_(position), input_(pieceBytes / 4)
  {
    if (inflateInit2(&stream_, 15 + 32) != Z_OK) // either kind
      throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// False if the stream is damaged or ends before `out` is full.
  bool fill(std::span<std::byte> out)
  {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out > 0)
      if (!step())
        return false;
    return true;
  }

  /// True if what follows is as long as the stream says and its checksums are right.
  bool finish()
  {
    std::vector<std::byte> rest(pieceBytes / 4);
    while (!ended_) {
      stream_.next_out = reinterpret_cast<Bytef*>(rest.data());
      stream_.avail_out = static_cast<uInt>(rest.size());
      if (!step())
        return false;
    }
    return true;
  }

private:
  bool step()
  {
    if (stream_.avail_in == 0) {
      stream_.avail_in = static_cast<uInt>(file_.read(position_, input_.data(), input_.size()));
      stream_.next_in = input_.data();
      position_ += stream_.avail_in;
      if (stream_.avail_in == 0)
        return false;
    }
    if (ended_) { // more is wanted: another member
      inflateReset(&stream_);
      ended_ = false;
    }
    const int code = inflate(&stream_, Z_NO_FLUSH);
    ended_ = code == Z_STREAM_END;
    return ended_ || code == Z_OK;
  }

  const InputFile& file_;
  std::uint64_t position_;
  std::vector<Bytef> input_;
  z_stream stream_{};
  bool ended_ = false;
};

void readCompressed(const VoxelPlace& place, const InputFile& file, const std::string& name, const VoxelConsumer& consumer)
{
  const StreamLength stream(place);
  Inflater inflater(file, place.streamAt);
  std::vector<std::byte> piece(pieceBytes);
  for (std::uint64_t left = stream.skipped; left > 0;) {
    const std::size_t count = std::min<std::uint64_t>(left, piece.size());
    if (!inflater.fill(std::span(piece).first(count)))
      failDamaged(name);
    left -= count;
  }
  for (std::uint64_t first = 0; first < place.byteCount; first += pieceBytes) {
    const std::span<std::byte> bytes = std::span(piece).first(std::min<std::uint64_t>(pieceBytes, place.byteCount - first));
    if (!inflater.fill(bytes))
      failDamaged(name);
    deliver(place, first, bytes, consumer);
  }
  if (!inflater.finish())
    failDamaged(name);
}

/// Where each block begins, and the end of the last one; empty if the index is not one of this file.
std::vector<std::uint64_t> blockStarts(const VoxelPlace& place, const StreamLength& stream, const BlockIndex& index)
{
  if (index.blockBytes == 0 || index.blockBytes % wordBytes != 0 || stream.skipped % wordBytes != 0
      || index.deflatedBytes.size() != (stream.bytes + index.blockBytes - 1) / index.blockBytes)
    return {};
  std::vector<std::uint64_t> starts{index.firstBlock};
  for (const std::uint32_t bytes : index.deflatedBytes)
    starts.push_back(starts.back() + bytes);
  std::error_code failure;
  const std::uint64_t end = stream.isGzip ? std::filesystem::file_size(place.path, failure) : place.streamAt + place.zlibBytes;
  return !failure && starts.back() + stream.trailerBytes == end ? starts : std::vector<std::uint64_t>{};
}

/// The checksum in the four bytes behind the last block: gzip's begins with its lowest byte, zlib's with its highest.
std::uint32_t storedChecksum(const InputFile& file, std::uint64_t position, bool lowestFirst)
{
  unsigned char bytes[4] = {};
  file.read(position, bytes, sizeof bytes);
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(bytes[i]) << (lowestFirst ? 8 * i : 24 - 8 * i);
  return value;
}

void readBlocks(const VoxelPlace& place, const StreamLength& stream, const InputFile& file, const std::string& name,
                const BlockIndex& index, const std::vector<std::uint64_t>& starts, int threads, const VoxelConsumer& consumer)
{
  std::vector<std::uint32_t> checksums(index.deflatedBytes.size());
  const auto blockLength = [&](std::size_t b) {
    return std::min<std::uint64_t>(index.blockBytes, stream.bytes - b * index.blockBytes);
  };
  forEachChunk(Context{{}, threads}, checksums.size(), [&](std::size_t b) {
    const Room<unsigned char> deflated(index.deflatedBytes[b]);
    const Room<std::byte> room(blockLength(b));
    const std::span<std::byte> block = room.span();
    if (file.read(starts[b], deflated.span().data(), deflated.size) != deflated.size || !inflateBlock(deflated.span(), block))
      failDamaged(name);
    checksums[b] = checksumOf(block, stream.checksum);
    const std::uint64_t first = b * index.blockBytes, skipped = first < stream.skipped ? stream.skipped - first : 0;
    if (skipped < block.size())
      deliver(place, first + skipped - stream.skipped, block.subspan(skipped), consumer);
  });
  std::uint32_t checksum = firstChecksum(stream.checksum);
  for (std::size_t b = 0; b < checksums.size(); ++b)
    checksum = joinedChecksum(checksum, checksums[b], blockLength(b), stream.checksum);
  if (checksum != storedChecksum(file, starts.back(), stream.isGzip))
    failDamaged(name);
}

/// Puts values of the file, of which `first` others stand before them, to their voxels.
template <class T>
void interleave(const VoxelPlace& place, std::uint64_t first, std::span<const T> values, T* voxels)
{
  const std::uint64_t count = place.byteCount / sizeof(T) / place.components;
  while (!values.empty()) {
    const std::uint64_t component = first / count, voxel = first % count;
    const std::size_t length = std::min<std::uint64_t>(values.size(), count - voxel);
    const bool negated = place.towardsRas && component < 2;
    T* const out = voxels + voxel * place.components + component;
    for (std::size_t i = 0; i < length; ++i)
      out[i * place.components] = negated ? static_cast<T>(-values[i]) : values[i];
    first += length;
    values = values.subspan(length);
  }
}

}

void readVoxels(const VoxelPlace& place, const std::string& name, int threads, const VoxelConsumer& consumer)
{
  const InputFile file(place.path, name);
  if (place.encoding == FileEncoding::plain) {
    forEachRange(Context{{}, threads}, place.byteCount, pieceBytes, [&](std::size_t first, std::size_t last) {
      const Room<std::byte> piece(last - first);
      readPlain(place, file, name, first, piece.span());
      deliver(place, first, piece.span(), consumer);
    });
    return;
  }
  const StreamLength stream(place);
  const BlockIndex index =
      stream.isGzip ? gzipIndex(place.path, place.streamAt) : zlibIndex(place.path, place.streamAt, place.zlibBytes);
  if (const std::vector<std::uint64_t> starts = blockStarts(place, stream, index); !starts.empty())
    readBlocks(place, stream, file, name, index, starts, threads, consumer);
  else
    readCompressed(place, file, name, consumer);
}

void readVoxels(const VoxelPlace& place, const std::string& name, int threads, std::byte* voxels)
{
  if (place.apart) {
    withPixelType(place.type, [&]<class T>(std::type_identity<T>) {
      readVoxels(place, name, threads, [&](std::uint64_t firstByte, std::span<const std::byte> bytes) {
        interleave(place, firstByte / sizeof(T), std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)),
                   reinterpret_cast<T*>(voxels));
      });
    });
    return;
  }
  if (place.encoding != FileEncoding::plain) {
    readVoxels(place, name, threads, [&](std::uint64_t firstByte, std::span<const std::byte> bytes) {
      std::memcpy(voxels + firstByte, bytes.data(), bytes.size());
    });
    return;
  }
  const InputFile file(place.path, name);
  forEachRange(Context{{}, threads}, place.byteCount, pieceBytes, [&](std::size_t first, std::size_t last) {
    readPlain(place, file, name, first, {voxels + first, last - first});
    if (place.swapped)
      swapBytes(voxels + first, last - first, pixelTypeSize(place.type));
  });
}

}
