#include "Tools/Decode/TiffFile.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Log.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <tiffio.h>

namespace tessera {
namespace {

bool isOneOf(std::uint16_t value, std::initializer_list<std::uint16_t> others)
{
  return std::ranges::find(others, value) != others.end();
}

std::optional<PixelType> typeOf(const TiffPicture& picture)
{
  for (const PixelType type : allPixelTypes)
    if (const int format = isFloatingPoint(type)             ? SAMPLEFORMAT_IEEEFP
                           : static_cast<int>(type) % 2 == 0 ? SAMPLEFORMAT_INT
                                                             : SAMPLEFORMAT_UINT;
        picture.format == format && picture.bits == 8 * pixelTypeSize(type))
      return type;
  return std::nullopt;
}

/// Whether each pixel has several numbers, of which ITK 5.2 makes as many pixels. Those it writes are marked
/// as red, green and blue, and come back.
bool hasChannels(const TiffPicture& picture)
{
  return picture.samples > 1 && picture.photometric <= 1;
}

/// Whether ITK 5.2 has libtiff make 8 bits of red, green, blue and opacity of a picture.
bool isReadAsColour(const TiffPicture& picture)
{
  return picture.isTiled || picture.planes != PLANARCONFIG_CONTIG || picture.orientation > 1
         || !isOneOf(picture.compression, {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                           COMPRESSION_DEFLATE, COMPRESSION_PACKBITS});
}

/// Whether ITK 5.2 reads other numbers than the file has, or none.
bool isMisread(const TiffPicture& picture)
{
  const bool isFloat = picture.format == SAMPLEFORMAT_IEEEFP,
             isGrey = picture.samples == 1 && picture.photometric <= 1,
             isWide = picture.bits > 8 || picture.format == SAMPLEFORMAT_INT;
  const int mostTurned = isGrey ? 1 : 4; // libtiff flips colours, and exchanges no rows and columns
  return hasChannels(picture) || picture.orientation > mostTurned || picture.format > SAMPLEFORMAT_IEEEFP
         || picture.bits > 32 || picture.bits == (isFloat ? 16 : 32) || (isWide && isReadAsColour(picture));
}

/// Tiles of 32 bits are not among these: ITK does not even read their header.
bool isReadHere(const TiffPicture& picture)
{
  return picture.bits <= (picture.isTiled ? 16 : 32) && typeOf(picture) && picture.samples == 1
         && picture.photometric == PHOTOMETRIC_MINISBLACK && picture.orientation <= 4
         && TIFFIsCODECConfigured(picture.compression) != 0;
}

bool isLike(const TiffPicture& a, const TiffPicture& b)
{
  return a.width == b.width && a.height == b.height && typeOf(a) == typeOf(b) && a.bits == b.bits
         && a.samples == b.samples && a.photometric == b.photometric;
}

[[noreturn]] void failAsMisread(const std::string& path, const TiffPicture& picture)
{
  const bool isFloat = picture.format == SAMPLEFORMAT_IEEEFP;
  std::vector<std::string> unusual{std::to_string(picture.bits)
                                   + (isFloat ? " bits of floats" : " bits a sample")};
  const auto add = [&unusual](const char* name, int value, int usual) {
    if (value > usual)
      unusual.push_back(std::string(name) + " " + std::to_string(value));
  };
  add("Samples per Pixel (channels, or grey and opacity)", picture.photometric <= 1 ? picture.samples : 1, 1);
  add("SampleFormat", picture.format, SAMPLEFORMAT_IEEEFP);
  add("Orientation", picture.orientation, 1);
  add("Planar Configuration", picture.planes, PLANARCONFIG_CONTIG);
  add("Compression", picture.compression, COMPRESSION_NONE);
  if (picture.isTiled)
    unusual.emplace_back("tiles");
  const std::string file = std::filesystem::path(path).filename().string();
  failToRead(path,
             "pictures of this kind are not read from TIFF: " + joined(unusual)
                 + ", Photometric Interpretation " + std::to_string(picture.photometric),
             "one sample of grey (BlackIsZero), of 8, 16 or 32 bits or a float of 32 bits, or colours of 8 "
             "bits, from the top left (magick "
                 + file + " -auto-orient out.tif), in strips (tiffcp -s -p contig -c zip " + file
                 + " out.tif), or another format, such as MetaImage or NRRD");
}

template <class Value>
Value tagOf(tiff* file, std::uint32_t tag)
{
  Value value{};
  TIFFGetFieldDefaulted(file, tag, &value);
  return value;
}

TiffPicture pictureOf(tiff* file)
{
  const auto number = [file](std::uint32_t tag) { return tagOf<std::uint16_t>(file, tag); };
  return {TIFFCurrentDirOffset(file),
          tagOf<std::uint32_t>(file, TIFFTAG_IMAGEWIDTH),
          tagOf<std::uint32_t>(file, TIFFTAG_IMAGELENGTH),
          tagOf<std::uint32_t>(file, TIFFTAG_SUBFILETYPE),
          number(TIFFTAG_BITSPERSAMPLE),
          number(TIFFTAG_COMPRESSION),
          number(TIFFTAG_PHOTOMETRIC),
          number(TIFFTAG_SAMPLESPERPIXEL),
          number(TIFFTAG_ORIENTATION),
          number(TIFFTAG_PLANARCONFIG),
          number(TIFFTAG_SAMPLEFORMAT),
          TIFFIsTiled(file) != 0};
}

/// Does as the Orientation says at which side of the picture the first row and column lie (TIFF 6.0, 8).
template <class T>
void makeUpright(const TiffPicture& picture, T* pixels)
{
  const std::size_t width = picture.width, height = picture.height;
  if (isOneOf(picture.orientation, {ORIENTATION_BOTRIGHT, ORIENTATION_BOTLEFT}))
    for (std::size_t y = 0; y < height / 2; ++y)
      std::swap_ranges(pixels + y * width, pixels + (y + 1) * width, pixels + (height - 1 - y) * width);
  if (isOneOf(picture.orientation, {ORIENTATION_TOPRIGHT, ORIENTATION_BOTRIGHT}))
    for (std::size_t y = 0; y < height; ++y)
      std::reverse(pixels + y * width, pixels + (y + 1) * width);
}

}

TiffFile::TiffFile(const std::string& path) : path_(path), file_(nullptr, TIFFClose)
{
  const auto failed = [](tiff*, void* hasFailed, const char*, const char*, va_list) {
    *static_cast<bool*>(hasFailed) = true;
    return 1; // nothing is printed
  };
  const auto warned = [](tiff*, void* hasFailed, const char*, const char* text, va_list) {
    *static_cast<bool*>(hasFailed) |= std::string_view(text).starts_with("IO error"); // a tag is cut off
    return 1;
  };
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), failed, &hasFailed_);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), warned, &hasFailed_);
  file_.reset(TIFFOpenExt(path.c_str(), "rc", options.get())); // c: strips as they are in the file
  bool hasAside = false;
  for (bool isThere = file_ != nullptr; isThere; isThere = TIFFReadDirectory(file_.get()) != 0) {
    TiffPicture picture = pictureOf(file_.get());
    picture.isBehindAside = hasAside;
    hasAside = hasAside || picture.isAside();
    isWhole_ = isWhole_ && holdsPixels();
    if (picture.isAside())
      continue;
    if (const char* const text = tagOf<const char*>(file_.get(), TIFFTAG_IMAGEDESCRIPTION);
        text && pictures_.empty())
      description_ = text;
    if (pictures_.empty())
      pixelsOfUnit_ = {tagOf<float>(file_.get(), TIFFTAG_XRESOLUTION),
                       tagOf<float>(file_.get(), TIFFTAG_YRESOLUTION)};
    pictures_.push_back(picture);
  }
  isWhole_ = isWhole_ && file_ && !hasFailed_ && TIFFLastDirectory(file_.get()) != 0;
}

