#include "Components/Metrics/Shared/FoldingLattice/FoldingLatticeOnCpu.h"

#include "Components/Metrics/Shared/FoldingFormula.h"
#include "Components/Transforms/Shared/BSplineSupport.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int taps = 4;

/// to0 = sum_k w0_k from_k and to1 = sum_k w1_k from_k, for rows of `count` numbers that lie `stride` apart.
TESSERA_MULTIVERSION void sumRows(const double* from, std::size_t stride, const double* w0, const double* w1,
                                  std::size_t count, double* to0, double* to1)
{
  for (std::size_t i = 0; i < count; ++i) {
    double sum0 = 0, sum1 = 0;
    for (int k = 0; k < taps; ++k) {
      sum0 += w0[k] * from[k * stride + i];
      sum1 += w1[k] * from[k * stride + i];
    }
    to0[i] = sum0;
    to1[i] = sum1;
  }
}

/// The adjoint of sumRows: to_k += w0_k from0 + w1_k from1.
TESSERA_MULTIVERSION void addToRows(const double* from0, const double* from1, const double* w0,
                                    const double* w1, std::size_t count, double* to, std::size_t stride)
{
  for (int k = 0; k < taps; ++k) {
    double* const row = to + k * stride;
    for (std::size_t i = 0; i < count; ++i)
      row[i] += w0[k] * from0[i] + w1[k] * from1[i];
  }
}

/// A row of voxels. `lines` are those of the B-spline's components and `spread` receives the adjoint's, which
/// may be null; line e of component c begins at (c * D + e) * points.
template <int D>
struct VoxelRow {
  const std::uint8_t* asked; // null: all
  const float* before;       // null: constant
  const double* lines;
  double* spread;
  std::size_t points, voxels;
};

struct RowSum {
  double penalty = 0;
  std::size_t asked = 0;
};

/// D x D numbers of each of a few voxels, whose determinants are computed side by side.
constexpr int voxelsAtOnce = 8;
template <int D>
struct MatricesAtOnce {
  double entry[D * D][voxelsAtOnce];

  TESSERA_ALWAYS_INLINE void get(int voxel, double (&matrix)[D][D]) const
  {
    for (int e = 0; e < D * D; ++e)
      matrix[e / D][e % D] = entry[e][voxel];
  }
  TESSERA_ALWAYS_INLINE void set(int voxel, const double (&matrix)[D][D])
  {
    for (int e = 0; e < D * D; ++e)
      entry[e][voxel] = matrix[e / D][e % D];
  }
};

template <int D>
TESSERA_MULTIVERSION RowSum sumVoxels(const VoxelRow<D>& row, const int* starts,
                                      const std::array<double, taps>* weights,
                                      const std::array<double, taps>* slopes,
                                      const FoldingAtVoxel<D>& folding)
{
  RowSum sum;
  MatricesAtOnce<D> derivatives{}, before, cofactors;
  double determinants[voxelsAtOnce], slopesOfPenalty[voxelsAtOnce] = {};
  for (int i = 0; i < voxelsAtOnce; ++i)
    before.set(i, folding.before);
  for (std::size_t first = 0; first < row.voxels; first += voxelsAtOnce) {
    const int count = static_cast<int>(std::min<std::size_t>(voxelsAtOnce, row.voxels - first));
    const std::uint8_t* const asked = row.asked ? row.asked + first : nullptr;
    if (asked && std::all_of(asked, asked + count, [](auto a) { return a == 0; }))
      continue;
    for (int i = 0; i < count; ++i) {
      const std::size_t v = first + i;
      const Row<taps> weight = loadRow<taps>(weights[v].data()), slope = loadRow<taps>(slopes[v].data());
      const double* const lines = row.lines + starts[v];
      for (int e = 0; e < D * D; ++e)
        derivatives.entry[e][i] =
            sumOfRow<taps>(loadRow<taps>(lines + e * row.points) * (e % D == 0 ? slope : weight));
    }
    if (row.before)
      for (int i = 0; i < count; ++i)
        for (int e = 0; e < D * D; ++e)
          before.entry[e][i] = static_cast<double>(row.before[(first + i) * D * D + e]);
    for (int i = 0; i < voxelsAtOnce; ++i) {
      double jacobianBefore[D][D], cofactor[D][D], g[D][D];
      derivatives.get(i, g);
      before.get(i, jacobianBefore);
      determinants[i] = folding.determinant(g, jacobianBefore, cofactor);
      cofactors.set(i, cofactor);
    }
    for (int i = 0; i < count; ++i) {
      if (asked && asked[i] == 0)
        continue;
      const VolumePenalty penalty = volumePenalty(determinants[i], folding.tolerated);
      sum.penalty += penalty.value;
      slopesOfPenalty[i] = penalty.slope;
      ++sum.asked;
    }
    if (!row.spread)
      continue;
    for (int i = 0; i < voxelsAtOnce; ++i) {
      double cofactor[D][D], covector[D][D];
      cofactors.get(i, cofactor);
      folding.covectorOf(cofactor, slopesOfPenalty[i], covector);
      derivatives.set(i, covector);
    }
    for (int i = 0; i < count; ++i) {
      if (asked && asked[i] == 0)
        continue;
      const std::size_t v = first + i;
      const Row<taps> weight = loadRow<taps>(weights[v].data()), slope = loadRow<taps>(slopes[v].data());
      double* const spread = row.spread + starts[v];
      for (int e = 0; e < D * D; ++e)
        addToRow<taps>(spread + e * row.points, (e % D == 0 ? slope : weight) * derivatives.entry[e][i]);
    }
  }
  return sum;
}

}

