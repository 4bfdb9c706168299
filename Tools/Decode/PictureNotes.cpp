#include "Tools/Decode/PictureNotes.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/FileNumbers.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/LengthsInMm.h"
#include "Tools/Decode/TiffFile.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tessera {
namespace {

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
    tell(
        "its EXIF orientation, " + std::to_string(orientation)
        + ", is not applied: other programs show it turned or mirrored (magick IN -auto-orient OUT turns the "
          "pixels)");
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
           "landmarks in "
           "pixels need it");
  return notes;
}

}
