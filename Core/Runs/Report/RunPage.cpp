#include "Core/Runs/Report/RunPage.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Runs/Report/Html.h"
#include "Core/Runs/Report/PageOverTime.h"
#include "Core/Runs/Report/RunPageViews.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* cohortStart = "<!--cohort-->";
constexpr const char* cohortEnd = "<!--/cohort-->";
constexpr std::size_t mostLabelRows = 500;
constexpr std::size_t maxRecordBytes = 200'000; // a longer run.json is not repeated in the page

constexpr const char* runStyle = R"(
h1{font-size:1.5em}h1,li,p{overflow-wrap:anywhere}h2{margin:1.4em 0 .4em;font-size:1.15em}code{overflow-wrap:anywhere}
summary{cursor:pointer;overflow-wrap:anywhere}.curves{display:flex;flex-wrap:wrap;gap:.5em 2em}.curves figure{flex:1 1 320px;max-width:560px}
.curves figcaption{text-align:left}svg.c{width:100%;height:auto}svg.c text{font-size:11px}
svg.c polyline{fill:none;stroke:var(--link);stroke-width:1.5}svg.c .x{stroke:var(--line)}
.sum{display:flex;flex-wrap:wrap;gap:.2em 1.6em;margin:.4em 0}.sum b{font-variant-numeric:tabular-nums}
.big{font-size:1.3em}.wide{max-width:100%;overflow-x:auto}td.long{overflow-wrap:anywhere;min-width:8em}#methods{max-width:60em;user-select:all}
@media(max-width:600px){body{margin:.8em}td,th{padding:.3em;font-size:.9em}td.long{min-width:5em}}
)";

// Keys: digits choose what the slices show, f goes from the fixed to the warped image and back, arrows go
// through the slices of a plane that fills the screen, j and k go to the next and the previous page of a
// cohort.
const std::string runScript = std::string(viewsScript) + R"(
document.addEventListener('keydown',e=>{if(e.ctrlKey||e.altKey||e.metaKey||e.target.tagName==='SELECT')return;
const views=[...document.querySelectorAll('input[name=view]')],by=i=>document.getElementById(i);
const pick=v=>{if(v){v.checked=true;v.focus({preventScroll:true})}},screen=document.querySelector('.screen:checked');
if(screen&&e.key==='Escape')screen.checked=false;
else if(screen&&/^Arrow/.test(e.key)){const n=beside(screen.nextElementSibling,/Up|Left/.test(e.key)?-1:1);if(n)n.checked=true;e.preventDefault()}
else if(e.key==='f')pick(by(by('fixed')?.checked?'warped':'fixed'));
else if(/^[0-9]$/.test(e.key))pick(views[(+e.key+9)%10]);
else if(e.key==='j'||e.key==='k')document.querySelector(e.key==='j'?'a[rel=next]':'a[rel=prev]')?.click()});
)";

std::string figureText(const Json& value)
{
  if (value.is_number_integer() || value.is_number_unsigned())
    return value.dump();
  return value.is_number()   ? shortNumber(value.get<double>())
         : value.is_string() ? value.get<std::string>()
                             : "";
}

/// A row of a table: figures to the right, long texts broken anywhere.
std::string row(const std::vector<Json>& cells)
{
  constexpr std::size_t longText = 30;
  std::string html;
  for (const Json& cell : cells) {
    const std::string text = figureText(cell);
    const char* const kind = cell.is_number()          ? " class=\"n\""
                             : text.size() >= longText ? " class=\"long\""
                                                       : "";
    html += filledIn("<td$>$</td>", {kind, htmlText(text)});
  }
  return "<tr>" + html + "</tr>\n";
}

std::string detailsHtml(const std::string& summary, const std::string& html)
{
  return filledIn("<details><summary>$</summary>$</details>\n", {summary, html});
}

std::string listHtml(const char* start, const std::vector<std::string>& items)
{
  const auto item = [](const std::string& text) { return "<li>" + htmlText(text) + "</li>"; };
  return items.empty() ? "" : start + joined(items, "", item) + "</ul>\n";
}

