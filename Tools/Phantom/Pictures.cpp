#include "Tools/Phantom/Pictures.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Pictures/PictureBytes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace tessera {
namespace {

using Colour = std::array<float, 3>;

constexpr Colour background{18, 18, 20}, letters{225, 225, 225}, edgeColour{255, 150, 0};
constexpr float blackHu = -170, whiteHu = 230;
constexpr int perPixel = 2; // points of the canvas a pixel and axis; their mean smooths lines and letters
constexpr int greyStep = 8; // few grey values make small files, and noise hides the steps
constexpr double pixelsAMm = 1.2;

struct Plane {
  const char* name;
  int right, down; // axes of the image that run right and down in the picture
  bool isDownward; // whether the axis runs down as its index grows
  double position; // place of the slice, as a share of the third axis
};

constexpr Plane planes[] = {
    {"axial", 0, 1, true, 0.55}, {"coronal", 0, 2, false, 0.42}, {"sagittal", 1, 2, false, 0.37}};

/// Pixels of a letter and the space behind it, and rows of a line of text.
constexpr int letterWidth = 6, letterHeight = 8;

constexpr std::string_view lettersKnown = "abcdefghijklmnopqrstuvwxyz0123456789AB.,:";

/// Five columnsOfLetters a letter; bit 0 is the top row.
constexpr std::uint8_t columnsOfLetters[][5] = {
    {0x20, 0x54, 0x54, 0x54, 0x78}, // a
    {0x7F, 0x48, 0x44, 0x44, 0x38}, // b
    {0x38, 0x44, 0x44, 0x44, 0x28}, // c
    {0x38, 0x44, 0x44, 0x48, 0x7F}, // d
    {0x38, 0x54, 0x54, 0x54, 0x18}, // e
    {0x00, 0x08, 0x7E, 0x09, 0x02}, // f
    {0x18, 0xA4, 0xA4, 0xA4, 0x7C}, // g
    {0x7F, 0x08, 0x04, 0x04, 0x78}, // h
    {0x00, 0x44, 0x7D, 0x40, 0x00}, // i
    {0x40, 0x80, 0x84, 0x7D, 0x00}, // j
    {0x7F, 0x10, 0x28, 0x44, 0x00}, // k
    {0x00, 0x41, 0x7F, 0x40, 0x00}, // l
    {0x7C, 0x04, 0x78, 0x04, 0x78}, // m
    {0x7C, 0x08, 0x04, 0x04, 0x78}, // n
    {0x38, 0x44, 0x44, 0x44, 0x38}, // o
    {0xFC, 0x24, 0x24, 0x24, 0x18}, // p
    {0x18, 0x24, 0x24, 0x24, 0xFC}, // q
    {0x7C, 0x08, 0x04, 0x04, 0x08}, // r
    {0x48, 0x54, 0x54, 0x54, 0x24}, // s
    {0x04, 0x3F, 0x44, 0x40, 0x20}, // t
    {0x3C, 0x40, 0x40, 0x20, 0x7C}, // u
    {0x1C, 0x20, 0x40, 0x20, 0x1C}, // v
    {0x3C, 0x40, 0x30, 0x40, 0x3C}, // w
    {0x44, 0x28, 0x10, 0x28, 0x44}, // x
    {0x1C, 0xA0, 0xA0, 0xA0, 0x7C}, // y
    {0x44, 0x64, 0x54, 0x4C, 0x44}, // z
    {0x3E, 0x51, 0x49, 0x45, 0x3E}, // 0
    {0x00, 0x42, 0x7F, 0x40, 0x00}, // 1
    {0x42, 0x61, 0x51, 0x49, 0x46}, // 2
    {0x21, 0x41, 0x45, 0x4B, 0x31}, // 3
    {0x18, 0x14, 0x12, 0x7F, 0x10}, // 4
    {0x27, 0x45, 0x45, 0x45, 0x39}, // 5
    {0x3C, 0x4A, 0x49, 0x49, 0x30}, // 6
    {0x01, 0x71, 0x09, 0x05, 0x03}, // 7
    {0x36, 0x49, 0x49, 0x49, 0x36}, // 8
    {0x06, 0x49, 0x49, 0x29, 0x1E}, // 9
    {0x7E, 0x11, 0x11, 0x11, 0x7E}, // A
    {0x7F, 0x49, 0x49, 0x49, 0x36}, // B
    {0x00, 0x60, 0x60, 0x00, 0x00}, // .
    {0x00, 0xA0, 0x60, 0x00, 0x00}, // ,
    {0x00, 0x6C, 0x6C, 0x00, 0x00}, // :
};

static_assert(lettersKnown.size() == sizeof columnsOfLetters / sizeof columnsOfLetters[0]);

/// Whether the pixel at column `x` and row `y` of a line of text belongs to a letter. Known are lower-case
/// letters, digits, A, B, full stop, comma and colon; all else is a blank.
bool isInk(std::string_view text, int x, int y)
{
  const auto position = static_cast<std::size_t>(x / letterWidth);
  if (x < 0 || y < 0 || y >= letterHeight || position >= text.size() || x % letterWidth == letterWidth - 1)
    return false;
  const std::size_t letter = lettersKnown.find(text[position]);
  return letter != lettersKnown.npos && (columnsOfLetters[letter][x % letterWidth] >> y & 1);
}

/// One slice of an image, its pixels being voxels.
struct Slice {
  int width = 0, height = 0;
  double spacingMm = 1;
  std::vector<float> values;

