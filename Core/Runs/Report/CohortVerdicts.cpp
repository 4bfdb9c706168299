#include "Core/Runs/Report/CohortVerdicts.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Math/Median.h"
#include "Core/Runs/Report/Html.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr double outsideMads = 5;
constexpr std::size_t fewestRows = 5;
constexpr double leastOverlap = 0.5;

constexpr std::array<FigureInfo, figureCount> infos{{{"overlap", "", true, false, 0.002},
                                                     {"correlation gain", "", true, false, 0.002},
                                                     {"folded share", "", false, true, 1e-5},
                                                     {"largest displacement", "mm", true, true, 1e-3, 0.01},
                                                     {"Dice", "", true, false, 0.002},
                                                     {"point distance", "mm", false, true, 1e-3, 0.01}}};

std::optional<double> numberAt(const Json& json, const char* name)
{
  if (!json.is_object() || !json.contains(name) || !json[name].is_number())
    return {};
  return json[name].get<double>();
}

/// Whether a label is too small in one of the images to be judged: some voxels miss each other easily.
bool isSmall(const Json& label, bool isArea)
{
  constexpr double fewestVoxels = 100, leastMm3 = 100; // 0.1 ml
  for (const auto& [voxels, volume] :
       {std::pair{"fixedVoxels", "fixedVolume"}, {"movingVoxels", "movingVolume"}})
    if (label.value(voxels, fewestVoxels) < fewestVoxels
        || (!isArea && label.value(volume, leastMm3) < leastMm3))
      return true;
  return false;
}

/// Doubts labels whose Dice is 0, or notes those that cannot be judged.
template <class Doubt>
void judgeLabels(const Json& run, const Doubt& doubt, std::vector<std::string>& notes)
{
  const Json &quality = run["quality"], none = Json::object();
  const Json::json_pointer size("/inputs/fixed/0/size");
  const bool isArea = run.contains(size) && run.at(size).size() == 2;
  std::string apart, alone, small;
  for (const auto& [name, dice] : quality["dice"]["labels"].items()) {
    if (dice != 0.0)
      continue;
    const Json label = quality.value("labels", none).value(name, none);
    const bool isAlone = label.value("fixedVolume", 1.0) == 0 || label.value("movingVolume", 1.0) == 0;
    std::string& list = isAlone ? alone : isSmall(label, isArea) ? small : apart;
    list += (list.empty() ? "" : ", ") + labelText(quality, name);
  }
  if (!apart.empty())
    doubt("labels that do not meet: " + apart);
  if (!alone.empty())
    notes.push_back("labels of one image alone, which are not judged: " + alone);
  if (!small.empty())
    notes.push_back("labels that do not meet and are too small to be judged: " + small);
}

}

const FigureInfo& infoOf(Figure figure)
{
  return infos[static_cast<std::size_t>(figure)];
}

Figures figuresOf(const Json& run)
{
  Figures figures;
  const auto set = [&](Figure figure, std::optional<double> value) {
    figures[static_cast<std::size_t>(figure)] = value;
  };
  if (run.contains("quality") && run["quality"].is_object()) {
    const Json& quality = run["quality"];
    set(Figure::overlap, numberAt(quality, "overlap"));
    const auto before = numberAt(quality, "correlationBefore"), after = numberAt(quality, "correlation");
    if (before && after)
      set(Figure::correlationGain, std::abs(*after) - std::abs(*before));
    set(Figure::largestDisplacementMm, numberAt(quality, "largestDisplacementMm"));
    if (quality.contains("dice"))
      set(Figure::dice, numberAt(quality["dice"], "mean"));
    if (quality.contains("points"))
      set(Figure::pointsMm, numberAt(quality["points"], "meanMm"));
  }
  if (run.contains("stages") && run["stages"].is_array())
    for (const Json& stage : run["stages"])
      if (stage.contains("spatialJacobianDeterminant")) {
        const Json& change = stage["spatialJacobianDeterminant"];
        const auto folded = numberAt(change, "foldedVoxels"), voxels = numberAt(change, "voxels");
        if (folded && voxels && *voxels > 0)
          set(Figure::foldedShare, *folded / *voxels);
      }
  return figures;
}

const char* verdictText(Verdict verdict)
{
  constexpr const char* texts[] = {"failed", "look", "done", "waiting"};
  return texts[static_cast<std::size_t>(verdict)];
}

