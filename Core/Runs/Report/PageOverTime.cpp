#include "Core/Runs/Report/PageOverTime.h"

#include "Core/Compute/Log.h"
#include "Core/Image/Pictures/ComparisonPictures.h"
#include "Core/Image/Pictures/PictureBytes.h"
#include "Core/Runs/Report/Html.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

std::string pictureHtml(const std::string& kind, const std::string& bytes, const std::string& styleClass,
                        const std::string& caption)
{
  return filledIn(
      "<figure><figcaption>$</figcaption><img class=\"$\" alt=\"$\" src=\"data:image/$;base64,$\">"
      "</figure>\n",
      {caption, styleClass, caption, kind, base64(bytes)});
}

/// Lines of the carpet: voxels at equal distances in the order of the image. Values: the difference from the
/// voxel's mean as a percentage of the mean of all; NaN without a result.
std::vector<std::vector<float>> carpetOf(std::size_t volumes, const SeriesChange& change,
                                         const VolumeValues& valuesOf)
{
  constexpr std::size_t most = 240;
  const std::size_t lines = std::min(most, change.inside.size());
  std::vector<std::vector<float>> carpet(lines, std::vector<float>(volumes, NAN));
  for (std::size_t i = 0; i < volumes; ++i) {
    const std::span<const float> values = valuesOf(i);
    for (std::size_t line = 0; line < lines && !values.empty(); ++line) {
      const std::size_t v = change.inside[line * change.inside.size() / lines];
      carpet[line][i] = static_cast<float>(100 * (values[v] - change.mean[v]) / change.level);
    }
  }
  return carpet;
}

std::string carpetPicture(const std::vector<std::vector<float>>& carpet, float windowPercent)
{
  IndexedPicture picture{carpet.front().size(), carpet.size(), {}};
  std::vector<Colour> greys;
  for (int grey = 0; grey < 256; ++grey)
    greys.push_back(
        {static_cast<std::uint8_t>(grey), static_cast<std::uint8_t>(grey), static_cast<std::uint8_t>(grey)});
  for (const std::vector<float>& line : carpet)
    for (const float value : line)
      picture.pixels.push_back(std::isfinite(value) ? greyLevel(127.5F + 127.5F * value / windowPercent) : 0);
  return pngBytes(picture, greys, false);
}

/// Returns the size that nine of ten differences from the mean do not exceed.
float windowOf(const std::vector<std::vector<float>>& carpet)
{
  std::vector<float> sizes;
  for (const std::vector<float>& line : carpet)
    for (const float value : line)
      if (std::isfinite(value))
        sizes.push_back(std::abs(value));
  if (sizes.empty())
    return 1;
  const auto high = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() * 9 / 10);
  std::ranges::nth_element(sizes, high);
  return std::max(*high, 1e-6F);
}

}

template <int D>
std::string middleSlices(const ImageGeometry<D>& geometry, const std::vector<float>& values,
                         const GreyLine& grey)
{
  const Image<D> image{geometry, values};
  Size<D> middle;
  for (int d = 0; d < D; ++d)
    middle[d] = geometry.size[d] / 2;
  const std::vector<Panel> panels = panelsThrough<D>(image, middle);
  std::size_t width = 0, height = 0;
  for (const Panel& panel : panels) {
    width += panel.width;
    height = std::max(height, panel.height);
  }
  std::vector<std::uint8_t> picture(width * height);
  std::size_t left = 0;
  for (const Panel& panel : panels) {
    for (std::size_t i = 0; i < panel.values.size(); ++i)
      picture[i / panel.width * width + left + i % panel.width] = greyLevel(grey(panel.values[i]));
    left += panel.width;
  }
  constexpr int quality = 85;
  return jpegBytes(picture, width, height, quality);
}