  float at(int x, int y) const
  {
    return values[static_cast<std::size_t>(std::clamp(y, 0, height - 1) * width
                                           + std::clamp(x, 0, width - 1))];
  }

  /// Linear between pixels, constant beyond the border.
  float linear(double x, double y) const
  {
    const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
    const auto fx = static_cast<float>(x - left), fy = static_cast<float>(y - top);
    const float above = at(left, top) + fx * (at(left + 1, top) - at(left, top));
    const float below = at(left, top + 1) + fx * (at(left + 1, top + 1) - at(left, top + 1));
    return above + fy * (below - above);
  }
};

Slice sliceOf(const Image<3>& image, const Plane& plane)
{
  const Size<3>& size = image.geometry.size;
  const int across = 3 - plane.right - plane.down;
  Slice slice{static_cast<int>(size[plane.right]),
              static_cast<int>(size[plane.down]),
              image.geometry.spacingMm[0],
              {}};
  Size<3> index;
  index[across] = static_cast<std::size_t>(plane.position * static_cast<double>(size[across]));
  for (std::size_t y = 0; y < size[plane.down]; ++y)
    for (std::size_t x = 0; x < size[plane.right]; ++x) {
      index[plane.right] = x;
      index[plane.down] = plane.isDownward ? y : size[plane.down] - 1 - y;
      slice.values.push_back(image.voxels[index[0] + size[0] * (index[1] + size[1] * index[2])]);
    }
  return slice;
}

/// Where the grey value changes most along its gradient g: zeros of g^T H g, H being the matrix of second
/// derivatives (Canny, "A computational approach to edge detection", 1986).
struct EdgeMeasure {
  Slice alongGradient, magnitudePerMm;
};

EdgeMeasure edgeMeasure(const Slice& slice)
{
  EdgeMeasure edges{slice, slice};
  for (int y = 0; y < slice.height; ++y)
    for (int x = 0; x < slice.width; ++x) {
      const float gx = (slice.at(x + 1, y) - slice.at(x - 1, y)) / 2,
                  gy = (slice.at(x, y + 1) - slice.at(x, y - 1)) / 2;
      const float xx = slice.at(x + 1, y) - 2 * slice.at(x, y) + slice.at(x - 1, y);
      const float yy = slice.at(x, y + 1) - 2 * slice.at(x, y) + slice.at(x, y - 1);
      const float xy =
          (slice.at(x + 1, y + 1) - slice.at(x - 1, y + 1) - slice.at(x + 1, y - 1) + slice.at(x - 1, y - 1))
          / 4;
      const auto i = static_cast<std::size_t>(y * slice.width + x);
      edges.alongGradient.values[i] = gx * gx * xx + 2 * gx * gy * xy + gy * gy * yy;
      // std::hypot of two floats gives the same bits, but needs glibc 2.35, and packages shall run with 2.34.
      edges.magnitudePerMm.values[i] =
          static_cast<float>(std::sqrt(static_cast<double>(gx) * gx + static_cast<double>(gy) * gy))
          / static_cast<float>(slice.spacingMm);
    }
  return edges;
}

/// A picture that is drawn in points, `perPixel` squared of them a pixel.
class Canvas {
public:
  Canvas(int widthPixels, int heightPixels)
      : width_(widthPixels * perPixel), height_(heightPixels * perPixel),
        points_(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), background)
  {
  }

