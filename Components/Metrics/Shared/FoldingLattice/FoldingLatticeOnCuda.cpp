#include "Components/Metrics/Shared/FoldingLattice/FoldingLatticeOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t maxSharedBytes = 44 << 10; // beside the kernel's own 18 kB: 64 kB on the smallest GPUs
constexpr std::size_t chunkBytes = 32 << 20;     // stay in the L2 cache of a large GPU

/// Doubles that a slice takes.
template <int D>
std::size_t planesOfSlice(const AlignedField<D>& field)
{
  std::size_t points = 1;
  for (int d = 0; d + 1 < D; ++d)
    points *= static_cast<std::size_t>(field.axes[d].points);
  return 2 * D * points;
}

template <int D>
std::size_t linesOfSlice(const AlignedField<D>& field)
{
  return D == 2 ? 0
                : static_cast<std::size_t>(D * D) * static_cast<std::size_t>(field.axes[0].points)
                      * static_cast<std::size_t>(field.axes[1].voxels);
}

template <int D>
int slicesAtOnce(const AlignedField<D>& field)
{
  const std::size_t bytes = sizeof(double) * (planesOfSlice<D>(field) + linesOfSlice<D>(field)),
                    slices = std::max<std::size_t>(chunkBytes / bytes, 2);
  return static_cast<int>(std::min(slices, static_cast<std::size_t>(field.axes[D - 1].voxels)));
}

template <int D>
FoldingLatticeOnDevice<D> onDevice(const FoldingLattice<D>& of, double tolerated)
{
  FoldingLatticeOnDevice<D> found{{}, {of.before, of.field.indexFromOffset, tolerated}};
  std::ranges::copy(of.field.axes, found.axes);
  found.voxels = of.lattice.positions();
  return found;
}

}

template <int D>
std::optional<FoldingLattice<D>> FoldingLatticeOnCuda<D>::latticeOf(const VoxelLattice<D>& lattice,
                                                                    const TermLevel<D>& level)
{
  std::optional<FoldingLattice<D>> found;
  if (level.slabs == 1)
    found = foldingLattice<D>(lattice, level);
  if (found && foldingSharedBytes<D>(found->field.axes[0].points) > maxSharedBytes)
    found.reset();
  return found;
}

template <int D>
FoldingLatticeOnCuda<D>::FoldingLatticeOnCuda(const Context& context, const FoldingLattice<D>& of,
                                              double tolerated)
    : of_(of), onDevice_(onDevice<D>(of, tolerated)), slicesAtOnce_(slicesAtOnce<D>(of.field)),
      planes_(context, slicesAtOnce_ * planesOfSlice<D>(of.field)),
      lines_(context, slicesAtOnce_ * linesOfSlice<D>(of.field)),
      before_(context, of.beforeIsConstant ? 0 : D * D * of.lattice.positions())
{
}

template <int D>
void FoldingLatticeOnCuda<D>::enqueue(Context& context, const SamplesOnCuda<D>& samples,
                                      const ChainOnCuda<D>& chain, const ChainOnCuda<D>& before,
                                      double* scratch, std::span<double> gradient, JetSums<D>* result)
{
  if (!of_.beforeIsConstant && !hasBefore_) {
    jacobiansBeforeOnCuda<D>(context, samples, before, before_.span().data());
    onDevice_.before = before_.span().data();
    hasBefore_ = true;
  }
  onDevice_.coefficients = chain.links[chain.count - 1].coefficients;
  onDevice_.asked = samples.asked;
  double* const sum = gradient.empty() ? nullptr : gradient.data();
  if (sum)
    context.stream->fill(sum, 0, gradient.size_bytes());
  const int slices = of_.field.axes[D - 1].voxels;
  FoldingChunk<D> chunk;
  chunk.planes = planes_.span().data();
  chunk.lines = D == 3 ? lines_.span().data() : chunk.planes;
  for (; chunk.first < slices; chunk.first += chunk.count) {
    chunk.count = std::min(slicesAtOnce_, slices - chunk.first);
    foldingOfSlicesOnCuda<D>(context, onDevice_, chunk, scratch, sum, result);
  }
  if (sum)
    meanFoldingGradientOnCuda<D>(context, gradient.size(), result, sum);
}

TESSERA_INSTANTIATE_CLASS(FoldingLatticeOnCuda);

}