/// Whether the strips or tiles of the current directory lie in the file.
bool TiffFile::holdsPixels() const
{
  const std::uint64_t fileBytes = std::filesystem::file_size(path_);
  const std::uint32_t blocks =
      TIFFIsTiled(file_.get()) ? TIFFNumberOfTiles(file_.get()) : TIFFNumberOfStrips(file_.get());
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const std::uint64_t start = TIFFGetStrileOffset(file_.get(), i),
                        length = TIFFGetStrileByteCount(file_.get(), i);
    if (start == 0 || start > fileBytes || length > fileBytes - start)
      return false;
  }
  return true;
}

TiffText TiffFile::text() const
{
  std::string text = description_;
  const bool isOme = text.find("<OME") != std::string::npos, isImageJ = text.starts_with("ImageJ=");
  TiffText result;
  result.writer = isOme ? "OME" : isImageJ ? "ImageJ" : "";
  const auto count = [](std::string_view number) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(1, wholeNumber(std::string(number)).value_or(1)));
  };
  if (const std::string shape = textBehind(text, "\"shape\": [", "]");
      text.starts_with('{') && !shape.empty()) {
    std::vector<std::string> sizes = cellsOf(shape, ',');
    const std::ptrdiff_t samplesAt = pictures_.front().planes == PLANARCONFIG_CONTIG ? 1 : 3; // from the end
    if (pictures_.front().samples > 1 && std::ssize(sizes) >= samplesAt)
      sizes.erase(sizes.end() - samplesAt);
    result.writer = "tifffile";
    const std::size_t at = sizes.size() - 3; // of the axis before rows and columns
    const std::string axes = textBehind(text, "\"axes\": \"", "\"");
    const char axis = sizes.size() > 2 && axes.size() > at ? axes[at] : 'Z';
    result.pictures = sizes.size() > 2 ? count(trimmed(sizes[at])) : 1;
    (axis == 'C' ? result.channels : axis == 'T' ? result.frames : result.slices) = result.pictures;
  }
  if (!isOme && !isImageJ)
    return result;
  if (isOme)
    text = textBehind(text, "<Pixels", ">");
  const auto value = [&](const std::string& ome, const std::string& imageJ) {
    return isOme ? textBehind(text, " " + ome + "=\"", "\"") : textBehind(text, "\n" + imageJ + "=", "\r\n");
  };
  const auto size = [&](const std::string& ome, const std::string& imageJ, double otherwise) {
    return finiteNumber(value(ome, imageJ)).value_or(otherwise);
  };
  const auto pixel = [&](float ofUnit) {
    return isOme ? 0 : ofUnit > 0 ? 1 / static_cast<double>(ofUnit) : 1;
  };
  result.channels = count(value("SizeC", "channels"));
  result.frames = count(value("SizeT", "frames"));
  result.pictures = count(value("", "images"));
  result.slices = value("SizeZ", "slices").empty()
                      ? std::max<std::uint64_t>(1, result.pictures / result.channels / result.frames)
                      : count(value("SizeZ", "slices"));
  result.voxel = {size("PhysicalSizeX", "", pixel(pixelsOfUnit_[0])),
                  size("PhysicalSizeY", "", pixel(pixelsOfUnit_[1])),
                  size("PhysicalSizeZ", "spacing", isOme ? 0 : 1)};
  result.unit = value("PhysicalSizeXUnit", "unit");
  if (const std::string offset = value("", "c0"); !offset.empty())
    result.scale = offset + " + " + value("", "c1") + " * stored number"
                   + (value("", "cf") == "0" ? "" : ", by function " + value("", "cf"));
  if (isOme && result.unit.empty())
    result.unit = "um"; // the default of OME-XML
  return result;
}

