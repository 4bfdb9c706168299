#include "Components/Metrics/Shared/RigidityOnCpu.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

/// A row of control points and its neighbours along the other axes, with the taps between them.
template <int D>
class Neighbours {
public:
  /// The taps by which the neighbours enter the row, or of the adjoint: by which the row enters them.
  enum class Taps { ofNeighbours, ofRow };

  Neighbours(const RigidityGrid<D>& grid, std::size_t row, Taps which)
  {
    std::size_t rest = row;
    for (int d = 1; d < D; ++d) {
      const int size = grid.size[d], here = static_cast<int>(rest % size);
      rest /= size;
      strides_[d] = d == 1 ? 1 : strides_[d - 1] * grid.size[d - 1];
      for (int offset = 0; offset < 3; ++offset) {
        const int there = here + offset - 1;
        exists_[d][offset] = there >= 0 && there < size;
        for (int derivatives = 0; derivatives < 3; ++derivatives)
          taps_[d][derivatives][offset] = which == Taps::ofNeighbours
                                              ? tapFrom(derivatives, there, here, size)
                                              : tapFrom(derivatives, here, there, size);
      }
    }
    row_ = static_cast<std::ptrdiff_t>(row);
  }

  /// Calls visit(row, tap) for each row that has a tap of the filter.
  template <class Visit>
  void forEachTap(int filter, Visit visit) const
  {
    constexpr int neighbours = D == 3 ? 9 : 3;
    for (int n = 0; n < neighbours; ++n) {
      double tap = 1;
      std::ptrdiff_t row = row_;
      for (int d = 1, rest = n; d < D; rest /= 3, ++d) {
        tap *= exists_[d][rest % 3] ? taps_[d][derivativesAlong<D>(filter, d)][rest % 3] : 0;
        row += (rest % 3 - 1) * strides_[d];
      }
      if (tap != 0)
        visit(static_cast<std::size_t>(row), tap);
    }
  }

private:
  std::ptrdiff_t row_ = 0, strides_[D] = {};
  bool exists_[D][3] = {};
  double taps_[D][3][3] = {}; // [axis][derivatives][offset]
};

void addMultiple(double factor, const double* from, std::size_t count, double* to)
{
  for (std::size_t i = 0; i < count; ++i)
    to[i] += factor * from[i];
}

/// to[i] = sum of taps * line at i - 1 to i + 1, the border repeated. `line` has a place before its first
/// value and one after the last.
void filterLine(int derivatives, double factor, double* line, std::size_t count, double* to)
{
  line[-1] = line[0];
  line[count] = line[count - 1];
  for (std::size_t i = 0; i < count; ++i) {
    const double* at = line + i;
    to[i] = factor
            * (rigidityTap(derivatives, 0) * at[-1] + rigidityTap(derivatives, 1) * at[0]
               + rigidityTap(derivatives, 2) * at[1]);
  }
}

/// The adjoint of filterLine with factor 1; adds to `to`.
void addAdjointOfLine(int derivatives, const double* line, std::size_t count, double* to)
{
  const double before = rigidityTap(derivatives, 0), same = rigidityTap(derivatives, 1),
               after = rigidityTap(derivatives, 2);
  addMultiple(before, line + 1, count - 1, to);
  addMultiple(same, line, count, to);
  addMultiple(after, line, count - 1, to + 1);
  to[0] += before * line[0];
  to[count - 1] += after * line[count - 1];
}

}

template <int D>
RigidityOnCpu<D>::RigidityOnCpu(const RigidityGrid<D>& grid)
    : grid_(grid), points_(grid.pointCount()), rowLength_(grid.size[0]),
      covectors_(D * rigidityCovectors<D> * points_), ofRows_(points_ / rowLength_)
{
}

