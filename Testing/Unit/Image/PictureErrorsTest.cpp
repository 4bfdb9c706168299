#include "Core/Image/Files/InputError.h"
#include "Testing/Support/Files/StoredImages.h"

namespace tessera {
namespace {

using namespace testing;

class PictureErrors : public ::testing::Test {
protected:
  testing::TemporaryFolder folder;
};

TEST_F(PictureErrors, PicturesThatWereCutOff)
{
  Image<2> picture{testing::centredGeometry<2>({48, 40}, {1, 1}), byteNoise().voxels};
  for (const std::string format : {"png", "jpg", "bmp", "tif"}) {
    SCOPED_TRACE(format);
    writeImage(folder / ("image." + format), picture, PixelType::uint8, false);
    const std::string bytes = folder.read("image." + format);
    EXPECT_NO_THROW(loadedImage<2>(folder / ("image." + format)));
    for (const std::size_t kept : {bytes.size() * 9 / 10, bytes.size() / 2, std::size_t(60)}) {
      const std::string path = folder.write("cut." + format, bytes.substr(0, kept));
      EXPECT_EQ(exitCodeOf([&] { loadedImage<2>(path); }), ExitCode::unreadableInput)
          << kept << " of " << bytes.size();
    }
  }
}

TEST_F(PictureErrors, PicturesThatWereChanged)
{
  Image<2> picture{testing::centredGeometry<2>({48, 40}, {1, 1}), byteNoise().voxels};
  const auto expectRefused = [&](const std::string& format, const std::string& what, std::size_t behind,
                                 char byte) {
    SCOPED_TRACE(what);
    writeImage(folder / ("image." + format), picture, PixelType::uint8, false);
    std::string bytes = folder.read("image." + format);
    bytes[bytes.find(what) + behind] = byte;
    const std::string path = folder.write("changed." + format, bytes);
    EXPECT_EQ(messageOf([&] { loadedImage<2>(path); }),
              path + ": the picture is cut off or damaged. Allowed: " + wholeFile + ".");
  };
  expectRefused("png", "IHDR", 7, '\x31'); // another width than the checksum knows
  expectRefused("png", "IDAT", 9, '\x77');
  expectRefused("jpg", "\xff\xdb", 4, '\x09'); // no such table of quantisation
  expectRefused("jpg", "\xff\xc4", 4, '\x44'); // nor of codes
  expectRefused("jpg", "\xff\xc4", 5, '\x7f'); // more codes of one bit than there are
  expectRefused("jpg", "\xff\xda", 5, '\x77'); // a scan of no component
  expectRefused("jpg", "\xff\xda", 1, '\x2d'); // no marker
}

TEST_F(PictureErrors, PngWhoseNumbersWouldBeShifted)
{
  Image<2> picture{testing::centredGeometry<2>({48, 40}, {1, 1}), byteNoise().voxels};
  writeImage(folder / "image.png", picture, PixelType::uint8, false);
  const std::string bytes = folder.read("image.png"), start("\0\0\0\1sBIT", 8);
  const std::size_t behindHeader = bytes.find("IHDR") + 21;
  const auto read = [&](const std::string& bitsAndChecksum) {
    const std::string changed =
        bytes.substr(0, behindHeader) + start + bitsAndChecksum + bytes.substr(behindHeader);
    return loadedImage<2>(folder.write("bits.png", changed)).image.voxels;
  };
  EXPECT_EQ(read("\x08\xe6\x0a\x5b\x99"), loadedImage<2>(folder / "image.png").image.voxels);
  EXPECT_EQ(
      messageOf([&] { read("\x07\x76\xb5\x46\x08"); }),
      folder / "bits.png"
          + ": by its sBIT chunk 7 of the 8 bits of a sample are significant, and its library shifts the "
            "numbers accordingly. Allowed: a PNG without sBIT, as which Pillow saves it, or another format.");
}

}
}
