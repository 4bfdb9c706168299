#include "Core/Image/Pictures/EdgeLines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera {
namespace {

/// Weights 1 2 1 along both axes; the values beyond the border are those at it.
Panel smoothed(const Panel& panel)
{
  const std::size_t w = panel.width, h = panel.height;
  Panel across{w, h, std::vector<float>(w * h)}, result = across;
  for (std::size_t y = 0; y < h; ++y) {
    const float* in = panel.values.data() + y * w;
    float* out = across.values.data() + y * w;
    for (std::size_t x = 1; x + 1 < w; ++x)
      out[x] = in[x - 1] + 2 * in[x] + in[x + 1];
    out[w - 1] = in[w - std::min<std::size_t>(w, 2)] + 3 * in[w - 1];
    out[0] = 3 * in[0] + in[std::min<std::size_t>(1, w - 1)];
  }
  for (std::size_t y = 0; y < h; ++y) {
    const float* above = across.values.data() + (y > 0 ? y - 1 : 0) * w;
    const float* here = across.values.data() + y * w;
    const float* below = across.values.data() + std::min(y + 1, h - 1) * w;
    float* out = result.values.data() + y * w;
    for (std::size_t x = 0; x < w; ++x)
      out[x] = (above[x] + 2 * here[x] + below[x]) / 16;
  }
  return result;
}

/// A gradient must exceed this anywhere: four times that of the flattest fifth of what is neither black nor
/// white, at every fifth pixel.
float noiseOf(const Panel& panel, const std::vector<float>& magnitude)
{
  constexpr float least = 1.2F, most = 8;
  std::vector<float> found;
  for (std::size_t i = 0; i < magnitude.size(); i += 5)
    if (panel.values[i] > 20 && panel.values[i] < 235)
      found.push_back(magnitude[i]);
  if (found.empty())
    return least;
  const auto fifth = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 5);
  std::nth_element(found.begin(), fifth, found.end());
  return std::clamp(4 * *fifth, least, most);
}

/// A pixel of an edge with the place of its line.
struct EdgePixel {
  std::size_t pixel;
  float x, y, alongX, alongY; // in pixels from the left upper corner; a unit vector along the line
};

std::vector<EdgePixel> maxima(const Panel& panel)
{
  constexpr float dark = 15;
  const std::size_t w = panel.width, h = panel.height;
  std::vector<float> magnitude(w * h); // of the gradient; 0 at the border
  const auto across = [&](std::size_t i, std::size_t step) {
    return panel.values[i + step] - panel.values[i - step];
  };
  for (std::size_t y = 1; y + 1 < h; ++y)
    for (std::size_t i = y * w + 1; i + 1 < (y + 1) * w; ++i)
      magnitude[i] = std::sqrt(across(i, 1) * across(i, 1) + across(i, w) * across(i, w));
  std::vector<double> sums((w + 1) * (h + 1)); // of what lies above and to the left of each corner of a pixel
  for (std::size_t y = 0; y < h; ++y) {
    double row = 0;
    for (std::size_t x = 0; x < w; ++x) {
      row += magnitude[y * w + x];
      sums[(y + 1) * (w + 1) + x + 1] = sums[y * (w + 1) + x + 1] + row;
    }
  }
  const auto meanAround = [&](std::size_t x, std::size_t y) {
    constexpr std::size_t radius = 15; // pixels along each axis
    const std::size_t left = x - std::min(x, radius), right = std::min(x + radius + 1, w),
                      top = (y - std::min(y, radius)) * (w + 1),
                      bottom = std::min(y + radius + 1, h) * (w + 1);
    return (sums[bottom + right] - sums[bottom + left] - sums[top + right] + sums[top + left])
           / static_cast<double>((right - left) * ((bottom - top) / (w + 1)));
  };
  const float noise = noiseOf(panel, magnitude);
  std::vector<EdgePixel> edges;
  for (std::size_t i = 0; i < magnitude.size(); ++i) {
    const float m = magnitude[i];
    if (m < noise || panel.values[i] < dark)
      continue;
    const float gx = across(i, 1) / m, gy = across(i, w) / m;
    const int dx = (gx > 0.5F) - (gx < -0.5F), dy = (gy > 0.5F) - (gy < -0.5F);
    const std::ptrdiff_t step = dy * static_cast<std::ptrdiff_t>(w) + dx;
    const float before = magnitude[i - static_cast<std::size_t>(step)],
                after = magnitude[i + static_cast<std::size_t>(step)];
    if (m < before || m <= after || m < meanAround(i % w, i / w))
      continue;
    const float shift = 0.5F * (before - after) / (before - 2 * m + after);
    edges.push_back({i, static_cast<float>(i % w) + 0.5F + shift * static_cast<float>(dx),
                     static_cast<float>(i / w) + 0.5F + shift * static_cast<float>(dy), -gy, gx});
  }
  return edges;
}

