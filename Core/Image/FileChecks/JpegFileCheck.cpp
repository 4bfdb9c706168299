#include "Core/Image/FileChecks/FileCheck.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <vector>

namespace tessera {
namespace {

using Bytes = std::span<const unsigned char>;

/// The segments of a JPEG (ITU T.81, annex B). Checks the rules whose violation is a fatal error for libjpeg.
/// Damage inside the data of a scan is not fatal.
class JpegSegments {
public:
  explicit JpegSegments(Bytes file) : file_(file) {}

  /// Whether the file has a frame, scans with the tables that they use, and the end of the image.
  bool areWhole()
  {
    for (std::size_t position = 2; position + 1 < file_.size();) {
      if (file_[position] != 0xff || file_[position + 1] == 0
          || file_[position + 1] == 0xff) { // fill bytes, and data of scans
        ++position;
        continue;
      }
      const unsigned marker = file_[position + 1];
      position += 2;
      if (marker == 0xd9)
        return hasScan_;
      if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) // markers without a length
        continue;
      const std::size_t length =
          position + 2 <= file_.size() ? file_[position] << 8 | file_[position + 1] : 0;
      if (length < 2 || length > file_.size() - position
          || !take(marker, file_.subspan(position + 2, length - 2)))
        return false;
      position += length;
    }
    return false;
  }

private:
  bool take(unsigned marker, Bytes segment)
  {
    if (marker == 0xdb)
      return readQuantisation(segment);
    if (marker == 0xc4)
      return readHuffman(segment);
    if (marker == 0xda)
      return readScan(segment);
    if (marker == 0xdd)
      return segment.size() == 2;
    if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc8 && marker != 0xcc)
      return readFrame(marker, segment);
    return marker == 0xcc || marker == 0xdc || (marker >= 0xe0 && marker <= 0xef)
           || marker == 0xfe; // segments that libjpeg skips
  }

  bool readQuantisation(Bytes segment)
  {
    while (!segment.empty()) {
      const unsigned table = segment[0] & 15;
      const std::size_t bytes = 1 + (segment[0] >> 4 ? 128 : 64);
      if (table > 3 || segment.size() < bytes)
        return false;
      hasQuantisation_[table] = true;
      segment = segment.subspan(bytes);
    }
    return true;
  }

  bool readHuffman(Bytes segment)
  {
    while (!segment.empty()) {
      if (segment.size() < 17 || (segment[0] & 0xec) != 0) // class 0 or 1, and four tables of each
        return false;
      std::size_t symbols = 0, code = 0;
      for (int bits = 1; bits <= 16; ++bits) {
        code = 2 * code + segment[bits];
        symbols += segment[bits];
        if (code
            >= std::size_t(1) << bits) // more codes than this length has; the code of all ones is not allowed
          return false;
      }
      if (symbols > 256 || segment.size() < 17 + symbols)
        return false;
      const Bytes values = segment.subspan(17, symbols);
      if (segment[0] < 4
          && std::any_of(values.begin(), values.end(), [](unsigned char value) { return value > 15; }))
        return false;
      hasHuffman_[segment[0] >> 4][segment[0] & 3] = true;
      segment = segment.subspan(17 + symbols);
    }
    return true;
  }

  bool readFrame(unsigned marker, Bytes segment)
  {
    const bool isKnown = marker <= 0xc2, isFirst = components_.empty();
    if (!isKnown || !isFirst || segment.size() < 6 || segment[0] != 8 || (segment[1] | segment[2]) == 0
        || (segment[3] | segment[4]) == 0)
      return false;
    const std::size_t count = segment[5];
    if ((count != 1 && count != 3 && count != 4) || segment.size() != 6 + 3 * count)
      return false;
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned char* const component = &segment[6 + 3 * i];
      const unsigned across = component[1] >> 4, down = component[1] & 15;
      if (across < 1 || across > 4 || down < 1 || down > 4 || component[2] > 3)
        return false;
      components_.push_back({component[0], component[2]});
    }
    isProgressive_ = marker == 0xc2;
    return true;
  }

  bool readScan(Bytes segment)
  {
    const std::size_t count = segment.empty() ? 0 : segment[0];
    if (count < 1 || count > components_.size() || segment.size() != 4 + 2 * count)
      return false;
    const unsigned first = segment[1 + 2 * count], last = segment[2 + 2 * count],
                   bits = segment[3 + 2 * count];
    const bool ofOthers = isProgressive_ && first > 0;
    if (isProgressive_
        && (last > 63 || first > last || (first == 0) != (last == 0) || (ofOthers && count > 1)
            || (bits & 15) > 13 || (bits >> 4 != 0 && bits >> 4 != (bits & 15) + 1)))
      return false;
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned id = segment[1 + 2 * i], tables = segment[2 + 2 * i];
      const auto component = std::find_if(components_.begin(), components_.end(),
                                          [&](const Component& c) { return c.id == id; });
      if (component == components_.end() || !hasQuantisation_[component->quantisation] || tables >> 4 > 3
          || (tables & 15) > 3)
        return false;
      const bool isRefined = isProgressive_ && bits >> 4 != 0;
      const bool needsFirst = !ofOthers && !isRefined, needsOthers = ofOthers || !isProgressive_;
      if ((needsFirst && !hasHuffman_[0][tables >> 4]) || (needsOthers && !hasHuffman_[1][tables & 15]))
        return false;
    }
    hasScan_ = true;
    return true;
  }

  struct Component {
    unsigned id, quantisation;
  };

  Bytes file_;
  std::vector<Component> components_;
  std::array<bool, 4> hasQuantisation_{};
  std::array<std::array<bool, 4>, 2> hasHuffman_{};
  bool isProgressive_ = false, hasScan_ = false;
};

}

bool jpegIsWhole(const std::string& path)
{
  std::ifstream stream(path, std::ios::binary);
  const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(stream), {}};
  return JpegSegments(bytes).areWhole();
}

}