  void draw(int x, int y, const Colour& colour)
  {
    if (x >= 0 && x < width_ && y >= 0 && y < height_)
      points_[static_cast<std::size_t>(y * width_ + x)] = colour;
  }

  void write(const std::string& path) const
  {
    std::vector<std::array<std::uint8_t, 3>> pixels;
    for (int y = 0; y < height_; y += perPixel)
      for (int x = 0; x < width_; x += perPixel) {
        std::array<std::uint8_t, 3> pixel;
        for (std::size_t c = 0; c < 3; ++c) {
          float sum = 0;
          for (int i = 0; i < perPixel * perPixel; ++i)
            sum += points_[static_cast<std::size_t>((y + i / perPixel) * width_ + x + i % perPixel)][c];
          pixel[c] = static_cast<std::uint8_t>(
              std::min(255L, greyStep * std::lround(sum / (perPixel * perPixel * greyStep))));
        }
        pixels.push_back(pixel);
      }
    writeTextFile(path, pngBytes(pixels, static_cast<std::size_t>(width_ / perPixel)));
  }

private:
  int width_, height_;
  std::vector<Colour> points_;
};

/// Points of the canvas on edges of `slice`: connected lines that are long and somewhere steep enough.
std::vector<char> edgePoints(const Slice& slice, int width, int height, double voxelsAPoint)
{
  constexpr float weakestHuAMm = 5, steepestAtLeastHuAMm = 10;
  constexpr std::size_t shortestPoints = 60;
  const EdgeMeasure edges = edgeMeasure(slice);
  std::vector<char> isEdge(static_cast<std::size_t>(width * height));
  std::vector<float> magnitude(isEdge.size());
  const auto rises = [&](int x, int y) {
    return edges.alongGradient.linear(x * voxelsAPoint, y * voxelsAPoint) > 0;
  };
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const auto i = static_cast<std::size_t>(y * width + x);
      magnitude[i] = edges.magnitudePerMm.linear(x * voxelsAPoint, y * voxelsAPoint);
      isEdge[i] =
          magnitude[i] > weakestHuAMm && (rises(x, y) != rises(x + 1, y) || rises(x, y) != rises(x, y + 1));
    }
  std::vector<char> kept(isEdge.size());
  for (std::size_t first = 0; first < isEdge.size(); ++first) {
    std::vector<std::size_t> line;
    float steepest = 0;
    const auto visit = [&](std::size_t i) {
      if (isEdge[i]) {
        isEdge[i] = 0;
        line.push_back(i);
        steepest = std::max(steepest, magnitude[i]);
      }
    };
    visit(first);
    for (std::size_t next = 0; next < line.size(); ++next)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const int x = static_cast<int>(line[next]) % width + dx,
                    y = static_cast<int>(line[next]) / width + dy;
          if (x >= 0 && x < width && y >= 0 && y < height)
            visit(static_cast<std::size_t>(y * width + x));
        }
    if (line.size() >= shortestPoints && steepest >= steepestAtLeastHuAMm)
      for (const std::size_t i : line)
        kept[i] = 1;
  }
  return kept;
}

void drawText(Canvas& canvas, std::string_view text, int left, int top, int pointsADot)
{
  for (int y = 0; y < letterHeight * pointsADot; ++y)
    for (int x = 0; x < static_cast<int>(text.size()) * letterWidth * pointsADot; ++x)
      if (isInk(text, x / pointsADot, y / pointsADot))
        canvas.draw(left + x, top + y, letters);
}

struct Picture {
  const char *file, *rows[2], *legend;
  bool hasEdges;
  float (*shade)(float fixed, float shown, int xPixel, int yPixel); // grey values from 0 to 255
};

