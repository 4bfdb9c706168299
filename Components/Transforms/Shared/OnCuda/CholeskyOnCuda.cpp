#include "Components/Transforms/Shared/OnCuda/CholeskyOnCuda.h"

namespace tessera {

bool CholeskyOnCuda::factor(const Context& context, const Buffer<double>& matrix, std::size_t count,
                            double added)
{
  const std::size_t tiles = (count + choleskyTile - 1) / choleskyTile;
  count_ = count;
  if (factor_.size() != count * count) {
    factor_ = {}; // given back first
    factor_ = Buffer<double>(context, count * count);
    inverses_ = Buffer<double>(context, tiles * choleskyTile * choleskyTile);
  }
  if (count == 0)
    return true;
  context.stream->copyOnDevice(factor_.span().data(), matrix.span().data(), count * count * sizeof(double));
  Buffer<int> failed(context, 1);
  context.stream->fill(failed.span().data(), 0, sizeof(int));
  factorTilesOnCuda(context, factor_.span().data(), count, added, inverses_.span().data(),
                    failed.span().data());
  return failed.toHost(context).front() == 0;
}

void CholeskyOnCuda::solve(const Context& context, std::vector<double>& right, std::size_t rightHandSides,
                           bool bothFactors) const
{
  if (count_ == 0 || rightHandSides == 0)
    return;
  Buffer<double> asked, found(context, right.size());
  asked.fromHost(context, right);
  const auto solveBy = [&](bool isTransposed) {
    solveTilesOnCuda(context, factor_.span().data(), inverses_.span().data(), count_, isTransposed,
                     asked.span().data(), rightHandSides, found.span().data());
  };
  solveBy(false);
  if (bothFactors) {
    std::swap(asked, found);
    solveBy(true);
  }
  right = found.toHost(context);
}

}