template <int D>
FoldingLatticeOnCpu<D>::Axis::Axis(const FieldAxis& axis) : points(axis.points)
{
  const auto voxels = static_cast<std::size_t>(axis.voxels);
  starts.resize(voxels);
  weights.resize(voxels);
  slopes.resize(voxels);
  for (int v = 0; v < axis.voxels; ++v) {
    const AxisSupport support = supportOf(axis, v, 3);
    starts[v] = support.start;
    axisWeights<3, double>(support, weights[v].data());
    axisDerivatives<3, double>(support, slopes[v].data());
  }
}

/// The work on slices of the last axis, one after the other, on one thread.
template <int D>
struct FoldingLatticeOnCpu<D>::Slices {
  const FoldingLatticeOnCpu& of;
  std::span<const double> parameters;
  std::span<double> gradient;
  FoldingAtVoxel<D> folding;
  std::size_t linePoints, planePoints, rows, rowVoxels;
  // Planes 2 c and 2 c + 1 of component c, and their adjoint; in 3D the lines of a row, too.
  std::vector<double> planes, spreadPlanes, lines, spreadLines;
  RowSum sum;

  Slices(const FoldingLatticeOnCpu& lattice, std::span<const double> p, std::span<double> g)
      : of(lattice), parameters(p), gradient(g),
        folding(lattice.of_.before, lattice.of_.field.indexFromOffset, lattice.tolerated_),
        linePoints(of.axes_[0].points), planePoints(D == 3 ? linePoints * of.axes_[1].points : linePoints),
        rows(D == 3 ? of.axes_[1].starts.size() : 1), rowVoxels(of.axes_[0].starts.size()),
        planes(2 * D * planePoints), spreadPlanes(g.empty() ? 0 : planes.size()),
        lines(D == 3 ? D * D * linePoints : 0), spreadLines(g.empty() ? 0 : lines.size())
  {
  }

  const std::uint8_t* askedOf(std::size_t voxel) const
  {
    return of.asked_.empty() ? nullptr : of.asked_.data() + voxel;
  }
  bool isNoneAsked(std::size_t voxel, std::size_t count) const
  {
    return !of.asked_.empty()
           && std::all_of(askedOf(voxel), askedOf(voxel) + count, [](auto a) { return a == 0; });
  }

  void addSlice(std::size_t slice)
  {
    if (isNoneAsked(slice * rows * rowVoxels, rows * rowVoxels))
      return;
    const Axis& axis = of.axes_[D - 1];
    const double *const w = axis.weights[slice].data(), *const s = axis.slopes[slice].data();
    const std::size_t componentPoints = planePoints * axis.points, first = axis.starts[slice] * planePoints;
    for (int c = 0; c < D; ++c)
      sumRows(parameters.data() + c * componentPoints + first, planePoints, w, s, planePoints,
              planes.data() + 2 * c * planePoints, planes.data() + (2 * c + 1) * planePoints);
    std::ranges::fill(spreadPlanes, 0.0);
    for (std::size_t row = 0; row < rows; ++row)
      addRow(slice * rows + row, row);
    if (gradient.empty())
      return;
    for (int c = 0; c < D; ++c)
      addToRows(spreadPlanes.data() + 2 * c * planePoints, spreadPlanes.data() + (2 * c + 1) * planePoints, w,
                s, planePoints, gradient.data() + c * componentPoints + first, planePoints);
  }

  /// `row` is that within the slice, `rowOfAll` that of the lattice.
  void addRow(std::size_t rowOfAll, std::size_t row)
  {
    const std::size_t voxel = rowOfAll * rowVoxels;
    if (isNoneAsked(voxel, rowVoxels))
      return;
    const Axis& first = of.axes_[0];
    double *const from = D == 3 ? lines.data() : planes.data(), *const to = gradient.empty() ? nullptr
                                                                            : D == 3 ? spreadLines.data()
                                                                                     : spreadPlanes.data();
    if constexpr (D == 3)
      sumLines(row);
    const RowSum ofRow =
        sumVoxels<D>({askedOf(voxel), of.before_.empty() ? nullptr : of.before_.data() + voxel * D * D, from,
                      to, linePoints, rowVoxels},
                     first.starts.data(), first.weights.data(), first.slopes.data(), folding);
    sum.penalty += ofRow.penalty;
    sum.asked += ofRow.asked;
    if (D == 3 && to)
      spreadToPlanes(row);
  }