constexpr Picture pictures[] = {
    {"edges.png",
     {"Before registration: moving image", "After registration: result image"},
     "edges of the fixed image",
     true,
     [](float, float shown, int, int) { return shown; }},
    {"checkerboard.png",
     {"Before registration: fixed and moving image", "After registration: fixed and result image"},
     "squares of the fixed image and of the other image in turn.",
     false,
     [](float fixed, float shown, int x, int y) { return (x / 30 + y / 30) % 2 ? shown : fixed; }},
    {"difference.png",
     {"Before registration: moving minus fixed image", "After registration: result minus fixed image"},
     "Both images are equal where the picture is grey.",
     false,
     [](float fixed, float shown, int, int) { return 127.5f + (shown - fixed) / 2; }},
};

float windowed(float hu)
{
  return std::clamp(255 * (hu - blackHu) / (whiteHu - blackHu), 0.0f, 255.0f);
}

}

void writePictures(Context& context, const Image<3>& fixed, const Image<3>& moving, const Image<3>& result,
                   const std::string& out)
{
  constexpr int margin = 16 * perPixel, textHeight = 34 * perPixel, dot = 4;
  const double spacingMm = fixed.geometry.spacingMm[0], voxelsAPoint = 1 / (pixelsAMm * perPixel * spacingMm);
  const Image<3> smooth = smoothRecursively(context, fixed, {1, 1, 1});
  struct Panel {
    Slice fixed, shown[2];
    int left, width, height;
    std::vector<char> edges;
  };
  std::vector<Panel> panels;
  int right = margin, tallest = 0;
  for (const Plane& plane : planes) {
    Panel panel{sliceOf(fixed, plane), {sliceOf(moving, plane), sliceOf(result, plane)}, right, 0, 0, {}};
    panel.width = static_cast<int>(panel.fixed.width / voxelsAPoint);
    panel.height = static_cast<int>(panel.fixed.height / voxelsAPoint);
    panel.edges = edgePoints(sliceOf(smooth, plane), panel.width, panel.height, voxelsAPoint);
    right += panel.width + margin;
    tallest = std::max(tallest, panel.height);
    panels.push_back(std::move(panel));
  }
  for (const Picture& picture : pictures) {
    Canvas canvas(right / perPixel, (margin + 2 * (textHeight + tallest) + 2 * textHeight) / perPixel);
    int top = margin;
    for (int row = 0; row < 2; ++row) {
      drawText(canvas, picture.rows[row], margin, top, dot);
      top += textHeight;
      for (const Panel& panel : panels)
        for (int y = 0; y < panel.height; ++y)
          for (int x = 0; x < panel.width; ++x) {
            const auto value = [&](const Slice& slice) {
              return windowed(slice.linear(x * voxelsAPoint, y * voxelsAPoint));
            };
            const float grey =
                picture.shade(value(panel.fixed), value(panel.shown[row]), x / perPixel, y / perPixel);
            canvas.draw(panel.left + x, top + y + (tallest - panel.height) / 2, {grey, grey, grey});
          }
      for (const Panel& panel : panels)
        for (int i = 0; picture.hasEdges && i < panel.width * panel.height; ++i)
          if (panel.edges[static_cast<std::size_t>(i)])
            for (int d = 0; d < 9; ++d)
              canvas.draw(panel.left + i % panel.width + d % 3 - 1,
                          top + i / panel.width + d / 3 - 1 + (tallest - panel.height) / 2, edgeColour);
      top += tallest;
      if (row == 0)
        top += margin;
    }
    top += margin / 2;
    for (std::size_t p = 0; p < panels.size(); ++p)
      drawText(canvas, planes[p].name, panels[p].left, top, dot / 2 + 1);
    top += textHeight - margin / 2;
    for (int i = 0; picture.hasEdges && i < 60 * perPixel; ++i)
      for (int d = -2; d <= 2; ++d)
        canvas.draw(margin + i, top + letterHeight * dot / 2 + d, edgeColour);
    drawText(canvas, picture.legend, margin + (picture.hasEdges ? 72 * perPixel : 0), top, dot);
    canvas.write(out + "/" + picture.file);
  }
}

}
