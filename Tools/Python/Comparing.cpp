#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Math/ErrorStatistics.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Scores/ImageScores.h"
#include "Core/Image/Scores/LabelScores.h"
#include "Core/Image/Scores/OneGrid.h"
#include "Tools/Python/Arrays.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Work.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>

namespace tessera::python {
namespace {

using std::optional;

/// What Python gives to be compared; null: not given.
struct Compared {
  const Source *first, *second, *mask;
  optional<double> greyRange; // of the structural similarity
  int threads;
};

template <int D>
const HeldImage<D>& heldBy(const GivenImage& given)
{
  const HeldImage<D>* const held = given.held<D>();
  if (!held)
    failToRead(given.path, "a file", "an image in memory");
  return *held;
}

template <int D>
ImageScores scoresOf(const Compared& compared, const GivenImage& givenFirst, Log& log)
{
  const GivenImage givenSecond = compared.second->image(compared.threads, log);
  const HeldImage<D>&first = heldBy<D>(givenFirst), &second = heldBy<D>(givenSecond);
  requireOneGrid<D>("first and second", first.image->geometry, second.image->geometry);
  std::vector<MaskPointer<D>> masks{first.finiteVoxels, second.finiteVoxels};
  if (compared.mask) {
    const GivenMask mask = compared.mask->mask(compared.threads);
    masks.push_back(*mask.held<D>());
    requireOneGrid<D>("first and mask", first.image->geometry, masks.back()->geometry);
  }
  std::vector<std::uint8_t> use;
  for (const MaskPointer<D>& mask : masks) {
    if (!mask)
      continue;
    if (use.empty())
      use.assign(mask->voxels.size(), 1);
    std::ranges::transform(use, mask->voxels, use.begin(), std::bit_and<std::uint8_t>());
  }
  if (!use.empty() && std::ranges::count(use, 0) == static_cast<std::ptrdiff_t>(use.size()))
    failToRead("mask and images", "no voxel is left to compare",
               "a mask with voxels that are finite in both images");
  const auto [least, largest] = std::ranges::minmax(first.image->voxels);
  return imageScores<D>({{}, compared.threads}, *first.image, *second.image, use,
                        compared.greyRange.value_or(static_cast<double>(largest) - least));
}

template <int D>
std::map<int, LabelScore> labelScoresOf(const Compared& compared, const GivenImage& givenFirst)
{
  const GivenImage givenSecond = compared.second->labels(compared.threads);
  const Image<D>&first = *heldBy<D>(givenFirst).image, &second = *heldBy<D>(givenSecond).image;
  requireOneGrid<D>("first and second", first.geometry, second.geometry);
  return labelScores<D>({{}, compared.threads}, first, second);
}

void bindScores(nb::module_& module)
{
  using Standardized = ImageScores::Standardized;
  const auto standardized = [](auto member) {
    return [member](const ImageScores& scores) -> optional<double> {
      return scores.standardized ? optional<double>((*scores.standardized).*member) : std::nullopt;
    };
  };
  nb::class_<ImageScores>(module, "ImageScores", "How alike two images are, voxel by voxel.")
      .def_ro("voxels", &ImageScores::voxels, "The number of voxels that were compared.")
      .def_ro("mean_absolute_error", &ImageScores::meanAbsoluteError, "In grey values.")
      .def_ro("absolute_error_deviation", &ImageScores::absoluteErrorDeviation, "In grey values.")
      .def_ro("root_mean_square_error", &ImageScores::rootMeanSquareError, "In grey values.")
      .def_prop_ro("z_scored_mean_absolute_error", standardized(&Standardized::meanAbsoluteError),
                   "Of images of mean 0 and deviation 1; None: one is constant.")
      .def_prop_ro("z_scored_sum_of_squared_errors", standardized(&Standardized::sumOfSquaredErrors),
                   "Of images of mean 0 and deviation 1; None: one is constant.")
      .def_ro("correlation", &ImageScores::correlation, "Pearson's; None: an image is constant.")
      .def_ro("mutual_information", &ImageScores::mutualInformation,
              "Normalized, 1 to 2, of 64 x 64 bins; None: an image is constant.")
      .def_ro("structural_similarity", &ImageScores::structuralSimilarity,
              "The mean over windows; None: an axis has fewer than 11 voxels.");
  nb::class_<LabelScore>(module, "LabelScore", "How well a label covers the same label of another image.")
      .def_ro("voxels_first", &LabelScore::voxelsA, "The number of its voxels in the first image.")
      .def_ro("voxels_second", &LabelScore::voxelsB, "The number of its voxels in the second image.")
      .def_ro("dice", &LabelScore::dice, "From 0 to 1.")
      .def_ro("hausdorff_95", &LabelScore::hausdorff95Mm, "mm; None: an image lacks the label.")
      .def_ro("mean_surface_distance", &LabelScore::meanSurfaceDistanceMm,
              "mm; None: an image lacks the label.");
  nb::class_<ErrorStatistics>(module, "PointErrors", "Distances of points, mm.")
      .def_ro("count", &ErrorStatistics::count, "The number of points.")
      .def_ro("mean", &ErrorStatistics::meanMm, "mm.")
      .def_ro("deviation", &ErrorStatistics::deviationMm, "Of a sample, mm.")
      .def_ro("median", &ErrorStatistics::medianMm, "mm.")
      .def_ro("percentile_95", &ErrorStatistics::percentile95Mm, "mm.")
      .def_ro("largest", &ErrorStatistics::largestMm, "mm.")
      .def_ro("mean_per_axis", &ErrorStatistics::meanPerAxisMm, "Mapped - wanted along x, y and z, mm.");
}

}

void bindComparing(nb::module_& module)
{
  bindScores(module);
  const auto compare = [](bool areLabels) {
    return [areLabels](const Source* first, const Source* second, const Source* mask,
                       optional<double> greyRange, int threads, const nb::object& inputs, int leastLevel) {
      const Compared compared{first, second, mask, greyRange, threads};
      return new Work(inputs, leastLevel, [=](Work& work) -> Work::Make {
        const GivenImage given = areLabels
                                     ? withContext("first", [&] { return first->labels(threads); })
                                     : withContext("first", [&] { return first->image(threads, work.log); });
        const bool in2D = given.inMemory.index() == 1;
        if (areLabels) {
          const auto scores = in2D ? labelScoresOf<2>(compared, given) : labelScoresOf<3>(compared, given);
          return [scores] { return nb::cast(scores); };
        }
        const ImageScores scores =
            in2D ? scoresOf<2>(compared, given, work.log) : scoresOf<3>(compared, given, work.log);
        return [scores] { return nb::cast(scores); };
      });
    };
  };
  module.def("compare_images", compare(false), nb::arg("first"), nb::arg("second"), nb::arg("mask").none(),
             nb::arg("range").none(), nb::arg("threads"), nb::arg("inputs"), nb::arg("least_level"));
  module.def("compare_labels", compare(true), nb::arg("first"), nb::arg("second"), nb::arg("mask").none(),
             nb::arg("range").none(), nb::arg("threads"), nb::arg("inputs"), nb::arg("least_level"));
  module.def("point_errors", [](const PointArray& errors) {
    const GivenPoints points = givenPoints("errors", errors);
    return withConstant<2, 3>(errors.shape(1),
                              [&]<int D>() { return errorStatistics<D>(points.held<D>()->values); });
  });
}

}
