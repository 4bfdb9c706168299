#include "Core/Runs/Report/RunPageViews.h"

#include "Core/Compute/Log.h"
#include "Core/Runs/Report/Html.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

std::string colourText(const Colour& colour)
{
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", colour[0], colour[1], colour[2]);
  return text;
}

/// A bar of the first 64 colours with texts below it; a last colour apart, if it has a text.
std::string legend(const std::vector<Colour>& colours, const std::vector<std::string>& texts,
                   const std::string& apart = "")
{
  const std::size_t count = colours.size() - (apart.empty() ? 0 : 1);
  std::string svg = R"(<svg width="345" height="36" role="img" aria-label="legend">)";
  for (std::size_t i = 0; i < count; ++i)
    svg += filledIn(R"(<rect x="$" y="2" width="5" height="14" fill="$"/>)",
                    {std::to_string(20 + 4 * i), colourText(colours[i])});
  for (std::size_t i = 0; i < texts.size(); ++i)
    svg += filledIn(R"(<text x="$" y="31" text-anchor="middle">$</text>)",
                    {std::to_string(20 + i * 4 * count / (texts.size() - 1)), texts[i]});
  if (!apart.empty())
    svg += filledIn(R"(<rect x="310" y="2" width="24" height="14" fill="$"/>)"
                    R"(<text x="322" y="31" text-anchor="middle">$</text>)",
                    {colourText(colours.back()), apart});
  return svg + "</svg>";
}

std::string labelsLegend(const RunPictures& pictures)
{
  std::string html;
  if (pictures.labelsLeftOut > 0)
    html = "<p>The page has no room for the outlines of " + std::to_string(pictures.labelsLeftOut)
           + " labels, the shortest ones.</p>";
  return html + legend(diceColours, {"Dice 0", "0.5", "1"})
         + R"(<label class="script" hidden>Show <select id="label"></select></label>)";
}

struct View {
  const char *id, *name, *meaning;
  std::string SlicePicture::*
      needed; // there is no such view without this picture, or, if null, without labels
  std::string (*more)(const RunPictures&) = nullptr; // behind the meaning
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
    {"overlay", "Colours", "The fixed image in magenta over the warped one in green: what is equal is grey.",
     &SlicePicture::warped},
    {"edges", "Edges", "Edges of the fixed image over the warped one.", &SlicePicture::edges},
    {"labels", "Labels",
     "Outlines of the fixed labels (blue, filled by Dice) and of the warped ones (yellow).", nullptr,
     labelsLegend},
    {"fade", "Slider", "From the fixed image to the warped one.", &SlicePicture::warped,
     [](const RunPictures&) {
       return std::string(R"(<input class="script" hidden type="range" id="mix" min="0" max="1" step="0.01")"
                          R"( value="0.5" aria-label="from the fixed to the warped image">)");
     }},
    {"difference", "Difference",
     "The brightness of the warped image less that of the fixed one: what is equal is grey.",
     &SlicePicture::warped},
    {"det", "Volume change",
     "Determinant of the spatial Jacobian: above 1 the moving image was made smaller, below 1 larger. Folds "
     "(0 or less) are yellow.",
     &SlicePicture::determinants,
     [](const RunPictures&) {
       return legend(determinantColours, {"&#188;", "&#189;", "1", "2", "4"}, "fold");
     }},
    {"grid", "Grid", "Where the coordinates in the moving image are round numbers, over the warped image.",
     &SlicePicture::grid,
     [](const RunPictures& pictures) {
       return "<p>Lines are " + shortNumber(pictures.gridMm) + " mm apart in the moving image.</p>";
     }},
    {"length", "Displacement", "How far the points of the fixed image are moved.",
     &SlicePicture::displacement,
     [](const RunPictures& pictures) {
       const double mm = pictures.largestDisplacementMm;
       return legend(displacementColours, {"0", shortNumber(mm / 2), shortNumber(mm) + " mm"});
     }},
};

