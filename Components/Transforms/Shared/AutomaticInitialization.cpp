#include "Components/Transforms/Shared/AutomaticInitialization.h"

#include "Components/Transforms/Shared/SearchedStart.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Bounds.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {
namespace {

const Parameter<bool> automaticTransformInitialization =
    booleanParameter("AutomaticTransformInitialization", false, Arity::single,
                     "start where the images are aligned; not with an initial transform");

const Parameter<std::string> method =
    textParameter("AutomaticTransformInitializationMethod", "GeometricalCenter", Arity::single,
                  "what is aligned (Origins and GeometryTop: AffineTransform only), or Search: the best of "
                  "many turns and shifts of coarse images",
                  {"GeometricalCenter", "CenterOfGravity", "Origins", "GeometryTop", "Search"});

const Parameter<double> searchAngle =
    realParameter("AutomaticTransformInitializationSearchAngle", 180, Arity::single, "degrees",
                  "Search turns the fixed image by up to this angle about any axis; 0: it only shifts")
        .atLeast(0)
        .atMost(180);

const Parameter<bool> usesLowerThreshold =
    booleanParameter("CenterOfGravityUsesLowerThreshold", false, Arity::single,
                     "weigh voxels at or above LowerThresholdForCenterGravity by 1, others by 0");

const Parameter<double> lowerThreshold =
    realParameter("LowerThresholdForCenterGravity", 500, Arity::single, "intensity",
                  "the threshold of CenterOfGravityUsesLowerThreshold");

const Parameter<std::int64_t> gravitySamples =
    integerParameter("NumberOfSamplesForCenteredTransformInitialization", 10000, 1, Arity::single, "",
                     "grid samples of each image for its centre of gravity, about");

/// The sums from which a centre of gravity follows.
template <int D>
struct Gravity {
  double mass = 0;
  Vec<D> moment{};

  void add(double weight, const Vec<D>& position)
  {
    mass += weight;
    for (int d = 0; d < D; ++d)
      moment[d] += weight * position[d];
  }
  void add(const Gravity& other)
  {
    mass += other.mass;
    for (int d = 0; d < D; ++d)
      moment[d] += other.moment[d];
  }
  Vec<D> center(const std::string& side) const
  {
    if (mass == 0 || !std::isfinite(mass))
      failAs(ExitCode::registrationFailed, "CenterOfGravity",
             "the intensities of the " + side + " image add up to " + std::to_string(mass)
                 + ": it has no centre of gravity",
             "(AutomaticTransformInitializationMethod \"GeometricalCenter\"), or a mask with voxels that are "
             "not 0");
    Vec<D> result;
    for (int d = 0; d < D; ++d)
      result[d] = moment[d] / mass;
    return result;
  }
};

template <int D>
VoxelLattice<D> everyVoxel(const ImagePointer<D>& image, const MaskPointer<D>& mask)
{
  VoxelLattice<D> lattice{image, mask, {}, {}, image->geometry.size};
  lattice.step.fill(1);
  return lattice;
}

template <int D>
VoxelLattice<D> aboutSoMany(std::size_t wanted, const ImagePointer<D>& image, const MaskPointer<D>& mask)
{
  VoxelLattice<D> lattice = gridOfAbout<D>(wanted, image, nullptr); // over the whole image, as in elastix
  lattice.mask = mask;
  return lattice;
}

/// The mean position in mm, weighted by intensity. With a threshold, voxels have weight 1 or 0. Voxels that
/// are not finite have no weight.
template <int D>
Vec<D> gravityOf(const Context& context, const VoxelLattice<D>& lattice, const double* threshold,
                 const std::string& side)
{
  constexpr std::size_t perChunk = 64 * batchCapacity;
  const SampleSet<D> set = lattice;
  std::vector<Gravity<D>> partial((lattice.positions() + perChunk - 1) / perChunk);
  forEachRange(context, lattice.positions(), perChunk, [&](std::size_t first, std::size_t last) {
    PointBatch<D> points;
    std::vector<float> values(batchCapacity);
    for (std::size_t at = first; at < last; at += batchCapacity) {
      fillBatch<D>(set, at, std::min(at + batchCapacity, last), points, values.data());
      for (std::size_t i = 0; i < points.count; ++i) {
        const double value = std::isfinite(values[i]) ? values[i] : 0;
        Vec<D> point;
        for (int d = 0; d < D; ++d)
          point[d] = points.mm[d][i];
        partial[first / perChunk].add(threshold ? (value >= *threshold ? 1 : 0) : value, point);
      }
    }
  });
  Gravity<D> total;
  for (const Gravity<D>& sum : partial)
    total.add(sum);
  return total.center(side);
}

/// The box of an image or of its mask, with the map from its indices to mm.
template <int D>
struct PhysicalBox {
  VoxelBox<D> box;
  AffineMap<D> pointFromIndex;

  PhysicalBox(const Image<D>& image, const Mask<D>* mask)
      : box(mask ? boundingBox<D>(*mask) : VoxelBox<D>{{}, image.geometry.size}),
        pointFromIndex(mask ? mask->geometry.pointFromIndex() : image.geometry.pointFromIndex())
  {
  }

  /// first + (size - shrink) / 2
  Vec<D> center(double shrink) const
  {
    Vec<D> index;
    for (int d = 0; d < D; ++d)
      index[d] = static_cast<double>(box.first[d]) + (static_cast<double>(box.size[d]) - shrink) / 2;
    return pointFromIndex(index);
  }

