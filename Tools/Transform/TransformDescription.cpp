#include "Tools/Transform/TransformDescription.h"

#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/DeformationFieldTransform.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Registration/Chain/AddedTransforms.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Inverse/InverseTransform.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Core/Runs/Transforming/Determinants.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
const char* const axisNames[] = {"x", "y", "z"};

/// How far points are moved, in mm.
struct Movement {
  double sumMm = 0, largestMm = 0;
  std::size_t points = 0;

  void add(double mm)
  {
    if (std::isnan(mm))
      return; // an inverse has no root there
    sumMm += mm;
    largestMm = std::max(largestMm, mm);
    ++points;
  }
  void add(const Movement& other)
  {
    sumMm += other.sumMm;
    largestMm = std::max(largestMm, other.largestMm);
    points += other.points;
  }
  double meanMm() const { return points > 0 ? sumMm / static_cast<double>(points) : 0; }
  std::string text() const
  {
    return "Moves points by " + decimals(meanMm(), 3) + " mm on average, by " + decimals(largestMm, 3)
           + " mm at most.";
  }
  Json json() const { return {{"mean", meanMm()}, {"largest", largestMm}}; }
};

/// One transform of a chain without those before it.
template <int D>
struct Part {
  TransformChain<D> alone;
  bool isAdded = false; // to the ones before, at the point of the fixed image
};

template <int D>
std::vector<Part<D>> partsOf(const TransformChain<D>& chain)
{
  std::vector<Part<D>> parts;
  for (const TransformChain<D>* part = &chain; part; part = part->initial.get())
    parts.push_back({{nullptr, Combination::compose, part->transform, part->parameters},
                     part->initial && part->combination == Combination::add});
  std::ranges::reverse(parts);
  return parts;
}

/// Moves `points` by a part and returns how far, added up; `fixed` are the points of the fixed image.
template <int D>
Movement apply(Context& context, const Part<D>& part, const PointBatch<D>& fixed, PointBatch<D>& points)
{
  PointBatch<D> mapped;
  mapped.count = points.count;
  const PointBatch<D>& from = part.isAdded ? fixed : points;
  mapChain<D>(context, part.alone, from.list(), mapped.out());
  Movement movement;
  for (std::size_t i = 0; i < points.count; ++i)
    movement.add(distanceBetween<D>(mapped.list().point(i), from.list().point(i)));
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < points.count; ++i)
      points.mm[d][i] = part.isAdded ? points.mm[d][i] + mapped.mm[d][i] - fixed.mm[d][i] : mapped.mm[d][i];
  return movement;
}

/// The movement by each part, and by all of them at the end.
template <int D>
std::vector<Movement> movements(const Context& context, const std::vector<Part<D>>& parts,
                                const ImageGeometry<D>& lattice)
{
  const std::size_t voxels = lattice.voxelCount(), ranges = (voxels + batchCapacity - 1) / batchCapacity;
  std::vector<std::vector<Movement>> movementsOfRange(ranges, std::vector<Movement>(parts.size() + 1));
  const AffineMap<D> pointFromIndex = lattice.pointFromIndex();
  forEachRange(context, voxels, batchCapacity, [&](std::size_t first, std::size_t last) {
    Context host{Device{}, 1};
    PointBatch<D> fixed;
    fillVoxelPoints<D>(lattice.size, pointFromIndex, first, last - first, fixed);
    PointBatch<D> points = fixed;
    std::vector<Movement>& sums = movementsOfRange[first / batchCapacity];
    for (std::size_t p = 0; p < parts.size(); ++p)
      sums[p] = apply<D>(host, parts[p], fixed, points);
    for (std::size_t i = 0; i < points.count; ++i)
      sums.back().add(distanceBetween<D>(points.list().point(i), fixed.list().point(i)));
  });
  std::vector<Movement> all(parts.size() + 1);
  for (const std::vector<Movement>& range : movementsOfRange)
    for (std::size_t p = 0; p < all.size(); ++p)
      all[p].add(range[p]);
  return all;
}

/// Values with commas between them; what rounds to zero has no sign.
template <class Values>
std::string listed(const Values& values, int places, double factor = 1, const char* between = ", ")
{
  std::string text;
  for (const auto& value : values) {
    const double shown = factor * static_cast<double>(value);
    const bool isZero = std::abs(shown) * std::pow(10, places) < 0.5;
    text += (text.empty() ? "" : between) + decimals(isZero ? 0 : shown, places);
  }
  return text;
}