std::string labelsHtml(const Json& run)
{
  const Json& dice = recordAt(run, "/quality/dice/labels");
  std::vector<std::pair<double, std::string>> worstFirst;
  for (const auto& [label, value] : dice.items())
    worstFirst.emplace_back(value.get<double>(), label);
  if (worstFirst.empty())
    return "";
  std::ranges::stable_sort(worstFirst, {}, &std::pair<double, std::string>::first);
  const std::size_t shown = std::min(worstFirst.size(), mostLabelRows);
  std::string rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string& label = worstFirst[i].second;
    rows += row({labelText(run, label), recordAt(run, "/quality/dice/labelsBefore/" + label),
                 worstFirst[i].first, recordAt(run, "/quality/labels/" + label + "/fixedVolume"),
                 recordAt(run, "/quality/labels/" + label + "/movingVolume")});
  }
  const char* const unit = recordAt(run, "/inputs/fixed/0/size").size() == 2 ? "&#178;" : "&#179;";
  return detailsHtml("Dice of each label, the worst first"
                         + (shown < dice.size()
                                ? filledIn(": $ of $; run.json has all",
                                           {std::to_string(shown), std::to_string(dice.size())})
                                : ""),
                     tableHtml({"label", "before", "after", "volume in the fixed image",
                                filledIn("in the moving image (mm$)", {unit})},
                               rows));
}

/// A fact that a page tells: its name, and JSON pointers of a value and of the one before the registration.
struct Fact {
  const char* name;
  std::string pointer, before = {};
  const char* unit = "";
};

/// A table of those facts of a run and of its stages that the record has.
std::string factsHtml(const Json& run, const std::vector<std::string>& heads, const std::vector<Fact>& facts,
                      const std::vector<Fact>& factsOfStages)
{
  std::string rows;
  const auto add = [&](const Json& json, const std::vector<Fact>& ofIt, const std::string& of) {
    for (const Fact& fact : ofIt)
      if (const Json& value = recordAt(json, fact.pointer); value.is_null())
        continue;
      else if (heads.size() == 2)
        rows += row({of + fact.name, value});
      else
        rows += row({of + fact.name, recordAt(json, fact.before), value});
  };
  add(run, facts, "");
  for (const auto& [number, stage] : recordAt(run, "/stages").items())
    add(stage, factsOfStages, "stage " + number + ": ");
  return tableHtml(heads, rows);
}

const std::vector<Fact> qualityFacts{
    {"overlap: share of the fixed image (and mask) that maps into the moving image", "/quality/overlap",
     "/quality/overlapBefore"},
    {"share of the voxels of the result that lie outside the moving image", "/quality/outside"},
    {"correlation of the intensities there", "/quality/correlation", "/quality/correlationBefore"},
    {"determinant of the spatial Jacobian, everywhere or in the median", "/quality/determinant"},
    {"mean displacement (mm)", "/quality/meanDisplacementMm"},
    {"largest displacement (mm)", "/quality/largestDisplacementMm"},
    {"mean distance of corresponding points (mm)", "/quality/points/meanMm", "/quality/points/beforeMm"},
    {"largest distance of corresponding points (mm)", "/quality/points/largestMm"},
    {"standard deviation over time (% of the mean)", "/quality/overTime/deviationPercent",
     "/quality/overTime/deviationPercentBefore"},
    {"change from one time to the next, DVARS (% of the mean)", "/quality/overTime/dvarsPercent",
     "/quality/overTime/dvarsPercentBefore"},
    {"mean Dice of the labels", "/quality/dice/mean", "/quality/dice/meanBefore"}};
const std::vector<Fact> volumeFacts{
    {"least determinant of the spatial Jacobian", "/spatialJacobianDeterminant/least"},
    {"median determinant", "/spatialJacobianDeterminant/median"},
    {"largest determinant", "/spatialJacobianDeterminant/largest"},
    {"voxels of these determinants", "/spatialJacobianDeterminant/voxels"},
    {"folded voxels of these", "/spatialJacobianDeterminant/foldedVoxels"}};
const std::vector<Fact> timeFacts{{"the whole run", "/seconds"}, {"reading the images", "/readingSeconds"}};
const std::vector<Fact> timeFactsOfStages{{"all of it", "/seconds"},
                                          {"of these for writing and measuring results", "/writingSeconds"}};
const std::vector<Fact> originFacts{{"command", "/command"},    {"version of Tessera", "/version"},
                                    {"commit", "/gitRevision"}, {"devices of this build", "/builtFor"},
                                    {"computer", "/host"},      {"started", "/started"},
                                    {"finished", "/finished"},  {"key of the results", "/key"}};

