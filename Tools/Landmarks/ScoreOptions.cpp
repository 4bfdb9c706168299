#include "Tools/Landmarks/ScoreOptions.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/InputFiles.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Files/TextWords.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"
#include "Tools/Landmarks/FindOptions.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace tessera {
namespace {

const std::vector<std::string> fileOptions{"fp", "mp", "tp", "mapped", "f", "m", "fMask"};
const std::vector<std::string> wordOptions{"format", "dirlab"};

[[noreturn]] void fail(const std::string& where, const std::string& wrong, const std::string& allowed)
{
  failAs(ExitCode::usage, where, wrong, allowed);
}

bool isOneOf(const std::vector<std::string>& names, const std::string& name)
{
  return std::ranges::count(names, name) > 0;
}

void checkCase(ScoreCase& c)
{
  for (const char* needed : {"fp", "mp"})
    if (!c.has(needed))
      fail(c.where, std::string("-") + needed + " is not given", std::string("-") + needed + " FILE");
  if (c.has("tp") && c.has("mapped"))
    fail(c.where, "-tp and --mapped are given, which say the same twice", "one of them");
  if (c.has("fMask") && !c.has("f"))
    fail(c.where, "-fMask is given without -f", "-f IMAGE with it");
  if (c.has("tp"))
    c.values["tp"] = transformFileOf(c.get("tp"), "-tp");
}

void checkHeader(const std::string& where, const std::vector<std::string>& columns)
{
  std::set<std::string> seen;
  for (const std::string& column : columns) {
    if (column != "id" && !isOneOf(fileOptions, column) && !isOneOf(wordOptions, column))
      fail(where, "the column \"" + column + "\" is not known",
           "id, fp, mp, tp, mapped, f, m, fMask, format, dirlab, separated by tabs");
    if (!seen.insert(column).second)
      fail(where, "the column \"" + column + "\" is there twice", "each name once");
  }
  if (!seen.contains("id"))
    fail(where, "no column \"id\"", "one that names each case");
}

std::vector<ScoreCase> readTable(const std::string& path, const ScoreCase& defaults)
{
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::vector<std::string> columns;
  std::vector<ScoreCase> cases;
  std::set<std::string> ids;
  std::size_t number = 0;
  for (const std::string& line : linesOf(readPlainText(path))) {
    const std::string where = path + ":" + std::to_string(++number);
    const std::vector<std::string> cells = cellsOf(line, '\t');
    if (line.starts_with('#') || (cells.size() == 1 && cells.front().empty()))
      continue;
    if (columns.empty()) {
      checkHeader(where, columns = cells);
      continue;
    }
    if (cells.size() != columns.size())
      fail(where, std::to_string(cells.size()) + " values for " + std::to_string(columns.size()) + " columns",
           "as many as there are names in the first line");
    ScoreCase c = defaults;
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (columns[i] == "id")
        c.id = cells[i];
      else if (isGivenCell(cells[i]))
        c.values[columns[i]] =
            isOneOf(wordOptions, columns[i]) ? cells[i] : pathOnThisSystem((folder / cells[i]).string());
    c.where = where + ": case \"" + c.id + "\"";
    if (c.id.empty() || !ids.insert(c.id).second)
      fail(where, "the id \"" + c.id + "\" is empty or there twice", "a name of its own for each case");
    checkCase(c);
    cases.push_back(std::move(c));
  }
  if (cases.empty())
    fail(path, "no cases", "a first line with the names of the columns, then a line a case");
  return cases;
}

}

ProgramText landmarksText()
{
  const Option moving{
      "m", "IMAGE",
      "moving image, for landmarks that are voxels and for --convention rounded; track: several times for "
      "the phases of a series, each of which is looked for from the phase before on",
      true};
  return {
      "tessera-landmarks",
      "tessera-landmarks score -fp fixed.txt -mp moving.txt -tp results/TransformParameters.1.txt",
      "score measures a registration by landmarks: the distances between mapped points of the fixed image "
      "and the corresponding points of the moving image. Two words after score are -fp and -mp. score TABLE "
      "does so for a line a case, with values separated by tabs; its columns are id and the options of a "
      "case by their names. detect finds keypoints of an image; track finds them in another image, too.",
      {{"A case (score)",
        {{"fp", "FILE", "landmarks of the fixed image"},
         {"mp", "FILE", "landmarks of the moving image, in the same order"},
         {"tp", "FILE",
          "transform that maps points of the fixed image: a transform parameter file, or ITK's .tfm or .h5"},
         ownOption("mapped", "FILE",
                   "in place of -tp: the mapped points, as outputpoints.txt of transformix or in the format "
                   "of the landmarks"),
         {"f", "IMAGE",
          "fixed image, for landmarks that are voxels, for the relative error, and for folds on its grid"},
         moving,
         {"fMask", "IMAGE", "count folds in this mask of the fixed image alone"},
         ownOption("format", "NAME",
                   "automatic (default: .csv, .fcsv and .json are csv, .vtk is vtk, all others elastix), "
                   "elastix, vtk, csv (BIRL, CIMA, ANTs, 3D Slicer), dirlab (voxels from 1)"),
         ownOption("dirlab", "CASE",
                   "4DCT1 to 4DCT10, COPD1 to COPD10: landmarks of DIR-Lab, with the published size and "
                   "spacing of both images, their first voxels at 0 mm")}},
       {"How, and what is written (score)",
        {ownOption("convention", "NAME",
                   "exact (default): the distance of the mapped point itself; rounded: of the centre of the "
                   "voxel of the moving image that is nearest to it"),
         ownOption("json", "FILE", "write the summaries as JSON"),
         ownOption("csv", "FILE", "write a line a point")}},
       findOptionsText(),
       {"Reading images", readingOptionsOfImages()},
       commonOptions()},
      exitCodesText()};
}

ScoreOptions scoreOptions(const std::string& table, const Arguments& arguments)
{
  ScoreOptions options;
  ScoreCase given{"case", "command line", {}, readingOptionsOf(arguments)};
  for (const auto* names : {&fileOptions, &wordOptions})
    for (const std::string& name : *names)
      if (arguments.has(name))
        given.values[name] = arguments.text(name);
  options.isRounded = choiceOf(arguments, "convention", "exact, rounded") == "rounded";
  if (table.empty()) {
    checkCase(given);
    options.cases = {given};
  } else
    options.cases = readTable(table, given);
  options.json = arguments.text("json");
  options.csv = arguments.text("csv");
  options.threads = threadCount(arguments);
  InputFiles inputs;
  inputs.add(table, "the table " + table);
  for (const ScoreCase& c : options.cases)
    for (const std::string& name : fileOptions)
      if (c.has(name))
        inputs.add(c.get(name), "the input " + c.get(name));
  for (const std::string name : {"json", "csv"})
    if (inputs.at(arguments.text(name)))
      fail("command line: --" + name + " " + arguments.text(name), "this file is an input", "another file");
  if (!options.json.empty() && options.json == options.csv)
    fail("command line: --json and --csv", "one file", "two files");
  return options;
}

}
