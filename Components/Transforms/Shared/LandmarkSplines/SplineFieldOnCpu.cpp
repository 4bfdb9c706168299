#include "Components/Transforms/Shared/LandmarkSplines/SplineFieldTasks.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/ImageGeometry.h"

#include <vector>

namespace tessera {
namespace {

using namespace splinefield;

constexpr std::size_t atOnce = 128; // landmarks whose terms are added in the precision of the plan

/// The places of a block's nodes from its middle, and sums of terms there.
template <class Number>
struct Nodes {
  std::vector<Number> place[3], sum[3];

  Nodes(const Matrix<3>& matrix, int n, const double* nodePlaces)
  {
    for (int z = 0; z < n; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
          Number mm[3];
          placeMm(matrix, nodePlaces[x], nodePlaces[y], nodePlaces[z], mm);
          for (std::size_t d = 0; d < 3; ++d)
            place[d].push_back(mm[d]);
        }
    for (std::vector<Number>& component : sum)
      component.assign(place[0].size(), 0);
  }
};

template <SplineKernel Kernel, class Number>
TESSERA_MULTIVERSION void addLandmarks(const Near<Number>* landmarks, std::size_t count, double alpha,
                                       Nodes<Number>& nodes)
{
  const Number *const x = nodes.place[0].data(), *const y = nodes.place[1].data(),
                      *const z = nodes.place[2].data();
  Number *const sumX = nodes.sum[0].data(), *const sumY = nodes.sum[1].data(),
                *const sumZ = nodes.sum[2].data();
  const std::size_t all = nodes.place[0].size();
  for (std::size_t l = 0; l < count; ++l) {
    const Near<Number> landmark = landmarks[l];
#pragma GCC ivdep
    for (std::size_t i = 0; i < all; ++i) {
      const Number offset[3]{x[i] - landmark.x[0], y[i] - landmark.x[1], z[i] - landmark.x[2]};
      Number terms[3]{sumX[i], sumY[i], sumZ[i]};
      addTerm<Kernel>(offset, landmark.w, alpha, landmark.middle, terms);
      sumX[i] = terms[0];
      sumY[i] = terms[1];
      sumZ[i] = terms[2];
    }
  }
}

/// The super-blocks of a plan: which landmarks are far from each, and the sums of their terms at its nodes.
template <SplineKernel Kernel>
class SuperBlocks {
public:
  SuperBlocks(const Context& context, const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline)
      : nodes_(plan.superNodes), words_(static_cast<std::size_t>(spline.count + 31) / 32)
  {
    if (nodes_ == 0)
      return;
    std::size_t all = 1;
    for (std::size_t d = 0; d < 3; ++d)
      all *= size_[d] = (static_cast<std::size_t>(plan.blocks(static_cast<int>(d))) + blocks - 1) / blocks;
    constexpr double half = (blocks * SplineFieldPlan::blockVoxels - 1) / 2.0;
    double places[SplineFieldPlan::maxNodes];
    for (int j = 0; j < nodes_; ++j)
      places[j] = half * chebyshevNode(j, nodes_);
    for (std::size_t b = 0; b < blocks; ++b)
      for (int node = 0; node < plan.nodes; ++node)
        for (int j = 0; j < nodes_; ++j)
          weights_[b][node][j] =
              nodeWeight(places, nodes_, j,
                         (static_cast<double>(b) - (blocks - 1) / 2.0) * side + plan.nodePlaces[node]);
    farBits_.resize(all * words_);
    sums_.resize(all * 3 * perComponent());
    forEachChunk(context, all, [&](std::size_t number) {
      const std::size_t place[3]{number % size_[0], number / size_[0] % size_[1],
                                 number / size_[0] / size_[1]};
      Vec<3> middle;
      for (std::size_t d = 0; d < 3; ++d)
        middle[d] = static_cast<double>(place[d] * blocks * side) + half;
      Block block(plan, {0, 0, 0});
      block.middleMm = plan.pointFromIndex(middle);
      const double farMm = SplineFieldPlan::superScale * plan.farMm;
      std::vector<Near<double>> far;
      for (int i = 0; i < spline.count; ++i)
        if (distanceBetween<3>(spline.landmarkMm(i), block.middleMm) >= farMm) {
          farBits_[number * words_ + static_cast<std::size_t>(i) / 32] |= 1u << i % 32;
          far.push_back(landmarkOf<double>(spline, block, i));
        }
      Nodes<double> nodes(plan.pointFromIndex.matrix, nodes_, places);
      addLandmarks<Kernel>(far.data(), far.size(), spline.alpha, nodes);
      for (std::size_t d = 0; d < 3; ++d)
        std::ranges::copy(nodes.sum[d], sums_.data() + (number * 3 + d) * perComponent());
    });
  }

  /// The bits of landmarks that are far from the super-block of a block; null if there are no super-blocks.
  const unsigned* farBits(const std::array<int, 3>& block) const
  {
    return nodes_ == 0 ? nullptr : farBits_.data() + numberOf(block) * words_;
  }

