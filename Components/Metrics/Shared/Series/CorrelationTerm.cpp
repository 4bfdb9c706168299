#include "Components/Metrics/Shared/Series/CorrelationTerm.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/SymmetricEigen.h"

#include <cmath>
#include <numeric>

namespace tessera {
namespace {

/// The intensities of a place at all times, less `means`; false if it lacks one.
template <int D>
bool takeRow(const PlacesOverTime<D>& places, std::size_t place, std::span<const double> means,
             std::span<double> row)
{
  bool isWhole = true;
  for (std::size_t t = 0; t < places.times; ++t) {
    row[t] = places.values[places.at(t, place)] - means[t];
    isWhole = isWhole && !std::isnan(row[t]);
  }
  return isWhole;
}

/// Sets slopes to the product of each whole row less `means` and a symmetric matrix. The loops go along the
/// places, so that they become vectors.
template <int D>
void setSlopes(PlacesOverTime<D>& places, std::span<const double> means, const std::vector<double>& matrix)
{
  const std::size_t times = places.times;
  thread_local std::vector<double> row, rows;
  row.resize(times);
  rows.assign(times * places.places, 0);
  for (std::size_t i = 0; i < places.places; ++i)
    if (takeRow<D>(places, i, means, row))
      for (std::size_t t = 0; t < times; ++t)
        rows[places.at(t, i)] = row[t];
  for (std::size_t t = 0; t < times; ++t)
    for (std::size_t u = 0; u < times; ++u) {
      const double factor = matrix[t * times + u];
      double* const slopes = places.slopes.data() + places.at(t, 0);
      const double* const ofTime = rows.data() + places.at(u, 0);
      for (std::size_t i = 0; i < places.places; ++i)
        slopes[i] += factor * ofTime[i];
    }
}

/// 1 / sigma of each time, from the covariances.
std::vector<double> inverseDeviations(const std::vector<double>& covariances,
                                      const std::vector<double>& means)
{
  constexpr double ofRounding = 1e-12; // variance over squared mean of floats that should be one number
  const std::size_t times = means.size();
  std::vector<double> inverse(times);
  for (std::size_t t = 0; t < times; ++t) {
    const double variance = covariances[t * times + t];
    if (!(variance > ofRounding * means[t] * means[t]))
      throw Error(ExitCode::registrationFailed,
                  "time " + std::to_string(t)
                      + " of the moving image has one intensity at all samples, so that nothing correlates "
                        "with it. Allowed: images that differ from place to place at each time.");
    inverse[t] = 1 / std::sqrt(variance);
  }
  return inverse;
}

}

template <int D>
void CorrelationTerm<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  SeriesTerm<D>::prepareForLevel(context, level);
  const std::vector<float>& voxels = level.moving->voxels;
  shifts_.assign(this->timesOfSeries(), 0);
  const std::size_t places = voxels.size() / shifts_.size();
  for (std::size_t t = 0; t < shifts_.size() && places > 0; ++t) {
    const auto first = voxels.begin() + static_cast<std::ptrdiff_t>(t * places);
    shifts_[t] = std::accumulate(first, first + static_cast<std::ptrdiff_t>(places), 0.0)
                 / static_cast<double>(places);
  }
}

template <int D>
void CorrelationTerm<D>::addProducts(const PlacesOverTime<D>& places, Sums& sums) const
{
  const std::size_t times = places.times, rows = times + 1;
  thread_local std::vector<double> row;
  row.assign(rows, 1);
  sums.products.resize(rows * rows);
  for (std::size_t i = 0; i < places.places; ++i)
    if (takeRow<D>(places, i, shifts_, row))
      for (std::size_t t = 0; t < rows; ++t)
        for (std::size_t u = 0; u < rows; ++u)
          sums.products[t * rows + u] += row[t] * row[u];
}

