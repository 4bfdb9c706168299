#include "Core/Image/Points/PointTable.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace tessera {
namespace {

const std::string allowedTable =
    "a first line with the columns X and Y (pixels from 0), x, y, z and t (ANTs: mm, LPS), l, p, s or r, a, "
    "s (mm), then numbers, separated by commas";

const std::string definedPoints = "points that are defined, as 3D Slicer says it";

/// A table as text: the lines of its points, and what is known of all of them.
struct Table {
  std::vector<std::string> columns; // small letters alone: those of "X [mm]" and x_mm are the same
  // "path:line", and the cells of a point
  std::vector<std::pair<std::string, std::vector<std::string>>> rows = {};
  std::string system; // in files of 3D Slicer: LPS, or 1; RAS, or 0
};

std::vector<std::string> columnsOf(const std::string& line)
{
  std::vector<std::string> columns = cellsOf(lowerCase(line), ',');
  for (std::string& column : columns)
    std::erase_if(column, [](unsigned char c) { return std::isalpha(c) == 0; });
  return columns;
}

/// Lines of a .csv, or of a .fcsv, which has its system and columns behind #.
Table tableOfLines(const std::string& path, bool isOfSlicer)
{
  Table table;
  std::size_t number = 0;
  for (const std::string& line : linesOf(readPlainText(path))) {
    ++number;
    const std::size_t value = line.find('=') + 1; // 0: there is none
    if (isOfSlicer && line.starts_with("# CoordinateSystem"))
      table.system = trimmed(std::string_view(line).substr(value));
    else if (table.columns.empty()
             && !(isOfSlicer && line.starts_with('#') && !line.starts_with("# columns")))
      table.columns = columnsOf(line.substr(isOfSlicer ? value : 0));
    else if (!trimmed(line).empty() && !(isOfSlicer && line.starts_with('#')))
      table.rows.emplace_back(path + ":" + std::to_string(number), cellsOf(line, ','));
  }
  return table;
}

/// The control points of a .mrk.json file. Quotes in its labels stand behind a backslash, so that none is a
/// key. Brackets in labels are left out, so that those that remain belong to lists and points.
Table tableOfMarkups(const std::string& path)
{
  std::string text;
  bool isInString = false;
  char before = 0;
  for (const char c : readPlainText(path)) {
    isInString ^= c == '"' && before != '\\';
    before = c == '\\' && before == '\\' ? '\0' : c;
    const bool isBracket = c == '[' || c == ']' || c == '{' || c == '}';
    if (std::isspace(static_cast<unsigned char>(c)) == 0 && !(isInString && isBracket))
      text += c;
  }
  const std::string lists = "\"controlPoints\":[", unit = textBehind(text, "\"coordinateUnits\":", ",}");
  if (text.find(lists) == std::string::npos || text.find(lists) != text.rfind(lists)
      || (!unit.empty() && unit.find("\"mm\"") == std::string::npos))
    failToRead(path, "it does not hold one list of controlPoints in mm",
               "landmarks of 3D Slicer, one list a file");
  Table table{.columns = {"x", "y", "z"}, .system = textBehind(text, "\"coordinateSystem\":\"", "\"")};
  std::string_view rest = std::string_view(text).substr(text.find(lists) + lists.size());
  const std::string position = "\"position\":[";
  while (rest.starts_with('{')) {
    const std::string_view point = rest.substr(0, rest.find('}'));
    const std::string where = path + ", control point " + std::to_string(table.rows.size() + 1),
                      status = textBehind(point, "\"positionStatus\":", ",");
    if (point.find(position) == std::string::npos || (!status.empty() && status != "\"defined\""))
      failToRead(where, "a point without a position", definedPoints);
    table.rows.emplace_back(where, cellsOf(textBehind(point, position, "]"), ','));
    rest.remove_prefix(std::min(point.size() + 1, rest.size()));
    rest.remove_prefix(rest.starts_with(",{") ? 1 : 0);
  }
  if (!rest.starts_with(']'))
    failToRead(
        path, "its list of controlPoints is not understood behind point " + std::to_string(table.rows.size()),
        wholeFile);
  return table;
}

}