std::string levelsHtml(const Json& run)
{
  std::string rows;
  for (const auto& [number, stage] : recordAt(run, "/stages").items())
    for (const Json& level : recordAt(stage, "/levels"))
      rows += row({number + " " + textAt(stage, "/transform"), recordAt(level, "/level"),
                   recordAt(level, "/iterations"), recordAt(level, "/metricAtStart"),
                   recordAt(level, "/metric"), recordAt(level, "/seconds"), textAt(level, "/stopCondition")});
  return tableHtml(
      {"stage", "level", "iterations", "metric at the start", "metric at the end", "seconds", "why it ended"},
      rows);
}

/// The values of a parameter that a stage used, with blanks between them; empty: it has none of this name.
std::string parameterOf(const Json& stage, const std::string& name)
{
  return joined(recordAt(stage, "/parameters/" + name + "/values"), " ", figureText);
}

std::string curvesHtml(const Json& run, const std::vector<StageCurves>& stages)
{
  std::string html;
  for (std::size_t s = 0; s < stages.size() && s < recordAt(run, "/stages").size(); ++s) {
    if (std::ranges::all_of(stages[s], &std::vector<double>::empty)) // WriteIterationInfo was false
      continue;
    const Json& stage = run["stages"][s];
    const bool isRandom = parameterOf(stage, "NewSamplesEveryIteration") == "true";
    const std::string name = "stage " + std::to_string(s) + ", " + textAt(stage, "/transform");
    html += filledIn("<figure><figcaption>Metric of $$$</figcaption>$</figure>\n",
                     {htmlText(name), stages[s].size() > 1 ? ": its levels, each in its own range" : "",
                      isRandom ? "; means over a fifth of the iterations" : "",
                      curvesSvg(stages[s], isRandom, "metric of " + name)});
  }
  return "<div class=\"curves\">" + html + "</div>\n";
}

std::string parametersHtml(const Json& run)
{
  std::string html;
  for (const auto& [number, stage] : recordAt(run, "/stages").items()) {
    std::string rows;
    for (const auto& [name, parameter] : recordAt(stage, "/parameters").items())
      rows += row({name, parameterOf(stage, name), parameter["given"] == true ? "file" : "default"});
    html += detailsHtml("stage " + number + ": " + htmlText(textAt(stage, "/parameterFile")),
                        tableHtml({"parameter", "value", "from"}, rows));
  }
  return html;
}

std::string provenanceHtml(const Json& run)
{
  const auto files = [&](const char* name) {
    std::string rows;
    for (const Json& file : recordAt(run, name))
      rows += row(
          {textAt(file, "/role"), textAt(file, "/path"), recordAt(file, "/bytes"), textAt(file, "/sha256")});
    return tableHtml({"", "file", "bytes", "SHA-256"}, rows);
  };
  std::string html = files("/inputFiles");
  if (!recordAt(run, "/outputs").empty())
    html += detailsHtml("files of results", files("/outputs"));
  return html + factsHtml(run, {"fact", ""}, originFacts, {{"device", "/device"}});
}

/// The name of the first image of a side ("f0", "m0"), as it was given.
std::string fileName(const Json& run, const char* role)
{
  for (const Json& file : recordAt(run, "/inputFiles"))
    if (textAt(file, "/role") == role) {
      const std::filesystem::path path(textAt(file, "/path"));
      return (path.has_filename() ? path : path.parent_path()).filename().string();
    }
  return "";
}

/// "181 x 217 x 181 voxels of 1 x 1 x 1 mm"; empty: its header was not read.
std::string gridText(const Json& run, const std::string& side)
{
  const Json& image = recordAt(run, "/inputs/" + side + "/0");
  return image.is_null()
             ? ""
             : filledIn("$ voxels of $ mm", {joined(recordAt(image, "/size"), " x ", figureText),
                                             joined(recordAt(image, "/spacingMm"), " x ", figureText)});
}

constexpr const char* aboutSeries = "<p>One image whose last axis is time was registered: each of its times "
                                    "to what all of them have in common.$</p>\n";
constexpr const char* aboutSlicesOfSeries =
    " Here the fixed image is the series as it was given, and the warped one the series afterwards. A slice "
    "across the last axis shows one time. One along it shows lines of pixels through time: where nothing "
    "moves "
    "any more they are straight.";