  /// The box around the corners `first` and `first + size`.
  Bounds<D> boundsMm() const
  {
    Bounds<D> bounds;
    for (int corner = 0; corner < (1 << D); ++corner) {
      Vec<D> index;
      for (int d = 0; d < D; ++d)
        index[d] = static_cast<double>(box.first[d] + ((corner >> d) & 1 ? box.size[d] : 0));
      bounds.add(pointFromIndex(index));
    }
    return bounds;
  }
};

template <int D>
Vec<D> difference(const Vec<D>& a, const Vec<D>& b)
{
  Vec<D> result;
  for (int d = 0; d < D; ++d)
    result[d] = a[d] - b[d];
  return result;
}

template <int D>
LinearStart<D> gravityStart(Context& context, const Parameters& parameters, StartRules rules,
                            const TransformStart<D>& start)
{
  const auto startOf = [&](const VoxelLattice<D>& fixed, const VoxelLattice<D>& moving,
                           const double* threshold) {
    const Vec<D> center = gravityOf<D>(context, fixed, threshold, "fixed");
    return LinearStart<D>{center, difference<D>(gravityOf<D>(context, moving, threshold, "moving"), center)};
  };
  if (rules == StartRules::centered)
    return startOf(everyVoxel<D>(start.fixed, nullptr), everyVoxel<D>(start.moving, nullptr), nullptr);
  if (rules == StartRules::translation)
    return startOf(everyVoxel<D>(start.fixed, start.fixedMask), everyVoxel<D>(start.moving, start.movingMask),
                   nullptr);
  const double threshold = parameters.get(lowerThreshold);
  const std::size_t wanted = parameters.get(gravitySamples);
  return startOf(aboutSoMany<D>(wanted, start.fixed, start.fixedMask),
                 aboutSoMany<D>(wanted, start.moving, start.movingMask),
                 parameters.get(usesLowerThreshold) ? &threshold : nullptr);
}

/// Aligns the origins. The centre of rotation is the centre of the moving image.
template <int D>
LinearStart<D> originsStart(const TransformStart<D>& start)
{
  const Vec<D> translation = difference<D>(start.moving->geometry.originMm, start.fixed->geometry.originMm);
  return {difference<D>(start.moving->geometry.centerMm(), translation), translation};
}

/// Aligns the highest z coordinates of both images, and their centres in x and y.
template <int D>
LinearStart<D> geometryTopStart(const TransformStart<D>& start)
{
  const Bounds<D> fixed = PhysicalBox<D>(*start.fixed, start.fixedMask.get()).boundsMm(),
                  moving = PhysicalBox<D>(*start.moving, start.movingMask.get()).boundsMm();
  LinearStart<D> result;
  for (int d = 0; d < D; ++d) {
    result.centerMm[d] = (fixed.high[d] + fixed.low[d]) / 2;
    result.translationMm[d] = d < D - 1 ? (moving.high[d] + moving.low[d]) / 2 - result.centerMm[d]
                                        : moving.high[d] - fixed.high[d];
  }
  return result;
}

template <int D>
LinearStart<D> geometricalStart(StartRules rules, const TransformStart<D>& start)
{
  const bool masks = rules != StartRules::centered;
  const double shrink = rules == StartRules::translation ? 0 : 1;
  const Vec<D> fixed = PhysicalBox<D>(*start.fixed, masks ? start.fixedMask.get() : nullptr).center(shrink);
  const Vec<D> moving =
      PhysicalBox<D>(*start.moving, masks ? start.movingMask.get() : nullptr).center(shrink);
  return {fixed, difference<D>(moving, fixed)};
}

}

std::vector<ParameterInfo> initializationParameters(StartRules rules)
{
  std::vector<ParameterInfo> rows{automaticTransformInitialization, method};
  if (rules != StartRules::translation)
    rows.push_back(searchAngle);
  if (rules == StartRules::maskAware)
    rows.insert(rows.end(), {usesLowerThreshold, lowerThreshold, gravitySamples});
  return rows;
}

bool wantsAutomaticStart(const Parameters& parameters)
{
  return parameters.get(automaticTransformInitialization);
}

std::optional<double> angleOfSearch(const Parameters& parameters, StartParts parts)
{
  if (parameters.get(method) != "Search")
    return {};
  return parts == StartParts::all ? parameters.get(searchAngle) * std::numbers::pi / 180 : 0;
}

template <int D>
LinearStart<D> automaticStart(Context& context, const Parameters& parameters, StartRules rules,
                              StartParts parts, const TransformStart<D>& start)
{
  const std::string name = parameters.get(method);
  const std::optional<double> angle = angleOfSearch(parameters, parts);
  if (angle && parts == StartParts::center) // that of searchedStart, without searching
    return {start.fixed->geometry.centerMm()};
  if (angle)
    return searchedStart<D>(context, start, *angle);
  if (name == "CenterOfGravity")
    return gravityStart<D>(context, parameters, rules, start);
  if (name == "GeometricalCenter")
    return geometricalStart<D>(rules, start);
  if (rules != StartRules::maskAware) {
    parameters.warn(parameters.where(method.name)
                    + ": only AffineTransform has this method; GeometricalCenter is used, as elastix does.");
    return geometricalStart<D>(rules, start);
  }
  if (name == "Origins")
    return originsStart<D>(start);
  if (D != 3)
    parameters.fail(method.name, "GeometryTop needs 3D images",
                    "Allowed in 2D: GeometricalCenter, CenterOfGravity, Origins");
  return geometryTopStart<D>(start);
}

TESSERA_INSTANTIATE_FUNCTIONS(automaticStart<D>);

}
