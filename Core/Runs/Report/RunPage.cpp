#include "Core/Runs/Report/RunPage.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Runs/Report/Html.h"
#include "Core/Runs/Report/RunPageViews.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* cohortStart = "<!--cohort-->";
constexpr const char* cohortEnd = "<!--/cohort-->";
constexpr std::size_t maxRecordBytes = 200'000; // a longer run.json is not repeated in the page

constexpr const char* runStyle = R"(
h1{font-size:1.5em}h1,li,p{overflow-wrap:anywhere}h2{margin:1.4em 0 .4em;font-size:1.15em}code{overflow-wrap:anywhere}
summary{cursor:pointer}.curves{display:flex;flex-wrap:wrap;gap:.5em 2em}.curves figure{flex:1 1 320px;max-width:560px}
.curves figcaption{text-align:left}svg.c{width:100%;height:auto}svg.c text{font-size:11px}
svg.c polyline{fill:none;stroke:var(--link);stroke-width:1.5}svg.c .x{stroke:var(--line)}
.sum{display:flex;flex-wrap:wrap;gap:.2em 1.6em;margin:.4em 0}.sum b{font-variant-numeric:tabular-nums}
.big{font-size:1.3em}.w{max-width:100%;overflow-x:auto}td.w{overflow-wrap:anywhere;min-width:8em}#methods{max-width:60em;user-select:all}
@media(max-width:600px){body{margin:.8em}td,th{padding:.3em}td.w{min-width:5em;font-size:.85em}}
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

std::string textOf(const Json& json, const char* name)
{
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : "";
}

std::string figureText(const Json& value)
{
  if (value.is_number_integer() || value.is_number_unsigned())
    return value.dump();
  return value.is_number()   ? shortNumber(value.get<double>())
         : value.is_string() ? value.get<std::string>()
                             : "-";
}

/// A field of an object; null if it is missing.
const Json& at(const Json& json, const char* name)
{
  static const Json null;
  return json.is_object() && json.contains(name) ? json[name] : null;
}

std::string cell(const std::string& text, const char* kind = "")
{
  return "<td" + (*kind ? " class=\"" + std::string(kind) + "\"" : "") + ">" + htmlText(text) + "</td>";
}

std::string head(const std::vector<std::string>& names)
{
  std::string html = "<div class=\"w\"><table><thead><tr>";
  for (const std::string& name : names)
    html += "<th>" + name + "</th>";
  return html + "</tr></thead><tbody>\n";
}

constexpr const char* tableEnd = "</tbody></table></div>\n";

std::string warningsHtml(const Json& run)
{
  const Json& warnings = at(run, "warnings");
  if (warnings.empty())
    return "";
  std::string html = "<h2>Warnings</h2>\n<ul>";
  for (const Json& warning : warnings)
    html += "<li>" + htmlText(figureText(warning)) + "</li>";
  return html + "</ul>\n";
}