void TiffFile::check(bool framesAreSlices) const
{
  if (!isWhole_)
    failToRead(path_, damagedPicture, wholeFile);
  const TiffText said = text();
  const std::uint64_t slices = framesAreSlices && said.slices == 1 ? said.frames : said.slices;
  if (!said.writer.empty() && (pictures_.size() > slices || pictures_.size() < said.pictures))
    failToRead(path_,
               "the text of " + said.writer + " in it names " + std::to_string(said.channels) + " channels, "
                   + std::to_string(said.slices) + " slices and " + std::to_string(said.frames)
                   + " frames, and it holds " + std::to_string(pictures_.size())
                   + " pictures: they are not the slices of one volume",
               "one channel at one time, with a directory for each slice; Fiji makes it by Image > "
               "Duplicate, and slices of frames by Image > Properties");
  if (ownType())
    return;
  if (const auto misread = std::ranges::find_if(pictures_, isMisread); misread != pictures_.end())
    failAsMisread(path_, *misread);
  // ITK 5.2 reads all of them as it reads the first, and leaves room in the volume for those aside.
  if (std::ranges::any_of(pictures_, [&](const TiffPicture& other) {
        return other.isBehindAside || !isLike(pictures_.front(), other);
      }))
    failToRead(path_,
               "a page is of another size or type than the first one, or follows a smaller copy or a mask",
               "pages of one kind, with nothing between them");
}

