#include "Core/Image/Files/LengthsInMm.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/FileChecks/TiffFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera {
namespace {

/// mm of a unit of length, by the names that NRRD, MetaImage, ImageJ and OME have for it; 0: not known.
double mmOfUnit(const std::string& unit)
{
  static const std::map<std::string, double> units = {{"", 1},
                                                      {"?", 1},
                                                      {"pixel", 1},
                                                      {"mm", 1},
                                                      {"millimeter", 1},
                                                      {"cm", 10},
                                                      {"centimeter", 10},
                                                      {"m", 1e3},
                                                      {"meter", 1e3},
                                                      {"inch", 25.4},
                                                      {"inche", 25.4},
                                                      {"um", 1e-3},
                                                      {"\xC2\xB5m", 1e-3},
                                                      {"\xCE\xBCm", 1e-3},
                                                      {"\\u00b5m", 1e-3},
                                                      {"micron", 1e-3},
                                                      {"micrometer", 1e-3},
                                                      {"nm", 1e-6},
                                                      {"nanometer", 1e-6}};
  std::string name = lowerCase(unit);
  if (name.size() > 2 && name.ends_with('s')) // of the plural
    name.pop_back();
  if (name.ends_with("metre"))
    name.replace(name.size() - 2, 2, "er");
  const auto found = units.find(name);
  return found == units.end() ? 0 : found->second;
}

bool isTurned(const ImageHeader& header)
{
  for (std::size_t row = 0; row < header.direction.size(); ++row)
    for (std::size_t axis = 0; axis < header.direction.size(); ++axis)
      if (header.direction[row][axis] != (row == axis))
        return true;
  return false;
}

}

void convertToMm(const FileHead& file, ImageHeader& header)
{
  const bool isMetaImage = hasEnding(header.path, ".mha") || hasEnding(header.path, ".mhd");
  const std::string text = lowerCase("\n" + file.bytes);
  const double ofNifti = niftiUnitMm(file);
  std::string unit = ofNifti > 1 ? "metres" : ofNifti < 1 ? "micrometres" : analyzeUnit(file);
  bool hasSpacing = true;
  if (isMetaImage) {
    const std::string lines = text.substr(0, text.find("\nelementdatafile"));
    hasSpacing = lines.find("\nelements") != std::string::npos; // ElementSpacing, ElementSize
    unit = trimmed(textBehind(textBehind(lines, "\ndistanceunits", "\n"), "=", "\r"));
    if (isTurned(header)
        && textBehind(lines, "\ncenterofrotation", "\n").find_first_of("123456789") != std::string::npos)
      header.notes.push_back(header.path
                             + ": its CenterOfRotation is not applied to its directions, as in ITK");
  } else if (text.starts_with("\nnrrd000")) {
    const std::string lines = text.substr(0, std::min(text.find("\n\n"), text.find("\r\n\r\n")));
    hasSpacing = lines.find("\nspacings: ") != std::string::npos
                 || lines.find("\nspace directions: ") != std::string::npos;
    if (lines.find("\nspace: ") == std::string::npos)
      header.notes.push_back(header.path + ": its header names no anatomical axes (no space); LPS is taken");
    for (const char* key : {"\nspace units: ", "\nunits: "}) // one an axis, also of time and components
      for (const std::string& one : cellsOf(trimmed(textBehind(lines, key, "\r\n")), ' '))
        if (!one.empty() && one != "???" && one != "s" && one != "ms" && one != unit)
          unit += (unit.empty() ? "" : " and ") + one;
  }
  if (text.starts_with("\n# vtk"))
    hasSpacing =
        text.find("\nspacing") != std::string::npos || text.find("\naspect_ratio") != std::string::npos;
  if (!hasSpacing)
    header.notes.push_back(header.path + ": its header names no spacing; 1 mm is taken");
  const double mm = mmOfUnit(unit);
  if (mm == 1)
    return;
  header.notes.push_back(header.path + ": its header has its lengths in " + unit
                         + (mm > 0 ? "; spacing and position of the first voxel are converted to mm"
                                   : ", which is no unit that is known; they are taken for mm"));
  for (std::size_t axis = 0; mm > 0 && axis < std::min<std::size_t>(3, header.size.size()); ++axis) {
    header.spacingMm[axis] *= ofNifti == 1 ? mm : 1; // ITK has converted that of NIfTI
    header.originMm[axis] *= mm;
  }
}

std::string noteOnPixelSpacing(const ImageHeader& header, const ReadingOptions& reading)
{
  const std::string first = bytesOfFile(header.path, 0, 4);
  const bool isTiff = (first.starts_with("II") && first.find_first_of("*+") == 2)
                      || (first.starts_with("MM") && first.find_first_of("*+") == 3),
             isJpeg = first.starts_with("\xff\xd8\xff"), isBitmap = hasEnding(header.path, ".bmp");
  if (!reading.pixelSpacingMm.empty() || !(isTiff || isJpeg || isBitmap || first == "\x89PNG"))
    return "";
  if (isTiff) {
    TiffFile file(header.path);
    const TiffText text = textOf(file, header.path);
    const std::vector<double> voxel(text.voxel.begin(), text.voxel.begin() + std::min(header.dimension, 3));
    const double mm = mmOfUnit(text.unit);
    const auto isNear = [mm](double size, double spacingMm) {
      return std::abs(size * mm - spacingMm) < 1e-4 * spacingMm;
    };
    const auto inMm = [mm](double size) { return shortText(mm > 0 ? size * mm : size); };
    if (text.voxel[0] > 0 && !std::ranges::equal(voxel, header.spacingMm, isNear))
      return header.path + ": the text of " + text.writer + " in it names voxels of "
             + joined(voxel, ",", shortText) + " " + text.unit + ", which are not used: the spacing is "
             + joined(header.spacingMm, ",", shortText) + " mm; --pixel-spacing "
             + (std::ranges::min(voxel) > 0 ? joined(voxel, ",", inMm) + " takes them"
                                            : "gives one for each axis");
  }
  if (header.spacingMm[0] == 1)
    return header.path
           + (isTiff || isJpeg ? ": it names no size of its pixels; 1 mm is taken"
                               : ": its pixels count as 1 mm, whatever size it names")
           + ", and --pixel-spacing gives another";
  return !isJpeg && !isTiff
             ? ""
             : header.path + ": the spacing of " + shortText(header.spacingMm[0])
                   + " mm comes from the dots per inch that the " + (isJpeg ? "JPEG" : "TIFF")
                   + " names, which are seldom those of the "
                     "object; --pixel-spacing 1 takes pixels for mm, as landmarks in pixels need it";
}

}