/// Whether a slice has something of a kind.
template <class Kind>
bool some(const RunPictures& pictures, Kind SlicePicture::*kind)
{
  return std::ranges::any_of(pictures.slices,
                             [&](const SlicePicture& slice) { return !(slice.*kind).empty(); });
}

bool hasView(const View& view, const RunPictures& pictures)
{
  const auto& [fixed, moving] = pictures.greyRanges;
  if (view.id == std::string("difference") && !(fixed == moving))
    return false;
  if (view.id == std::string("start") && std::ranges::all_of(pictures.slices, [](const SlicePicture& slice) {
        return slice.fixed == slice.before; // as those of a series
      }))
    return false;
  return view.needed ? some(pictures, view.needed) : some(pictures, &SlicePicture::labels);
}

std::string placeText(const SlicePicture& slice)
{
  return slice.plane.empty() ? "" : ", " + slice.plane + " " + slice.position;
}

/// Vector graphics over the pictures of a slice.
std::string svgOver(const SlicePicture& slice, const char* name, const std::string& content)
{
  return content.empty()
             ? ""
             : filledIn(R"(<svg class="$" viewBox="0 0 $ $">$</svg>)",
                        {name, std::to_string(2 * slice.width), std::to_string(2 * slice.height), content});
}

std::string labelsSvg(const SlicePicture& slice, const Json& run)
{
  std::string paths;
  for (const auto& [found, label] : slice.labels) {
    const std::string number = std::to_string(found);
    const Json& known = recordAt(run, "/quality/dice/labels/" + number);
    const double dice = known.is_number() ? known.get<double>() : 0;
    const auto colour = static_cast<std::size_t>(dice * static_cast<double>(diceColours.size() - 1));
    if (!label.fixed.empty())
      paths += filledIn(R"(<path class="lf" data-l="$" d="$" fill="$"><title>$, Dice $</title></path>)",
                        {number, label.fixed, colourText(diceColours[colour]),
                         htmlText(labelText(run, number)), shortNumber(dice)});
    if (!label.warped.empty())
      paths += filledIn(R"(<path class="lw" data-l="$" d="$"/>)", {number, label.warped});
  }
  return svgOver(slice, "l", paths);
}

/// The masks, and for each landmark where it should be (a ring), a line to where it is, and where it was.
std::string marksSvg(const SlicePicture& slice)
{
  const double unit =
      static_cast<double>(std::max(slice.width, slice.height)) / 100; // 1/200 of the larger side
  std::string marks;
  for (const auto& [kind, path] : {std::pair{"mask", &slice.fixedMask},
                                   {"mask moving past", &slice.maskBefore},
                                   {"mask moving now", &slice.warpedMask}})
    if (!path->empty())
      marks += filledIn(R"(<path class="$" d="$"/>)", {kind, *path});
  const auto mark = [&](const char* kind, const SlicePicture::Landmark::Place& at, double radius) {
    marks += filledIn(R"(<circle class="$" cx="$" cy="$" r="$"/>)",
                      {kind, shortNumber(at[0]), shortNumber(at[1]), shortNumber(radius * unit)});
  };
  for (const auto& [fixed, before, warped] : slice.landmarks) {
    mark("was", before, 1.2);
    marks += filledIn(R"(<path class="is" d="M$ $L$ $"/>)", {shortNumber(fixed[0]), shortNumber(fixed[1]),
                                                             shortNumber(warped[0]), shortNumber(warped[1])});
    mark("is", warped, 1);
    mark("target", fixed, 2);
  }
  return svgOver(slice, "m", marks);
}

