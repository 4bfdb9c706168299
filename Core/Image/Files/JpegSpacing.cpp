#include "Core/Image/Files/JpegSpacing.h"

#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/ReadingOptions.h"

#include <fstream>

namespace tessera {

std::string noteOnJpegSpacing(const ImageHeader& header)
{
  if (header.spacingMm[0] == 1 || !readingOptions().pixelSpacingMm.empty())
    return "";
  char first[3] = {};
  std::ifstream(header.path, std::ios::binary).read(first, sizeof first);
  return std::string(first, sizeof first) != "\xff\xd8\xff"
             ? ""
             : header.path + ": the spacing of " + shortText(header.spacingMm[0])
                   + " mm comes from the dots per inch that the JPEG names, which are seldom those of the "
                     "object; --pixel-spacing 1 takes pixels for mm, as landmarks in pixels need it";
}

}
