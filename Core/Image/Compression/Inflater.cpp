#include "Core/Image/Compression/Inflater.h"

#include <new>

#include <zlib.h>

namespace tessera {
namespace {

constexpr std::size_t pieceBytes = std::size_t(1) << 16;
constexpr int eitherKind = 15 + 32, raw = -15; // the largest window; gzip or zlib, as its header says

}

Inflater::Inflater(const InputFile& file, std::uint64_t position, bool isRaw)
    : file_(file), position_(position), input_(pieceBytes), stream_(std::make_unique<z_stream_s>())
{
  if (inflateInit2(stream_.get(), isRaw ? raw : eitherKind) != Z_OK)
    throw std::bad_alloc();
}

Inflater::~Inflater()
{
  inflateEnd(stream_.get());
}

bool Inflater::fill(std::span<std::byte> out)
{
  stream_->next_out = reinterpret_cast<Bytef*>(out.data());
  stream_->avail_out = static_cast<uInt>(out.size());
  while (stream_->avail_out > 0)
    if (!step())
      return false;
  return true;
}

Inflater::Rest Inflater::finish()
{
  std::vector<std::byte> rest(pieceBytes);
  for (std::uint64_t inflated = 0; !ended_; inflated += rest.size() - stream_->avail_out) {
    if (inflated > maxBytesBehindVoxels)
      return Rest::tooLong;
    stream_->next_out = reinterpret_cast<Bytef*>(rest.data());
    stream_->avail_out = static_cast<uInt>(rest.size());
    if (!step())
      return Rest::damaged;
  }
  return Rest::whole;
}

bool Inflater::step()
{
  if (stream_->avail_in == 0) {
    stream_->avail_in = static_cast<uInt>(file_.read(position_, input_.data(), input_.size()));
    stream_->next_in = input_.data();
    position_ += stream_->avail_in;
    if (stream_->avail_in == 0)
      return false;
  }
  if (ended_) { // the bytes that are needed come from another member
    inflateReset(stream_.get());
    ended_ = false;
  }
  const int code = inflate(stream_.get(), Z_NO_FLUSH);
  ended_ = code == Z_STREAM_END;
  return ended_ || code == Z_OK;
}

}