std::string figureHtml(const SlicePicture& slice, const std::string& screen, const Json& run)
{
  std::string html = filledIn(R"(<figure><label class="t" for="$">)", {screen});
  for (const auto& [name, type, picture, shows] : pictureLayers)
    if (const std::string& bytes = slice.*picture; !bytes.empty())
      html += filledIn(R"(<img class="$" width="$" height="$" alt="$$" src="data:image/$;base64,$">)",
                       {name, std::to_string(slice.width), std::to_string(slice.height), shows,
                        placeText(slice), type, base64(bytes)});
  html += labelsSvg(slice, run) + marksSvg(slice);
  for (std::size_t i = 0; i < slice.letters.size(); ++i)
    if (!slice.letters[i].empty())
      html += filledIn(R"(<span class="o o$">$</span>)", {std::to_string(i), slice.letters[i]});
  const std::string place = slice.position.empty() ? "" : slice.plane + ", " + slice.position;
  return html + "</label>" + (place.empty() ? "" : "<figcaption>" + place + "</figcaption>") + "</figure>";
}

/// The slices of a plane, of which an input for each chooses one. A box makes it fill the screen.
std::string planeHtml(std::vector<SlicePicture>::const_iterator first,
                      std::vector<SlicePicture>::const_iterator last, const Json& run)
{
  const std::string name = first->plane.empty() ? "image" : first->plane;
  std::string html = filledIn(R"(<div class="plane"><input type="checkbox" class="screen" id="$")"
                              R"( aria-label="$ fills the screen"><div class="stack">)",
                              {name, name});
  for (auto slice = first; slice != last; ++slice)
    html += filledIn(R"(<input type="radio" name="slice-$"$$ aria-label="$$">)",
                     {name, last - first > 1 ? "" : " hidden",
                      slice - first == (last - first) / 2 ? " checked" : "", name, placeText(*slice)})
            + figureHtml(*slice, name, run) + "\n";
  return html + "</div></div>\n";
}

/// The lines over the pictures, as they are drawn there.
std::string keyHtml(const RunPictures& pictures, const Json& run)
{
  const auto maskOf = [&](const char* side) {
    const Json::json_pointer given(std::string("/inputs/") + side + "Masks");
    return side + std::string(run.contains(given) && !run[given].empty() ? " mask" : " voxels with a value");
  };
  std::string html;
  for (const auto& [isShown, kind, words] :
       {std::tuple{some(pictures, &SlicePicture::edges), "edge", std::string("edges of the fixed image")},
        {some(pictures, &SlicePicture::fixedMask), "mask", maskOf("fixed")},
        {some(pictures, &SlicePicture::maskBefore), "mask moving", maskOf("moving")},
        {some(pictures, &SlicePicture::labels), "lf", std::string("fixed labels")},
        {some(pictures, &SlicePicture::labels), "lw", std::string("warped labels")}})
    if (isShown)
      html += filledIn(R"(<span><svg width="38" height="12"><path class="$" d="M4 6H34"/></svg> $</span>)",
                       {kind, words});
  return html.empty() ? "" : "<p class=\"key\">" + html + "</p>\n";
}

/// Tells which intensities are black and white, and what marks, letters, clicks and keys mean.
std::string captionHtml(const RunPictures& pictures, const Json& run)
{
  const SlicePicture& slice = pictures.slices.front();
  const auto& [fixed, moving] = pictures.greyRanges;
  const auto text = [](const GreyRange& range) {
    return filledIn("from $ (black) to $ (white) in ", {shortNumber(range.black), shortNumber(range.white)});
  };
  std::string html = "<p class=\"s\">";
  if (!pictures.keptTransform.empty())
    html += "The run did not end. The warped image is that of the last transform that was kept, "
            + htmlText(pictures.keptTransform) + ". ";
  html += "Pixels are squares in mm. ";
  if (pictures.areColours)
    html += "Colours are those of the files. ";
  else
    html += "Grey values run " + text(fixed)
            + (slice.before.empty() ? "the fixed image, the only one that could be read"
               : fixed == moving    ? "both images"
                                    : "the fixed image, " + text(moving) + "the moving one")
            + ": from the 0.5th to the 99.5th percentile without fillings and constant backgrounds. ";
  const bool isVolume = !slice.plane.empty();
  for (const auto& [isShown, words] :
       {std::pair{pictures.leavesMasksOut,
                  "Outlines of masks are left out where they are too long for the page. "},
        {some(pictures, &SlicePicture::landmarks),
         isOfSeries(run)
             ? "Landmarks: a ring where the point is on the mean of all times, in the nearest slice of each "
               "plane; that of its own time is red before and green after the registration. "
             : "Landmarks: a ring where the point of the fixed image is, in the nearest of these slices of "
               "each plane; that of the moving image is red before and green after the registration. "},
        {isVolume, "Letters are sides of the patient: R right, L left, A front, P back, S head, I feet. "},
        {true, "A click on a slice fills the screen, and again goes back"},
        {isVolume, "; the wheel goes through the slices of a plane"},
        {true, ". Keys: digits choose a view"},
        {!slice.warped.empty(), ", f goes from the fixed to the warped image and back"}})
    html += isShown ? words : "";
  return html + ".</p>\n";
}

}

