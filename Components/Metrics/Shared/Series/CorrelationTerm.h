#pragma once

#include "Components/Metrics/Shared/Series/SeriesTerm.h"

#include <span>

namespace tessera {

/// The base of metrics that see the correlation of all pairs of times (Huizinga et al., "PCA-based groupwise
/// image registration for quantitative MRI", 2016). Each row of A has the intensities of a place at all
/// times; places count that have all of them. K is the matrix of the correlation coefficients of A's columns.
template <int D>
class CorrelationTerm : public SeriesTerm<D> {
public:
  void prepareForLevel(Context&, const TermLevel<D>&) override;

protected:
  CorrelationTerm(const Parameters& parameters, std::string name) : SeriesTerm<D>(parameters, std::move(name))
  {
  }

  /// The value as a function of the eigenvalues of K, largest first, and its derivatives by them.
  virtual double valueOf(std::span<const double> eigenvalues, std::span<double> slopes) const = 0;

private:
  /// The value for a sum of stripes, and the matrix Q by which a row of A less the means gives its slopes.
  struct Correlation {
    double value = 0;
    std::vector<double> means, slopesOfRow;
  };
  /// The products of each place's values less shifts_, behind which stands a number 1: a matrix of one row
  /// more than there are times, with the sums of values and the number of places in the last one.
  struct Sums {
    std::size_t asked = 0;
    std::vector<double> products;
  };
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void addProducts(const PlacesOverTime<D>&, Sums&) const;
  Sums sumsOnCuda(Context&, const SampleSet<D>&, std::span<const double> parameters);
  Correlation correlate(const std::vector<double>& products) const;

  std::vector<double> shifts_; // mean of the level's moving image at each time, so that sums stay small
  Buffer<double> shiftsOnCuda_, sumsOnCuda_, means_, slopesOfRow_; // on a CUDA device
};

}