  /// Adds their terms to sums at the nodes of the block, component by component.
  void addTo(const std::array<int, 3>& block, int blockNodes, double* sums) const
  {
    if (nodes_ == 0)
      return;
    constexpr std::size_t most = SplineFieldPlan::maxNodes;
    const std::size_t n = static_cast<std::size_t>(nodes_), m = static_cast<std::size_t>(blockNodes);
    const auto weightsOf = [&](std::size_t d) -> const auto&
    {
      return weights_[static_cast<std::size_t>(block[d]) % blocks];
    };
    double alongX[most * most * most], alongY[most * most * most];
    for (std::size_t d = 0; d < 3; ++d) {
      const double* const from = sums_.data() + (numberOf(block) * 3 + d) * perComponent();
      for (std::size_t row = 0; row < n * n; ++row)
        for (std::size_t x = 0; x < m; ++x)
          alongX[row * m + x] = weighted(nodes_, weightsOf(0)[x], from + row * n, 1);
      for (std::size_t z = 0; z < n; ++z)
        for (std::size_t y = 0; y < m; ++y)
          for (std::size_t x = 0; x < m; ++x)
            alongY[(z * m + y) * m + x] =
                weighted(nodes_, weightsOf(1)[y], alongX + z * n * m + x, blockNodes);
      for (std::size_t z = 0; z < m; ++z)
        for (std::size_t yx = 0; yx < m * m; ++yx)
          sums[(d * m + z) * m * m + yx] +=
              weighted(nodes_, weightsOf(2)[z], alongY + yx, blockNodes * blockNodes);
    }
  }

private:
  static constexpr std::size_t blocks = SplineFieldPlan::superBlocks;

  std::size_t perComponent() const
  {
    const auto n = static_cast<std::size_t>(nodes_);
    return n * n * n;
  }
  std::size_t numberOf(const std::array<int, 3>& block) const
  {
    const auto at = [&](std::size_t d) { return static_cast<std::size_t>(block[d]) / blocks; };
    return at(0) + size_[0] * (at(1) + size_[1] * at(2));
  }

  int nodes_;
  std::size_t words_; // of bits of landmarks
  Size<3> size_{};    // super-blocks along each axis
  std::vector<unsigned> farBits_;
  std::vector<double> sums_; // [super-block][component][node z][node y][node x]
  double weights_[blocks][SplineFieldPlan::maxNodes][SplineFieldPlan::maxNodes]{}; // [block][its node][node]
};

/// A block by one thread: the tasks of CUDA, but for the terms of far landmarks, which are vector loops.
template <SplineKernel Kernel, class Number>
void computeBlockOnCpu(const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                       const std::array<int, 3>& number, const SuperBlocks<Kernel>& supers,
                       std::vector<double>& shared, Nodes<Number>& nodes, float* displacements)
{
  const Block block(plan, number);
  shared.resize(BlockMemory<Number>::bytes(spline.count, plan.nodes, 1) / sizeof(double) + 1);
  const BlockMemory<Number> memory(plan.nodes, 1, shared.data());
  const auto forEach = [](int tasks, const auto& body) {
    for (int task = 0; task < tasks; ++task)
      body(task);
  };
  const int all = plan.nodes * plan.nodes * plan.nodes;
  markAll(forEach, plan, spline, block, memory);
  std::fill_n(memory.sums, 3 * all, 0.0);
  std::fill_n(memory.middles, 3 * middleLanes, 0.0);
  std::vector<Near<Number>> far;
  const auto add = [&] {
    for (std::vector<Number>& component : nodes.sum)
      std::ranges::fill(component, Number(0));
    addLandmarks<Kernel>(far.data(), far.size(), spline.alpha, nodes);
    for (int d = 0; d < 3; ++d)
      for (int node = 0; node < all; ++node)
        memory.sums[d * all + node] += nodes.sum[d][static_cast<std::size_t>(node)];
    far.clear();
  };
  const unsigned* const farBits = supers.farBits(number);
  for (int i = 0; i < spline.count; ++i) {
    if (((memory.nearBits[i / 32] | (farBits ? farBits[i / 32] : 0)) >> i % 32 & 1u) == 0) {
      far.push_back(landmarkOf<Number>(spline, block, i));
      for (int d = 0; d < 3; ++d)
        memory.middles[d * middleLanes] += static_cast<double>(far.back().w[d]) * far.back().middle;
    }
    if (far.size() == atOnce)
      add();
  }
  add();
  supers.addTo(number, plan.nodes, memory.sums);
  carryToVoxels<Kernel>(forEach, 1, plan, spline, block, 0, static_cast<std::size_t>(plan.size[2]), memory,
                        displacements);
}

template <SplineKernel Kernel, class Number>
void computeAll(const Context& context, const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                std::span<float> displacements)
{
  const int rows = plan.blocks(0), slices = rows * plan.blocks(1);
  const SuperBlocks<Kernel> supers(context, plan, spline);
  const std::size_t blockCount = static_cast<std::size_t>(slices) * static_cast<std::size_t>(plan.blocks(2));
  forEachChunk(context, blockCount, [&](std::size_t chunk) {
    const int block = static_cast<int>(chunk);
    thread_local std::vector<double> shared;
    Nodes<Number> nodes(plan.pointFromIndex.matrix, plan.nodes, plan.nodePlaces);
    computeBlockOnCpu<Kernel, Number>(plan, spline,
                                      {block % rows, block / rows % plan.blocks(1), block / slices}, supers,
                                      shared, nodes, displacements.data());
  });
}

}

void splineFieldOnCpu(const Context& context, const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                      std::span<float> displacements)
{
  if (plan.isSingle)
    return computeAll<SplineKernel::thinPlate, float>(context, plan, spline, displacements);
  withKernel<3>(spline.kernel, [&](auto kernel) {
    computeAll<decltype(kernel)::value, double>(context, plan, spline, displacements);
  });
}

}