std::string qualityHtml(const Json& run)
{
  const Json& quality = at(run, "quality");
  std::string html = head({"figure", "before", "after"});
  const auto row = [&](const char* name, const Json& before, const Json& after) {
    if (!after.is_null())
      html += "<tr>" + cell(name) + cell(before.is_null() ? "" : figureText(before), "n")
              + cell(figureText(after), "n") + "</tr>\n";
  };
  row("overlap: share of the fixed image (and mask) that maps into the moving image",
      at(quality, "overlapBefore"), at(quality, "overlap"));
  row("share of the voxels of the result that lie outside the moving image", {}, at(quality, "outside"));
  row("correlation of the intensities there", at(quality, "correlationBefore"), at(quality, "correlation"));
  row("determinant of the spatial Jacobian, everywhere or in the median", {}, at(quality, "determinant"));
  row("mean displacement (mm)", {}, at(quality, "meanDisplacementMm"));
  row("largest displacement (mm)", {}, at(quality, "largestDisplacementMm"));
  const Json &points = at(quality, "points"), &dice = at(quality, "dice");
  row("mean distance of corresponding points (mm)", at(points, "beforeMm"), at(points, "meanMm"));
  row("largest distance of corresponding points (mm)", {}, at(points, "largestMm"));
  row("mean Dice of the labels", at(dice, "meanBefore"), at(dice, "mean"));
  std::size_t number = 0;
  for (const Json& stage : at(run, "stages")) {
    const Json& change = at(stage, "spatialJacobianDeterminant");
    const std::string of = "stage " + std::to_string(number++) + ": ";
    row((of + "least determinant of the spatial Jacobian").c_str(), {}, at(change, "least"));
    row((of + "median determinant").c_str(), {}, at(change, "median"));
    row((of + "largest determinant").c_str(), {}, at(change, "largest"));
    row((of + "folded voxels of " + figureText(at(change, "voxels"))).c_str(), {},
        at(change, "foldedVoxels"));
  }
  html += tableEnd;
  if (const Json& labels = at(dice, "labels"); labels.is_object() && !labels.empty()) {
    const Json::json_pointer size("/inputs/fixed/0/size");
    const bool isArea = run.contains(size) && run.at(size).size() == 2;
    std::vector<std::pair<double, std::string>> worstFirst;
    for (const auto& [label, value] : labels.items())
      worstFirst.emplace_back(value.get<double>(), label);
    std::ranges::stable_sort(worstFirst, {}, &std::pair<double, std::string>::first);
    html += "<details><summary>Dice of each label, the worst first</summary>"
            + head({"label", "before", "after", "volume in the fixed image",
                    std::string("in the moving image (mm") + (isArea ? "&#178;)" : "&#179;)")});
    for (const auto& [value, label] : worstFirst) {
      const Json& ofLabel = at(at(quality, "labels"), label.c_str());
      html += "<tr>" + cell(labelText(quality, label))
              + cell(figureText(at(at(dice, "labelsBefore"), label.c_str())), "n")
              + cell(shortNumber(value), "n");
      for (const char* volume : {"fixedVolume", "movingVolume"})
        html += cell(figureText(at(ofLabel, volume)), "n");
      html += "</tr>\n";
    }
    html += std::string(tableEnd) + "</details>\n";
  }
  return html;
}

std::string levelsHtml(const Json& run)
{
  std::string html = head({"stage", "level", "iterations", "metric at the start", "metric at the end",
                           "seconds", "why it ended"});
  std::size_t number = 0;
  for (const Json& stage : at(run, "stages")) {
    for (const Json& level : at(stage, "levels"))
      html += "<tr>" + cell(std::to_string(number) + " " + textOf(stage, "transform"))
              + cell(figureText(at(level, "level")), "n") + cell(figureText(at(level, "iterations")), "n")
              + cell(figureText(at(level, "metricAtStart")), "n") + cell(figureText(at(level, "metric")), "n")
              + cell(figureText(at(level, "seconds")), "n") + cell(textOf(level, "stopCondition"))
              + "</tr>\n";
    ++number;
  }
  return html + tableEnd;
}

/// The values of a parameter that a stage used, with blanks between them; empty: it has none of this name.
std::string parameterOf(const Json& stage, const char* name)
{
  return joined(at(at(at(stage, "parameters"), name), "values"), " ", figureText);
}

std::string curvesHtml(const Json& run, const std::vector<StageCurves>& stages)
{
  std::string html = "<div class=\"curves\">";
  for (std::size_t s = 0; s < stages.size() && s < at(run, "stages").size(); ++s) {
    if (std::ranges::all_of(stages[s], &std::vector<double>::empty)) // WriteIterationInfo was false
      continue;
    const Json& stage = run["stages"][s];
    const bool isRandom = parameterOf(stage, "NewSamplesEveryIteration") == "true";
    const std::string name = "stage " + std::to_string(s) + ", " + textOf(stage, "transform");
    html += "<figure><figcaption>Metric of " + htmlText(name)
            + (stages[s].size() > 1 ? ": its levels, each in its own range" : "")
            + (isRandom ? "; means over a fifth of the iterations" : "") + "</figcaption>"
            + curvesSvg(stages[s], isRandom, "metric of " + name) + "</figure>\n";
  }
  return html + "</div>\n";
}

