#include "Tools/Decode/PictureFileCheck.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/FileNumbers.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/LengthsInMm.h"
#include "Tools/Decode/TiffFile.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <jerror.h>
#include <jpeglib.h> // which needs <cstdio> before
#include <zlib.h>

namespace tessera {
namespace {

/// The least bytes that the pixels of a PNG have before they are compressed, as if all were grey.
std::uint64_t pngPixelBytes(FileNumbers& file)
{
  constexpr std::uint64_t widthAt = 16, heightAt = 20, depthAt = 24;
  const std::uint64_t bitsOfRow = bytesTimes(file.at(widthAt, 4, true), file.at(depthAt, 1, true));
  return bytesTimes(bitsOfRow / 8, file.at(heightAt, 4, true));
}

/// Whether all chunks of a PNG (RFC 2083, 3.2) up to the last one are there with the right checksums, and
/// hold as many bytes as its pixels need.
bool pngIsWhole(FileNumbers& file, const std::string& path)
{
  constexpr std::uint64_t headBytes = 8, checksumBytes = 4, depthAt = 24, colourAt = 25;
  const auto bitsRead = std::max<std::uint64_t>(file.at(depthAt, 1, true), 8); // of less, ITK makes 8
  std::string chunk;
  std::uint64_t compressed = 0;
  for (std::uint64_t position = 8; position + headBytes + checksumBytes <= file.fileBytes();) {
    const std::uint64_t length = file.at(position, 4, true), end = position + headBytes + length;
    if (end + checksumBytes > file.fileBytes()
        || (position == 8) != (file.at(position + 4, 4, true) == 0x49484452)) // IHDR
      return false;
    chunk = file.file().text(position + 4, 4 + length);
    if (crc32_z(0, reinterpret_cast<const Bytef*>(chunk.data()), chunk.size()) != file.at(end, 4, true))
      return false;
    const std::uint64_t name = file.at(position + 4, 4, true);
    if (name == 0x74524e53 && file.at(colourAt, 1, true) == 0) // tRNS, of which ITK makes other numbers
      failToRead(path, "a grey that stands for transparent pixels (tRNS)", "a PNG without tRNS");
    for (std::uint64_t i = 0; name == 0x73424954 && i < length; ++i) // sBIT, by which libpng shifts numbers
      if (const std::uint64_t bits = file.at(position + headBytes + i, 1, true); bits < bitsRead)
        failToRead(path,
                   "by its sBIT chunk " + std::to_string(bits) + " of the " + std::to_string(bitsRead)
                       + " bits of a sample are significant, and its library shifts the numbers accordingly",
                   "a PNG without sBIT, as which Pillow saves it, or another format");
    compressed += name == 0x49444154 ? length : 0; // IDAT
    if (name == 0x49454e44)                        // IEND
      return bytesTimes(compressed, maxInflation) >= pngPixelBytes(file);
    position = end + checksumBytes;
  }
  return false;
}

struct JpegReader : jpeg_decompress_struct {
  struct Damaged {};

