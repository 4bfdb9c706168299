#pragma once

#include "Core/Image/Files/InputFile.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

struct z_stream_s; // zlib's

namespace tessera {

/// What a zlib or gzip stream holds, from its beginning; a gzip file may have several members.
class Inflater {
public:
  /// The stream begins at `position` of the file, which must outlive this.
  Inflater(const InputFile& file, std::uint64_t position);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// The next bytes. False if the stream is damaged or ends before `out` is full.
  bool fill(std::span<std::byte> out);

  /// True if what follows is as long as the stream says and its checksums are right.
  bool finish();

private:
  bool step();

  const InputFile& file_;
  std::uint64_t position_;
  std::vector<unsigned char> input_;
  std::unique_ptr<z_stream_s> stream_;
  bool ended_ = false;
};

}