std::optional<PixelType> TiffFile::ownType() const
{
  const bool isOwn = std::ranges::all_of(pictures_, [&](const TiffPicture& other) {
    return isReadHere(other) && isLike(pictures_.front(), other);
  });
  return isOwn && !pictures_.empty() ? typeOf(pictures_.front()) : std::nullopt;
}

void TiffFile::read(std::byte* pixels) const
{
  for (const TiffPicture& picture : pictures_)
    withPixelType(*typeOf(picture), [&]<class T>(std::type_identity<T>) {
      readBlocks(picture, pixels);
      makeUpright(picture, reinterpret_cast<T*>(pixels));
      pixels += sizeof(T) * picture.width * picture.height;
    });
}

void TiffFile::readBlocks(const TiffPicture& picture, std::byte* pixels) const
{
  const auto require = [this](bool isRight) {
    if (!isRight)
      failToRead(path_, damagedPicture, wholeFile);
  };
  require(TIFFSetSubDirectory(file_.get(), picture.place) != 0);
  const std::size_t bytes = picture.bits / 8, width = picture.width, height = picture.height;
  const auto size = [&](std::uint32_t tag) { return std::size_t(tagOf<std::uint32_t>(file_.get(), tag)); };
  const std::size_t columns = picture.isTiled ? size(TIFFTAG_TILEWIDTH) : width,
                    rows = picture.isTiled ? size(TIFFTAG_TILELENGTH)
                                           : std::min(size(TIFFTAG_ROWSPERSTRIP), height);
  require(columns > 0 && rows > 0);
  const auto readBlock = picture.isTiled ? TIFFReadEncodedTile : TIFFReadEncodedStrip;
  std::vector<std::byte> block(columns * rows * bytes);
  std::uint32_t number = 0;
  for (std::size_t top = 0; top < height; top += rows)
    for (std::size_t left = 0; left < width; left += columns, ++number) {
      const std::size_t held = std::min(rows, height - top),
                        needed = (picture.isTiled ? rows : held) * columns * bytes;
      require(readBlock(file_.get(), number, block.data(), static_cast<tmsize_t>(needed))
              == static_cast<tmsize_t>(needed));
      for (std::size_t y = 0; y < held; ++y)
        std::memcpy(pixels + ((top + y) * width + left) * bytes, &block[y * columns * bytes],
                    std::min(columns, width - left) * bytes);
    }
}

void addTextOfImageJ(const std::string& path, std::size_t slices, double spacingMm)
{
  constexpr double mmOfInch = 25.4;
  const std::string count = std::to_string(slices),
                    text = "ImageJ=1.53t\nimages=" + count + "\nslices=" + count
                           + "\nunit=inch\nspacing=" + significant(spacingMm / mmOfInch, 9) + "\n";
  const std::unique_ptr<tiff, void (*)(tiff*)> file(TIFFOpen(path.c_str(), "r+"), TIFFClose);
  if (!file || TIFFSetField(file.get(), TIFFTAG_IMAGEDESCRIPTION, text.c_str()) == 0
      || TIFFRewriteDirectory(file.get()) == 0)
    throw std::runtime_error("the text of ImageJ cannot be added");
}

}
