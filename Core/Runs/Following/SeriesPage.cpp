#include "Core/Runs/Following/SeriesPage.h"

#include "Core/Compute/Log.h"
#include "Core/Runs/Following/VolumeMotion.h"
#include "Core/Runs/Report/Html.h"
#include "Core/Runs/Report/PageOverTime.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace tessera {
namespace {

template <int D>
std::string motionHtml(const SeriesResult<D>& found)
{
  const std::vector<std::optional<VolumeMotion>> motions = motionsOf<D>(found);
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
std::string seriesPage(const std::string& name, const SeriesRequest<D>& asked, const SeriesResult<D>& found)
{
  const std::size_t volumes = asked.volumes.size();
  const VolumeValues valuesBefore = [&](std::size_t i) { // of the volumes that are shown afterwards, too
    return found.volumes[i].chain ? std::span<const float>(asked.volumes[i].image->voxels)
                                  : std::span<const float>();
  };
  std::vector<float> values;
  const VolumeValues valuesAfter = [&](std::size_t i) {
    values.clear();
    withPixelType(asked.type, [&]<class T>(std::type_identity<T>) {
      const std::vector<std::byte>& bytes = found.volumes[i].pixels;
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        values.push_back(static_cast<float>(value));
      }
    });
    return std::span<const float>(values);
  };
  const ShownTimes<D> before{asked.volumes.front().image->geometry, valuesBefore,
                             changeOf(volumes, asked.volumes.front().image->voxels.size(), valuesBefore)},
      after{found.reference, valuesAfter, changeOf(volumes, found.reference.voxelCount(), valuesAfter)};
  std::string failed;
  for (std::size_t i = 0; i < volumes; ++i)
    if (!found.volumes[i].chain)
      failed += (failed.empty() ? "" : ", ") + std::to_string(i);
  std::string html = pageHead("Series: " + name, styleOverTime, "", "data:") + "<div class=\"times\">\n";
  html += filledIn("<p>$ volumes, registered to $. Volumes without a result, which are left out here: $. "
                   "Change since the volume before "
                   "(DVARS), in the mean: $ % before, <b>$ %</b> after.</p>\n",
                   {std::to_string(volumes),
                    asked.reference == "mean"    ? "their mean"
                    : asked.reference == "first" ? "the first one"
                    : asked.reference == "fixed" ? "another image"
                                                 : "volume " + asked.reference,
                    failed.empty() ? "none" : failed, shortNumber(before.change.meanDvarsPercent()),
                    shortNumber(after.change.meanDvarsPercent())});
  html +=
      "<h2>Motion</h2>\n<p class=\"s\">From the reference to the volume, about the centre of the reference, "
      + std::string(D == 3 ? "in the axes of patients (x right, y front, z up)"
                           : "in the axes of points; the turn is from x to y")
      + ".</p>\n" + motionHtml(found) + "<h2>Intensities over time</h2>\n"
      + intensitiesOverTime<D>(volumes, "volume", before, after);
  return html + "</div></body></html>\n";
}

TESSERA_INSTANTIATE_FUNCTIONS(seriesPage<D>);

}