/// The figures that a reader asks for first, each before and after.
std::string summaryHtml(const Json& run, bool hasSlices)
{
  const std::size_t stages = recordAt(run, "/stages").size();
  std::string html = "<div class=\"sum\">";
  const std::string last = "/stages/" + std::to_string(std::max<std::size_t>(stages, 1) - 1);
  const Fact facts[] = {{"Dice", "/quality/dice/mean", "/quality/dice/meanBefore"},
                        {"distance of points", "/quality/points/meanMm", "/quality/points/beforeMm", " mm"},
                        {"overlap", "/quality/overlap", "/quality/overlapBefore"},
                        {"correlation", "/quality/correlation", "/quality/correlationBefore"},
                        {"deviation over time", "/quality/overTime/deviationPercent",
                         "/quality/overTime/deviationPercentBefore", " %"},
                        {"folded voxels", last + "/spatialJacobianDeterminant/foldedVoxels"},
                        {"time", "/seconds", "", " s"}};
  for (const auto& [name, pointer, before, unit] : facts)
    if (const Json& start = recordAt(run, before), &end = recordAt(run, pointer); end.is_number())
      html +=
          filledIn("<span>$ <b>$$$</b></span>\n",
                   {name, start.is_number() ? figureText(start) + " &#8594; " : "", figureText(end), unit});
  html += "</div>\n<p class=\"s\">";
  for (const auto& [side, name, role] :
       {std::array{"fixed", "Fixed image", "f0"}, {"moving", "Moving image", "m0"}})
    if (const std::string grid = gridText(run, side); !grid.empty() && !(isOfSeries(run) && *role == 'm'))
      html += filledIn("$: $, $. ", {name, htmlText(fileName(run, role)), grid});
  return html + "</p>\n"
         + (isOfSeries(run) ? filledIn(aboutSeries, {hasSlices ? aboutSlicesOfSeries : ""}) : "");
}

std::string counted(std::size_t count, const std::string& what)
{
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// ", a final grid of 5.0 voxels", in the unit that the stage took: mm unless the file says voxels.
std::string gridPhrase(const Json& stage)
{
  const bool inVoxels = recordAt(stage, "/parameters/FinalGridSpacingInVoxels/given") == true;
  const std::string value =
      parameterOf(stage, inVoxels ? "FinalGridSpacingInVoxels" : "FinalGridSpacingInPhysicalUnits");
  return value.empty() ? "" : ", a final grid of " + value + (inVoxels ? " voxels" : " mm");
}

/// Whether the landmarks make the transform, or steer it.
bool usesLandmarks(const Json& run)
{
  return std::ranges::any_of(recordAt(run, "/stages"), [](const Json& stage) {
    const Json& metrics = recordAt(stage, "/metrics");
    return textAt(stage, "/transform") == knowncomponents::landmarkTransform
           || std::ranges::find(metrics, knowncomponents::pointMetric) != metrics.end();
  });
}

/// A paragraph for a paper.
std::string methodsText(const Json& run)
{
  const std::string commit = textAt(run, "/gitRevision");
  std::string text =
      filledIn("Images were registered with Tessera $$. ",
               {textAt(run, "/version"), commit.empty() ? "" : " (" + commit.substr(0, 12) + ")"});
  text += filledIn(
      isOfSeries(run)
          ? "The times of one image ($), along its last axis, were registered to what they have in common"
          : "The moving image ($) was registered to the fixed image ($)",
      {gridText(run, "moving"), gridText(run, "fixed")});
  std::string given;
  for (const auto& [input, words] : {std::pair{"/inputs/fixedMasks", ", with a mask of the fixed image"},
                                     {"/inputs/movingMasks", ", with a mask of the moving image"},
                                     {"/inputs/initialTransform", ", after a given transform"},
                                     {"/inputs/startAt", ", from the parameters of an earlier result"}})
    if (const Json& value = recordAt(run, input); !value.empty() && value != "")
      given += words;
  const std::size_t count = recordAt(run, "/stages").size();
  text += given + (given.empty() ? " in " : ", in ") + counted(count, "stage")
          + (count == 1 ? "." : ", each from the result of the one before.");
  std::size_t number = 0;
  for (const Json& stage : recordAt(run, "/stages")) {
    text += filledIn(" Stage $: $, $, $, $",
                     {std::to_string(++number), textAt(stage, "/transform"),
                      joined(recordAt(stage, "/metrics"), " + ", figureText), textAt(stage, "/optimizer"),
                      counted(recordAt(stage, "/levels").size(), "resolution level")});
    for (const auto& [name, words] : {std::pair{"MaximumNumberOfIterations", ", at most $ iterations"},
                                      {"NumberOfSpatialSamples", ", $ samples"}})
      if (const std::string value = parameterOf(stage, name); !value.empty())
        text += filledIn(words, {value});
    text += filledIn("$ ($).", {gridPhrase(stage),
                                std::filesystem::path(textAt(stage, "/parameterFile")).filename().string()});
  }
  if (const Json& dice = recordAt(run, "/quality/dice"); dice.is_object())
    text += filledIn(" The mean Dice coefficient of $ labels was $ before and $ after.",
                     {std::to_string(recordAt(dice, "/labels").size()),
                      figureText(recordAt(dice, "/meanBefore")), figureText(recordAt(dice, "/mean"))});
  if (const Json& points = recordAt(run, "/quality/points"); points.is_object())
    text += filledIn(" The mean distance of $ pairs of landmarks$ was $ mm before and $ mm after.",
                     {figureText(recordAt(points, "/count")),
                      usesLandmarks(run) ? ", from which the result was made and which do not test it," : "",
                      figureText(recordAt(points, "/beforeMm")), figureText(recordAt(points, "/meanMm"))});
  return text;
}

/// The record as data that a program finds in the page.
std::string recordHtml(const Json& run)
{
  std::string text = run.dump(-1, ' ', false, Json::error_handler_t::replace), safe;
  if (text.size() > maxRecordBytes)
    return "";
  for (const char c : text)
    safe += c == '<' ? "\\u003c" : std::string(1, c);
  return "<script type=\"application/json\" id=\"run\">" + safe + "</script>\n";
}

}

