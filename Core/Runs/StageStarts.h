#pragma once

#include "Core/Runs/StageCheck.h"

namespace tessera {

/// Whether two chains have the same transforms with the same parameters. Null stands for none.
template <int D>
bool areSame(const TransformChain<D>* one, const TransformChain<D>* other)
{
  for (; one && other; one = one->initial.get(), other = other->initial.get())
    if (one->transform->name() != other->transform->name() || one->parameters != other->parameters)
      return false;
  return !one && !other;
}

/// The transforms of --start-at from which the stages go on, one a stage. Throws Error(usage) if the file is
/// no result of such stages after the transform of -t0.
template <int D>
std::vector<ChainPointer<D>> startsOf(const GivenTransform& given, ChainPointer<D> found,
                                      const TransformChain<D>* initial,
                                      const std::vector<CheckedStage<D>>& stages)
{
  std::vector<ChainPointer<D>> starts(stages.size());
  if (!given.isGiven())
    return starts;
  const auto fail = [&](const std::string& wrong) {
    throw Error(ExitCode::usage, "--start-at: " + given.path + ": " + wrong
                                     + " Allowed: a result of stages with the same transforms in the same "
                                       "order, and of the same -t0.");
  };
  for (std::size_t i = stages.size(); i-- > 0; found = found->initial) {
    const Parameters& parameters = stages[i].prepared.parameters;
    const std::string name = stages[i].prepared.components.transform->name();
    if (!found)
      fail("it has fewer transforms than there are stages.");
    if (found->transform->name() != name
        || (found->initial && found->combination != combinationOf(parameters)))
      fail("where stage " + std::to_string(i) + ", " + stages[i].text.path + ", has a " + name
           + ", it has another transform, or combines it in another way.");
    starts[i] = found;
  }
  if (!areSame<D>(found.get(), initial))
    fail("before the transforms of the stages it has other ones than -t0.");
  return starts;
}

}
