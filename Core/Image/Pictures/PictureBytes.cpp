#include "Core/Image/Pictures/PictureBytes.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Compression/BlockDeflate.h"

#include <jpeglib.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

namespace tessera {
namespace {

/// Numbers in PNG files begin with the highest byte.
void putNumber(std::string& to, std::uint32_t number)
{
  for (const int shift : {24, 16, 8, 0})
    to += static_cast<char>(number >> shift & 255);
}

std::uint32_t checksum(const std::string& bytes, StreamChecksum kind)
{
  return checksumOf(std::as_bytes(std::span(bytes)), kind);
}

void putChunk(std::string& to, const std::string& kind, const std::string& data)
{
  putNumber(to, static_cast<std::uint32_t>(data.size()));
  to += kind + data;
  putNumber(to, checksum(kind + data, StreamChecksum::crc32));
}

/// A PNG file (ISO/IEC 15948). `rows`: each after the number of its filter; `colourType` as in the file.
std::string pngFile(std::size_t width, std::size_t height, int bits, int colourType,
                    const std::string& palette, const std::string& rows)
{
  std::string file = "\x89PNG\r\n\x1a\n", header;
  putNumber(header, static_cast<std::uint32_t>(width));
  putNumber(header, static_cast<std::uint32_t>(height));
  header += {static_cast<char>(bits), static_cast<char>(colourType), 0, 0, 0};
  putChunk(file, "IHDR", header);
  file += palette;
  std::string data = "\x78\x9c"; // of a zlib stream
  const std::vector<unsigned char> deflated = deflatedFast(std::as_bytes(std::span(rows)), true);
  data.append(deflated.begin(), deflated.end());
  putNumber(data, checksum(rows, StreamChecksum::adler32));
  putChunk(file, "IDAT", data);
  putChunk(file, "IEND", "");
  return file;
}

}

std::vector<Colour> colourScale(const std::vector<Colour>& given)
{
  std::vector<Colour> scale;
  for (std::size_t i = 0; i < scaleColours; ++i) {
    const double place = static_cast<double>(i) * static_cast<double>(given.size() - 1) / (scaleColours - 1);
    const std::size_t below = std::min(static_cast<std::size_t>(place), given.size() - 2);
    Colour colour;
    for (std::size_t c = 0; c < 3; ++c) {
      const double a = given[below][c], b = given[below + 1][c];
      colour[c] = static_cast<std::uint8_t>(std::lround(a + (place - static_cast<double>(below)) * (b - a)));
    }
    scale.push_back(colour);
  }
  return scale;
}

std::string jpegBytes(const std::vector<std::uint8_t>& values, std::size_t width, std::size_t height,
                      int quality)
{
  const auto channels = static_cast<int>(values.size() / (width * height));
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  unsigned char* bytes = nullptr;
  unsigned long count = 0; // NOLINT: libjpeg's type
  struct Release {
    jpeg_compress_struct& jpeg;
    unsigned char*& bytes;
    ~Release()
    {
      jpeg_destroy_compress(&jpeg);
      std::free(bytes); // libjpeg takes it with malloc
    }
  } release{jpeg, bytes};

  jpeg.err = jpeg_std_error(&errors);
  // It must not return. The picture is valid, so only memory can be missing.
  errors.error_exit = [](j_common_ptr) {
    failAs(ExitCode::outOfMemory, "a picture of the report cannot be encoded", "there is too little memory",
           "more memory, or a run without --report");
  };
  jpeg_create_compress(&jpeg);
  jpeg_mem_dest(&jpeg, &bytes, &count);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(values.data() + jpeg.next_scanline * width * channels);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  return {reinterpret_cast<const char*>(bytes), count};
}

std::string pngBytes(const IndexedPicture& picture, const std::vector<Colour>& palette,
                     bool isFirstTransparent)
{
  const std::size_t bits = palette.size() <= 2    ? 1
                           : palette.size() <= 4  ? 2
                           : palette.size() <= 16 ? 4
                                                  : 8,
                    pixelsOfByte = 8 / bits;
  std::string colours, chunks, rows;
  for (const Colour& colour : palette)
    colours.append(colour.begin(), colour.end());
  putChunk(chunks, "PLTE", colours);
  if (isFirstTransparent)
    putChunk(chunks, "tRNS", std::string(1, '\0'));
  rows.reserve(picture.height * (2 + picture.width / pixelsOfByte));
  for (std::size_t y = 0; y < picture.height; ++y) {
    const std::uint8_t* const row = picture.pixels.data() + y * picture.width;
    rows += '\0'; // no filter
    for (std::size_t x = 0; x < picture.width; x += pixelsOfByte) {
      unsigned byte = 0;
      for (std::size_t k = x; k < x + pixelsOfByte; ++k)
        byte = byte << bits | (k < picture.width ? row[k] : 0U);
      rows += static_cast<char>(byte);
    }
  }
  return pngFile(picture.width, picture.height, static_cast<int>(bits), 3, chunks, rows);
}

std::string pngBytes(const std::vector<Colour>& pixels, std::size_t width)
{
  std::string rows;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (i % width == 0)
      rows += '\1'; // differences from the pixel to the left
    for (std::size_t c = 0; c < 3; ++c)
      rows += static_cast<char>(pixels[i][c] - (i % width == 0 ? 0 : pixels[i - 1][c]));
  }
  return pngFile(width, pixels.size() / width, 8, 2, "", rows);
}

}
