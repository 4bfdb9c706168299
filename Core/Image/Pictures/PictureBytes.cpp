#include "Core/Image/Pictures/PictureBytes.h"

#include "Core/Compute/Error.h"

#include <cstdio> // before jpeglib.h, which uses FILE

#include <jpeglib.h>
#include <png.h>

#include <cstdlib>

namespace tessera {
namespace {

/// Both libraries report failures by a function that must not return. Their pictures here are valid, so that
/// only memory can be missing.
[[noreturn]] void failToEncode()
{
  throw Error(ExitCode::outOfMemory, "a picture of the report cannot be encoded: there is too little memory. "
                                     "Allowed: more memory, or a run without --report.");
}

/// A PNG that is written to memory.
class PngWriter {
public:
  PngWriter()
      : png_(png_create_write_struct(
          PNG_LIBPNG_VER_STRING, nullptr, [](png_structp, png_const_charp) { failToEncode(); }, nullptr)),
        info_(png_ ? png_create_info_struct(png_) : nullptr)
  {
    if (!info_)
      failToEncode();
    png_set_write_fn(
        png_, &bytes_,
        [](png_structp writer, png_bytep data, png_size_t count) {
          static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<char*>(data), count);
        },
        nullptr);
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  png_structp png() const { return png_; }
  png_infop info() const { return info_; }
  void setHeader(std::size_t width, std::size_t height, int bits, int kind)
  {
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), bits, kind,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  }
  std::string written(const std::uint8_t* pixels, std::size_t rowBytes, std::size_t height)
  {
    for (std::size_t y = 0; y < height; ++y)
      png_write_row(png_, pixels + y * rowBytes);
    png_write_end(png_, nullptr);
    return std::move(bytes_);
  }

private:
  std::string bytes_;
  png_structp png_;
  png_infop info_;
};

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
  errors.error_exit = [](j_common_ptr) { failToEncode(); };
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
  PngWriter writer;
  const int bits = palette.size() <= 2 ? 1 : palette.size() <= 4 ? 2 : palette.size() <= 16 ? 4 : 8;
  writer.setHeader(picture.width, picture.height, bits, PNG_COLOR_TYPE_PALETTE);
  std::vector<png_color> colours;
  for (const Colour& colour : palette)
    colours.push_back({colour[0], colour[1], colour[2]});
  png_set_PLTE(writer.png(), writer.info(), colours.data(), static_cast<int>(colours.size()));
  png_byte transparent = 0;
  if (isFirstTransparent)
    png_set_tRNS(writer.png(), writer.info(), &transparent, 1, nullptr);
  png_set_compression_level(writer.png(), 6);
  png_write_info(writer.png(), writer.info());
  png_set_packing(writer.png());
  return writer.written(picture.pixels.data(), picture.width, picture.height);
}

std::string pngBytes(const std::vector<Colour>& pixels, std::size_t width)
{
  PngWriter writer;
  const std::size_t height = pixels.size() / width;
  writer.setHeader(width, height, 8, PNG_COLOR_TYPE_RGB);
  png_set_compression_level(writer.png(), 9);
  png_write_info(writer.png(), writer.info());
  return writer.written(pixels.front().data(), width * sizeof(Colour), height);
}

}