  JpegReader()
  {
    err = jpeg_std_error(&errors_);
    errors_.error_exit = [](j_common_ptr) { throw Damaged(); };
    errors_.emit_message = [](j_common_ptr common, int) {
      if (common->err->msg_code == JWRN_JPEG_EOF)
        throw Damaged();
    };
    jpeg_create_decompress(this);
  }
  ~JpegReader() { jpeg_destroy_decompress(this); }

private:
  jpeg_error_mgr errors_{};
};

/// Whether libjpeg reads a JPEG to its end. Damage inside the data of a scan is not fatal to it.
bool jpegIsWhole(const std::string& path)
{
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) // it has gone since it was looked at
    return false;
  try {
    JpegReader jpeg;
    jpeg_stdio_src(&jpeg, file.get());
    jpeg_read_header(&jpeg, TRUE);
    if (jpeg.num_components == 4) // which ITK 5.2 takes for red, green, blue and opacity
      failToRead(path, "its colours are printing inks (CMYK), which are not read",
                 "grey, or red, green and blue: magick IN -colorspace sRGB OUT");
    jpeg.scale_denom = 8; // whatever the pixels are
    jpeg_start_decompress(&jpeg);
    std::vector<JSAMPLE> row(std::size_t(jpeg.output_width) * jpeg.output_components);
    for (JSAMPROW to = row.data(); jpeg.output_scanline < jpeg.output_height;)
      jpeg_read_scanlines(&jpeg, &to, 1);
    jpeg_finish_decompress(&jpeg);
  } catch (const JpegReader::Damaged&) {
    return false;
  }
  return true;
}

/// The elements of a DICOM file (PS3.5, 7.1) in order, with those inside sequences and items of undefined
/// length.
class DicomElements {
public:
  DicomElements(FileNumbers& file, const std::string& path) : file_(file), path_(path) {}

  /// Whether the file holds its pixels to their end. False if that cannot be found out.
  bool holdPixels()
  {
    constexpr std::uint64_t headBytes = 8;
    for (std::uint64_t position = 132; position + headBytes <= file_.fileBytes();) {
      const std::uint64_t group = number(position, 2);
      if (!order_.empty() && group != 2 && !startsData())
        return inflatesWhole(position);
      const std::optional<Element> element = elementAt(position);
      if (!element)
        return false;
      position = element->content;
      const bool isEndless = element->length == untilDelimiter;
      if (element->isPixels() && depth_ == 0) {
        if (!isEndless)
          return element->length <= file_.fileBytes() && position <= file_.fileBytes() - element->length;
        inPixels_ = true;
      } else if (isEndless) {
        ++depth_;
        if (element->kind == "UN" && implicitDepth_ == 0)
          implicitDepth_ = depth_; // PS3.5, 6.2.2: what it holds has no kinds
      } else if (element->isDelimiter()) {
        if (inPixels_ && depth_ == 0)
          return true;
        implicitDepth_ = depth_ == implicitDepth_ ? 0 : implicitDepth_;
        depth_ -= depth_ > 0 ? 1 : 0;
      } else {
        if (element->group == 2 && element->number == 2
            && text(position, element->length) == "1.2.840.10008.1.3.10") // PS3.6, A
          failToRead(path_, "it is a DICOMDIR, which lists the files of a medium and holds no image",
                     "one of the files that it lists, or the folder of a series");
        if (element->group == 2 && element->number == 0x10) {
          order_ = text(position, element->length);
          for (const auto& [beginning, name] : unreadSyntaxes)
            if (order_.starts_with(beginning))
              failToRead(path_,
                         std::string("its pixels are compressed by ") + name + " (transfer syntax " + order_
                             + "), which is not read",
                         "pixels that are not compressed, as which an archive sends them if it is asked and "
                         "decompress() of pydicom writes them, or RLE, JPEG, JPEG-LS and JPEG 2000");
        }
        position += element->length;
      }
    }
    return false;
  }

private:
  static constexpr std::uint64_t untilDelimiter = 0xffffffff;
  static constexpr std::pair<const char*, const char*> unreadSyntaxes[] = { // PS3.6, A
      {"1.2.840.10008.1.2.4.20", "HTJ2K"},
      {"1.2.840.10008.1.2.4.10", "MPEG"},
      {"1.2.840.10008.1.2.4.11", "JPEG XL"},
      {"1.2.840.10008.1.2.4.94", "JPIP"},
      {"1.2.840.10008.1.2.4.95", "JPIP"}};

  struct Element {
    std::uint64_t group, number, content, length;
    std::string kind; // empty where the file does not say it

    bool isPixels() const
    {
      return group == 0x7fe0 && (number == 0x10 || number == 8 || number == 9); // integers, floats, doubles
    }
    bool isDelimiter() const { return group == 0xfffe && number != 0xe000; }
  };