std::string parametersHtml(const Json& run)
{
  std::string html;
  std::size_t number = 0;
  for (const Json& stage : at(run, "stages")) {
    html += "<details><summary>stage " + std::to_string(number++) + ": "
            + htmlText(textOf(stage, "parameterFile")) + "</summary>" + head({"parameter", "value", "from"});
    for (const auto& [name, parameter] : at(stage, "parameters").items())
      html += "<tr>" + cell(name) + cell(joined(at(parameter, "values"), " ", figureText), "w")
              + cell(at(parameter, "given") == true ? "file" : "default") + "</tr>\n";
    html += std::string(tableEnd) + "</details>\n";
  }
  return html;
}

std::string timesHtml(const Json& run)
{
  std::string html = head({"part", "seconds"});
  const auto row = [&](const std::string& part, const Json& seconds) {
    if (seconds.is_number())
      html += "<tr>" + cell(part) + cell(shortNumber(seconds.get<double>()), "n") + "</tr>\n";
  };
  row("reading the images", at(run, "readingSeconds"));
  std::size_t number = 0;
  for (const Json& stage : at(run, "stages")) {
    const std::string of = "stage " + std::to_string(number++);
    row(of + " on " + textOf(stage, "device"), at(stage, "seconds"));
    row(of + ": of these for writing and measuring results", at(stage, "writingSeconds"));
  }
  row("all", at(run, "seconds"));
  return html + tableEnd;
}

std::string provenanceHtml(const Json& run)
{
  const auto files = [&](const char* name) {
    std::string table = head({"", "file", "bytes", "SHA-256"});
    for (const Json& file : at(run, name))
      table += "<tr>" + cell(textOf(file, "role")) + cell(textOf(file, "path"), "w")
               + cell(figureText(at(file, "bytes")), "n") + cell(textOf(file, "sha256"), "w") + "</tr>\n";
    return table + tableEnd;
  };
  std::string html = files("inputFiles");
  if (!at(run, "outputs").empty())
    html += "<details><summary>files of results</summary>" + files("outputs") + "</details>\n";
  html += head({"fact", ""});
  for (const auto& [name, shown] : {std::pair{"command", "command"},
                                    {"version", "version of Tessera"},
                                    {"gitRevision", "commit"},
                                    {"builtFor", "devices of this build"},
                                    {"host", "computer"},
                                    {"device", "device"},
                                    {"started", "started"},
                                    {"finished", "finished"},
                                    {"key", "key of the results"}})
    if (const std::string value = textOf(run, name); !value.empty())
      html += "<tr>" + cell(shown) + cell(value, "w") + "</tr>\n";
  return html + tableEnd;
}

/// Tells which intensities are black and white.
std::string greyText(const RunPictures& pictures)
{
  if (pictures.areColours)
    return "Colours are those of the files. ";
  const auto& [fixed, moving] = pictures.greyRanges;
  const auto text = [](const GreyRange& range) {
    return "from " + shortNumber(range.black) + " (black) to " + shortNumber(range.white) + " (white) in ";
  };
  return "Grey values run " + text(fixed)
         + (pictures.slices.front().before.empty() ? "the fixed image, the only one that could be read"
            : fixed == moving                      ? "both images"
                                                   : "the fixed image, " + text(moving) + "the moving one")
         + ": from the 0.5th to the 99.5th percentile without fillings and constant backgrounds. ";
}

/// The name of the first image of a side ("f0", "m0"), as it was given.
std::string fileName(const Json& run, const char* role)
{
  for (const Json& file : at(run, "inputFiles"))
    if (textOf(file, "role") == role) {
      const std::filesystem::path path(textOf(file, "path"));
      return (path.has_filename() ? path : path.parent_path()).filename().string();
    }
  return "";
}

