#pragma once

#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/ImageSampler.h"
#include "Core/Registration/Optimizer.h"
#include "Core/Registration/Registration.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>

namespace tessera {

/// One term of a level's cost, with the image, region and mask from which grids of samples are taken.
template <int D>
struct CostPart {
  CostTerm<D>* term = nullptr;
  ImageSampler<D>* sampler = nullptr; // null: the term needs none
  ImagePointer<D> fixed;
  VoxelBox<D> fixedRegion; // the voxels of `fixed` that samples may be taken from
  MaskPointer<D> fixedMask;
};

/// How many evaluations there were, and the milliseconds of the shortest and of the longest.
struct EvaluationLaunches {
  std::size_t count = 0;
  double least = 0, most = 0;
};

/// The cost of one level: weighted terms through one transform chain, in the optimizer's scaled space.
template <int D>
class Cost final : public CostFunction {
public:
  struct Level {
    std::vector<CostPart<D>> parts;
    std::vector<std::string> names; // names of the terms, for profilers
    TermCombination combination;
    std::unique_ptr<TransformChain<D>> chain; // the terms were prepared with this chain; moveTo changes it
    std::vector<double> scales;
    Draw draw;
    bool newSamplesEveryIteration = false;
    bool tellsNorms = true; // TermReport::gradientNorm
    double meanInPlaneSpacingMm = 1;
    std::function<void(const std::string&)> log;
    std::function<bool()> isStopAsked = [] { return false; };
  };

  /// A term's share of the last evaluation. The norm is that of the gradient by parameters, before scaling,
  /// which elastix prints if there are several terms (0 if there is only one).
  struct TermReport {
    double value = 0, gradientNorm = 0, milliseconds = 0;
  };

  /// Allocates all vectors that evaluations work in.
  Cost(const Context& context, Level level);

  /// The device of the vectors, see vectorContext: the host for a linear transform.
  const Context& context() const override { return vectors_; }
  std::size_t parameterCount() const override { return level_.scales.size(); }
  std::span<const double> inverseRootScales() const override { return inverseRootScales_.span(); }
  double evaluate(std::span<const double> position, std::span<double> gradient) override;
  double evaluateWithProducts(std::span<const double> position, std::span<double> gradient,
                              std::span<const VectorPair> pairs, std::vector<double>& products) override;
  void evaluateSeveral(std::size_t count, const PositionAt&, const TakeValue&) override;
  void drawSamples(std::uint32_t iteration, std::uint32_t attempt) override;
  bool samplesAreRandom() const override;
  bool isSteep() const override;
  bool newSamplesEveryIteration() const override { return level_.newSamplesEveryIteration; }
  bool setRandomRegion(bool on) override;
  double meanInPlaneSpacingMm() const override { return level_.meanInPlaneSpacingMm; }
  double evaluateOnGrid(std::size_t wanted, std::span<const double> position,
                        std::span<double> gradient) override
  {
    SampleSet<D> grid;
    Times before = times_;
    const HostClock clock(context_);
    const double value = combine(
        [&](const CostPart<D>& part) -> const SampleSet<D>& {
          return grid = gridOfAbout<D>(wanted, part.fixed, part.fixedRegion, part.fixedMask);
        },
        position, gradient);
    times_ = std::move(before);
    times_.onGrid += clock.milliseconds();
    return value;
  }
  JacobianTerms jacobianTerms(std::size_t wanted, std::span<const double> position,
                              std::size_t& samplesFound) override;
  std::vector<double> displacementsMm(std::size_t wanted, std::span<const double> position,
                                      std::span<const double> gradient) override;
  Draw draw() const override { return level_.draw; }
  void log(const std::string& line) override { level_.log(line); }
  bool isStopAsked() const override { return level_.isStopAsked(); }

