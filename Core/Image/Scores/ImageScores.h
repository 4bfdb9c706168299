#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"

#include <cstdint>
#include <optional>

namespace tessera {

/// How alike two images of one grid are. Deviations are those of the population.
struct ImageScores {
  std::size_t voxels = 0;       // that were compared
  double meanAbsoluteError = 0; // MAE: mean of |a - b|, in grey values
  double absoluteErrorDeviation = 0;
  double rootMeanSquareError = 0;

  /// These scores compare z-scored images: from each its mean is subtracted, and the rest is divided by its
  /// deviation, both over the compared voxels. There are none if an image is constant there.
  struct Standardized {
    double meanAbsoluteError = 0, absoluteErrorDeviation = 0, sumOfSquaredErrors = 0;
  };
  std::optional<Standardized> standardized = {};
  std::optional<double> correlation = {}; // NCC, Pearson's; none if an image is constant
  // (H(a) + H(b)) / H(a, b) of Studholme et al. 1999, from a histogram of `bins` equal bins an image between
  // its extremes; from 1 to 2; none if an image is constant
  std::optional<double> mutualInformation = {};
  std::optional<double> structuralSimilarity; // none: an axis has fewer than 11 voxels, or no window counts
};

constexpr int scoreHistogramBins = 64;

/// Compares images of equal size. `use` is empty, or has 0 for voxels that do not count. `greyRange` is L of
/// the structural similarity. The same bits for any number of threads. At least one voxel counts.
template <int D>
ImageScores imageScores(const Context&, const Image<D>& a, const Image<D>& b,
                        const std::vector<std::uint8_t>& use, double greyRange);

/// The mean structural similarity (SSIM) of Wang et al., "Image quality assessment: from error visibility to
/// structural similarity", IEEE TIP 2004, equation 13, with windows of all D axes: a Gaussian of 1.5 voxels,
/// cut off at 5 voxels, K1 = 0.01, K2 = 0.03, L = greyRange. The mean is taken over the voxels whose windows
/// lie in the image and that count. As structural_similarity of scikit-image with gaussian_weights and
/// without use_sample_covariance.
template <int D>
std::optional<double> structuralSimilarity(const Context&, const Image<D>& a, const Image<D>& b,
                                           const std::vector<std::uint8_t>& use, double greyRange);

}
