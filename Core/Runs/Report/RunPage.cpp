#include "Core/Runs/Report/RunPage.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Runs/Report/Html.h"
#include "Core/Runs/Report/RunPageViews.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* cohortStart = "<!--cohort-->";
constexpr const char* cohortEnd = "<!--/cohort-->";
constexpr std::size_t maxRecordBytes = 200'000; // a longer run.json is not repeated in the page

constexpr const char* runStyle = R"(
h2{margin:1.4em 0 .4em;font-size:1.15em}h3{font-size:1em;font-weight:600}code{overflow-wrap:anywhere}
summary{cursor:pointer}.curves{display:flex;flex-wrap:wrap;gap:.5em 1.5em}.curves figure{margin:0;max-width:300px}
svg.c polyline{fill:none;stroke:var(--link);stroke-width:1.5}svg.c circle{fill:var(--link)}svg.c .x{stroke:var(--line)}
.big{font-size:1.3em}td.w{overflow-wrap:anywhere;min-width:8em}
)";

// Keys: digits choose what the slices show, f goes from the fixed to the warped image and back, j and k go to
// the next and the previous page of a cohort.
constexpr const char* runScript = R"(
document.addEventListener('keydown',e=>{if(e.ctrlKey||e.altKey||e.metaKey)return;
const views=[...document.querySelectorAll('input[name=view]')],by=i=>document.getElementById(i);
const pick=v=>{if(v){v.checked=true;v.focus({preventScroll:true})}};
if(e.key==='f')pick(by(by('fixed')?.checked?'warped':'fixed'));
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
  std::string html = "<table><thead><tr>";
  for (const std::string& name : names)
    html += "<th>" + name + "</th>";
  return html + "</tr></thead><tbody>\n";
}

constexpr const char* tableEnd = "</tbody></table>\n";

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
    html += "<details><summary>Dice of each label</summary>"
            + head({"label", "before", "after", "volume, fixed", "moving"});
    for (const auto& [label, value] : labels.items()) {
      const Json& volumes = at(at(quality, "labels"), label.c_str());
      html += "<tr>" + cell(label, "n");
      for (const Json* figure : {&at(at(dice, "labelsBefore"), label.c_str()), &value,
                                 &at(volumes, "fixedVolume"), &at(volumes, "movingVolume")})
        html += cell(figureText(*figure), "n");
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

std::string curvesHtml(const std::vector<StageCurves>& stages)
{
  std::string html = "<div class=\"curves\">";
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (std::size_t l = 0; l < stages[s].size(); ++l) {
      const std::string name = "stage " + std::to_string(s) + ", level " + std::to_string(l);
      html += "<figure><figcaption>" + name + "</figcaption>" + curveSvg(stages[s][l], "metric of " + name)
              + "</figure>\n";
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

/// What black and white are.
std::string greyText(const std::array<GreyRange, 2>& ranges)
{
  const auto text = [](const GreyRange& range) {
    return "from " + shortNumber(range.black) + " (black) to " + shortNumber(range.white) + " (white)";
  };
  const auto& [fixed, moving] = ranges;
  const bool isCommon = fixed.black == moving.black && fixed.white == moving.white;
  return "Grey values run " + text(fixed)
         + (isCommon ? " in both images" : " in the fixed image, " + text(moving) + " in the moving one")
         + ": from the 0.5th to the 99.5th percentile without fillings and constant backgrounds. ";
}

std::string fileName(const Json& run, const char* side)
{
  const Json& images = at(at(run, "inputs"), side);
  return images.is_array() && !images.empty()
             ? std::filesystem::path(textOf(images.front(), "path")).filename().string()
             : std::string();
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
  const std::string fixed = fileName(run, "fixed"), moving = fileName(run, "moving");
  std::string html = pageHead(fixed.empty() ? "A registration" : moving + " registered to " + fixed,
                              std::string(viewsStyle) + runStyle, runScript, "data:");
  html += cohortStart + verdictHtml(judgedAlone(run)) + cohortEnd + "\n";
  if (pictures) {
    html += "<h2>Slices</h2>\n" + viewsHtml(*pictures);
    html += "<p class=\"s\">Pixels are squares in mm. " + greyText(pictures->greyRanges);
    if (!pictures->slices.front().plane.empty())
      html += "Letters are sides of the patient: R right, L left, A front, P back, S head, I feet. ";
    html += "Keys: digits choose a view";
    html += pictures->slices.front().warped.empty()
                ? ".</p>\n"
                : ", f goes from the fixed to the warped image and back.</p>\n";
  }
  html += warningsHtml(run);
  if (at(run, "quality").is_object())
    html += "<h2>Quality</h2>\n" + qualityHtml(run);
  if (!at(run, "stages").empty())
    html += "<h2>Metric</h2>\n" + curvesHtml(curves) + levelsHtml(run) + "<h2>Parameters</h2>\n"
            + parametersHtml(run);
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
