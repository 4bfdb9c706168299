#include "Tools/Bench/Benches.h"

#include "Components/Transforms/Shared/OnCuda/InverseOnCuda.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Images/ResampleCases.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double toleranceInVoxels = 1e-3;

class Case {
public:
  Case(const Registry& registry, const ImageGeometry<3>& lattice, std::string name, Context& context,
       BenchClock& clock, std::size_t repeats, ChainPointer<3> chain, std::vector<BenchResult>& results)
      : lattice_(lattice), name_(std::move(name)), context_(context), clock_(clock), repeats_(repeats),
        voxelMm_(*std::ranges::min_element(lattice.spacingMm)),
        inverted_(inverseChain<3>(std::move(chain), registry, lattice, toleranceInVoxels * voxelMm_)),
        results_(results)
  {
  }

  void measure()
  {
    VectorImage<3> field;
    if (context_.onCuda())
      add("field, kernels", clock_.time([&] { forEachSlabOfRoots(); }));
    else
      asInverse(*inverted_)->roots().cells(context_);
    const BenchTimes times =
        timesOfLongRuns(repeats_, [&] { field = displacementField<3>(context_, *inverted_, lattice_); });
    add("field", times);
  }

private:
  /// Does the work of OtherKernels::fieldOfInverse, without the copies to the host.
  void forEachSlabOfRoots()
  {
    constexpr std::size_t slices = 16;
    InverseOnCuda<3> search(context_, *asInverse(*inverted_), lattice_);
    Buffer<float> values(context_, 3 * slices * lattice_.size[0] * lattice_.size[1]);
    for (std::size_t first = 0; first < lattice_.size[2]; first += slices) {
      search.rootsMm(context_, first, std::min(slices, lattice_.size[2] - first));
      search.write(context_, RootQuantity::displacements, values.span().data());
    }
  }

  void add(const std::string& method, const BenchTimes& times)
  {
    const InverseCounts counts = asInverse(*inverted_)->takeCounts();
    const double share = 1e6 / static_cast<double>(counts.points);
    const std::string counted =
        method + ", per million voxels: "
        + std::to_string(std::lround(static_cast<double>(counts.searchedAgain) * share)) + " searched again, "
        + std::to_string(std::lround(static_cast<double>(counts.withoutRoot()) * share)) + " without root";
    const auto voxels = static_cast<double>(lattice_.voxelCount());
    BenchResult result = measuredRow(context_, name_, counted, times, voxels, 3 * sizeof(float) * voxels);
    result.largestError = counts.largestResidualMm / voxelMm_;
    results_.push_back(result);
  }

  ImageGeometry<3> lattice_;
  std::string name_;
  Context& context_;
  BenchClock& clock_;
  std::size_t repeats_;
  double voxelMm_;
  ChainPointer<3> inverted_;
  std::vector<BenchResult>& results_;
};

}

std::vector<BenchResult> inverseBench(const Registry& registry, Context& context, const BsiSettings& settings)
{
  BenchClock clock(context, settings.repeats);
  std::vector<BenchResult> results;
  for (const auto& volume : settings.volumes)
    for (const double tile : settings.tiles) {
      Size<3> size;
      std::ranges::copy(volume, size.begin());
      const std::string name = extentsName(volume) + ", tile " + std::to_string(static_cast<int>(tile));
      const ImageGeometry<3> lattice = benchGrid<3>(size);
      const auto chain =
          benchChain<3>(registry, "BA", std::make_shared<Image<3>>(Image<3>{lattice, {}}), tile);
      Case(registry, lattice, name, context, clock, settings.repeats, chain, results).measure();
    }
  return results;
}

}
