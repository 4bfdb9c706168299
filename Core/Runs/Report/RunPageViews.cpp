#include "Core/Runs/Report/RunPageViews.h"

#include "Core/Runs/Report/Html.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using Picture = std::string SlicePicture::*;

struct View {
  const char *id, *name, *meaning;
  Picture needed; // there is no such view without this picture
};

constexpr View views[] = {
    {"flicker", "Fixed / warped",
     "The fixed and the warped image in turn: what is aligned stays in its place.", &SlicePicture::warped},
    {"start", "Fixed / before", "The fixed and the moving image in turn, before the registration.",
     &SlicePicture::before},
    {"fixed", "Fixed", "The fixed image.", &SlicePicture::fixed},
    {"warped", "Warped", "The moving image, resampled by the transform that was found.",
     &SlicePicture::warped},
    {"board", "Checkerboard", "Squares of the fixed and the warped image: borders of organs must go on.",
     &SlicePicture::warped},
    {"edges", "Edges", "Edges of the fixed image over the warped one.", &SlicePicture::edges},
    {"labels", "Labels",
     "Contours of the fixed labels (blue), of the warped ones (orange), and where both agree (white).",
     &SlicePicture::labels},
    {"det", "Volume change",
     "Determinant of the spatial Jacobian: above 1 the moving image was made smaller, below 1 larger. Folds "
     "(0 or less) are yellow.",
     &SlicePicture::determinants},
    {"grid", "Grid", "", &SlicePicture::grid},
    {"length", "Displacement", "How far the points of the fixed image are moved.",
     &SlicePicture::displacement},
};

struct Layer {
  const char* name; // class of CSS
  const char* type;
  Picture picture;
  const char* shows;
};

constexpr Layer layers[] = {
    {"f", "jpeg", &SlicePicture::fixed, "fixed image"},
    {"b", "jpeg", &SlicePicture::before, "moving image before the registration"},
    {"w", "jpeg", &SlicePicture::warped, "warped moving image"},
    {"d", "png", &SlicePicture::determinants, "determinant of the spatial Jacobian"},
    {"u", "png", &SlicePicture::displacement, "length of the displacement"},
    {"e", "png", &SlicePicture::edges, "edges of the fixed image"},
    {"g", "png", &SlicePicture::grid, "grid of the moving image"},
    {"l", "png", &SlicePicture::labels, "contours of labels"},
};

bool hasPicture(const RunPictures& pictures, Picture picture)
{
  return std::ranges::any_of(pictures.slices,
                             [&](const SlicePicture& slice) { return !(slice.*picture).empty(); });
}

std::string colourText(const std::array<std::uint8_t, 3>& colour)
{
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", colour[0], colour[1], colour[2]);
  return text;
}

/// A bar of colours with texts below it; a last colour apart, if it has a text.
std::string legend(const std::vector<std::array<std::uint8_t, 3>>& colours, std::size_t count,
                   const std::vector<std::string>& texts, const std::string& apart)
{
  std::string svg = "<svg width=\"400\" height=\"36\" role=\"img\" aria-label=\"legend\">";
  for (std::size_t i = 0; i < count; ++i)
    svg += "<rect x=\"" + std::to_string(20 + 4 * i) + "\" y=\"2\" width=\"5\" height=\"14\" fill=\""
           + colourText(colours[i]) + "\"/>";
  for (std::size_t i = 0; i < texts.size(); ++i)
    svg += "<text x=\"" + std::to_string(20 + i * 4 * count / (texts.size() - 1))
           + "\" y=\"31\" text-anchor=\"middle\">" + texts[i] + "</text>";
  if (!apart.empty())
    svg += "<rect x=\"310\" y=\"2\" width=\"24\" height=\"14\" fill=\"" + colourText(colours.back())
           + "\"/><text x=\"322\" y=\"31\" text-anchor=\"middle\">" + apart + "</text>";
  return svg + "</svg>";
}

