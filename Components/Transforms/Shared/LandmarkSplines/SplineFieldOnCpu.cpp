#include "Components/Transforms/Shared/LandmarkSplines/SplineFieldTasks.h"
#include "Core/Compute/Threads/Parallel.h"

#include <vector>

namespace tessera {
namespace {

using namespace splinefield;

constexpr std::size_t atOnce = 128; // landmarks whose terms are added in the precision of the plan

/// The places of a block's nodes from its middle, and sums of terms there.
template <class Number>
struct Nodes {
  std::vector<Number> place[3], sum[3];

  explicit Nodes(const SplineFieldPlan& plan)
  {
    const int n = plan.nodes;
    for (int z = 0; z < n; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
          Number mm[3];
          placeMm(plan.pointFromIndex.matrix, plan.nodePlaces[x], plan.nodePlaces[y], plan.nodePlaces[z], mm);
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

/// A block by one thread: the tasks of CUDA, but for the terms of far landmarks, which are vector loops.
template <SplineKernel Kernel, class Number>
void computeBlockOnCpu(const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                       const std::array<int, 3>& number, std::vector<double>& shared, Nodes<Number>& nodes,
                       float* displacements)
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
  for (int i = 0; i < spline.count; ++i) {
    if ((memory.nearBits[i / 32] >> i % 32 & 1u) == 0) {
      far.push_back(landmarkOf<Number>(spline, block, i));
      for (int d = 0; d < 3; ++d)
        memory.middles[d * middleLanes] += static_cast<double>(far.back().w[d]) * far.back().middle;
    }
    if (far.size() == atOnce)
      add();
  }
  add();
  carryToVoxels<Kernel>(forEach, 1, plan, spline, block, 0, static_cast<std::size_t>(plan.size[2]), memory,
                        displacements);
}

template <SplineKernel Kernel, class Number>
void computeAll(const Context& context, const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                std::span<float> displacements)
{
  const int rows = plan.blocks(0), slices = rows * plan.blocks(1);
  forEachChunk(context, static_cast<std::size_t>(slices * plan.blocks(2)), [&](std::size_t chunk) {
    const int block = static_cast<int>(chunk);
    thread_local std::vector<double> shared;
    Nodes<Number> nodes(plan);
    computeBlockOnCpu<Kernel, Number>(plan, spline,
                                      {block % rows, block / rows % plan.blocks(1), block / slices}, shared,
                                      nodes, displacements.data());
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
