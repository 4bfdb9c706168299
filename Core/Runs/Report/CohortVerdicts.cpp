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
constexpr double leastOverlap = 0.5, clearlyLessCorrelation = 0.002;
constexpr std::size_t mostLabelsTold = 20;

/// Throws a JSON exception if it is neither a number nor null.
std::optional<double> numberAt(const Json& json, const std::string& pointer)
{
  const Json& number = recordAt(json, pointer);
  return number.is_null() ? std::nullopt : std::optional(number.get<double>());
}

std::optional<double> correlationAfter(const Json& run)
{
  const auto after = numberAt(run, "/quality/correlation");
  return after ? std::optional(std::abs(*after)) : std::nullopt;
}

std::optional<double> foldedShare(const Json& run)
{
  std::optional<double> share;
  for (const Json& stage : recordAt(run, "/stages")) {
    const auto folded = numberAt(stage, "/spatialJacobianDeterminant/foldedVoxels"),
               voxels = numberAt(stage, "/spatialJacobianDeterminant/voxels");
    if (folded && voxels && *voxels > 0)
      share = *folded / *voxels;
  }
  return share;
}

/// Whether a label is too small in one of the images to be judged: some voxels miss each other easily.
bool isSmall(const Json& label, bool isArea)
{
  constexpr double fewestVoxels = 100, leastMm3 = 100; // 0.1 ml
  for (const std::string side : {"/fixed", "/moving"})
    if (numberAt(label, side + "Voxels").value_or(fewestVoxels) < fewestVoxels
        || (!isArea && numberAt(label, side + "Volume").value_or(leastMm3) < leastMm3))
      return true;
  return false;
}

/// "2, 4, 5 and 17 more", after a text, if there are some.
void tellLabels(const std::string& text, std::vector<std::string> labels, std::vector<std::string>& list)
{
  if (labels.empty())
    return;
  const std::size_t more = labels.size() - std::min(labels.size(), mostLabelsTold);
  labels.resize(labels.size() - more);
  list.push_back(text + joined(labels) + (more > 0 ? " and " + std::to_string(more) + " more" : ""));
}

/// Doubts labels whose Dice is 0, or notes those that cannot be judged.
void judgeLabels(const Json& run, Judgement& judgement)
{
  const bool isArea = recordAt(run, "/inputs/fixed/0/size").size() == 2;
  std::vector<std::string> apart, alone, small;
  for (const auto& [name, dice] : recordAt(run, "/quality/dice/labels").items()) {
    if (dice != 0.0)
      continue;
    const Json& label = recordAt(run, "/quality/labels/" + name);
    const bool isAlone = numberAt(label, "/fixedVolume") == 0.0 || numberAt(label, "/movingVolume") == 0.0;
    (isAlone ? alone : isSmall(label, isArea) ? small : apart).push_back(labelText(run, name));
  }
  tellLabels("labels that do not meet: ", apart, judgement.reasons);
  tellLabels("labels of one image alone, which are not judged: ", alone, judgement.notes);
  tellLabels("labels that do not meet and are too small to be judged: ", small, judgement.notes);
}

}

const std::array<FigureInfo, figureCount> figureInfos{
    {{"overlap", "", 0, 0, 0, [](const Json& run) { return numberAt(run, "/quality/overlap"); }},
     {"correlation", "", -1, 0.01, 0, correlationAfter},
     {"folded share", "", 1, 1e-5, 0, foldedShare},
     {"largest displacement", "mm", 0, 0, 0,
      [](const Json& run) { return numberAt(run, "/quality/largestDisplacementMm"); }},
     {"Dice before", "", 0, 0, 0, [](const Json& run) { return numberAt(run, "/quality/dice/meanBefore"); }},
     {"Dice", "", -1, 0.01, 0, [](const Json& run) { return numberAt(run, "/quality/dice/mean"); }},
     {"point distance", "mm", 1, 1e-3, 0.1,
      [](const Json& run) { return numberAt(run, "/quality/points/meanMm"); }}}};

const Json& recordAt(const Json& json, const std::string& pointer)
{
  static const Json none;
  const Json::json_pointer place(pointer);
  return json.contains(place) ? json.at(place) : none;
}