const char* const styleOverTime = R"(
.times figure{margin:1em 0;overflow-x:auto}.times figcaption{color:var(--soft);max-width:60em;text-align:left}
:root{--one:#0072b2;--two:#d55e00;--three:#009e73}
@media(prefers-color-scheme:dark){:root{--one:#56b4e9;--two:#e69f00;--three:#4cc9a4}}
.one{stroke:var(--one);color:var(--one)}.two{stroke:var(--two);color:var(--two)}.three{stroke:var(--three);color:var(--three)}
.times svg{width:100%;min-width:40em;height:auto}.times path{fill:none;stroke-width:1.2;stroke-linecap:round}.times .x{stroke:var(--line)}
.times text{font-size:11px;fill:var(--soft);stroke:none}
.carpet{width:100%;height:12em;image-rendering:pixelated;display:block}
.pair{display:flex;flex-wrap:wrap;gap:1em}.pair figure{flex:1 1 22em;min-width:0}.slices{width:100%;height:auto;image-rendering:pixelated}
)";

std::string curvesOverTime(const std::string& title, const std::string& unit, const std::string& time,
                           const std::vector<CurveOverTime>& curves)
{
  constexpr double width = 900, top = 8, bottom = 132;
  const std::array<const char*, 3> colours{"one", "two", "three"};
  double least = 0, most = 0;
  for (const CurveOverTime& curve : curves)
    for (const double value : curve.values)
      if (std::isfinite(value)) {
        least = std::min(least, value);
        most = std::max(most, value);
      }
  const double range = most > least ? most - least : 1;
  const auto down = [&](double value) { return bottom - (value - least) / range * (bottom - top); };
  std::string lines, legend;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    const std::vector<double>& values = curves[c].values;
    const double step = (width - 60) / static_cast<double>(std::max<std::size_t>(values.size() - 1, 1));
    std::string path;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::isfinite(values[i])) { // h0: a value between missing ones is a dot
        const bool goesOn = i > 0 && std::isfinite(values[i - 1]);
        path += (goesOn ? "L" : "M") + decimals(60 + static_cast<double>(i) * step, 1) + ","
                + decimals(down(values[i]), 1) + (goesOn ? "" : "h0");
      }
    if (!path.empty())
      lines += filledIn("<path class=\"$\" d=\"$\"/>", {colours[c], path});
    legend += filledIn(" <b class=\"$\">$</b>", {colours[c], curves[c].name});
  }
  const std::string last = std::to_string(curves.front().values.size() - 1);
  return filledIn("<figure><figcaption>$ ($):$</figcaption><svg viewBox=\"0 0 900 150\" role=\"img\" "
                  "aria-label=\"$\"><path class=\"x\" d=\"M60 $H900\"/>$<text x=\"0\" y=\"18\">$</text><text "
                  "x=\"0\" y=\"132\">$</text><text x=\"60\" y=\"147\">0</text><text x=\"900\" y=\"147\" "
                  "text-anchor=\"end\">$ $</text></svg></figure>\n",
                  {title, unit, legend, title, decimals(down(0), 1), lines, shortNumber(most),
                   shortNumber(least), time, last});
}

template <int D>
std::string intensitiesOverTime(std::size_t times, const std::string& time, const ShownTimes<D>& before,
                                const ShownTimes<D>& after)
{
  std::string html =
      curvesOverTime("Root mean square of the change since the " + time + " before (DVARS)", "% of the mean",
                     time, {{"before", before.change.dvarsPercent}, {"after", after.change.dvarsPercent}});
  const auto carpetBefore = carpetOf(times, before.change, before.valuesOf),
             carpetAfter = carpetOf(times, after.change, after.valuesOf);
  const float window = windowOf(carpetBefore);
  const std::string about = " registration: voxels from top to bottom, " + time
                            + "s from left to right. Black to white: -" + shortNumber(window) + " to "
                            + shortNumber(window) + " % of the mean from the voxel's own mean";
  if (!carpetBefore.empty() && !carpetAfter.empty())
    html += pictureHtml("png", carpetPicture(carpetBefore, window), "carpet", "Before the" + about)
            + pictureHtml("png", carpetPicture(carpetAfter, window), "carpet", "After the" + about);
  html += "<h2>Mean and standard deviation over time</h2>\n";
  for (const bool isMean : {true, false}) {
    const std::vector<float>&first = isMean ? before.change.mean : before.change.deviation,
          &second = isMean ? after.change.mean : after.change.deviation;
    const GreyLine grey = greyRangeOf(first).line();
    const std::string what = isMean ? "Mean" : "Standard deviation";
    html += "<div class=\"pair\">"
            + pictureHtml("jpeg", middleSlices<D>(before.geometry, first, grey), "slices", what + " before")
            + pictureHtml("jpeg", middleSlices<D>(after.geometry, second, grey), "slices", what + " after")
            + "</div>\n";
  }
  return html;
}

TESSERA_INSTANTIATE_FUNCTIONS(middleSlices<D>, intensitiesOverTime<D>);

}