// An input of the choice comes before the slices, so that its rules need no script. The first layer gives a
// slice its size; the others lie over it.
const char* const viewsStyle = R"(
.views{display:flex;flex-wrap:wrap}.filters,.views>input{position:absolute;opacity:0}.views>label{padding:.25em .7em;margin:0 .45em .3em 0;
border:1px solid var(--line);border-radius:1em;cursor:pointer}
.views>input:checked+label{background:var(--link);border-color:var(--link);color:Canvas}
.views>input:focus-visible+label{outline:3px solid var(--link);outline-offset:2px}
.views>div{order:1;flex:0 0 100%;min-width:0}.views>input:checked+label+.k{display:block}
.k{display:none;min-height:3.2em}.k p{margin:.3em 0}.k input{width:min(100%,30em)}.k select{max-width:100%}
.planes{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:.5em;align-items:start}
.plane{position:relative;min-width:0}.screen{position:absolute;opacity:0}.screen:focus-visible+.stack{outline:3px solid var(--link)}
.stack{display:flex;flex-wrap:wrap;justify-content:center;background:Canvas}.stack>input{order:1;margin:0 .1em .2em}
figure{margin:0}figcaption{color:var(--soft);font-size:.85em;text-align:center}
.stack figure{display:none;order:2;flex-basis:100%;min-width:0}.stack input:checked+figure{display:block}
.t{position:relative;display:block;background:#000;isolation:isolate;cursor:zoom-in;overflow:hidden;line-height:0}
.t img,.t svg{position:absolute;inset:0;width:100%;height:100%;object-fit:contain;visibility:hidden}
.t img.f{position:static;height:auto;max-height:85vh}
.screen:checked+.stack{position:fixed;inset:0;z-index:9;align-content:center}
.screen:checked+.stack .t{cursor:zoom-out}.screen:checked+.stack .t img.f{height:calc(100vh - 3.4em);max-height:none}
#flicker:checked~.planes :is(.f,.w),#start:checked~.planes :is(.f,.b),#fixed:checked~.planes .f,#warped:checked~.planes .w,
#board:checked~.planes :is(.f,.w),#overlay:checked~.planes :is(.f,.w),#edges:checked~.planes :is(.w,.e),
#labels:checked~.planes :is(.f,.l),#fade:checked~.planes :is(.f,.w),#difference:checked~.planes :is(.f,.w),
#det:checked~.planes :is(.d,.e),#grid:checked~.planes :is(.w,.g),#length:checked~.planes :is(.u,.e),
#marks:checked~.planes .m{visibility:visible}
#flicker:checked~.planes .w,#start:checked~.planes .b{animation:flicker 1.6s step-end infinite}
@keyframes flicker{0%{opacity:0}50%{opacity:1}}
#board:checked~.planes .w{-webkit-mask:repeating-conic-gradient(#000 0 25%,transparent 0 50%) 0 0/64px 64px;
mask:repeating-conic-gradient(#000 0 25%,transparent 0 50%) 0 0/64px 64px}
#overlay:checked~.planes .f{filter:url(#magenta)}#overlay:checked~.planes .w{filter:url(#green);mix-blend-mode:screen}
#fade:checked~.planes .w{opacity:var(--mix,.5)}#difference:checked~.planes .w{opacity:.5;filter:grayscale(1)}#difference:checked~.planes .f{filter:grayscale(1) invert(1)}
#difference:checked~.planes .t{filter:contrast(2.5)}
#det:checked~.planes .e,#length:checked~.planes .e{filter:brightness(0);opacity:.55}
.t path,.t circle{vector-effect:non-scaling-stroke}.t path:not(.lf),.t circle{fill:none}.lf{fill-opacity:.35;stroke:#46aaff;stroke-width:1.2px}
.lw{stroke:#ffe600;stroke-width:1.2px;pointer-events:none}.edge{stroke:#ff5500;stroke-width:1.2px}
.key span{white-space:nowrap;margin-right:1.2em}.key svg{background:#000;vertical-align:middle}.key path{stroke-width:2.5px;fill:none}.t .hidden{display:none}
.mask{stroke:#46aaff;stroke-width:1.2px}.moving{stroke:#ffe600;stroke-dasharray:5 5}.t .past,#start:checked~.planes .now{display:none}#start:checked~.planes .past{display:inline}.t .target{stroke:#fff;stroke-width:1.5px}.t .was{fill:#ff4d4d}
.t circle.is{fill:#4dff88}.t path.is{stroke:#4dff88;stroke-width:1.5px}
.t .o{position:absolute;color:#fff;font:600 12px/1 system-ui,sans-serif;text-shadow:0 0 2px #000,0 0 2px #000}
.o0{left:3px;top:calc(50% - 6px)}.o1{right:3px;top:calc(50% - 6px)}.o2{top:3px;left:calc(50% - 4px)}.o3{bottom:3px;left:calc(50% - 4px)}
.legend,svg text{font:12px system-ui,sans-serif;fill:currentColor}
@media(prefers-reduced-motion:reduce){.planes img{animation:none!important}}
@media print{.planes img{animation:none!important}.views>label,.stack>input{display:none}.stack figure{display:block;flex-basis:30%;break-inside:avoid}
.planes{display:block}}
)";

// The wheel over a plane goes through its slices; a label that is chosen is shown alone, where it is largest.
const char* const viewsScript = R"(
document.querySelectorAll('.script').forEach(e=>e.hidden=false);
const beside=(s,by)=>{const r=[...s.querySelectorAll('input[type=radio]')];return r[r.findIndex(i=>i.checked)+by]};
document.querySelectorAll('.stack').forEach(s=>{let sum=0;s.addEventListener('wheel',e=>{const next=beside(s,e.deltaY>0?1:-1);
if(e.ctrlKey||!next)return;e.preventDefault();sum+=e.deltaY;if(Math.abs(sum)>=40){next.checked=true;sum=0}},{passive:false})});
const mix=document.getElementById('mix'),label=document.getElementById('label');
if(mix)mix.oninput=()=>document.querySelector('.planes').style.setProperty('--mix',mix.value);
if(label){const paths=[...document.querySelectorAll('path[data-l]')],names=new Map();
paths.forEach(p=>{if(p.textContent)names.set(p.dataset.l,p.textContent)});
label.add(new Option('all labels',''));const dice=t=>+(t.split(', Dice ')[1]??2);
[...names].sort((a,b)=>dice(a[1])-dice(b[1])).forEach(([l,t])=>label.add(new Option(t,l)));
label.onchange=()=>{paths.forEach(p=>p.classList.toggle('hidden',label.value!==''&&p.dataset.l!==label.value));
if(label.value!=='')document.querySelectorAll('.stack').forEach(s=>{let best=0;for(const f of s.querySelectorAll('figure')){
const p=f.querySelector('.lf:not(.hidden)'),n=p?p.getAttribute('d').length:0;if(n>best){best=n;f.previousElementSibling.checked=true}}})}}
)";

std::string viewsHtml(const RunPictures& pictures, const Json& run)
{
  std::string html = R"(<div class="views"><svg class="filters" width="0" height="0" aria-hidden="true">
<filter id="magenta" color-interpolation-filters="sRGB"><feColorMatrix values="1 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0 0 1 0"/></filter>
<filter id="green" color-interpolation-filters="sRGB"><feColorMatrix values="0 0 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 1 0"/></filter></svg>
)";
  for (const View& view : views)
    if (hasView(view, pictures)) {
      const char* const checked = html.find("type=\"radio\"") == std::string::npos ? " checked" : "";
      html += filledIn("<input type=\"radio\" name=\"view\" id=\"$\"$><label for=\"$\">$</label><div "
                       "class=\"k $\"><p>$</p>$</div>\n",
                       {view.id, checked, view.id, view.name, view.id, view.meaning,
                        view.more ? view.more(pictures) : ""});
    }
  if (std::ranges::any_of(pictures.slices, [](const auto& slice) { return !marksSvg(slice).empty(); }))
    html += "<input type=\"checkbox\" id=\"marks\" checked><label for=\"marks\">Masks, landmarks</label>\n";
  html += "<div class=\"planes\">\n";
  for (auto first = pictures.slices.begin(); first != pictures.slices.end();) {
    const auto last = std::find_if(first, pictures.slices.end(),
                                   [&](const SlicePicture& slice) { return slice.plane != first->plane; });
    html += planeHtml(first, last, run);
    first = last;
  }
  return html + "</div></div>\n" + keyHtml(pictures, run) + captionHtml(pictures, run);
}

namespace {

/// At most 200 values along a curve, each the mean of those at most `radius` away.
std::vector<double> alongCurve(const std::vector<double>& values, std::size_t radius)
{
  std::vector<double> means;
  const std::size_t count = std::min<std::size_t>(values.size(), 200);
  for (std::size_t p = 0; p < count; ++p) {
    const std::size_t i = count > 1 ? p * (values.size() - 1) / (count - 1) : 0;
    const std::size_t first = i - std::min(i, radius), last = std::min(i + radius + 1, values.size());
    double sum = 0;
    for (std::size_t k = first; k < last; ++k)
      sum += values[k];
    if (std::isfinite(sum))
      means.push_back(sum / static_cast<double>(last - first));
  }
  return means;
}

}

std::string curvesSvg(const StageCurves& levels, bool isRandom, const std::string& description)
{
  constexpr int width = 420, top = 16, bottom = 124;
  const int wide = width / static_cast<int>(levels.size()) - 8;
  std::string svg =
      "<svg class=\"c\" viewBox=\"0 0 420 142\" role=\"img\" aria-label=\"" + htmlText(description) + "\">";
  int left = 0;
  for (const std::vector<double>& values : levels) {
    const std::vector<double> shown = alongCurve(values, isRandom ? values.size() / 10 : 0);
    const auto [least, largest] = shown.empty() ? std::ranges::minmax({0.0}) : std::ranges::minmax(shown);
    const std::string from = std::to_string(left), to = std::to_string(left + wide);
    svg += "<path class=\"x\" d=\"M" + from + " 124H" + to + "\"/><polyline points=\"";
    for (std::size_t p = 0; p < shown.size(); ++p) {
      const double share = largest > least ? (shown[p] - least) / (largest - least) : 0.5;
      const double along =
          static_cast<double>(p) / static_cast<double>(std::max<std::size_t>(shown.size() - 1, 1));
      svg += decimals(left + along * wide, 1) + "," + decimals(bottom - share * (bottom - top), 1) + " ";
    }
    svg += "\"/><text x=\"" + from + "\" y=\"11\">" + shortNumber(largest) + "</text><text x=\"" + from
           + "\" y=\"138\">" + shortNumber(least) + "</text><text x=\"" + to
           + "\" y=\"138\" text-anchor=\"end\">" + std::to_string(values.size()) + "</text>";
    left += wide + 8;
  }
  return svg + "</svg>";
}

}
