#include "Core/Image/Landmarks/TreeRegularizationOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Memory/Buffer.h"

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

constexpr int treeThreads = 256;

/// A tree for kernels: nodes in the order of their levels, and the children of each.
struct TreeForKernels {
  const int *order, *parent, *firstChild, *children;
  const float* factors; // of squared steps, for the edge to the parent
};

/// The least number over the threads of a block.
__device__ float leastOfBlock(float value)
{
  __shared__ float ofWarps[treeThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2)
    value = fminf(value, __shfl_xor_sync(~0u, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    ofWarps[threadIdx.x / 32] = value;
  __syncthreads();
  for (const float other : ofWarps)
    value = fminf(value, other);
  return value;
}

/// a becomes the message of its numbers, less its minimum; b is overwritten.
__device__ void spread(float* a, float* b, const int n, const float factor)
{
  const int count = n * n * n;
  float* in = a;
  float* out = b;
  for (int stride = 1; stride < count; stride *= n) {
    __syncthreads();
    for (int d = threadIdx.x; d < count; d += treeThreads)
      out[d] = treeregularization::spreadAlong(in, n, stride, factor, d);
    float* const swapped = in;
    in = out;
    out = swapped;
  }
  float least = HUGE_VALF;
  for (int d = threadIdx.x; d < count; d += treeThreads) // a thread's own numbers, which it has just written
    least = fminf(least, in[d]);
  least = leastOfBlock(least);
  for (int d = threadIdx.x; d < count; d += treeThreads)
    a[d] = in[d] - least;
}

__global__ void __launch_bounds__(treeThreads)
    goUp(const TreeForKernels tree, const int first, const bool isRoot, const int n, const float weight,
         float* costs, float* messages)
{
  extern __shared__ float shared[];
  const int count = n * n * n, node = tree.order[first + blockIdx.x];
  float* const own = costs + static_cast<std::size_t>(node) * count;
  for (int d = threadIdx.x; d < count; d += treeThreads) {
    float sum = own[d] * weight;
    for (int i = tree.firstChild[node]; i < tree.firstChild[node + 1]; ++i)
      sum += messages[static_cast<std::size_t>(tree.children[i]) * count + d];
    own[d] = shared[d] = sum;
  }
  if (isRoot)
    return;
  spread(shared, shared + count, n, tree.factors[node]);
  for (int d = threadIdx.x; d < count; d += treeThreads)
    messages[static_cast<std::size_t>(node) * count + d] = shared[d];
}

__global__ void __launch_bounds__(treeThreads)
    goDown(const TreeForKernels tree, const int first, const bool isRoot, const int n, float* costs,
           const float* messages)
{
  extern __shared__ float shared[];
  const int count = n * n * n, node = tree.order[first + blockIdx.x];
  float* const own = costs + static_cast<std::size_t>(node) * count;
  if (!isRoot) {
    const float* const parent = costs + static_cast<std::size_t>(tree.parent[node]) * count;
    for (int d = threadIdx.x; d < count; d += treeThreads)
      shared[d] = parent[d] - messages[static_cast<std::size_t>(node) * count + d];
    spread(shared, shared + count, n, tree.factors[node]);
  }
  float least = HUGE_VALF;
  for (int d = threadIdx.x; d < count; d += treeThreads) {
    if (!isRoot)
      own[d] += shared[d];
    least = fminf(least, own[d]);
  }
  least = leastOfBlock(least);
  for (int d = threadIdx.x; d < count; d += treeThreads)
    own[d] -= least;
}

__global__ void __launch_bounds__(treeThreads) leastOf(const float* costs, const int n, LeastOfGrid* least)
{
  __shared__ float values[treeThreads];
  __shared__ int numbers[treeThreads];
  const int count = n * n * n;
  const float* const own = costs + static_cast<std::size_t>(blockIdx.x) * count;
  float value = HUGE_VALF;
  int number = count;
  for (int d = threadIdx.x; d < count; d += treeThreads)
    if (own[d] < value) {
      value = own[d];
      number = d;
    }
  values[threadIdx.x] = value;
  numbers[threadIdx.x] = number;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  for (int i = 1; i < treeThreads; ++i)
    if (values[i] < value || (values[i] == value && numbers[i] < number)) {
      value = values[i];
      number = numbers[i];
    }
  if (number == count) { // none is below infinity
    number = 0;
    value = own[0];
  }
  LeastOfGrid found{number, value, {}, {}};
  int stride = 1;
#pragma unroll
  for (int axis = 0; axis < 3; ++axis, stride *= n) {
    const int place = number / stride % n;
    found.before[axis] = own[place > 0 ? number - stride : number];
    found.after[axis] = own[place + 1 < n ? number + stride : number];
  }
  least[blockIdx.x] = found;
}

}

void regularizeOnTreeByCuda(const Context& context, const Tree& tree, const DisplacementGrid& grid,
                            float weight, float* costs, float* messages)
{
  const std::size_t nodes = tree.parent.size();
  if (nodes == 0)
    return;
  std::vector<int> depth(nodes, 0), order(tree.order.begin(), tree.order.end()), parent(nodes),
      firstChild(nodes + 1, 0), children(nodes);
  std::vector<float> factors(nodes);
  for (const std::size_t node : tree.order) {
    const std::size_t above = tree.parent[node];
    parent[node] = static_cast<int>(above);
    factors[node] = static_cast<float>(grid.step * grid.step / tree.length[node]);
    if (above != node) {
      depth[node] = depth[above] + 1;
      ++firstChild[above + 1];
    }
  }
  for (std::size_t node = 0; node < nodes; ++node)
    firstChild[node + 1] += firstChild[node];
  std::vector<int> next(firstChild.begin(), firstChild.end() - 1);
  for (const std::size_t node : tree.order) // the CPU's order of additions
    if (tree.parent[node] != node)
      children[static_cast<std::size_t>(next[tree.parent[node]]++)] = static_cast<int>(node);
  std::ranges::stable_sort(order, {}, [&](int node) { return depth[static_cast<std::size_t>(node)]; });

  Buffer<int> onCuda[4];
  const std::vector<int>* const arrays[4]{&order, &parent, &firstChild, &children};
  for (int i = 0; i < 4; ++i)
    onCuda[i].fromHost(context, *arrays[i]);
  Buffer<float> factorsOnCuda;
  factorsOnCuda.fromHost(context, factors);
  const TreeForKernels forKernels{onCuda[0].span().data(), onCuda[1].span().data(), onCuda[2].span().data(),
                                  onCuda[3].span().data(), factorsOnCuda.span().data()};
  const cudaStream_t stream = cudaStreamOf(context);
  const int n = grid.perAxis(), bytes = 2 * n * n * n * static_cast<int>(sizeof(float));
  checkCuda(cudaFuncSetAttribute(goUp, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "tree of costs");
  checkCuda(cudaFuncSetAttribute(goDown, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            "tree of costs");
  std::vector<int> firstOfLevel; // and the number of nodes
  for (std::size_t i = 0; i < nodes; ++i)
    if (i == 0 || depth[static_cast<std::size_t>(order[i])] != depth[static_cast<std::size_t>(order[i - 1])])
      firstOfLevel.push_back(static_cast<int>(i));
  firstOfLevel.push_back(static_cast<int>(nodes));
  const std::size_t levels = firstOfLevel.size() - 1;
  const auto blocksOf = [&](std::size_t level) {
    return static_cast<unsigned>(firstOfLevel[level + 1] - firstOfLevel[level]);
  };
  for (std::size_t level = levels; level-- > 0;) {
    goUp<<<blocksOf(level), treeThreads, bytes, stream>>>(forKernels, firstOfLevel[level], level == 0, n,
                                                          weight, costs, messages);
    checkLaunch("tree of costs");
  }
  for (std::size_t level = 0; level < levels; ++level) {
    goDown<<<blocksOf(level), treeThreads, bytes, stream>>>(forKernels, firstOfLevel[level], level == 0, n,
                                                            costs, messages);
    checkLaunch("tree of costs");
  }
}

void leastCostsOnCuda(const Context& context, const float* costs, std::size_t keypoints,
                      const DisplacementGrid& grid, LeastOfGrid* least)
{
  if (keypoints == 0)
    return;
  leastOf<<<static_cast<unsigned>(keypoints), treeThreads, 0, cudaStreamOf(context)>>>(costs, grid.perAxis(),
                                                                                       least);
  checkLaunch("least costs");
}

}
