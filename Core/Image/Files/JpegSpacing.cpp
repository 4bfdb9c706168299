#include "Core/Image/Files/JpegSpacing.h"

#include "Core/Image/Files/InputError.h"

#include <fstream>
#include <string_view>

namespace tessera {

std::string noteOnJpegSpacing(const ImageHeader& header, const ReadingOptions& reading)
{
  if (header.spacingMm[0] == 1 || !reading.pixelSpacingMm.empty())
    return "";
  char bytes[4] = {};
  std::ifstream(header.path, std::ios::binary).read(bytes, sizeof bytes);
  const std::string_view first(bytes, sizeof bytes);
  const std::string format = first.starts_with("\xff\xd8\xff") ? "JPEG"
                             : first == std::string_view("II*\0", 4) || first == std::string_view("MM\0*", 4)
                                 ? "TIFF"
                                 : "";
  return format.empty()
             ? ""
             : header.path + ": the spacing of " + shortText(header.spacingMm[0])
                   + " mm comes from the dots per inch that the " + format
                   + " names, which are seldom those of the "
                     "object; --pixel-spacing 1 takes pixels for mm, as landmarks in pixels need it";
}

}