  void sumLines(std::size_t row)
  {
    const Axis& middle = of.axes_[1];
    const std::array<double, taps> none{};
    const double *const w = middle.weights[row].data(), *const s = middle.slopes[row].data();
    for (int c = 0; c < D; ++c) {
      const double* const plane = planes.data() + 2 * c * planePoints + middle.starts[row] * linePoints;
      double* const line = lines.data() + c * D * linePoints;
      sumRows(plane + planePoints, linePoints, none.data(), w, linePoints, line, line + 2 * linePoints);
      sumRows(plane, linePoints, w, s, linePoints, line, line + linePoints);
    }
    std::ranges::fill(spreadLines, 0.0);
  }

  void spreadToPlanes(std::size_t row)
  {
    const Axis& middle = of.axes_[1];
    const std::array<double, taps> none{};
    const double *const w = middle.weights[row].data(), *const s = middle.slopes[row].data();
    for (int c = 0; c < D; ++c) {
      const double* const line = spreadLines.data() + c * D * linePoints;
      double* const plane = spreadPlanes.data() + 2 * c * planePoints + middle.starts[row] * linePoints;
      addToRows(line, line + linePoints, w, s, linePoints, plane, linePoints);
      addToRows(line + 2 * linePoints, line, w, none.data(), linePoints, plane + planePoints, linePoints);
    }
  }
};

template <int D>
FoldingLatticeOnCpu<D>::FoldingLatticeOnCpu(const Context& context, const FoldingLattice<D>& lattice,
                                            const TransformChain<D>& chain, double tolerated)
    : of_(lattice), tolerated_(tolerated)
{
  for (const FieldAxis& axis : lattice.field.axes)
    axes_.emplace_back(axis);
  const VoxelLattice<D>& voxels = lattice.lattice;
  if (voxels.mask)
    asked_.resize(voxels.positions());
  if (!lattice.beforeIsConstant)
    before_.resize(voxels.positions() * D * D);
  if (asked_.empty() && before_.empty())
    return;
  const AffineMap<D> pointFromIndex = voxels.image->geometry.pointFromIndex();
  forEachRange(context, voxels.positions(), batchCapacity, [&](std::size_t first, std::size_t last) {
    PointBatch<D> points;
    points.count = last - first;
    for (std::size_t i = 0; i < points.count; ++i) {
      Vec<D> index;
      std::size_t rest = first + i;
      for (int d = 0; d < D; ++d) {
        index[d] = static_cast<double>(voxels.first[d] + voxels.step[d] * (rest % voxels.count[d]));
        rest /= voxels.count[d];
      }
      const Vec<D> pointMm = pointFromIndex(index);
      for (int d = 0; d < D; ++d)
        points.mm[d][i] = pointMm[d];
      if (voxels.mask)
        asked_[first + i] = voxels.mask->contains(pointMm) ? 1 : 0;
    }
    if (before_.empty())
      return;
    std::array<double, D * D * batchCapacity> jacobians;
    Context oneThread;
    chainSpatialDerivatives<D>(oneThread, *chain.initial, points.list(), jacobians.data(), nullptr);
    for (std::size_t i = 0; i < points.count; ++i)
      for (int e = 0; e < D * D; ++e)
        before_[(first + i) * D * D + e] = static_cast<float>(jacobians[e * points.count + i]);
  });
}

template <int D>
TermValue FoldingLatticeOnCpu<D>::evaluate(const Context& context, std::span<const double> parameters,
                                           std::span<double> gradient)
{
  const std::size_t slices = of_.lattice.count[D - 1],
                    most = planStripes(of_.lattice.positions(), parameters.size()).stripes,
                    slicesAtOnce = (slices + most - 1) / most,
                    stripes = (slices + slicesAtOnce - 1) / slicesAtOnce;
  std::vector<RowSum> sums(stripes);
  stripedGradient_.begin(gradient, stripes);
  forEachChunk(context, stripes, [&](std::size_t stripe) {
    Slices work(*this, parameters, gradient.empty() ? gradient : stripedGradient_.clearedStripe(stripe));
    for (std::size_t slice = stripe * slicesAtOnce; slice < std::min((stripe + 1) * slicesAtOnce, slices);
         ++slice)
      work.addSlice(slice);
    sums[stripe] = work.sum;
  });
  TermValue result;
  for (const RowSum& sum : sums) {
    result.value += sum.penalty;
    result.asked += sum.asked;
  }
  result.valid = result.asked;
  const double perSample = result.valid == 0 ? 0 : 1 / static_cast<double>(result.valid);
  result.value *= perSample;
  stripedGradient_.sum(context, perSample);
  return result;
}

TESSERA_INSTANTIATE_CLASS(FoldingLatticeOnCpu);

}
