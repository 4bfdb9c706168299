#include "Core/Registration/Terms/TermOnImages.h"

namespace tessera {

template <int D>
void TermOnImages<D>::checkValid(std::size_t valid, std::size_t asked) const
{
  validSampleRule_.check(level_.level, valid, asked);
}

template <int D>
void TermOnImages<D>::enqueue(Context& context, const SampleSet<D>& samples,
                              std::span<const double> parameters, std::span<double> gradient)
{
  onCuda_->enqueue(context, samples, parameters, gradient);
}

template <int D>
TermValue TermOnImages<D>::collect(std::span<const double> parameters, std::span<double> gradient)
{
  const TermValue result = onCuda_->collect(parameters, gradient);
  checkValid(result.valid, result.asked);
  return result;
}

template <int D>
std::vector<Phase> TermOnImages<D>::timePhases(Context& context, const SampleSet<D>& samples,
                                               std::span<const double> parameters, std::span<double> gradient)
{
  return onCuda_ ? onCuda_->timePhases(context, samples, parameters, gradient)
                 : timePhasesHere(context, samples, parameters, gradient);
}

template class TermOnImages<2>;
template class TermOnImages<3>;

}
