#include "Core/Image/Files/LengthsInMm.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tessera {
double mmOfUnit(const std::string& unit)
{
  static constexpr std::pair<std::string_view, double> units[] = {
      {"||?|pixel|mm|millimeter|", 1},
      {"|cm|centimeter|", 10},
      {"|m|meter|", 1e3},
      {"|inch|inche|", 25.4},
      {"|um|\xC2\xB5m|\xCE\xBCm|\\u00b5m|micron|micrometer|", 1e-3},
      {"|nm|nanometer|", 1e-6}};
  std::string name = lowerCase(unit);
  if (name.size() > 2 && name.ends_with('s')) // of the plural
    name.pop_back();
  if (name.ends_with("metre"))
    name.replace(name.size() - 2, 2, "er");
  for (const auto& [names, mm] : units)
    if (names.find("|" + name + "|") != std::string_view::npos)
      return mm;
  return 0;
}

void convertToMm(const FileHead& file, ImageHeader& header)
{
  const bool isMetaImage = hasEnding(header.path, ".mha") || hasEnding(header.path, ".mhd");
  const std::string text = lowerCase("\n" + file.bytes);
  std::string unit = niftiUnit(file);
  constexpr std::size_t longestOfAnalyze = 4;
  const bool isConverted = unit.size() > longestOfAnalyze; // by ITK, which converts the spacing of NIfTI
  bool hasSpacing = true;
  if (isMetaImage) {
    const std::string lines = text.substr(0, text.find("\nelementdatafile"));
    hasSpacing = lines.find("\nelements") != std::string::npos; // ElementSpacing, ElementSize
    unit = trimmed(textBehind(textBehind(lines, "\ndistanceunits", "\n"), "=", "\r"));
    bool isTurned = false;
    for (std::size_t row = 0; row < header.direction.size(); ++row)
      for (std::size_t axis = 0; axis < header.direction.size(); ++axis)
        isTurned = isTurned || header.direction[row][axis] != (row == axis);
    if (isTurned
        && textBehind(lines, "\ncenterofrotation", "\n").find_first_of("123456789") != std::string::npos)
      header.notes.push_back(header.path
                             + ": its CenterOfRotation is not applied to its directions, as in ITK");
  } else if (text.starts_with("\nnrrd000")) {
    const std::string lines = text.substr(0, std::min(text.find("\n\n"), text.find("\r\n\r\n")));
    const auto hasNumber = [](const std::string& word) {
      return word.find_first_of("0123456789") != word.npos;
    };
    hasSpacing = hasNumber(textBehind(lines, "\nspace directions: ", "\r\n"))
                 || std::ranges::count_if(wordsOf(textBehind(lines, "\nspacings: ", "\r\n")), hasNumber)
                        >= header.dimension;
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
    header.spacingMm[axis] *= isConverted ? 1 : mm;
    header.originMm[axis] *= mm;
  }
}

}