CohortSpread spreadOf(const std::vector<Figures>& rows)
{
  CohortSpread spread;
  for (std::size_t f = 0; f < figureCount; ++f) {
    std::vector<double> values;
    for (const Figures& row : rows)
      if (row[f])
        values.push_back(*row[f]);
    if (values.size() < fewestRows)
      continue;
    const double middle = median(values);
    for (double& value : values)
      value = std::abs(value - middle);
    const double least = std::max(infos[f].leastSpread, infos[f].leastSpreadShareOfMedian * std::abs(middle));
    spread.of[f] = {middle, std::max(median(values), least)};
  }
  return spread;
}

Judgement judgedInCohort(const Figures& row, const CohortSpread& cohort)
{
  Judgement judgement;
  for (std::size_t f = 0; f < figureCount; ++f) {
    if (!row[f] || !cohort.of[f])
      continue;
    const FigureInfo& info = infos[f];
    const auto [median, mad] = *cohort.of[f];
    const double distance = (*row[f] - median) / mad;
    const double bad = std::max(info.isWorseAbove ? distance : 0.0, info.isWorseBelow ? -distance : 0.0);
    judgement.badness = std::max(judgement.badness, bad);
    if (bad > outsideMads)
      judgement.reasons.push_back(std::string(info.name) + " " + shortNumber(*row[f])
                                  + (*info.unit ? " " + std::string(info.unit) : "") + ": more than 5 MAD "
                                  + (distance > 0 ? "above" : "below") + " the cohort's median "
                                  + shortNumber(median));
  }
  if (!judgement.reasons.empty())
    judgement.verdict = Verdict::look;
  return judgement;
}

std::string labelText(const Json& quality, const std::string& label)
{
  const Json::json_pointer name("/labels/" + label + "/name");
  return label + (quality.contains(name) ? " " + quality.at(name).get<std::string>() : "");
}

Judgement judgedAlone(const Json& run)
{
  Judgement judgement;
  const std::string status = run.value("status", "");
  if (status != "done")
    return {Verdict::failed, {run.value("message", "").empty() ? status : run.value("message", "")}, {}, 0};
  const auto doubt = [&](const std::string& reason) {
    judgement.verdict = Verdict::look;
    judgement.reasons.push_back(reason);
  };
  if (const std::size_t count = run.value("warnings", Json::array()).size(); count > 0)
    judgement.notes.push_back("warnings of the run, below: " + std::to_string(count));
  const Json quality =
      run.contains("quality") && run["quality"].is_object() ? run["quality"] : Json::object();
  const Figures figures = figuresOf(run);
  const auto figure = [&](Figure f) { return figures[static_cast<std::size_t>(f)]; };
  if (const auto folded = figure(Figure::foldedShare); folded && *folded > 0)
    doubt("the transform folds at " + shortNumber(100 * *folded)
          + " % of the voxels: it turns tissue inside out "
            "there");
  if (const auto gain = figure(Figure::correlationGain);
      gain && *gain < -infoOf(Figure::correlationGain).leastSpread)
    doubt("the intensities correlate less than before the registration, by " + shortNumber(-*gain));
  if (const auto overlap = figure(Figure::overlap); overlap && *overlap < leastOverlap)
    doubt("only " + shortNumber(100 * *overlap)
          + " % of the fixed image (and mask) map into the moving image");
  if (const auto signs = quality.value("mismatchSigns", std::vector<std::string>());
      signs.size() >= signsThatCount)
    doubt(mismatchQuestion + joined(signs));
  if (quality.contains("points")) {
    const auto before = numberAt(quality["points"], "beforeMm"),
               after = numberAt(quality["points"], "meanMm");
    if (before && after && *after > *before)
      doubt("corresponding points are farther apart than before: " + shortNumber(*after) + " mm, "
            + shortNumber(*before) + " mm before");
  }
  if (quality.contains("dice")) {
    constexpr double clearly = 0.01;
    const auto before = numberAt(quality["dice"], "meanBefore"), after = numberAt(quality["dice"], "mean");
    if (before && after && *after < *before - clearly)
      doubt("labels overlap less than before: a mean Dice of " + shortNumber(*after) + ", "
            + shortNumber(*before) + " before");
    judgeLabels(run, doubt, judgement.notes);
  }
  return judgement;
}

}