  /// Nothing if the element has no kind where it should have one.
  std::optional<Element> elementAt(std::uint64_t position)
  {
    Element element{number(position, 2), number(position + 2, 2), 0, 0, ""};
    const bool isImplicit = isImplicit_ || implicitDepth_ > 0;
    if (element.group == 0xfffe || (element.group != 2 && isImplicit)) {
      element.content = position + 8;
      element.length = number(position + 4, 4);
      if (element.isDelimiter())
        element.length = 0;
      return element;
    }
    element.kind = text(position + 4, 2);
    const bool isKind = element.kind.size() == 2 && element.kind >= "AA" && element.kind <= "ZZ";
    if (!isKind)
      return std::nullopt;
    const bool isLong =
        std::string("OB OD OF OL OV OW SQ SV UC UN UR UT UV").find(element.kind) != std::string::npos;
    element.content = position + (isLong ? 12 : 8);
    element.length = isLong ? number(position + 8, 4) : number(position + 6, 2);
    return element;
  }

  std::uint64_t number(std::uint64_t position, std::size_t bytes)
  {
    return file_.at(position, bytes, largestFirst_);
  }

  std::string text(std::uint64_t position, std::uint64_t length)
  {
    std::string letters = file_.file().text(position, std::min<std::uint64_t>(length, 64));
    std::erase(letters, '\0');
    return letters;
  }

  /// Takes the order of what follows group 2 from the transfer syntax. False if that is deflated.
  bool startsData()
  {
    const std::string syntax = std::exchange(order_, "");
    isImplicit_ = syntax == "1.2.840.10008.1.2";
    largestFirst_ = syntax == "1.2.840.10008.1.2.2";
    return syntax != "1.2.840.10008.1.2.1.99";
  }

  /// Whether the rest of the file is a whole deflated stream.
  bool inflatesWhole(std::uint64_t position) const
  {
    const InputFile file(path_);
    Inflater inflater(file, position, true);
    Inflater::Rest rest = Inflater::Rest::tooLong;
    while (rest == Inflater::Rest::tooLong)
      rest = inflater.finish();
    return rest == Inflater::Rest::whole;
  }