/// With s = 1 / sigma, eigenvalues l_i with unit vectors v_i, and w_i the derivative of the value by l_i:
///
///   d value / d A_pt = 2 / (N - 1) sum_u B_pu Q_ut,  B = A less its means,
///   Q_ut = s_u s_t sum_i w_i v_iu v_it - (u = t) s_t^2 sum_i w_i l_i v_it^2
template <int D>
typename CorrelationTerm<D>::Correlation
CorrelationTerm<D>::correlate(const std::vector<double>& products) const
{
  const std::size_t times = shifts_.size(), rows = times + 1;
  const double valid = products.back(), *const ofTimes = products.data() + times * rows;
  Correlation found{0, shifts_, std::vector<double>(times * times)};
  std::vector<double> k(times * times), w(times);
  for (std::size_t t = 0; t < times; ++t)
    found.means[t] += ofTimes[t] / valid;
  for (std::size_t e = 0; e < k.size(); ++e) {
    const std::size_t t = e / times, u = e % times;
    k[e] = (products[t * rows + u] - ofTimes[t] * ofTimes[u] / valid) / std::max(1.0, valid - 1);
  }
  const std::vector<double> s = inverseDeviations(k, found.means);
  for (std::size_t e = 0; e < k.size(); ++e)
    k[e] *= s[e / times] * s[e % times];
  const SymmetricEigen eigen = symmetricEigen(std::move(k), times);
  found.value = valueOf(eigen.values, w);
  for (std::size_t i = 0; i < times; ++i) {
    const double* const v = eigen.vectors.data() + i * times;
    for (std::size_t e = 0; e < found.slopesOfRow.size(); ++e) {
      const std::size_t u = e / times, t = e % times;
      found.slopesOfRow[e] += w[i] * s[u] * s[t] * v[u] * v[t] * (u == t ? 1 - eigen.values[i] : 1);
    }
  }
  return found;
}

template <int D>
typename CorrelationTerm<D>::Sums CorrelationTerm<D>::sumsOnCuda(Context& context,
                                                                 const SampleSet<D>& samples,
                                                                 std::span<const double> parameters)
{
  const std::size_t rows = shifts_.size() + 1;
  shiftsOnCuda_.fromHost(context, shifts_);
  sumsOnCuda_.fromHost(context, std::vector<double>(rows * rows));
  const std::size_t asked =
      this->visitPlacesOnCuda(context, samples, parameters, {}, [&](const PlacesOnCuda& places) {
        addProductsOverTimeOnCuda(context, places, shiftsOnCuda_.span().data(), sumsOnCuda_.span().data());
      });
  return {asked, sumsOnCuda_.toHost(context)};
}

template <int D>
TermValue CorrelationTerm<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                           std::span<const double> parameters, std::span<double> gradient)
{
  Sums all{0, std::vector<double>((shifts_.size() + 1) * (shifts_.size() + 1))};
  if (context.onCuda()) {
    all = sumsOnCuda(context, samples, parameters);
  } else {
    const auto stripes = this->template visitPlaces<Sums>(
        context, samples, parameters, {},
        [this](const PlacesOverTime<D>& places, Sums& sums) { addProducts(places, sums); });
    for (const Sums& sums : stripes) {
      all.asked += sums.asked;
      for (std::size_t e = 0; e < sums.products.size(); ++e)
        all.products[e] += sums.products[e];
    }
  }
  const auto valid = static_cast<std::size_t>(all.products.back());
  this->check({0, valid, all.asked});
  const Correlation found = correlate(all.products);
  if (!gradient.empty() && context.onCuda()) {
    means_.fromHost(context, found.means);
    slopesOfRow_.fromHost(context, found.slopesOfRow);
    this->visitPlacesOnCuda(context, samples, parameters, gradient, [&](const PlacesOnCuda& places) {
      setSlopesOverTimeOnCuda(context, places, means_.span().data(), slopesOfRow_.span().data());
    });
  } else if (!gradient.empty()) {
    this->template visitPlaces<Sums>(
        context, samples, parameters, gradient,
        [&](PlacesOverTime<D>& places, Sums&) { setSlopes<D>(places, found.means, found.slopesOfRow); });
  }
  return this->finish(context, gradient, 2 / std::max(1.0, static_cast<double>(valid) - 1),
                      {found.value, valid, all.asked});
}

// Series are images of two or three dimensions over time.
template class CorrelationTerm<3>;
template class CorrelationTerm<4>;

}
