#include "Core/Registration/TransformFiles/MatrixFiles.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace tessera {
namespace {

constexpr Vec<3> towardsRas{-1, -1, 1};
const std::string allowedMatrix = "four lines of four numbers, the last 0 0 0 1";
const std::string allowedLta = "an LTA file of FreeSurfer with one matrix from src to dst";

std::string matrixText(const AffineMap<3>& map)
{
  std::string text;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column)
      text += realText(map.matrix[row][column]) + " ";
    text += realText(map.offset[row]) + "\n";
  }
  return text + "0 0 0 1\n";
}

/// The map of 16 numbers; nothing if these are no affine map, or one that is singular.
std::optional<AffineMap<3>> mapOf(const std::vector<double>& numbers)
{
  if (numbers.size() != 16 || numbers[12] != 0 || numbers[13] != 0 || numbers[14] != 0 || numbers[15] != 1)
    return std::nullopt;
  AffineMap<3> map;
  double largest = 0;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      map.matrix[row][column] = numbers[4 * row + column];
      largest = std::max(largest, std::abs(map.matrix[row][column]));
    }
    map.offset[row] = numbers[4 * row + 3];
  }
  constexpr double singular = 1e-12;
  return std::abs(determinant(map.matrix)) > singular * largest * largest * largest ? std::optional(map)
                                                                                    : std::nullopt;
}

std::string textOf(const std::string& path, const std::string& allowed)
{
  constexpr std::size_t longest = std::size_t(1) << 20;
  std::string text = readPlainText(path);
  if (text.size() > longest)
    failToRead(path, "it is too long for one matrix", allowed);
  return text;
}

/// The numbers of a text; nothing if a word is no finite number.
std::optional<std::vector<double>> numbersOf(const std::string& text)
{
  std::vector<double> numbers;
  for (const std::string& word : wordsOf(text)) {
    const std::optional<double> number = parseReal(word);
    if (!number || !std::isfinite(*number))
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

AffineMap<3> readMatrix(const std::string& path)
{
  const auto numbers = numbersOf(textOf(path, allowedMatrix));
  const std::optional<AffineMap<3>> map = numbers ? mapOf(*numbers) : std::nullopt;
  if (!map)
    failToRead(path, "this is no matrix of an affine transform that has an inverse", allowedMatrix);
  return *map;
}

/// RAS from voxel indices.
AffineMap<3> rasFromIndex(const ImageGeometry<3>& grid)
{
  AffineMap<3> map = grid.pointFromIndex();
  for (int row = 0; row < 3; ++row) {
    for (double& entry : map.matrix[row])
      entry *= towardsRas[row];
    map.offset[row] *= towardsRas[row];
  }
  return map;
}

std::string volumeText(const std::string& role, const ImageGeometry<3>& grid, const std::string& name)
{
  const AffineMap<3> ras = rasFromIndex(grid);
  std::string text = role + " volume info\nvalid = 1  # volume info valid\nfilename = " + name + "\nvolume =";
  Vec<3> middle;
  for (int d = 0; d < 3; ++d) {
    text += " " + std::to_string(grid.size[d]);
    middle[d] = static_cast<double>(grid.size[d]) / 2;
  }
  const auto add = [&](const std::string& key, auto&& value) {
    text += "\n" + key + " =";
    for (int d = 0; d < 3; ++d)
      text += " " + realText(value(d));
  };
  add("voxelsize", [&](int d) { return grid.spacingMm[d]; });
  const char* axes[] = {"xras  ", "yras  ", "zras  "};
  for (int axis = 0; axis < 3; ++axis)
    add(axes[axis], [&](int d) { return ras.matrix[d][axis] / grid.spacingMm[axis]; });
  const Vec<3> centre = ras(middle);
  add("cras  ", [&](int d) { return centre[d]; });
  return text + "\n";
}

/// The lines of an LTA file.
class LtaLines {
public:
  explicit LtaLines(const std::string& path) : path_(path)
  {
    const std::string text = textOf(path, allowedLta);
    if (!text.ends_with('\n')) // the last number may lack digits
      failToRead(path, "its last line has no end; it may be cut off", allowedLta);
    lines_ = linesOf(text);
    next();
  }

  /// The value of the line `key = value`, which must come next but for comments and empty lines.
  std::string value(const std::string& key)
  {
    const std::size_t equals = line_.find('=');
    std::string name = line_.substr(0, equals);
    name.erase(name.find_last_not_of(" \t") + 1);
    if (equals == std::string::npos || name != key)
      failToRead(path_, "where " + key + " should stand it says \"" + line_.substr(0, 40) + "\"", allowedLta);
    const std::string text = line_.substr(equals + 1);
    next();
    return text;
  }

  std::vector<double> numbers(const std::string& key, std::size_t count) { return parsed(value(key), count); }

  std::vector<double> matrix()
  {
    std::vector<double> numbers;
    for (int row = 0; row < 4; ++row, next())
      for (const double number : parsed(line_, 4))
        numbers.push_back(number);
    return numbers;
  }

  void expect(const std::string& text)
  {
    if (!line_.starts_with(text))
      failToRead(path_, "where \"" + text + "\" should stand it says \"" + line_.substr(0, 40) + "\"",
                 allowedLta);
    next();
  }

  AffineMap<3> rasFromIndexOf(const std::string& role)
  {
    expect(role + " volume info");
    if (numbers("valid", 1)[0] != 1)
      failToRead(path_, "the grid of " + role + " is not valid", allowedLta);
    value("filename");
    const std::vector<double> size = numbers("volume", 3), spacing = numbers("voxelsize", 3);
    AffineMap<3> map;
    const char* axes[] = {"xras", "yras", "zras"};
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<double> column = numbers(axes[axis], 3);
      for (int row = 0; row < 3; ++row)
        map.matrix[row][axis] = column[row] * spacing[axis];
    }
    const std::vector<double> centre = numbers("cras", 3);
    const Vec<3> middle = apply<3>(map.matrix, {size[0] / 2, size[1] / 2, size[2] / 2});
    for (int d = 0; d < 3; ++d)
      map.offset[d] = centre[d] - middle[d];
    if (!(size[0] > 0 && size[1] > 0 && size[2] > 0))
      failToRead(path_, "the grid of " + role + " has no voxels", allowedLta);
    if (!(std::abs(determinant(map.matrix)) > 0))
      failToRead(path_, "the axes of " + role + " do not span the space", allowedLta);
    return map;
  }

private:
  void next()
  {
    while (next_ < lines_.size()) {
      line_ = lines_[next_++];
      line_ = line_.substr(0, line_.find('#'));
      line_.erase(line_.find_last_not_of(" \t\r") + 1);
      line_.erase(0, line_.find_first_not_of(" \t"));
      if (!line_.empty())
        return;
    }
    line_.clear();
  }

  std::vector<double> parsed(const std::string& text, std::size_t count) const
  {
    const auto numbers = numbersOf(text);
    if (!numbers || numbers->size() != count)
      failToRead(path_, "\"" + text.substr(0, 40) + "\" is not " + std::to_string(count) + " number(s)",
                 allowedLta);
    return *numbers;
  }

  std::string path_;
  std::vector<std::string> lines_;
  std::size_t next_ = 0;
  std::string line_;
};

}