template <class Values>
std::string product(const Values& values, int places)
{
  return listed(values, places, 1, " x ");
}

/// Per cent by which scales differ from 1.
template <int D>
std::vector<double> scalePercent(const Vec<D>& scale)
{
  std::vector<double> percent;
  for (const double s : scale)
    percent.push_back(100 * (s - 1));
  return percent;
}

/// Describes a part in words, and writes the same figures to `json`.
template <int D>
std::string wordsOf(const Part<D>& part, const Vec<D>& middleMm, Json& json)
{
  if (const LinearForm<D>* linear = part.alone.transform->linear()) {
    const AffineMap<D> map = linear->pointMap(part.alone.parameters);
    const LinearFactors<D> factors = linearFactors<D>(map.matrix);
    Vec<D> shiftMm = map(middleMm);
    for (int d = 0; d < D; ++d)
      shiftMm[d] -= middleMm[d];
    json["turnDegrees"] = factors.turnDegrees;
    json["shiftMm"] = shiftMm;
    json["scalePercent"] = scalePercent<D>(factors.scale);
    json["shearPercent"] = factors.shear;
    for (auto& shear : json["shearPercent"])
      shear = 100 * shear.template get<double>();
    return "turn " + listed(factors.turnDegrees, 3) + " degrees" + (D == 3 ? " about x, y, z" : "")
           + "; shift " + listed(shiftMm, 3) + " mm at the middle of the grid; scale "
           + listed(scalePercent<D>(factors.scale), 3) + " %; shear " + listed(factors.shear, 3, 100) + " %";
  }
  if (const auto* spline = dynamic_cast<const BSplineTransform<D>*>(part.alone.transform.get())) {
    const ImageGeometry<D>& grid = spline->grid().points;
    json["controlPoints"] = grid.size;
    json["spacingMm"] = grid.spacingMm;
    json["order"] = spline->grid().order;
    return product(grid.size, 0) + " control points with a spacing of " + product(grid.spacingMm, 3)
           + " mm, order " + std::to_string(spline->grid().order);
  }
  if (const auto* field = dynamic_cast<const DeformationFieldTransform<D>*>(part.alone.transform.get())) {
    json["voxels"] = field->grid().size;
    json["spacingMm"] = field->grid().spacingMm;
    return "a field of " + product(field->grid().size, 0) + " voxels of "
           + product(field->grid().spacingMm, 3) + " mm";
  }
  if (const auto* inverse = dynamic_cast<const InverseTransform<D>*>(part.alone.transform.get())) {
    const std::size_t count = partsOf<D>(inverse->inverted()).size();
    json["inverted"] = count;
    return "the inverse of " + std::to_string(count) + (count == 1 ? " transform" : " transforms");
  }
  if (const auto* added = dynamic_cast<const AddedTransforms<D>*>(part.alone.transform.get())) {
    const std::size_t count = partsOf<D>(added->chain()).size();
    json["added"] = count;
    return std::to_string(count) + " transforms, the last of which is added to those before it";
  }
  json["parameters"] = part.alone.parameters.size();
  return std::to_string(part.alone.parameters.size()) + " parameters";
}

template <int D>
void describeDeterminants(Context& context, const Registry& registry, const TransformChain<D>& chain,
                          const ImageGeometry<D>& lattice, TransformDescription& description, Json& json)
{
  Image<D> determinants;
  try {
    Context host = context.onCpu();
    const auto method = FieldMethods<D>(registry, chain, lattice, "auto", "--describe-transform")
                            .choose(DeviceKind::cpu, FieldQuantity::derivatives);
    determinants = jacobianDeterminants<D>(host, chain, lattice, method);
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage)
      throw;
    description.lines.push_back(std::string("No determinants of the spatial Jacobian: ") + error.what());
    return;
  }
  const DeterminantFigures figures = figuresOf(determinants.voxels);
  std::array<std::size_t, D> voxel;
  Vec<D> index;
  for (std::size_t d = 0, rest = figures.leastAt; d < D; rest /= lattice.size[d++])
    index[d] = static_cast<double>(voxel[d] = rest % lattice.size[d]);
  const Vec<D> placeMm = lattice.pointFromIndex()(index);
  description.lines.push_back("Determinant of the spatial Jacobian: least " + decimals(figures.least, 4)
                              + ", percentile 1 " + decimals(figures.percentile1, 4) + ", median "
                              + decimals(figures.median, 4) + ", percentile 99 "
                              + decimals(figures.percentile99, 4) + ", greatest "
                              + decimals(figures.largest, 4) + "; " + std::to_string(figures.folded) + " of "
                              + std::to_string(figures.voxels) + " voxels fold (not above 0).");
  description.lines.push_back("The least is at voxel " + listed(voxel, 0) + ", point " + listed(placeMm, 3)
                              + " mm.");
  json["determinant"] = {{"least", figures.least},      {"percentile1", figures.percentile1},
                         {"median", figures.median},    {"percentile99", figures.percentile99},
                         {"greatest", figures.largest}, {"voxels", figures.voxels},
                         {"folded", figures.folded},    {"leastAtVoxel", voxel},
                         {"leastAtMm", placeMm}};
}

}