std::string meaningOf(const View& view, const RunPictures& pictures)
{
  const std::string id = view.id;
  std::string html = "<div class=\"k " + id + "\"><p>";
  if (id == "grid")
    html += "Where the coordinates in the moving image are multiples of " + shortNumber(pictures.gridMm)
            + " mm, over the warped image.";
  html += view.meaning;
  html += "</p>";
  if (id == "det")
    html += legend(determinantColours(), determinantColours().size() - 1, {"&#188;", "&#189;", "1", "2", "4"},
                   "fold");
  if (id == "length")
    html += legend(displacementColours(), displacementColours().size(),
                   {"0", shortNumber(pictures.largestDisplacementMm / 2),
                    shortNumber(pictures.largestDisplacementMm) + " mm"},
                   "");
  return html + "</div>";
}

std::string tileHtml(const SlicePicture& slice)
{
  const std::string size =
      "\" width=\"" + std::to_string(slice.width) + "\" height=\"" + std::to_string(slice.height) + "\"";
  const std::string place = slice.plane.empty() ? "" : ", " + slice.plane + " " + slice.position;
  std::string html = "<figure><div class=\"t\">";
  for (const Layer& layer : layers)
    if (const std::string& bytes = slice.*layer.picture; !bytes.empty())
      html += "<img class=\"" + std::string(layer.name) + size + " alt=\"" + layer.shows + place
              + "\" src=\"data:image/" + layer.type + ";base64," + base64(bytes) + "\">";
  for (std::size_t i = 0; i < slice.letters.size(); ++i)
    if (!slice.letters[i].empty())
      html += "<span class=\"o o" + std::to_string(i) + "\">" + slice.letters[i] + "</span>";
  return html + "</div>" + (slice.position.empty() ? "" : "<figcaption>" + slice.position + "</figcaption>")
         + "</figure>";
}

}