AffineMap<3> inRas(const AffineMap<3>& map)
{
  AffineMap<3> turned = map;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column)
      turned.matrix[row][column] *= towardsRas[row] * towardsRas[column];
    turned.offset[row] *= towardsRas[row];
  }
  return turned;
}

AffineMap<3> fslFromPoint(const ImageGeometry<3>& grid)
{
  AffineMap<3> fslFromIndex{{}, {}};
  for (int d = 0; d < 3; ++d)
    fslFromIndex.matrix[d][d] = grid.spacingMm[d];
  if (determinant(grid.direction) > 0) { // as in RAS: two axes differ in their signs
    fslFromIndex.matrix[0][0] *= -1;
    fslFromIndex.offset[0] = static_cast<double>(grid.size[0] - 1) * grid.spacingMm[0];
  }
  return compose<3>(fslFromIndex, grid.indexFromPoint());
}

std::string flirtText(const AffineMap<3>& transform, const ImageGeometry<3>& fixed,
                      const ImageGeometry<3>& moving)
{
  return matrixText(
      compose<3>(fslFromPoint(fixed), compose<3>(inverse(transform), inverse(fslFromPoint(moving)))));
}

AffineMap<3> readFlirt(const std::string& path, const ImageGeometry<3>& fixed, const ImageGeometry<3>& moving)
{
  return compose<3>(inverse(fslFromPoint(moving)),
                    compose<3>(inverse(readMatrix(path)), fslFromPoint(fixed)));
}

std::string rasMatrixText(const AffineMap<3>& transform)
{
  return matrixText(inRas(transform));
}

AffineMap<3> readRasMatrix(const std::string& path)
{
  return inRas(readMatrix(path));
}

std::string ltaText(const AffineMap<3>& transform, const ImageGeometry<3>& fixed,
                    const ImageGeometry<3>& moving, const std::string& fixedName,
                    const std::string& movingName)
{
  return "type      = 1 # LINEAR_RAS_TO_RAS\nnxforms   = 1\nmean      = 0 0 0\nsigma     = 10000\n1 4 4\n"
         + matrixText(inRas(inverse(transform))) + volumeText("src", moving, movingName)
         + volumeText("dst", fixed, fixedName);
}

AffineMap<3> readLta(const std::string& path)
{
  LtaLines lines(path);
  const double type = lines.numbers("type", 1)[0];
  if (type != 0 && type != 1)
    failToRead(path, "type " + realText(type) + " is not known here",
               "type 0 (from voxels to voxels) and 1 (RAS to RAS)");
  if (lines.numbers("nxforms", 1)[0] != 1)
    failToRead(path, "it has several matrices", allowedLta);
  lines.value("mean");
  lines.value("sigma");
  lines.expect("1 4 4");
  std::optional<AffineMap<3>> map = mapOf(lines.matrix());
  if (!map)
    failToRead(path, "its matrix is not that of an affine transform that has an inverse", allowedLta);
  const AffineMap<3> source = lines.rasFromIndexOf("src"), destination = lines.rasFromIndexOf("dst");
  if (type == 0)
    map = compose<3>(destination, compose<3>(*map, inverse(source)));
  return inverse(inRas(*map));
}

}
