#include "Core/Image/ItkTransformFiles/NiftiField.h"

#include "Core/Image/FileChecks/NiftiHeader.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/ImageStream.h"
#include "Core/Image/ShearedGrid.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tessera {
namespace {

// Places in the header of NIfTI-1.
constexpr std::size_t axesAt = 40, parameterAt = 56, intentAt = 68, spacingAt = 76, nameAt = 328;
constexpr std::int16_t fnirtIntent = 2006, vectorIntent = 1007;
constexpr const char* niftyRegName = "NREG_TRANS";

template <class Value>
void put(std::string& head, std::size_t place, Value value)
{
  std::memcpy(head.data() + place, &value, sizeof value);
}

void setMeaning(std::string& head, NiftiVectors meaning)
{
  if (meaning == NiftiVectors::fnirt) {
    for (const auto& [axis, size] : {std::pair{0, 4}, {4, 3}, {5, 1}}) // number of axes; their lengths
      put(head, axesAt + 2 * static_cast<std::size_t>(axis), static_cast<std::int16_t>(size));
    put(head, spacingAt + 4 * std::size_t(4), 1.0F);
    put(head, intentAt, fnirtIntent);
  } else {
    put(head, parameterAt, 0.0F);
    put(head, intentAt, vectorIntent);
    std::memcpy(head.data() + nameAt, niftyRegName, std::strlen(niftyRegName));
  }
}

}

void writeNiftiVectors(const std::string& path, const VectorImage<3>& image, NiftiVectors meaning,
                       int threads)
{
  checkHoldsGrid(formatOf(path), image.geometry);
  const ImageHeader header = headerOf(path, image.geometry, PixelType::float32, 3);
  ImageStream stream(path, header, true, threads, [&](std::string& head) { setMeaning(head, meaning); });
  stream.writeAll(reinterpret_cast<const std::byte*>(image.voxels.data()));
  stream.commit();
}

NiftiIntent niftiIntent(const std::string& path)
{
  NiftiHeader header;
  if (std::error_code ignored;
      !std::filesystem::is_regular_file(path, ignored) || !header.read(FileHead(path)))
    return {};
  return {header.intent(), header.intentParameter(), header.intentName()};
}

}