/// "181 x 217 x 181 voxels of 1 x 1 x 1 mm"; empty: its header was not read.
std::string gridText(const Json& run, const char* side)
{
  for (const Json& image : at(at(run, "inputs"), side))
    return joined(at(image, "size"), " x ", figureText) + " voxels of "
           + joined(at(image, "spacingMm"), " x ", figureText) + " mm";
  return "";
}

/// The figures that a reader asks for first, each before and after.
std::string summaryHtml(const Json& run)
{
  const Json &quality = at(run, "quality"), &points = at(quality, "points"), &dice = at(quality, "dice");
  std::string html = "<div class=\"sum\">";
  const auto add = [&](const char* name, const Json& before, const Json& after, const char* unit = "") {
    if (after.is_number())
      html += "<span>" + std::string(name) + " <b>"
              + (before.is_number() ? figureText(before) + " &#8594; " : "") + figureText(after) + unit
              + "</b></span>\n";
  };
  add("Dice", at(dice, "meanBefore"), at(dice, "mean"));
  add("distance of points", at(points, "beforeMm"), at(points, "meanMm"), " mm");
  add("overlap", at(quality, "overlapBefore"), at(quality, "overlap"));
  add("correlation", at(quality, "correlationBefore"), at(quality, "correlation"));
  for (const Json& stage : at(run, "stages"))
    if (&stage == &run["stages"].back())
      add("folded voxels", {}, at(at(stage, "spatialJacobianDeterminant"), "foldedVoxels"));
  add("time", {}, at(run, "seconds"), " s");
  html += "</div>\n<p class=\"s\">";
  for (const auto& [side, name] : {std::pair{"fixed", "Fixed image: "}, {"moving", "Moving image: "}})
    if (const std::string grid = gridText(run, side); !grid.empty())
      html += std::string(name) + htmlText(fileName(run, *side == 'f' ? "f0" : "m0")) + ", " + grid + ". ";
  return html + "</p>\n";
}

