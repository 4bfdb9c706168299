#include "Tools/Phantom/LiverPhantom.h"

#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double airHu = -1000, fatHu = -95, muscleHu = 45, boneHu = 420, liverHu = 110, tumourHu = 62,
                 vesselHu = 185, noiseHu = 12;

struct Ellipsoid {
  Vec<3> centerMm, radiiMm;
};

// The abdomen is about 280 x 210 mm across; the liver fills its right side (-x in LPS).
constexpr Ellipsoid skin{{0, 0, 0}, {140, 105, 400}}, wall{{0, 0, 0}, {122, 88, 400}},
    spine{{0, 62, 0}, {22, 20, 400}};
constexpr Ellipsoid rightLobe{{-48, -4, -4}, {62, 62, 76}}, leftLobe{{22, -34, 16}, {66, 32, 40}};
constexpr Ellipsoid tumours[]{{{-74, 14, -30}, {13, 12, 13}},
                              {{-30, -30, 22}, {9, 10, 9}},
                              {{30, -36, 18}, {11, 9, 10}},
                              {{-52, 22, 28}, {7, 7, 7}}};

/// About the distance (mm) inside the surface; negative outside.
double depthMm(const Ellipsoid& e, const Vec<3>& p)
{
  double r2 = 0, smallest = e.radiiMm[0];
  for (int d = 0; d < 3; ++d) {
    r2 += (p[d] - e.centerMm[d]) * (p[d] - e.centerMm[d]) / (e.radiiMm[d] * e.radiiMm[d]);
    smallest = std::min(smallest, e.radiiMm[d]);
  }
  return (1 - std::sqrt(r2)) * smallest;
}

/// 0 outside to 1 inside over about a voxel.
double inside(double depth)
{
  return std::clamp(0.5 + depth / 2.0, 0.0, 1.0);
}

double bump(const Vec<3>& p, const Vec<3>& centerMm, const Vec<3>& widthMm)
{
  double r2 = 0;
  for (int d = 0; d < 3; ++d)
    r2 += (p[d] - centerMm[d]) * (p[d] - centerMm[d]) / (widthMm[d] * widthMm[d]);
  return std::exp(-0.5 * r2);
}

/// Parenchyma is not of one grey: waves of 10 to 28 mm in random directions.
double parenchymaHu(const Vec<3>& p)
{
  constexpr std::uint32_t waves = 16;
  constexpr double amplitudeHu = 6;
  static const auto table = [] {
    std::array<std::array<double, 4>, waves> rows;
    for (std::uint32_t w = 0; w < waves; ++w) {
      const auto first = randomWords({17, 0, 0, 0}, w, 0), second = randomWords({17, 0, 0, 0}, w, 1);
      const auto xy = standardNormals(first[0], first[1]), z = standardNormals(first[2], first[3]);
      const double perMm =
          6.283185307179586 / (10 + 18 * unitUniform(second[0])) / std::hypot(xy[0], xy[1], z[0]);
      rows[w] = {xy[0] * perMm, xy[1] * perMm, z[0] * perMm, 6.283185307179586 * unitUniform(second[1])};
    }
    return rows;
  }();
  double sum = 0;
  for (const auto& wave : table)
    sum += amplitudeHu * std::sin(wave[0] * p[0] + wave[1] * p[1] + wave[2] * p[2] + wave[3]);
  return sum;
}

double distanceToSegmentMm(const Vec<3>& p, const Vec<3>& a, const Vec<3>& b)
{
  double along = 0, length2 = 0;
  for (int d = 0; d < 3; ++d) {
    along += (p[d] - a[d]) * (b[d] - a[d]);
    length2 += (b[d] - a[d]) * (b[d] - a[d]);
  }
  const double t = std::clamp(along / length2, 0.0, 1.0);
  double r2 = 0;
  for (int d = 0; d < 3; ++d) {
    const double difference = p[d] - a[d] - t * (b[d] - a[d]);
    r2 += difference * difference;
  }
  return std::sqrt(r2);
}

}

LiverPhantom::LiverPhantom(Size<3> size, Vec<3> spacingMm, std::uint32_t seed, double liftMm)
    : seed_(seed), lift_(liftMm / usualLiftMm)
{
  geometry_.size = size;
  geometry_.spacingMm = spacingMm;
  for (int d = 0; d < 3; ++d)
    geometry_.originMm[d] = -0.5 * spacingMm[d] * (static_cast<double>(size[d]) - 1);
  growVessels({-8, 8, -14}, {-0.8, -0.25, 0.35}, 34, 5.5, 6);
  growVessels({-8, 8, -14}, {0.45, -0.8, 0.4}, 34, 4.5, 5);
}

void LiverPhantom::growVessels(const Vec<3>& startMm, const Vec<3>& direction, double lengthMm,
                               double radiusMm, int generation)
{
  if (generation == 0)
    return;
  Vec<3> end;
  for (int d = 0; d < 3; ++d)
    end[d] = startMm[d] + lengthMm * direction[d];
  vessels_.push_back({startMm, end, radiusMm});
  const auto words = randomWords({7, 0, seed_, static_cast<std::uint32_t>(generation)},
                                 static_cast<std::uint32_t>(vessels_.size()), 0);
  for (double side : {-1.0, 1.0}) {
    Vec<3> turned;
    double length = 0;
    for (int d = 0; d < 3; ++d) {
      turned[d] = direction[d] + side * 1.4 * (unitUniform(words[d]) - 0.5)
                  + side * (d == generation % 3 ? 0.45 : 0.0);
      length += turned[d] * turned[d];
    }
    for (double& component : turned)
      component /= std::sqrt(length);
    growVessels(end, turned, 0.74 * lengthMm, 0.72 * radiusMm, generation - 1);
  }
}