bool isPointTable(const std::string& path)
{
  return hasEnding(path, ".csv") || hasEnding(path, ".fcsv") || hasEnding(path, ".json");
}

InputPoints<3> readPointTable(const std::string& path)
{
  const bool isMarkups = hasEnding(path, ".json"), isOfSlicer = isMarkups || hasEnding(path, ".fcsv");
  const Table table = isMarkups ? tableOfMarkups(path) : tableOfLines(path, isOfSlicer);
  const auto column = [&table](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(table.columns, name) - table.columns.begin());
  };
  const std::size_t none = table.columns.size();
  const bool isRas = table.system == "RAS" || table.system == "0";
  if (isOfSlicer && !isRas && table.system != "LPS" && table.system != "1")
    failToRead(path, "its coordinate system is \"" + table.system + "\"",
               "LPS or RAS, as 3D Slicer writes them");
  if (table.rows.empty())
    failToRead(path, "it holds no points", allowedTable);
  InputPoints<3> points;
  std::array<std::size_t, 3> axes{none, none, none};
  double sign = 1; // of the first two coordinates
  for (const auto& names : {std::array{"x", "y", "z"}, std::array{"xmm", "ymm", "zmm"},
                            std::array{"l", "p", "s"}, std::array{"r", "a", "s"}})
    if (axes[0] == none || axes[1] == none) {
      axes = {column(names[0]), column(names[1]), column(names[2])};
      sign = isRas || names[0][0] == 'r' ? -1 : 1;
      points.areIndices = !isOfSlicer && names[0] == std::string("x") && column("t") == none;
    }
  if (axes[0] == none || axes[1] == none)
    failToRead(path + ":1", "no columns X and Y", allowedTable);
  if (points.areIndices && axes[2] != none)
    failToRead(path + ":1", "its columns X, Y and Z do not say whether they are voxels or mm, LPS or RAS",
               allowedTable);
  points.coordinates = axes[2] == none ? 2 : 3;
  const std::size_t defined = column("defined");
  const bool hasNames = !isOfSlicer && std::ranges::find(axes, 0U) == axes.end();
  std::set<std::string> seen;
  for (const auto& [where, cells] : table.rows) {
    const bool hasStatus = isOfSlicer && cells.size() == none + 2; // from version 5 on, without columns
    if (cells.size() != none && !hasStatus)
      failToRead(where, std::to_string(cells.size()) + " values for " + std::to_string(none) + " columns",
                 std::to_string(none) + " values with commas between them, as the first line has columns");
    if ((hasStatus && cells[none] != "2") || (defined != none && trimmed(cells[defined]) == "0"))
      failToRead(where, "a point without a position", definedPoints);
    Vec<3>& point = points.values.emplace_back();
    for (int d = 0; d < points.coordinates; ++d) {
      const std::string cell(trimmed(cells[axes[d]]));
      const std::optional<double> number = finiteNumber(cell);
      if (!number)
        failToRead(where, "\"" + cell + "\" is no finite number", "a number such as -12.5");
      point[d] = d < 2 ? *number * sign : *number;
    }
    if (hasNames && !seen.insert(cells.front()).second)
      failToRead(where, "the point \"" + cells.front() + "\" is there twice", "each point once");
    if (hasNames)
      points.names.push_back(cells.front());
  }
  return points;
}

template <int D>
InputPoints<D> inDimension(const InputPoints<3>& all, const std::string& path)
{
  if (all.coordinates < D)
    failToRead(path, std::to_string(all.coordinates) + " coordinates a point", std::to_string(D));
  InputPoints<D> points{all.areIndices, {}, all.cells, all.coordinates, 0, all.inRas, all.names};
  for (const Vec<3>& point : all.values) {
    std::copy_n(point.begin(), std::min(D, 3), points.values.emplace_back().begin());
    points.flattened += D == 2 && point[2] != 0;
  }
  return points;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(inDimension<D>);

}