std::string counted(std::size_t count, const std::string& what)
{
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// ", a final grid of 5.0 voxels", in the unit that the stage took: mm unless the file says voxels.
std::string gridPhrase(const Json& stage)
{
  const bool inVoxels = at(at(at(stage, "parameters"), "FinalGridSpacingInVoxels"), "given") == true;
  const std::string value =
      parameterOf(stage, inVoxels ? "FinalGridSpacingInVoxels" : "FinalGridSpacingInPhysicalUnits");
  return value.empty() ? "" : ", a final grid of " + value + (inVoxels ? " voxels" : " mm");
}

/// A paragraph for a paper.
std::string methodsText(const Json& run)
{
  std::string text = "Images were registered with Tessera " + textOf(run, "version");
  if (const std::string commit = textOf(run, "gitRevision"); !commit.empty())
    text += " (" + commit.substr(0, 12) + ")";
  text += ". The moving image (" + gridText(run, "moving") + ") was registered to the fixed image ("
          + gridText(run, "fixed") + ")";
  for (const auto& [input, words] : {std::pair{"fixedMasks", ", with a mask of the fixed image"},
                                     {"movingMasks", ", with a mask of the moving image"},
                                     {"initialTransform", ", after a given transform"},
                                     {"startAt", ", from the parameters of an earlier result"}})
    if (const Json& given = at(at(run, "inputs"), input); !given.empty() && given != "")
      text += words;
  text += text.ends_with(')') ? "" : ",";
  const std::size_t count = at(run, "stages").size();
  text += " in " + counted(count, "stage") + (count == 1 ? "." : ", each from the result of the one before.");
  std::size_t number = 0;
  for (const Json& stage : at(run, "stages")) {
    text += " Stage " + std::to_string(++number) + ": " + textOf(stage, "transform") + ", "
            + joined(at(stage, "metrics"), " + ", figureText) + ", " + textOf(stage, "optimizer") + ", "
            + counted(at(stage, "levels").size(), "resolution level");
    for (const auto& [name, words] : {std::pair{"MaximumNumberOfIterations", "at most $ iterations"},
                                      {"NumberOfSpatialSamples", "$ samples"}})
      if (const std::string value = parameterOf(stage, name); !value.empty()) {
        std::string phrase = words;
        text += ", " + phrase.replace(phrase.find('$'), 1, value);
      }
    text += gridPhrase(stage) + " ("
            + std::filesystem::path(textOf(stage, "parameterFile")).filename().string() + ").";
  }
  const Json &dice = at(at(run, "quality"), "dice"), &points = at(at(run, "quality"), "points");
  if (dice.is_object())
    text += " The mean Dice coefficient of " + std::to_string(at(dice, "labels").size()) + " labels was "
            + figureText(at(dice, "meanBefore")) + " before and " + figureText(at(dice, "mean")) + " after.";
  if (points.is_object())
    text += " The mean distance of " + figureText(at(points, "count")) + " pairs of landmarks was "
            + figureText(at(points, "beforeMm")) + " mm before and " + figureText(at(points, "meanMm"))
            + " mm after.";
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

std::string verdictHtml(const Judgement& judgement)
{
  const std::string verdict = verdictText(judgement.verdict);
  std::string html = "<p><b class=\"big " + verdict + "\">" + verdict + "</b>";
  if (judgement.reasons.empty())
    html +=
        " No figure is conspicuous. Figures alone do not tell whether a registration is good: look at the "
        "slices.";
  html += "</p>\n";
  const auto list = [&](const char* start, const std::vector<std::string>& items) {
    html += items.empty() ? "" : start;
    for (const std::string& item : items)
      html += "<li>" + htmlText(item) + "</li>";
    html += items.empty() ? "" : "</ul>\n";
  };
  list("<ul>", judgement.reasons);
  list("<ul class=\"s\">", judgement.notes);
  return html;
}

std::string runPage(const Json& run, const RunPictures* pictures, const std::vector<StageCurves>& curves)
{
  const std::string fixed = fileName(run, "f0"), moving = fileName(run, "m0");
  std::string html = pageHead(fixed.empty() ? "A registration" : moving + " registered to " + fixed,
                              std::string(viewsStyle) + runStyle, runScript, "data:");
  html += cohortStart + verdictHtml(judgedAlone(run)) + cohortEnd + "\n" + summaryHtml(run);
  if (pictures) {
    html += "<h2>Slices</h2>\n" + viewsHtml(*pictures, run) + "<p class=\"s\">Pixels are squares in mm. "
            + greyText(*pictures);
    if (!pictures->slices.front().plane.empty())
      html += "Letters are sides of the patient: R right, L left, A front, P back, S head, I feet. ";
    html += "A click on a slice fills the screen, and again goes back";
    html +=
        pictures->slices.front().plane.empty() ? ". " : "; the wheel goes through the slices of a plane. ";
    html += "Keys: digits choose a view";
    html += pictures->slices.front().warped.empty()
                ? ".</p>\n"
                : ", f goes from the fixed to the warped image and back.</p>\n";
  }
  html += warningsHtml(run);
  if (at(run, "quality").is_object())
    html += "<h2>Quality</h2>\n" + qualityHtml(run);
  if (!at(run, "stages").empty())
    html += "<h2>Metric</h2>\n" + curvesHtml(run, curves) + levelsHtml(run) + "<h2>Parameters</h2>\n"
            + parametersHtml(run);
  if (textOf(run, "status") == "done" && !at(run, "stages").empty())
    html += "<h2>Methods</h2>\n<p class=\"s\">To be copied; a click marks it all.</p><p id=\"methods\">"
            + htmlText(methodsText(run)) + "</p>\n";
  html += "<h2>Time</h2>\n" + timesHtml(run) + "<h2>Provenance</h2>\n" + provenanceHtml(run);
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