double LiverPhantom::liverDepthMm(const Vec<3>& pointMm) const
{
  return std::max(depthMm(rightLobe, pointMm), depthMm(leftLobe, pointMm));
}

double LiverPhantom::tissueHu(const Vec<3>& pointMm) const
{
  double hu = airHu;
  const auto paint = [&](double depth, double value) { hu += inside(depth) * (value - hu); };
  paint(depthMm(skin, pointMm), fatHu);
  paint(depthMm(wall, pointMm), muscleHu);
  paint(depthMm(spine, pointMm), boneHu);
  const double liver = liverDepthMm(pointMm);
  if (liver > -2) {
    paint(liver, liverHu + parenchymaHu(pointMm));
    for (const Ellipsoid& tumour : tumours)
      paint(std::min(liver, depthMm(tumour, pointMm)), tumourHu);
    double vessel = -1e9;
    for (const Tube& tube : vessels_)
      vessel = std::max(vessel, tube.radiusMm - distanceToSegmentMm(pointMm, tube.startMm, tube.endMm));
    paint(std::min(liver, vessel), vesselHu);
  }
  return hu;
}

Vec<3> LiverPhantom::movedMm(const Vec<3>& p) const
{
  // Gas under the front wall: the wall rises, the liver's dome sinks and turns back, the left lobe slides.
  const double rise = lift_ * bump(p, {0, -95, -10}, {75, 30, 90});
  const double press = lift_ * bump(p, {-30, -25, 10}, {60, 40, 60});
  const double slide = lift_ * bump(p, {35, -30, 15}, {40, 35, 40});
  return {p[0] + 3.0 * press - 6.0 * slide, p[1] - 11.0 * rise + 9.0 * press + 3.0 * slide,
          p[2] - 7.0 * press + 4.0 * slide};
}

Vec<3> LiverPhantom::pointBeforeMm(const Vec<3>& pointAfterMm) const
{
  Vec<3> before = pointAfterMm;
  for (int iteration = 0; iteration < 25;
       ++iteration) { // a contraction: displacements of the usual lift change by less than 0.4 mm a mm
    const Vec<3> moved = movedMm(before);
    for (int d = 0; d < 3; ++d)
      before[d] += pointAfterMm[d] - moved[d];
  }
  return before;
}

double LiverPhantom::noisyTissueHu(const Vec<3>& pointMm, std::size_t voxel, std::uint32_t noiseStream) const
{
  const auto words = randomWords({11, noiseStream, seed_, 0}, static_cast<std::uint32_t>(voxel), 0);
  return tissueHu(pointMm) + noiseHu * standardNormals(words[0], words[1])[0];
}

double LiverPhantom::label(const Vec<3>& pointMm) const
{
  if (depthMm(spine, pointMm) > 0)
    return 3;
  if (liverDepthMm(pointMm) < 0)
    return 0;
  return std::ranges::any_of(tumours, [&](const Ellipsoid& e) { return depthMm(e, pointMm) > 0; }) ? 2 : 1;
}

template <class ValueAt>
Image<3> LiverPhantom::draw(const Context& context, ValueAt&& valueAt) const
{
  Image<3> image{geometry_, std::vector<float>(geometry_.voxelCount())};
  const AffineMap<3> pointFromIndex = geometry_.pointFromIndex();
  const Size<3>& size = geometry_.size;
  forEachChunk(context, size[1] * size[2], [&](std::size_t row) {
    for (std::size_t x = 0; x < size[0]; ++x) {
      const Vec<3> index{static_cast<double>(x), static_cast<double>(row % size[1]),
                         static_cast<double>(row / size[1])};
      const std::size_t voxel = row * size[0] + x;
      image.voxels[voxel] = static_cast<float>(valueAt(pointFromIndex(index), voxel));
    }
  });
  return image;
}

Image<3> LiverPhantom::before(const Context& context) const
{
  return draw(context,
              [&](const Vec<3>& point, std::size_t voxel) { return noisyTissueHu(point, voxel, 0); });
}

Image<3> LiverPhantom::after(const Context& context, std::uint32_t noise) const
{
  return draw(context, [&](const Vec<3>& point, std::size_t voxel) {
    return noisyTissueHu(pointBeforeMm(point), voxel, noise);
  });
}

Image<3> LiverPhantom::labelsBefore(const Context& context) const
{
  return draw(context, [&](const Vec<3>& point, std::size_t) { return label(point); });
}

Image<3> LiverPhantom::labelsAfter(const Context& context) const
{
  return draw(context, [&](const Vec<3>& point, std::size_t) { return label(pointBeforeMm(point)); });
}

bool LiverPhantom::isInside(const Vec<3>& pointMm) const
{
  bool inside = true;
  for (int d = 0; d < 3; ++d)
    inside = inside && std::abs(pointMm[d]) <= -geometry_.originMm[d];
  return inside;
}

std::vector<Vec<3>> LiverPhantom::liverPointsMm(std::size_t count) const
{
  std::vector<Vec<3>> points;
  for (const Tube& tube : vessels_)
    if (points.size() < count / 4 && liverDepthMm(tube.endMm) > 3 && isInside(tube.endMm))
      points.push_back(tube.endMm);
  for (std::uint32_t trial = 0; points.size() < count; ++trial) {
    const auto words = randomWords({13, 0, seed_, 0}, trial, 0);
    const Vec<3> point{-110 + 200 * unitUniform(words[0]), -70 + 140 * unitUniform(words[1]),
                       -80 + 160 * unitUniform(words[2])};
    if (liverDepthMm(point) > 3 && isInside(point))
      points.push_back(point);
  }
  return points;
}

}
