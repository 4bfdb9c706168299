#include "Core/Image/Files/ImageHead.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Files/NiftiOrientation.h"

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace tessera {
namespace {

std::string numberText(double value)
{
  return significant(value, 17);
}

std::string numbersText(const std::vector<double>& values, const char* between = " ")
{
  return joined(values, between, numberText);
}

std::string sizesText(const ImageHeader& header)
{
  std::string text;
  for (const std::size_t length : header.size)
    text += " " + std::to_string(length);
  return text;
}

/// The direction of an axis times a length.
std::vector<double> column(const ImageHeader& header, int axis, double length)
{
  std::vector<double> values;
  for (const std::vector<double>& row : header.direction)
    values.push_back(length * row[axis]);
  return values;
}

/// Where the axes of a volume begin: "RAI" for those of LPS. "RPI" if two run most along one coordinate.
std::string anatomicalOrientation(const ImageHeader& header)
{
  constexpr double negligible = 0.001;
  std::string letters;
  std::array<bool, 3> isTaken{};
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<double> d = column(header, axis, 1);
    std::size_t largest = 0;
    for (std::size_t row = 1; row < 3; ++row)
      if (std::abs(d[row]) > negligible && std::abs(d[row]) > std::abs(d[(row + 1) % 3])
          && std::abs(d[row]) > std::abs(d[(row + 2) % 3]))
        largest = row;
    letters += (d[largest] < 0 ? "LPS" : "RAI")[largest];
    isTaken[largest] = true;
  }
  return isTaken[0] && isTaken[1] && isTaken[2] ? letters : "RPI";
}

std::string metaImageHead(const ImageHeader& header)
{
  std::vector<double> matrix;
  for (int axis = 0; axis < header.dimension; ++axis)
    for (const double value : column(header, axis, 1))
      matrix.push_back(value);
  const bool isVolume = header.dimension == 3;
  return "ObjectType = Image\nNDims = " + std::to_string(header.dimension)
         + "\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\nTransformMatrix = "
         + numbersText(matrix) + "\nOffset = " + numbersText(header.originMm)
         + "\nCenterOfRotation = " + numbersText(std::vector<double>(header.dimension))
         + (isVolume ? "\nAnatomicalOrientation = " + anatomicalOrientation(header) : "")
         + "\nElementSpacing = " + numbersText(header.spacingMm) + "\nDimSize =" + sizesText(header)
         + (isVolume ? "" : "\nAnatomicalOrientation = " + std::string(header.dimension, '?'))
         + (header.components > 1 ? "\nElementNumberOfChannels = " + std::to_string(header.components) : "")
         + "\nElementType = " + metaTypes[static_cast<int>(header.componentType)]
         + "\nElementDataFile = LOCAL\n";
}

std::string nrrdHead(const ImageHeader& header)
{
  constexpr const char* types[] = {"signed char", "unsigned char", "short",         "unsigned short",
                                   "int",         "unsigned int",  "long long int", "unsigned long long int",
                                   "float",       "double"};
  const bool isVector = header.components > 1;
  std::string directions, kinds;
  for (int axis = 0; axis < header.dimension; ++axis) {
    directions += " (" + numbersText(column(header, axis, header.spacingMm[axis]), ",") + ")";
    kinds += " domain";
  }
  return std::string("NRRD0004\n# Complete NRRD file format specification at:\n"
                     "# http://teem.sourceforge.net/nrrd/format.html\ntype: ")
         + types[static_cast<int>(header.componentType)]
         + "\ndimension: " + std::to_string(header.dimension + (isVector ? 1 : 0))
         + (header.dimension == 3 ? "\nspace: left-posterior-superior"
                                  : "\nspace dimension: " + std::to_string(header.dimension))
         + "\nsizes:" + (isVector ? " " + std::to_string(header.components) : "") + sizesText(header)
         + "\nspace directions:" + (isVector ? " none" : "") + directions
         + "\nkinds:" + (isVector ? " vector" : "") + kinds
         + (pixelTypeSize(header.componentType) > 1 ? "\nendian: little" : "")
         + "\nencoding: raw\nspace origin: (" + numbersText(header.originMm, ",") + ")\n\n";
}

/// The header of NIfTI-1, its end, and four bytes that say that no extensions follow.
std::string niftiHead(const ImageHeader& header)
{
  constexpr std::int16_t vectorIntent = 1007;
  const NiftiForms forms = niftiFormsOf(header);
  std::string head(352, '\0');
  const auto put = [&head](std::size_t place, auto value) {
    std::memcpy(head.data() + place, &value, sizeof value);
  };
  put(0, std::int32_t(348));
  put(38, 'r');
  const bool isVector = header.components > 1;
  put(40, static_cast<std::int16_t>(isVector ? 5 : header.dimension));
  for (std::size_t axis = 0; axis < 7; ++axis)
    put(42 + 2 * axis, static_cast<std::int16_t>(axis < header.size.size() ? header.size[axis]
                                                 : axis == 4               ? header.components
                                                                           : 1));
  put(68, isVector ? vectorIntent : std::int16_t(0));
  put(70, niftiTypes[static_cast<int>(header.componentType)]);
  put(72, static_cast<std::int16_t>(8 * pixelTypeSize(header.componentType)));
  for (std::size_t i = 0; i < forms.pixdim.size(); ++i)
    put(76 + 4 * i, i == 0 ? forms.pixdim[i] : std::abs(forms.pixdim[i]));
  put(108, 352.0F);
  put(112, 1.0F);                                   // scl_slope
  put(123, char(header.dimension > 3 ? 2 | 8 : 2)); // mm, seconds
  if (header.dimension > 3)
    put(136, static_cast<float>(header.originMm[3])); // toffset
  put(252, static_cast<std::int16_t>(forms.qformCode));
  put(254, static_cast<std::int16_t>(forms.sformCode));
  put(256, forms.quatern);
  put(268, forms.qoffset);
  put(280, forms.srow);
  std::memcpy(head.data() + 344, "n+1", 3);
  return head;
}

}

std::string imageFileHead(const std::string& format, const ImageHeader& header)
{
  return format == "nrrd" ? nrrdHead(header) : format == "nii" ? niftiHead(header) : metaImageHead(header);
}

void replaceInHead(std::string& text, const std::string& old, const std::string& replacement)
{
  const std::size_t place = text.find(old);
  if (place == std::string::npos)
    throw std::runtime_error("a header without \"" + old + "\"");
  text.replace(place, old.size(), replacement);
}

}