/// Keeps the edges that touch each other in lines that are long enough.
std::vector<EdgePixel> longLines(const std::vector<EdgePixel>& edges, std::size_t width, std::size_t count)
{
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  const std::size_t leastLength = std::clamp<std::size_t>(width / 8, 4, 16);
  std::vector<std::size_t> edgeAt(count, none), line;
  for (std::size_t e = 0; e < edges.size(); ++e)
    edgeAt[edges[e].pixel] = e;
  std::vector<EdgePixel> kept;
  for (const EdgePixel& start : edges) {
    line.clear();
    const auto take = [&](std::size_t pixel) {
      if (edgeAt[pixel] != none)
        line.push_back(edgeAt[pixel]);
      edgeAt[pixel] = none;
    };
    take(start.pixel);
    for (std::size_t at = 0; at < line.size(); ++at)
      for (const std::size_t row : {-width, std::size_t(0), width})
        for (const std::size_t column : {none, std::size_t(0), std::size_t(1)})
          take(edges[line[at]].pixel + row + column); // no edge is at the border
    for (const std::size_t e : line)
      if (line.size() >= leastLength)
        kept.push_back(edges[e]);
  }
  return kept;
}

}

IndexedPicture edgeLines(const Panel& grey)
{
  Panel panel = grey;
  for (std::size_t pass = 0; pass < std::max<std::size_t>(2, 1 + std::max(grey.width, grey.height) / 110);
       ++pass)
    panel = smoothed(panel);
  IndexedPicture picture{2 * grey.width, 2 * grey.height,
                         std::vector<std::uint8_t>(4 * grey.width * grey.height)};
  for (const EdgePixel& edge : longLines(maxima(panel), grey.width, grey.values.size()))
    for (const float along : {-0.5F, -0.25F, 0.0F, 0.25F, 0.5F}) {
      const auto x = static_cast<std::size_t>(2 * (edge.x + along * edge.alongX)),
                 y = static_cast<std::size_t>(2 * (edge.y + along * edge.alongY));
      picture.pixels[y * picture.width + x] = 1; // an edge is not at the border, so neither is its line
    }
  return picture;
}

bool hasLine(const IndexedPicture& lines, std::size_t x, std::size_t y)
{
  const std::uint8_t* const above = &lines.pixels[2 * y * lines.width + 2 * x];
  return above[0] || above[1] || above[lines.width] || above[lines.width + 1];
}

namespace {

constexpr int right[] = {1, 0, -1, 0}, down[] = {0, 1, 0, -1}; // of a step in each of four directions

/// Takes the steps of a loop away and returns its path. `steps` has a bit for each direction in which a side
/// leads from a corner, with the label to its right.
std::string loopFrom(std::size_t corner, std::size_t cornersInRow, std::vector<std::uint8_t>& steps)
{
  int way = 0, x = 0, y = 0;
  while (!(steps[corner] >> way & 1))
    ++way;
  std::string path = "M" + std::to_string(2 * static_cast<int>(corner % cornersInRow) + right[way]) + " "
                     + std::to_string(2 * static_cast<int>(corner / cornersInRow) + down[way]);
  int times = 0;
  const auto write = [&] { // equal moves as one
    if (times > 0)
      path += "l" + std::to_string(times * x) + " " + std::to_string(times * y);
  };
  while (true) {
    steps[corner] = static_cast<std::uint8_t>(steps[corner] & ~(1 << way));
    corner += static_cast<std::size_t>(right[way]) + static_cast<std::size_t>(down[way]) * cornersInRow;
    if (steps[corner] == 0)
      break;
    int next = (way + 1) % 4; // to the right first: pixels that touch at a corner stay apart
    while (!(steps[corner] >> next & 1))
      next = (next + 3) % 4;
    const int nextX = right[way] + right[next], nextY = down[way] + down[next];
    if (nextX != x || nextY != y) {
      write();
      times = 0;
    }
    x = nextX;
    y = nextY;
    ++times;
    way = next;
  }
  write();
  return path + "z";
}

}

std::map<int, std::string> contours(const std::vector<int>& labels, std::size_t width)
{
  const std::size_t height = labels.size() / width, cornersInRow = width + 1;
  std::map<int, std::vector<std::size_t>> pixels;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != 0)
      pixels[labels[i]].push_back(i);
  std::vector<std::uint8_t> steps(cornersInRow * (height + 1));
  std::map<int, std::string> paths;
  for (const auto& [label, ofLabel] : pixels) {
    for (const std::size_t i : ofLabel)
      for (int way = 0; way < 4; ++way) { // along the side above, to the right, below, to the left
        const std::size_t x = i % width, y = i / width, otherX = x + static_cast<std::size_t>(down[way]),
                          otherY = y + static_cast<std::size_t>(-right[way]);
        if (otherX >= width || otherY >= height || labels[otherY * width + otherX] != label)
          steps[(y + (way == 2 || way == 3)) * cornersInRow + x + (way == 1 || way == 2)] |=
              static_cast<std::uint8_t>(1 << way);
      }
    for (const std::size_t i : ofLabel)
      for (const std::size_t corner :
           {i + i / width, i + i / width + 1, i + i / width + cornersInRow + 1, i + i / width + cornersInRow})
        while (steps[corner] != 0)
          paths[label] += loopFrom(corner, cornersInRow, steps);
  }
  return paths;
}

}