  FileNumbers& file_;
  const std::string& path_;
  std::string order_; // the transfer syntax, until it is used
  bool isImplicit_ = false, largestFirst_ = false, inPixels_ = false;
  int depth_ = 0, implicitDepth_ = 0; // of sequences and items of undefined length
};

/// The smallest length of a bitmap with this header.
std::uint64_t bitmapBytes(FileNumbers& file)
{
  const std::uint64_t start = file.at(10, 4, false), compression = file.at(30, 4, false);
  const auto width = static_cast<std::int32_t>(file.at(18, 4, false)),
             height = static_cast<std::int32_t>(file.at(22, 4, false));
  if (compression != 0)
    return start + file.at(34, 4, false);
  const std::uint64_t lineBytes =
      (static_cast<std::uint64_t>(std::abs(std::int64_t(width))) * file.at(28, 2, false) + 31) / 32 * 4;
  return start + lineBytes * static_cast<std::uint64_t>(std::abs(std::int64_t(height)));
}

/// Throws for 32 bits a pixel, whose bytes ITK 5.2 takes for those of other pixels.
void refuseMisreadBitmap(FileNumbers& file, const std::string& path)
{
  if (file.at(28, 2, false) == 32)
    failToRead(path, "32 bits a pixel in BMP are not read",
               "8 or 24 bits a pixel, or another format: magick in.bmp out.png");
}

/// The EXIF orientation of a JPEG or PNG (Exif 2.3, tag 274); 1 if it has none.
std::size_t exifOrientation(const std::string& path)
{
  constexpr std::size_t searched = std::size_t(1) << 17; // a segment has at most 2^16 bytes
  const std::string bytes = bytesOfFile(path, 0, searched);
  const std::string mark = bytes.starts_with("\xff\xd8\xff") ? std::string("Exif\0\0", 6)
                           : bytes.starts_with("\x89PNG")    ? "eXIf"
                                                             : "";
  const std::size_t found = mark.empty() ? std::string::npos : bytes.find(mark);
  if (found == std::string::npos)
    return 1;
  const std::string_view tiff = std::string_view(bytes).substr(found + mark.size());
  const auto number = [tiff](std::size_t at, std::size_t count) {
    return numberAt(tiff, at, count, tiff.starts_with('M'));
  };
  const std::size_t directory = number(4, 4);
  for (std::size_t i = 0, entry = directory + 2; i < number(directory, 2); ++i, entry += 12)
    if (const std::size_t orientation = number(entry + 8, 2);
        number(entry, 2) == 274 && orientation > 1 && orientation <= 8)
      return orientation;
  return 1;
}

/// The voxel that a TIFF's text names and that is not used; empty if there is none.
std::string noteOnText(const ImageHeader& header, const TiffText& text)
{
  const std::vector<double> voxel(text.voxel.begin(), text.voxel.begin() + std::min(header.dimension, 3));
  const double mm = mmOfUnit(text.unit);
  const auto isNear = [mm](double size, double spacingMm) {
    return std::abs(size * mm - spacingMm) < 1e-4 * spacingMm;
  };
  const auto inMm = [mm](double size) { return shortText(mm > 0 ? size * mm : size); };
  if (text.voxel[0] <= 0 || std::ranges::equal(voxel, header.spacingMm, isNear))
    return "";
  return "the text of " + text.writer + " in it names voxels of " + joined(voxel, ",", shortText) + " "
         + text.unit + ", which are not used: the spacing is " + joined(header.spacingMm, ",", shortText)
         + " mm; --pixel-spacing "
         + (std::ranges::min(voxel) > 0 ? joined(voxel, ",", inMm) + " takes them"
                                        : "gives one for each axis");
}

}

std::optional<std::array<std::size_t, 3>> pictureSize(std::string_view bytes)
{
  const auto number = [bytes](std::size_t at, std::size_t count) { return numberAt(bytes, at, count, true); };
  constexpr std::size_t mostBoxes = 4096; // bytes before the markers SOC and SIZ of JPEG 2000
  if (const std::size_t at = bytes.find("\xff\x4f\xff\x51"); at < mostBoxes)
    return std::array{number(at + 8, 4) - number(at + 16, 4), number(at + 12, 4) - number(at + 20, 4),
                      number(at + 42, 1) >> 7};
  if (!bytes.starts_with("\xff\xd8"))
    return std::nullopt;
  for (std::size_t at = 2; number(at, 1) == 0xff; at += 2 + number(at + 2, 2)) {
    const std::size_t marker = number(at + 1, 1);
    const bool isTable = marker == 0xc4 || marker == 0xc8 || marker == 0xcc; // and no SOF
    if ((marker >= 0xc0 && marker <= 0xcf && !isTable) || marker == 0xf7)    // of JPEG-LS
      return std::array{number(at + 7, 2), number(at + 5, 2), signIsNotTold};
  }
  return std::array<std::size_t, 3>{};
}

std::optional<bool> jpegIsYbr(std::span<const char> jpegBytes)
{
  try {
    JpegReader jpeg;
    jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(jpegBytes.data()), jpegBytes.size());
    jpeg_read_header(&jpeg, TRUE);
    const bool isSubsampled =
        jpeg.num_components == 3 && jpeg.comp_info[0].h_samp_factor != jpeg.comp_info[1].h_samp_factor;
    if (jpeg.saw_JFIF_marker || jpeg.saw_Adobe_marker || isSubsampled || jpeg.jpeg_color_space == JCS_RGB)
      return jpeg.jpeg_color_space == JCS_YCbCr;
  } catch (const JpegReader::Damaged&) { // also the lossless kind, which libjpeg does not read
  }
  return std::nullopt;
}