template <int D>
LinearFactors<D> linearFactors(const Matrix<D>& matrix)
{
  Matrix<D> turn = matrix, rest{}; // columns of `turn` become orthonormal: Gram and Schmidt
  for (int column = 0; column < D; ++column) {
    for (int before = 0; before < column; ++before) {
      for (int row = 0; row < D; ++row)
        rest[before][column] += turn[row][before] * turn[row][column];
      for (int row = 0; row < D; ++row)
        turn[row][column] -= rest[before][column] * turn[row][before];
    }
    double squared = 0;
    for (int row = 0; row < D; ++row)
      squared += turn[row][column] * turn[row][column];
    rest[column][column] = std::sqrt(squared);
    for (int row = 0; row < D; ++row)
      turn[row][column] /= rest[column][column];
  }
  if (determinant(turn) < 0) {
    for (int row = 0; row < D; ++row)
      turn[row][D - 1] *= -1;
    rest[D - 1][D - 1] *= -1;
  }
  LinearFactors<D> factors;
  constexpr double degrees = 180 / std::numbers::pi;
  if constexpr (D == 2)
    factors.turnDegrees = {degrees * std::atan2(turn[1][0], turn[0][0])};
  else
    factors.turnDegrees = {degrees * std::asin(std::clamp(turn[2][1], -1.0, 1.0)),
                           degrees * std::atan2(-turn[2][0], turn[2][2]),
                           degrees * std::atan2(-turn[0][1], turn[1][1])};
  for (int row = 0; row < D; ++row) {
    factors.scale[row] = rest[row][row];
    for (int column = row + 1; column < D; ++column)
      factors.shear.push_back(rest[row][column] / rest[row][row]);
  }
  return factors;
}

template <int D>
TransformDescription describeTransform(Context& context, const Registry& registry,
                                       const TransformChain<D>& chain, const ImageGeometry<D>& lattice)
{
  const std::vector<Part<D>> parts = partsOf<D>(chain);
  const std::vector<Movement> moved = movements<D>(context, parts, lattice);
  TransformDescription description;
  description.lines.push_back("On a grid of " + product(lattice.size, 0) + " voxels of "
                              + product(lattice.spacingMm, 3)
                              + " mm, in the order in which they are applied:");
  Json json{{"grid", {{"size", lattice.size}, {"spacingMm", lattice.spacingMm}}},
            {"transforms", Json::array()}};
  PointBatch<D> fixed;
  fixed.count = 1;
  fixed.set(0, lattice.centerMm());
  PointBatch<D> middle = fixed;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Json part{{"transform", parts[p].alone.transform->name()},
              {"combination", parts[p].isAdded ? "add" : "compose"}};
    const std::string words = wordsOf<D>(parts[p], (parts[p].isAdded ? fixed : middle).list().point(0), part);
    part["displacementMm"] = moved[p].json();
    json["transforms"].push_back(part);
    description.lines.push_back(std::to_string(p + 1) + ". " + parts[p].alone.transform->name()
                                + (parts[p].isAdded ? ", added" : "") + ": " + words + ". "
                                + moved[p].text());
    Context host{Device{}, 1};
    apply<D>(host, parts[p], fixed, middle);
  }
  json["displacementMm"] = moved.back().json();
  if (parts.size() > 1)
    description.lines.push_back("All together: " + moved.back().text());
  describeDeterminants<D>(context, registry, chain, lattice, description, json);
  description.json = json.dump(2) + "\n";
  return description;
}

TESSERA_INSTANTIATE_FUNCTIONS(linearFactors<D>, describeTransform<D>);

}
