#pragma once

#include "Core/Image/Files/InputFile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct z_stream_s; // zlib's

namespace tessera {

/// A compressed file may hold so much behind its voxels. One that holds more was made to keep its reader
/// busy.
constexpr std::uint64_t maxBytesBehindVoxels = 1 << 20;

/// Inflates a zlib or gzip stream, or a raw one, from its beginning. A gzip file may have several members.
class Inflater {
public:
  enum class Rest { whole, damaged, tooLong };

  /// The stream begins at `position` of the file, which must outlive this.
  Inflater(const InputFile& file, std::uint64_t position, bool isRaw = false);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Inflates the next bytes. False if the stream is damaged or ends before `out` is full.
  bool fill(std::span<std::byte> out);

  /// Inflates the rest of the stream, whose length and checksums must be right. Stops after
  /// maxBytesBehindVoxels.
  Rest finish();

private:
  bool step();

  const InputFile& file_;
  std::uint64_t position_;
  std::vector<unsigned char> input_;
  std::unique_ptr<z_stream_s> stream_;
  bool ended_ = false;
};

}