void checkPictureFile(const std::string& path, bool framesAreSlices)
{
  FileNumbers file(path);
  const std::uint64_t start = file.at(0, 4, true), firstTwo = file.at(0, 2, true);
  const bool isTiff =
      start == 0x49492a00 || start == 0x4d4d002a || start == 0x49492b00 || start == 0x4d4d002b;
  const bool isJpeg = firstTwo == 0xffd8, isBitmap = firstTwo == 0x424d && hasEnding(path, ".bmp");
  const bool isDicom = file.at(128, 4, true) == 0x4449434d;
  const bool isPng = start == 0x89504e47;
  if (isTiff && !isDicom) // some DICOM files begin as a TIFF as well
    return TiffFile(path).check(framesAreSlices);
  const bool isWhole = isDicom    ? DicomElements(file, path).holdPixels()
                       : isJpeg   ? jpegIsWhole(path)
                       : isPng    ? pngIsWhole(file, path)
                       : isBitmap ? file.fileBytes() >= bitmapBytes(file)
                                  : true;
  if (!isWhole)
    failToRead(path, damagedPicture, wholeFile);
  if (isBitmap && !isDicom)
    refuseMisreadBitmap(file, path);
}

std::vector<std::string> notesOnPicture(const ImageHeader& header, const ReadingOptions& reading,
                                        const TiffFile* tiff)
{
  std::vector<std::string> notes;
  const auto tell = [&](const std::string& note) {
    if (!note.empty())
      notes.push_back(header.path + ": " + note);
  };
  const TiffText text = tiff ? tiff->text() : TiffText{};
  const TiffPicture first = tiff ? tiff->pictures().front() : TiffPicture{};
  const std::string start = bytesOfFile(header.path, 0, 26);
  const bool isJpeg = start.starts_with("\xff\xd8\xff"), isPng = start.starts_with("\x89PNG");
  constexpr std::size_t depthAt = 24, colourAt = 25; // of a PNG, whose grey has colour 0
  const int bits = tiff ? first.bits : isPng && start[colourAt] == 0 ? start[depthAt] : 8;
  if (first.orientation > 1)
    tell("its Orientation, " + std::to_string(first.orientation)
         + ", is applied: rows run from the top and pixels from the left");
  if (const std::size_t orientation = tiff ? 1 : exifOrientation(header.path); orientation > 1)
    tell("its EXIF orientation, " + std::to_string(orientation)
         + ", is not applied: other programs show it turned or mirrored (magick IN -auto-orient OUT turns "
           "the pixels)");
  if (!text.scale.empty())
    tell("the text of ImageJ in it says that a value is " + text.scale + ", which is not applied");
  if (constexpr int palette = 3; first.photometric == palette)
    tell("its numbers stand for colours of a palette, which are read, each from 0 to 65535");
  else if (bits < 8)
    tell("its " + std::to_string(bits) + " bits a sample are read as numbers from 0 to 255, as by ITK");
  if (!reading.pixelSpacingMm.empty())
    return notes;
  if (const std::string note = noteOnText(header, text); !note.empty())
    tell(note);
  else if (header.spacingMm[0] == 1)
    tell(std::string(tiff || isJpeg ? "it names no size of its pixels; 1 mm is taken"
                                    : "its pixels count as 1 mm, whatever size it names")
         + ", and --pixel-spacing gives another");
  else if (tiff || isJpeg)
    tell("the spacing of " + shortText(header.spacingMm[0]) + " mm comes from the dots per inch that the "
         + (isJpeg ? "JPEG" : "TIFF")
         + " names, which are seldom those of the object; --pixel-spacing 1 takes pixels for mm, as "
           "landmarks in pixels need it");
  return notes;
}

}