template <int D>
RigiditySums RigidityOnCpu<D>::sumRow(std::size_t row, std::span<const double> coefficients,
                                      std::span<const double> rigidities, bool withGradient)
{
  constexpr int filters = rigidityFilters<D>, covectors = rigidityCovectors<D>;
  thread_local std::vector<double> padded, filtered;
  padded.resize(rowLength_ + 2);
  filtered.resize(D * filters * rowLength_);
  double* const line = padded.data() + 1;
  const Neighbours<D> neighbours(grid_, row, Neighbours<D>::Taps::ofNeighbours);
  for (int k = 0; k < D; ++k)
    for (int f = 0; f < filters; ++f) {
      std::ranges::fill(padded, 0.0);
      neighbours.forEachTap(f, [&](std::size_t from, double tap) {
        addMultiple(tap, coefficients.data() + k * points_ + from * rowLength_, rowLength_, line);
      });
      filterLine(derivativesAlong<D>(f, 0), grid_.factors[f], line, rowLength_,
                 filtered.data() + (k * filters + f) * rowLength_);
    }

  RigiditySums sums;
  for (std::size_t x = 0; x < rowLength_; ++x) {
    const std::size_t point = row * rowLength_ + x;
    double here[D][filters];
    for (int f = 0; f < D * filters; ++f)
      here[f / filters][f % filters] = filtered[f * rowLength_ + x];
    const RigidityAtPoint<D> at(here, grid_);
    for (int c = 0; c < rigidity::conditions; ++c)
      sums.ofPoints[c] += rigidities[point] * at.terms[c];
    sums.ofPoints[rigidity::conditions] += rigidities[point];
    for (int c = 0; c < D * covectors && withGradient; ++c)
      covectors_[c * points_ + point] = rigidities[point] * grid_.factors[filterOfCovector<D>(c % covectors)]
                                        * at.covectors[c / covectors][c % covectors];
  }
  return sums;
}

template <int D>
void RigidityOnCpu<D>::pullBackRow(std::size_t row, const RigidityWeights& factors,
                                   std::span<double> gradient, RigiditySums& sums) const
{
  constexpr int covectors = rigidityCovectors<D>;
  thread_local std::vector<double> line, ofCondition;
  const Neighbours<D> neighbours(grid_, row, Neighbours<D>::Taps::ofRow);
  for (int k = 0; k < D; ++k) {
    double* const to = gradient.data() + k * points_ + row * rowLength_;
    std::fill(to, to + rowLength_, 0.0);
    ofCondition.assign(rowLength_, 0.0);
    for (int c = 0; c < covectors; ++c) {
      const int filter = filterOfCovector<D>(c), condition = conditionOfCovector<D>(c);
      line.assign(rowLength_, 0.0);
      neighbours.forEachTap(filter, [&](std::size_t at, double tap) {
        addMultiple(tap, covectors_.data() + (k * covectors + c) * points_ + at * rowLength_, rowLength_,
                    line.data());
      });
      addAdjointOfLine(derivativesAlong<D>(filter, 0), line.data(), rowLength_, ofCondition.data());
      if (c + 1 < covectors && conditionOfCovector<D>(c + 1) == condition)
        continue;
      for (std::size_t x = 0; x < rowLength_; ++x) {
        const double slope = factors[condition] * ofCondition[x];
        sums.squares[condition] += slope * slope;
        to[x] += slope;
        ofCondition[x] = 0;
      }
    }
  }
}

template <int D>
RigiditySums RigidityOnCpu<D>::evaluate(Context& context, std::span<const double> coefficients,
                                        std::span<const double> rigidities, const RigidityWeights& weights,
                                        std::span<double> gradient)
{
  RigiditySums sums;
  forEachChunk(context, ofRows_.size(), [&](std::size_t row) {
    ofRows_[row] = sumRow(row, coefficients, rigidities, !gradient.empty());
  });
  for (const RigiditySums& ofRow : ofRows_)
    for (int c = 0; c <= rigidity::conditions; ++c)
      sums.ofPoints[c] += ofRow.ofPoints[c];
  if (gradient.empty())
    return sums;
  RigidityWeights factors{};
  for (int c = 0; c < rigidity::conditions; ++c)
    factors[c] = isRigidAnywhere(sums) ? weights[c] / sums.ofRigidity() : 0;
  forEachChunk(context, ofRows_.size(),
               [&](std::size_t row) { pullBackRow(row, factors, gradient, ofRows_[row]); });
  for (const RigiditySums& ofRow : ofRows_)
    for (int c = 0; c < rigidity::conditions; ++c)
      sums.squares[c] += ofRow.squares[c];
  return sums;
}

template class RigidityOnCpu<2>;
template class RigidityOnCpu<3>;

}
