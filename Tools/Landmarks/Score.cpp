#include "Tools/Landmarks/ScoreOptions.h"

#include "Components/RegisterComponents.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Tools/Common/StandardOutput.h"
#include "Tools/Landmarks/CaseScore.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

std::string conventionText(bool isRounded)
{
  return isRounded ? "rounded" : "exact";
}

std::string padded(const std::string& text, std::size_t width)
{
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string row(const std::string& id, const std::string& when, const ErrorStatistics& s)
{
  std::string line = id + "  " + when + padded(std::to_string(s.count), 6);
  for (const double mm : {s.meanMm, s.deviationMm, s.medianMm, s.percentile95Mm, s.largestMm})
    line += ' ' + padded(decimals(mm, 3), 8);
  for (const double share : {s.shareAbove2Mm, s.shareAbove5Mm})
    line += ' ' + padded(decimals(100 * share, 1), 6);
  for (const double mm : s.meanPerAxisMm)
    line += ' ' + padded(decimals(mm, 3), 8);
  return line + "\n";
}

/// The means over the cases; empty for one case.
struct Means {
  double beforeMm = 0;
  std::optional<double> afterMm; // if all cases have it
};

Means meansOf(const std::vector<CaseScore>& cases)
{
  Means means;
  const double n = static_cast<double>(cases.size());
  if (std::ranges::all_of(cases, [](const CaseScore& c) { return c.after.has_value(); }))
    means.afterMm = 0;
  for (const CaseScore& c : cases) {
    means.beforeMm += c.before.meanMm / n;
    if (means.afterMm)
      *means.afterMm += c.after->meanMm / n;
  }
  return means;
}

double relative(const CaseScore& c, double ScoredPoint::*errorMm, bool isMedian)
{
  std::vector<double> values;
  double sum = 0;
  for (const ScoredPoint& point : c.points) {
    values.push_back(point.*errorMm / *c.diagonalMm);
    sum += values.back();
  }
  return isMedian ? percentile(values, 0.5) : sum / static_cast<double>(values.size());
}

std::string tableText(const std::vector<CaseScore>& cases, bool isRounded)
{
  std::size_t width = 4;
  for (const CaseScore& c : cases)
    width = std::max(width, c.id.size());
  const auto id = [width](std::string text) {
    text.resize(width, ' ');
    return text;
  };
  std::string text =
      "Distances in mm between mapped and moving landmarks, "
      + (isRounded ? std::string("mapped points rounded to the nearest voxel (--convention rounded)")
                   : std::string("at exact positions (--convention exact)"))
      + ".\n" + id("case")
      + "            N     mean       sd   median      p95  largest  %>2mm  %>5mm  signed mean of each "
        "axis\n";
  for (const CaseScore& c : cases) {
    text += row(id(c.id), "before", c.before);
    if (c.after)
      text += row(id(""), "after ", *c.after);
  }
  for (const CaseScore& c : cases) {
    if (c.diagonalMm) {
      text += c.id + ": relative to the diagonal of " + decimals(*c.diagonalMm, 3) + " mm (rTRE), mean "
              + decimals(relative(c, &ScoredPoint::beforeMm, false), 6) + " and median "
              + decimals(relative(c, &ScoredPoint::beforeMm, true), 6) + " before";
      text += c.after ? ", mean " + decimals(relative(c, &ScoredPoint::afterMm, false), 6) + " and median "
                            + decimals(relative(c, &ScoredPoint::afterMm, true), 6) + " after.\n"
                      : ".\n";
    }
    if (c.volumes)
      text += c.id + ": " + c.volumes->text() + "\n";
    if (c.determinant)
      text += c.id + ": " + (*c.determinant > 0 ? "no voxel folds" : "all voxels fold")
              + ". The transform is linear; the determinant of its spatial Jacobian is "
              + decimals(*c.determinant, 4) + " everywhere.\n";
  }
  if (cases.size() > 1) {
    const Means means = meansOf(cases);
    text += "Mean of the means of " + std::to_string(cases.size()) + " cases: " + decimals(means.beforeMm, 3)
            + " mm before" + (means.afterMm ? ", " + decimals(*means.afterMm, 3) + " mm after" : "") + ".\n";
  }
  return text;
}

Json json(const ErrorStatistics& s)
{
  return {{"meanMm", s.meanMm},
          {"deviationMm", s.deviationMm},
          {"medianMm", s.medianMm},
          {"percentile95Mm", s.percentile95Mm},
          {"largestMm", s.largestMm},
          {"shareAbove2Mm", s.shareAbove2Mm},
          {"shareAbove5Mm", s.shareAbove5Mm},
          {"meanPerAxisMm", s.meanPerAxisMm}};
}

Json relativeJson(const CaseScore& c, double ScoredPoint::*errorMm)
{
  return {{"mean", relative(c, errorMm, false)}, {"median", relative(c, errorMm, true)}};
}

std::string jsonText(const std::vector<CaseScore>& cases, bool isRounded)
{
  Json list = Json::array();
  for (const CaseScore& c : cases) {
    Json one{{"id", c.id},
             {"points", c.points.size()},
             {"pointsOutside", c.pointsOutside},
             {"before", json(c.before)}};
    if (c.after)
      one["after"] = json(*c.after);
    if (c.diagonalMm) {
      one["diagonalMm"] = *c.diagonalMm;
      one["relativeBefore"] = relativeJson(c, &ScoredPoint::beforeMm);
      if (c.after)
        one["relativeAfter"] = relativeJson(c, &ScoredPoint::afterMm);
    }
    if (c.volumes)
      one["foldedVoxels"] = {{"folded", c.volumes->folded}, {"voxels", c.volumes->voxels}};
    if (c.determinant)
      one["determinant"] = *c.determinant;
    list.push_back(std::move(one));
  }
  const Means means = meansOf(cases);
  Json all{{"convention", conventionText(isRounded)},
           {"cases", std::move(list)},
           {"meanOfMeansBeforeMm", means.beforeMm}};
  if (means.afterMm)
    all["meanOfMeansAfterMm"] = *means.afterMm;
  return all.dump(2) + "\n";
}

std::string shortest(double value)
{
  char number[32];
  return {number, std::to_chars(number, number + sizeof number, value).ptr};
}

std::string quoted(std::string text)
{
  if (text.find_first_of(",\"") == std::string::npos)
    return text;
  for (std::size_t i = text.find('"'); i != std::string::npos; i = text.find('"', i + 2))
    text.insert(i, 1, '"');
  return '"' + text + '"';
}

/// A line a point; cases of 2D leave z empty. Cases of four axes add the time.
std::string csvText(const std::vector<CaseScore>& cases, bool isRounded)
{
  const bool haveTimes = std::ranges::any_of(cases, [](const CaseScore& c) { return c.dimension == 4; });
  const std::string axes = haveTimes ? "xyzt" : "xyz";
  std::string text = "case,point";
  for (const char* what : {"fixed", "moving", "mapped"})
    for (const char axis : axes)
      text += std::string(",") + what + "_" + axis + "_mm";
  text += ",before_mm,after_mm,convention\n";
  for (const CaseScore& c : cases)
    for (const ScoredPoint& point : c.points) {
      text += quoted(c.id) + "," + quoted(point.name);
      for (const auto* values : {&point.fixedMm, &point.movingMm, &point.mappedMm})
        for (std::size_t d = 0; d < axes.size(); ++d)
          text +=
              ","
              + (d < values->size() && (c.after || values != &point.mappedMm) ? shortest((*values)[d]) : "");
      text += "," + shortest(point.beforeMm) + "," + (c.after ? shortest(point.afterMm) : "") + ","
              + conventionText(isRounded) + "\n";
    }
  return text;
}

}

int score(const ScoreOptions& options, Log& log)
{
  Registry registry;
  registerComponents(registry);
  std::vector<CaseScore> cases;
  for (const ScoreCase& c : options.cases)
    cases.push_back(scoreCase(c, options.isRounded, options.threads, registry, log));
  putStandardOutput(tableText(cases, options.isRounded));
  if (!options.json.empty())
    writeTextFile(options.json, jsonText(cases, options.isRounded));
  if (!options.csv.empty())
    writeTextFile(options.csv, csvText(cases, options.isRounded));
  return 0;
}

}