std::string textAt(const Json& json, const std::string& pointer)
{
  const Json& text = recordAt(json, pointer);
  return text.is_string() ? text.get<std::string>() : "";
}

Figures figuresOf(const Json& run)
{
  Figures figures;
  std::ranges::transform(figureInfos, figures.begin(), [&](const FigureInfo& info) { return info.in(run); });
  return figures;
}

const char* verdictText(Verdict verdict)
{
  constexpr const char* texts[] = {"failed", "interrupted", "look", "done", "waiting"};
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
    const double least =
        std::max(figureInfos[f].leastSpread, figureInfos[f].leastSpreadShareOfMedian * std::abs(middle));
    spread.of[f] = {middle, std::max(median(values), least)};
  }
  return spread;
}

Judgement judgedInCohort(const Figures& row, const CohortSpread& cohort)
{
  Judgement judgement;
  for (std::size_t f = 0; f < figureCount; ++f) {
    const FigureInfo& info = figureInfos[f];
    if (!row[f] || !cohort.of[f] || info.badSide == 0)
      continue;
    const auto [median, mad] = *cohort.of[f];
    const double bad = info.badSide * (*row[f] - median) / mad;
    judgement.badness = std::max(judgement.badness, bad);
    if (bad <= outsideMads)
      continue;
    judgement.verdict = Verdict::look;
    judgement.conspicuous.insert(f);
    judgement.reasons.push_back(filledIn("$ $$: more than 5 MAD $ the cohort's median $",
                                         {info.name, shortNumber(*row[f]), *info.unit ? " mm" : "",
                                          info.badSide > 0 ? "above" : "below", shortNumber(median)}));
  }
  return judgement;
}

std::string labelText(const Json& run, const std::string& label)
{
  const std::string name = textAt(run, "/quality/labels/" + label + "/name");
  return label + (name.empty() ? "" : " " + name);
}

Judgement judgedAlone(const Json& run)
{
  Judgement judgement;
  const std::string status = textAt(run, "/status"), message = textAt(run, "/message");
  if (status != "done")
    return {status == "interrupted" ? Verdict::interrupted : Verdict::failed,
            {message.empty() ? status : message},
            {}};
  if (const std::size_t count = recordAt(run, "/warnings").size(); count > 0)
    judgement.notes.push_back("warnings of the run, below: " + std::to_string(count));
  const auto doubt = [&](const char* pattern, double first, double second = 0) {
    judgement.reasons.push_back(filledIn(pattern, {shortNumber(first), shortNumber(second)}));
  };
  if (const auto folded = foldedShare(run); folded && *folded > 0)
    doubt("the transform folds at $ % of the voxels: it turns tissue inside out there", 100 * *folded);
  if (const auto before = numberAt(run, "/quality/correlationBefore"), after = correlationAfter(run);
      before && after && *after < std::abs(*before) - clearlyLessCorrelation)
    doubt("the intensities correlate less than before the registration, by $", std::abs(*before) - *after);
  if (const auto overlap = numberAt(run, "/quality/overlap"); overlap && *overlap < leastOverlap)
    doubt("only $ % of the fixed image (and mask) map into the moving image", 100 * *overlap);
  if (const Json& signs = recordAt(run, "/quality/mismatchSigns"); signs.size() >= signsThatCount)
    judgement.reasons.push_back(mismatchQuestion + joined(signs.get<std::vector<std::string>>()));
  if (const auto before = numberAt(run, "/quality/points/beforeMm"),
      after = numberAt(run, "/quality/points/meanMm");
      before && after && *after > *before)
    doubt("corresponding points are farther apart than before: $ mm, $ mm before", *after, *before);
  constexpr double clearly = 0.01;
  if (const auto before = numberAt(run, "/quality/dice/meanBefore"),
      after = numberAt(run, "/quality/dice/mean");
      before && after && *after < *before - clearly)
    doubt("labels overlap less than before: a mean Dice of $, $ before", *after, *before);
  judgeLabels(run, judgement);
  judgement.verdict = judgement.reasons.empty() ? Verdict::done : Verdict::look;
  return judgement;
}

}
