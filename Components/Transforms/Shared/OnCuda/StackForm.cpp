#include "Components/Transforms/Shared/OnCuda/StackForm.h"

#include "Components/Transforms/Shared/LinearTransform.h"
#include "Core/Compute/Memory/MemoryCount.h"

#include <stdexcept>
#include <utility>
#include <vector>

namespace tessera {
namespace {

/// The form of a stack; null for other transforms.
template <int D>
const StackForm<D>* stackFormOf(const Transform<D>& transform)
{
  return dynamic_cast<const StackForm<D>*>(transform.cudaForm());
}

/// A stack in the memory of a CUDA device while a level runs.
template <int D>
class HeldStack {
public:
  /// `constant` holds the parameters on the host if they stay the same; it is empty if each call brings them.
  HeldStack(const Context& context, const TransformChain<D>& chain, std::span<const double> constant)
  {
    const StackForm<D>& form = *stackFormOf(*chain.transform);
    linear_ = dynamic_cast<const LinearTransform<D - 1>*>(&form.slice());
    combination_ = chain.initial ? chain.combination : Combination::compose;
    onCuda_.each = form.slice().parameterCount();
    onCuda_.times = form.times();
    if (!linear_) {
      held_ = kernelFormOf(form.slice())->hold(context, constant);
      return;
    }
    onCuda_.slice.centerMm = linear_->centerMm();
    maps_ = Buffer<AffineMap<D - 1>>(context, form.times().count);
    derivatives_ = Buffer<AffineMap<D - 1>>(context, form.times().count * onCuda_.each);
    if (!constant.empty())
      setMaps(context, constant);
  }

  bool isLinear() const { return linear_ != nullptr; }

  /// `parameters` lie on the device. A stack of linear transforms waits for them.
  const StackOnCuda<D>& at(const Context& context, std::span<const double> parameters)
  {
    if (held_)
      onCuda_.slice = held_->at(context, parameters);
    else if (!parameters.empty()) {
      std::vector<double> onHost(parameters.size());
      context.stream->copyToHost(onHost.data(), parameters.data(), parameters.size_bytes());
      setMaps(context, onHost);
    }
    onCuda_.slice.combination = combination_;
    return onCuda_;
  }

private:
  void setMaps(const Context& context, std::span<const double> parameters)
  {
    std::vector<AffineMap<D - 1>> maps, derivatives;
    for (std::size_t first = 0; first < parameters.size(); first += onCuda_.each) {
      const std::span<const double> ofTime = parameters.subspan(first, onCuda_.each);
      maps.push_back(linear_->pointMap(ofTime));
      const auto all = linear_->derivatives(ofTime);
      derivatives.insert(derivatives.end(), all.begin(),
                         all.begin() + static_cast<std::ptrdiff_t>(onCuda_.each));
    }
    maps_.fromHost(context, maps);
    onCuda_.maps = std::as_const(maps_).span().data();
    derivatives_.fromHost(context, derivatives);
    onCuda_.derivatives = std::as_const(derivatives_).span().data();
  }

  const LinearTransform<D - 1>* linear_ = nullptr;   // null: the transforms of slices are B-splines
  std::unique_ptr<HeldTransformOnCuda<D - 1>> held_; // null: they are linear
  Combination combination_ = Combination::compose;
  Buffer<AffineMap<D - 1>> maps_, derivatives_;
  StackOnCuda<D> onCuda_;
};

/// The passes of samples through a chain of stacks. As for combinations, a pass first writes the mapped
/// points, 8 D bytes a sample.
template <int D>
class StackPasses final : public ChainPasses<D> {
public:
  StackPasses(const Context& context, const TransformChain<D>& chain)
      : last_(chain.transform), heldLast_(context, chain, {})
  {
    if (chain.initial)
      append(context, *chain.initial);
    ++chain_.count;
  }

  void moveTo(const Context& context, std::span<const double> parameters) override
  {
    chain_.links[chain_.count - 1] = heldLast_.at(context, parameters);
  }
  void reserve(const Context& context, std::size_t samples, bool withGradient) override
  {
    const MemoryPart ofPoints(context, "transform");
    grown(context, points_, D * samples);
    if (!withGradient)
      return;
    const MemoryPart part(context, "pull-back");
    if (heldLast_.isLinear()) {
      grown(context, moments_, (D - 1) * D * momentBlocksOfTime * stackFormOf(*last_)->times().count);
    } else if (fixedPoint_.size() == 0) {
      grown(context, largest_, 1);
      grown(context, fixedPoint_, last_->parameterCount());
      context.stream->fill(fixedPoint_.span().data(), 0, fixedPoint_.span().size_bytes());
    }
  }
  void map(Context& context, const SamplesOnCuda<D>& samples, double* mappedMm) override
  {
    mapStacksOnCuda<D>(context, samples, chain_, {mappedMm});
  }
  void gather(Context& context, const SamplesOnCuda<D>& samples, const MovingOnCuda<D>& moving,
              const GatherTarget<D>& target) override
  {
    double* const points = grown(context, points_, D * samples.count);
    mapStacksOnCuda<D>(context, samples, chain_, {points, {}, target.fixed, target.asked});
    if constexpr (D < 4)
      gatherMappedOnCuda<D>(context, points, samples.count, moving, target);
    else
      throw std::logic_error("intensities of images of dimension 4 on CUDA");
  }
  void addDisplacements(Context& context, const SamplesOnCuda<D>& samples,
                        const std::array<float*, D>& field) override
  {
    mapStacksOnCuda<D>(context, samples, chain_, {nullptr, field});
  }
  void pullBack(Context& context, const SamplesOnCuda<D>& samples,
                const std::array<const float*, D>& covectors, const float* factors,
                std::span<double> gradient, const GradientUpdate& update) override
  {
    reserve(context, 0, true);
    if (heldLast_.isLinear())
      pullBackLinearStackOnCuda<D>(context, samples, chain_, covectors, factors, moments_.span().data(),
                                   gradient.data(), update);
    else
      pullBackBSplineStackOnCuda<D>(context, samples, chain_, covectors, factors, fixedPoint_.span().data(),
                                    largest_.span().data(), gradient.data(), update);
  }

private:
  void append(const Context& context, const TransformChain<D>& chain)
  {
    if (chain.initial)
      append(context, *chain.initial);
    heldBefore_.emplace_back(context, chain, chain.parameters);
    chain_.links[chain_.count++] = heldBefore_.back().at(context, {});
  }

  std::shared_ptr<const Transform<D>> last_;
  HeldStack<D> heldLast_;
  std::vector<HeldStack<D>> heldBefore_;
  StackChainOnCuda<D> chain_;
  Buffer<double> points_, moments_;
  Buffer<unsigned long long> fixedPoint_; // zeros between calls
  Buffer<unsigned> largest_;
};

}

template <int D>
std::string StackForm<D>::whyNot(const TransformChain<D>& chain) const
{
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    if (!stackFormOf(*link->transform))
      return "the transform \"" + link->transform->name() + "\" before the transform \""
             + chain.transform->name() + "\"";
  return whyTooLongForKernels(chain);
}

template <int D>
std::unique_ptr<ChainPasses<D>> StackForm<D>::passes(const Context& context,
                                                     const TransformChain<D>& chain) const
{
  return std::make_unique<StackPasses<D>>(context, chain);
}

template class StackForm<3>;
template class StackForm<4>;

}