bool isOfSeries(const Json& run)
{
  const Json& stages = recordAt(run, "/stages");
  return !stages.empty() && recordAt(stages.back(), "/series") == true;
}

std::string verdictHtml(const Judgement& judgement)
{
  const std::string verdict = verdictText(judgement.verdict);
  return filledIn("<p><b class=\"big $\">$</b>$</p>\n",
                  {verdict, verdict,
                   judgement.reasons.empty()
                       ? " No figure is conspicuous. Figures alone do not tell whether a "
                         "registration is good: look at the slices."
                       : ""})
         + listHtml("<ul>", judgement.reasons) + listHtml("<ul class=\"s\">", judgement.notes);
}

std::string runPage(const Json& run, const RunPictures* pictures, const std::vector<StageCurves>& curves)
{
  const std::string fixed = fileName(run, "f0"), moving = fileName(run, "m0");
  const bool hasStages = !recordAt(run, "/stages").empty();
  std::string html = pageHead(fixed.empty()     ? "A registration"
                              : isOfSeries(run) ? "The times of " + moving + " registered to each other"
                                                : moving + " registered to " + fixed,
                              std::string(viewsStyle) + runStyle + styleOverTime, runScript, "data:");
  html += cohortStart + verdictHtml(judgedAlone(run)) + cohortEnd + "\n";
  const bool hasSlices = pictures && !pictures->slices.empty();
  html += summaryHtml(run, hasSlices);
  if (hasSlices)
    html += "<h2>Slices</h2>\n" + viewsHtml(*pictures, run);
  if (pictures && !pictures->overTime.empty())
    html += "<div class=\"times\"><h2>Intensities over time</h2>\n" + pictures->overTime + "</div>\n";
  if (const Json& warnings = recordAt(run, "/warnings"); !warnings.empty())
    html += "<h2>Warnings</h2>\n" + listHtml("<ul>", warnings.get<std::vector<std::string>>());
  if (recordAt(run, "/quality").is_object())
    html += "<h2>Quality</h2>\n" + factsHtml(run, {"figure", "before", "after"}, qualityFacts, volumeFacts)
            + labelsHtml(run);
  if (hasStages)
    html += "<h2>Metric</h2>\n" + curvesHtml(run, curves) + levelsHtml(run) + "<h2>Parameters</h2>\n"
            + parametersHtml(run);
  if (hasStages && textAt(run, "/status") == "done")
    html += filledIn(
        "<h2>Methods</h2>\n<p class=\"s\">To be copied; a click marks it all.</p><p id=\"methods\">$</p>\n",
        {htmlText(methodsText(run))});
  html += "<h2>Time</h2>\n" + factsHtml(run, {"part", "seconds"}, timeFacts, timeFactsOfStages)
          + "<h2>Provenance</h2>\n" + provenanceHtml(run);
  return html + recordHtml(run) + "<script>" + runScript + "</script></body></html>\n";
}

std::string withCohortPart(const std::string& page, const std::string& html)
{
  const std::size_t start = page.find(cohortStart), end = page.find(cohortEnd, start);
  if (start == std::string::npos || end == std::string::npos)
    return page;
  return page.substr(0, start) + cohortStart + html + page.substr(end);
}

}
