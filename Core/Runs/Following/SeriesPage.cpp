#include "Core/Runs/Following/SeriesPage.h"

#include "Core/Compute/Log.h"
#include "Core/Runs/Report/Html.h"
#include "Core/Runs/Report/PageOverTime.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {
namespace {

std::string motionHtml(const std::vector<std::optional<VolumeMotion>>& motions)
{
  if (std::ranges::none_of(motions, [](const auto& motion) { return motion.has_value(); }))
    return "<p>No volume has a rigid transform, so there are no turns and shifts to show.</p>\n";
  std::vector<CurveOverTime> turns{{"x", {}}, {"y", {}}, {"z", {}}},
      shifts = turns, moved{{"Power 2012", {}}, {"Jenkinson 2002", {}}};
  for (std::size_t i = 0; i < motions.size(); ++i) {
    for (std::size_t d = 0; d < 3; ++d) {
      turns[d].values.push_back(motions[i] ? motions[i]->turnsRad[d] * 180 / std::numbers::pi : NAN);
      shifts[d].values.push_back(motions[i] ? motions[i]->shiftMm[d] : NAN);
    }
    const bool hasBoth = i > 0 && motions[i] && motions[i - 1];
    moved[0].values.push_back(hasBoth ? displacementOfPower(*motions[i - 1], *motions[i]) : NAN);
    moved[1].values.push_back(hasBoth ? displacementOfJenkinson(*motions[i - 1], *motions[i]) : NAN);
  }
  return curvesOverTime("Turns", "degrees", "volume", turns)
         + curvesOverTime("Shifts", "mm", "volume", shifts)
         + curvesOverTime("Displacement since the volume before", "mm", "volume", moved);
}

}

template <int D>
std::string seriesPage(const ShownSeries<D>& shown)
{
  const std::size_t volumes = shown.hasResult.size();
  const auto withResult = [&](const VolumeValues& values) -> VolumeValues {
    return [&](std::size_t i) { return shown.hasResult[i] ? values(i) : std::span<const float>(); };
  };
  const auto timesOf = [&](const ImageGeometry<D>& geometry, const VolumeValues& values) {
    return ShownTimes<D>{geometry, withResult(values),
                         changeOf(volumes, geometry.voxelCount(), withResult(values))};
  };
  const ShownTimes<D> before = timesOf(shown.geometryBefore, shown.before),
                      after = timesOf(shown.geometryAfter, shown.after);
  std::string failed;
  for (std::size_t i = 0; i < volumes; ++i)
    if (!shown.hasResult[i])
      failed += (failed.empty() ? "" : ", ") + std::to_string(i);
  std::string html =
      pageHead("Series: " + shown.name, styleOverTime, "", "data:") + "<div class=\"times\">\n";
  html += filledIn("<p>$ volumes, registered to $. Volumes without a result, which are left out here: $. "
                   "Change since the volume before "
                   "(DVARS), in the mean: $ % before, <b>$ %</b> after.</p>\n",
                   {std::to_string(volumes),
                    shown.reference == "mean"    ? "their mean"
                    : shown.reference == "first" ? "the first one"
                    : shown.reference == "fixed" ? "another image"
                                                 : "volume " + shown.reference,
                    failed.empty() ? "none" : failed, shortNumber(before.change.meanDvarsPercent()),
                    shortNumber(after.change.meanDvarsPercent())});
  html +=
      "<h2>Motion</h2>\n<p class=\"s\">From the reference to the volume, about the centre of the reference, "
      + std::string(D == 3 ? "in the axes of patients (x right, y front, z up)"
                           : "in the axes of points; the turn is from x to y")
      + ".</p>\n" + motionHtml(shown.motions) + "<h2>Intensities over time</h2>\n"
      + intensitiesOverTime<D>(volumes, "volume", before, after);
  return html + "</div></body></html>\n";
}

TESSERA_INSTANTIATE_FUNCTIONS(seriesPage<D>);

}
