#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageSource.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace tessera {
namespace {

using namespace testing;

constexpr std::size_t width = 20, height = 9;

/// The tags of a TIFF file of 20 x 9 pixels.
struct Layout {
  unsigned bits = 32, format = 1, samples = 1, orientation = 1, compression = 1, predictor = 1;
  unsigned photometric = 1;
  std::size_t tile = 0, rowsOfStrip = 4, slices = 1; // tile: its width and height; 0: strips
  bool largestFirst = false;
};

/// A number that differs from pixel to pixel and needs all bits of a type.
std::uint64_t numberAt(const Layout& layout, std::size_t x, std::size_t y, std::size_t slice,
                       std::size_t sample)
{
  const std::uint64_t n = ((slice * height + y) * width + x + 1) * 0x9e3779b97f4a7c15u * (sample + 1);
  return layout.bits == 64 ? n >> 12 : n >> (64 - layout.bits);
}

class TiffBytes {
public:
  explicit TiffBytes(const Layout& layout) : layout_(layout)
  {
    bytes_ = layout.largestFirst ? "MM" : "II";
    put(42, 2);
    put(0, 4);
    std::size_t link = 4;
    for (std::size_t slice = 0; slice < layout.slices; ++slice)
      link = addSlice(slice, link);
  }

  const std::string& bytes() const { return bytes_; }

private:
  std::string number(std::uint64_t value, std::size_t size) const
  {
    std::string text;
    for (std::size_t i = 0; i < size; ++i)
      text += static_cast<char>(value >> 8 * (layout_.largestFirst ? size - 1 - i : i));
    return text;
  }

  void put(std::uint64_t value, std::size_t size) { bytes_ += number(value, size); }

  std::string block(std::size_t slice, std::size_t left, std::size_t top, std::size_t columns,
                    std::size_t rows) const
  {
    std::string pixels;
    for (std::size_t y = top; y < top + rows; ++y)
      for (std::size_t x = left; x < left + columns; ++x)
        for (std::size_t sample = 0; sample < layout_.samples; ++sample) {
          const bool isInside = x < width && y < height;
          const std::uint64_t here = isInside ? numberAt(layout_, x, y, slice, sample) : 0;
          const bool isDifference = layout_.predictor == 2 && x > left;
          const std::uint64_t before =
              isDifference && x - 1 < width && y < height ? numberAt(layout_, x - 1, y, slice, sample) : 0;
          pixels += number(here - before, layout_.bits / 8);
        }
    if (layout_.compression == 1)
      return pixels;
    uLongf size = compressBound(pixels.size());
    std::string deflated(size, '\0');
    compress(reinterpret_cast<Bytef*>(deflated.data()), &size, reinterpret_cast<const Bytef*>(pixels.data()),
             pixels.size());
    deflated.resize(size);
    return deflated;
  }

  /// Returns where the position of the next slice belongs.
  std::size_t addSlice(std::size_t slice, std::size_t link)
  {
    std::vector<std::size_t> offsets, lengths;
    const std::size_t columns = layout_.tile > 0 ? layout_.tile : width,
                      rows = layout_.tile > 0 ? layout_.tile : layout_.rowsOfStrip;
    for (std::size_t top = 0; top < height; top += rows)
      for (std::size_t left = 0; left < width; left += columns) {
        const std::string pixels =
            block(slice, left, top, columns, layout_.tile > 0 ? rows : std::min(rows, height - top));
        offsets.push_back(bytes_.size());
        lengths.push_back(pixels.size());
        bytes_ += pixels + std::string(pixels.size() % 2, '\0');
      }
    const auto list = [&](const std::vector<std::size_t>& values) {
      const std::size_t at = bytes_.size();
      for (const std::size_t value : values)
        put(value, 4);
      return at;
    };
    const std::size_t count = offsets.size(), offsetsAt = count == 1 ? offsets[0] : list(offsets),
                      lengthsAt = count == 1 ? lengths[0] : list(lengths);
    bytes_.replace(link, 4, number(bytes_.size(), 4));
    const bool isTiled = layout_.tile > 0;
    put((isTiled ? 13 : 12) + (layout_.predictor == 2 ? 1 : 0), 2);
    const auto entry = [&](unsigned tag, std::size_t value, std::size_t values = 1) {
      put(tag, 2);
      put(4, 2);
      put(values, 4);
      put(value, 4);
    };
    entry(256, width);
    entry(257, height);
    entry(258, layout_.bits);
    entry(259, layout_.compression);
    entry(262, layout_.photometric);
    if (!isTiled)
      entry(273, offsetsAt, count);
    entry(274, layout_.orientation);
    entry(277, layout_.samples);
    if (!isTiled) {
      entry(278, layout_.rowsOfStrip);
      entry(279, lengthsAt, count);
    }
    entry(284, 1);
    if (layout_.predictor == 2)
      entry(317, 2);
    if (isTiled) {
      entry(322, layout_.tile);
      entry(323, layout_.tile);
      entry(324, offsetsAt, count);
      entry(325, lengthsAt, count);
    }
    entry(339, layout_.format);
    put(0, 4);
    return bytes_.size() - 4;
  }

  Layout layout_;
  std::string bytes_;
};

class TiffPixels : public ::testing::Test {
protected:
  std::string fileOf(const Layout& layout) { return folder.write("in.tif", TiffBytes(layout).bytes()); }