// An input of the choice comes before the tiles, so that its rules need no script. The first layer gives a
// tile its size; the others lie over it.
const char* const viewsStyle = R"(
.views input{position:absolute;opacity:0}.views>label{display:inline-block;padding:.25em .7em;margin:0 .2em .3em 0;
border:1px solid var(--line);border-radius:1em;cursor:pointer}
.views input:checked+label{background:var(--link);border-color:var(--link);color:Canvas}
.views input:focus-visible+label{outline:3px solid var(--link);outline-offset:2px}
.k{display:none;min-height:3.2em}.k p{margin:.3em 0}
#flicker:checked~.k.flicker,#start:checked~.k.start,#fixed:checked~.k.fixed,#warped:checked~.k.warped,
#board:checked~.k.board,#edges:checked~.k.edges,#labels:checked~.k.labels,#det:checked~.k.det,#grid:checked~.k.grid,
#length:checked~.k.length{display:block}
.tiles{display:flex;flex-wrap:wrap;gap:.4em;margin-bottom:.8em}figure{margin:0}figcaption{color:var(--soft);font-size:.85em}
.tiles h3{flex-basis:100%;margin:.2em 0}.t{position:relative;display:inline-block;background:#000;line-height:0}
.t img{position:absolute;inset:0;visibility:hidden;max-width:none}.t img.f{position:static}
#large:checked~.tiles figure{zoom:2}
#flicker:checked~.tiles :is(.f,.w),#start:checked~.tiles :is(.f,.b),#fixed:checked~.tiles .f,#warped:checked~.tiles .w,
#board:checked~.tiles :is(.f,.w),#edges:checked~.tiles :is(.w,.e),#labels:checked~.tiles :is(.f,.l),
#det:checked~.tiles :is(.d,.e),#grid:checked~.tiles :is(.w,.g),#length:checked~.tiles :is(.u,.e){visibility:visible}
#flicker:checked~.tiles .w,#start:checked~.tiles .b{animation:flicker 1.6s step-end infinite}
@keyframes flicker{0%{opacity:0}50%{opacity:1}}
#board:checked~.tiles .w{-webkit-mask:repeating-conic-gradient(#000 0 25%,transparent 0 50%) 0 0/48px 48px;
mask:repeating-conic-gradient(#000 0 25%,transparent 0 50%) 0 0/48px 48px}
#det:checked~.tiles .e,#length:checked~.tiles .e{filter:brightness(0);opacity:.55}
.t .o{position:absolute;color:#fff;font:600 12px/1 system-ui,sans-serif;text-shadow:0 0 2px #000,0 0 2px #000}
.o0{left:3px;top:calc(50% - 6px)}.o1{right:3px;top:calc(50% - 6px)}.o2{top:3px;left:calc(50% - 4px)}.o3{bottom:3px;left:calc(50% - 4px)}
.legend,svg text{font:12px system-ui,sans-serif;fill:currentColor}
@media(prefers-reduced-motion:reduce){.tiles img{animation:none!important}}
@media print{.tiles img{animation:none!important}.views>label,.views input{display:none}figure{break-inside:avoid}}
)";

std::string viewsHtml(const RunPictures& pictures)
{
  std::string html = "<div class=\"views\">", meanings;
  for (const View& view : views)
    if (hasPicture(pictures, view.needed)) {
      const std::string id = view.id;
      html += "<input type=\"radio\" name=\"view\" id=\"" + id + "\"" + (meanings.empty() ? " checked" : "")
              + "><label for=\"" + id + "\">" + view.name + "</label>\n";
      meanings += meaningOf(view, pictures) + "\n";
    }
  html += "<input type=\"checkbox\" id=\"large\"><label for=\"large\">Large</label>\n" + meanings;
  std::string plane = "none";
  for (const SlicePicture& slice : pictures.slices) {
    if (slice.plane != plane) {
      html += plane == "none" ? "" : "</div>\n";
      plane = slice.plane;
      html += "<div class=\"tiles\">";
      if (!plane.empty())
        html += "<h3>" + plane + "</h3>\n";
    }
    html += tileHtml(slice) + "\n";
  }
  return html + "</div></div>\n";
}

std::string curveSvg(const std::vector<double>& values, const std::string& description)
{
  constexpr std::size_t maxPoints = 400;
  constexpr double left = 4, right = 296, top = 16, bottom = 104;
  double least = 0, largest = 0;
  bool isFirst = true;
  for (const double value : values)
    if (std::isfinite(value)) {
      least = isFirst ? value : std::min(least, value);
      largest = isFirst ? value : std::max(largest, value);
      isFirst = false;
    }
  std::string svg =
      "<svg class=\"c\" width=\"300\" height=\"122\" viewBox=\"0 0 300 122\" role=\"img\" aria-label=\""
      + htmlText(description) + "\"><path class=\"x\" d=\"M4 104H296\"/>";
  const std::size_t step = values.size() / maxPoints + 1, last = values.empty() ? 0 : values.size() - 1;
  std::string points, end;
  for (std::size_t i = 0; i < values.size(); i = i < last && i + step > last ? last : i + step) {
    if (!std::isfinite(values[i]))
      continue;
    const double x =
        left + (right - left) * static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(last, 1));
    const double y = largest > least ? bottom - (bottom - top) * (values[i] - least) / (largest - least)
                                     : (top + bottom) / 2;
    char text[40];
    std::snprintf(text, sizeof text, "%.1f,%.1f ", x, y);
    points += text;
    std::snprintf(text, sizeof text, "cx=\"%.1f\" cy=\"%.1f\"", x, y);
    end = text;
  }
  svg += "<polyline points=\"" + points + "\"/>";
  if (!end.empty())
    svg += "<circle r=\"2.5\" " + end + "/>";
  svg += "<text x=\"4\" y=\"11\">" + shortNumber(largest) + "</text><text x=\"4\" y=\"118\">"
         + shortNumber(least) + "</text><text x=\"296\" y=\"118\" text-anchor=\"end\">"
         + std::to_string(values.size()) + " iterations</text></svg>";
  return svg;
}

}