  const std::vector<TermReport>& termReports() const { return reports_; }
  /// The columns that the terms add to the iteration table.
  std::vector<TermColumn> termColumns() const
  {
    std::vector<TermColumn> all;
    for (const CostPart<D>& part : level_.parts)
      std::ranges::copy(part.term->columns(), std::back_inserter(all));
    return all;
  }
  /// The number of calls of evaluate, and of those among them that asked for a gradient.
  struct EvaluationCount {
    std::size_t all = 0, withGradient = 0;
  };
  const EvaluationCount& evaluations() const { return evaluations_; }
  /// Milliseconds of the host's clock so far, without those of transfers. Evaluations are calls of evaluate:
  /// first those for values alone, then those with gradients.
  struct Times {
    std::array<double, 2> evaluations{};
    std::array<EvaluationLaunches, 2> launches{};
    void addEvaluations(bool withGradient, double milliseconds, std::size_t count);
    // On the CPU only; on CUDA the host waits for all terms together.
    std::vector<std::array<double, 2>> ofTerms;
    double sampling = 0, stepSizes = 0; // drawSamples; then jacobianTerms and displacementsMm
    double onGrid = 0;                  // evaluateOnGrid, whose samples are many more
  };
  const Times& times() const { return times_; }
  /// The result of CostTerm::timePhases for each term, at a position.
  std::vector<std::vector<Phase>> timePhases(std::span<const double> position, bool withGradient);
  /// Values of the terms over every `step`-th voxel of their fixed images (over its own samples, if a sampler
  /// gives exact values; 0 for a term without sampler), and their sum by the weights of the last evaluate.
  struct ExactValues {
    double combined = 0;
    std::vector<double> ofTerms;
  };
  ExactValues exactValues(std::span<const double> position, const Size<D>& step);

  /// The level's chain with the parameters of a position.
  TransformChain<D> chainAt(std::span<const double> position) const
  {
    return {level_.chain->initial, level_.chain->combination, level_.chain->transform,
            parametersOf(position)};
  }
  /// The same at the position that was evaluated last, whether that succeeded or not.
  TransformChain<D> lastChain() const
  {
    return {level_.chain->initial, level_.chain->combination, level_.chain->transform,
            vectors_.onCuda() ? parameters_.toHost(vectors_) : level_.chain->parameters};
  }
  /// x_i = y_i / sqrt(scale_i), on the host.
  std::vector<double> parametersOf(std::span<const double> position) const;
  /// Writes them into a vector, and takes no new memory if the vector has enough.
  void copyParametersOf(std::span<const double> position, std::vector<double>& parameters) const;
  /// y_i = x_i sqrt(scale_i), where the optimizer's vectors are.
  Buffer<double> positionOf(std::span<const double> parameters) const;

private:
  using SamplesOfPart = std::function<const SampleSet<D>&(const CostPart<D>&)>;
  double combine(const SamplesOfPart&, std::span<const double> position, std::span<double> gradient,
                 std::span<const VectorPair> pairs = {}, std::vector<double>* products = nullptr);
  /// Writes the weighted sum of the terms' gradients.
  void sumGradients(std::span<double> gradient);
  void enqueueTerms(const SamplesOfPart&, std::span<const double> parameters, bool wantsGradient,
                    bool isRepeated = false);
  void enqueueTerm(std::size_t term, const SampleSet<D>&, std::span<const double> parameters,
                   bool wantsGradient);
  double collectTerms(std::span<const double> parameters, bool wantsGradient);
  std::size_t mostInFlight() const;
  void useSlot(std::size_t slot)
  {
    for (const CostPart<D>& part : level_.parts)
      part.term->onCuda()->useSlot(slot);
  }
  std::span<double> ownGradient(std::size_t term, bool wanted)
  {
    return wanted ? gradients_[term].span() : std::span<double>();
  }
  /// Waits for the work that was enqueued on a CUDA device, and for products, of which those of the terms'
  /// gradients with themselves are last.
  void waitForTerms(bool withGradients, std::span<const VectorPair> pairs = {});
  double gradientNorm(std::size_t term);
  /// The norm of a single term's gradient is found by the optimizer itself.
  bool wantsNorms() const
  {
    return level_.parts.size() > 1 && (level_.tellsNorms || level_.combination.relative);
  }
  double weightOf(std::size_t term, bool byGradients) const;
  PointList<D> gridPoints(std::size_t wanted) const;
  /// The parameters x of a position, where the terms read them. On the CPU they become those of the level's
  /// chain, so that terms need no copy of the chain.
  std::span<const double> moveTo(std::span<const double> position);

  Context context_, vectors_, host_;
  Level level_;
  bool hasUnitScales_; // all scales are 1
  Buffer<double> inverseRootScales_;
  Buffer<double> parameters_;             // on a CUDA device only
  mutable Buffer<double> forTheHost_;     // parameters on their way to the host
  std::vector<Buffer<double>> gradients_; // one for each term
  PinnedValues<double> products_;         // those of waitForTerms, on a CUDA device only
  std::vector<double> squaredNorms_;      // of the terms' gradients, on a CUDA device only
  std::shared_ptr<void> recorded_;        // the work beside, with gradients
  std::vector<TermReport> reports_;
  std::vector<double> weights_; // one a term, those of the last evaluate
  EvaluationCount evaluations_;
  Times times_;
};

}