  void expectRefused(const Layout& layout, const std::string& wrong)
  {
    const std::string path = fileOf(layout);
    std::vector<std::string> notes;
    EXPECT_EQ(exitCodeOf([&] { readImage<2>(path, {}, notes); }), ExitCode::unreadableInput);
    const std::string message = messageOf([&] { readImage<2>(path, {}, notes); });
    EXPECT_TRUE(message.starts_with(path + ": " + wrong)) << message;
    EXPECT_PRED2(testing::contains, message, ". Allowed: ");
  }

  testing::TemporaryFolder folder;
};

TEST_F(TiffPixels, NumbersAreThoseOfTheFile)
{
  for (const bool largestFirst : {false, true})
    for (const std::size_t tile : {0, 16})
      for (const unsigned compression : {1, 8})
        for (const unsigned predictor : {1, 2})
          for (const unsigned bits : {8, 16, 32})
            for (const unsigned format : {1, 2}) {
              Layout layout;
              layout.bits = bits;
              layout.format = format;
              layout.tile = tile;
              layout.compression = compression;
              layout.predictor = predictor;
              layout.largestFirst = largestFirst;
              if ((predictor == 2 && compression == 1) || (bits == 32 && tile > 0))
                continue; // not used, or not read
              SCOPED_TRACE(::testing::Message() << bits << " bits, format " << format << ", tile " << tile
                                                << ", compression " << compression << ", predictor "
                                                << predictor << ", largest first " << largestFirst);
              const auto source = openImage(fileOf(layout), {});
              ASSERT_EQ(source->header().components, 1);
              std::vector<std::byte> bytes(source->byteCount());
              source->read(bytes.data(), 1);
              withPixelType(source->header().componentType, [&]<class T>(std::type_identity<T>) {
                ASSERT_EQ(sizeof(T) * 8, bits);
                ASSERT_EQ(std::is_signed_v<T>, format == 2);
                const T* const pixels = reinterpret_cast<const T*>(bytes.data());
                for (std::size_t y = 0; y < height; ++y)
                  for (std::size_t x = 0; x < width; ++x)
                    ASSERT_EQ(pixels[y * width + x], static_cast<T>(numberAt(layout, x, y, 0, 0)))
                        << x << " " << y;
              });
            }
}

TEST_F(TiffPixels, StackOfLongIntegers)
{
  const Layout layout{.slices = 3};
  const auto source = openImage(fileOf(layout), {});
  ASSERT_EQ(source->header().size, (std::vector<std::size_t>{width, height, 3}));
  std::vector<std::uint32_t> pixels(width * height * 3);
  source->read(reinterpret_cast<std::byte*>(pixels.data()), 1);
  for (std::size_t slice = 0; slice < 3; ++slice)
    EXPECT_EQ(pixels[(slice * height + 5) * width + 7], numberAt(layout, 7, 5, slice, 0)) << slice;
}

TEST_F(TiffPixels, MisreadByTheLibraryAreRefused)
{
  const std::string kind = "pictures of this kind are not read from TIFF: ";
  for (const unsigned bits : {8, 16})
    for (const unsigned samples : {2, 3, 5})
      expectRefused({.bits = bits, .samples = samples},
                    kind + std::to_string(bits)
                        + " bits a sample, Samples per Pixel (channels, or grey and opacity) "
                        + std::to_string(samples));
  expectRefused({.bits = 16, .orientation = 6},
                kind + "16 bits a sample, Orientation 6, Photometric Interpretation 1");
  expectRefused({.bits = 16, .samples = 3, .photometric = 2, .tile = 16},
                kind + "16 bits a sample, tiles, Photometric Interpretation 2");
  expectRefused({.bits = 16, .photometric = 0, .tile = 16},
                kind + "16 bits a sample, tiles, Photometric Interpretation 0");
  expectRefused({.tile = 16}, kind + "32 bits a sample, tiles");
  expectRefused({.compression = 99}, kind + "32 bits a sample, Compression 99");
  for (const unsigned format : {4, 5})
    expectRefused({.format = format}, kind + "32 bits a sample, SampleFormat " + std::to_string(format));
  expectRefused({.bits = 16, .format = 3}, kind + "16 bits of floats");
  expectRefused({.bits = 64}, kind + "64 bits a sample");
}

TEST_F(TiffPixels, DamagedBlocksAreRefused)
{
  std::string bytes = TiffBytes({.compression = 8}).bytes();
  bytes[40] = static_cast<char>(bytes[40] ^ 0x55); // in the first strip
  const std::string path = folder.write("damaged.tif", bytes);
  std::vector<std::string> notes;
  EXPECT_EQ(
      messageOf([&] { readImage<2>(path, {}, notes); }),
      path
          + ": the picture is cut off or damaged. Allowed: a whole file; it may have been cut off while "
            "it was copied.");
}

TEST_F(TiffPixels, BitmapsOf32BitsAreRefused)
{
  std::string bytes = "BM";
  const auto put = [&](std::uint32_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      bytes += static_cast<char>(value >> 8 * i);
  };
  for (const std::uint32_t value : {54u + 64u, 0u, 54u, 40u, 4u, 4u})
    put(value, 4);
  put(1, 2);
  put(32, 2);
  for (const std::uint32_t value : {0u, 64u, 2835u, 2835u, 0u, 0u})
    put(value, 4);
  const std::string path = folder.write("in.bmp", bytes + std::string(64, '\x7f'));
  std::vector<std::string> notes;
  EXPECT_EQ(messageOf([&] { readImage<2>(path, {}, notes); }),
            path
                + ": 32 bits a pixel in BMP are not read. Allowed: 8 or 24 bits a pixel, or another format: "
                  "magick in.bmp out.png.");
}

}
}
