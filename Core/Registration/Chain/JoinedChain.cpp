#include "Core/Registration/Chain/JoinedChain.h"

#include "Core/Compute/Error.h"

namespace tessera {

template <int D>
std::shared_ptr<const TransformChain<D>> joinedChain(std::shared_ptr<const TransformChain<D>> first,
                                                     const std::shared_ptr<const TransformChain<D>>& second,
                                                     const std::string& where)
{
  if (!first)
    return second;
  if (second->initial && second->combination == Combination::add)
    throw Error(ExitCode::usage,
                where
                    + ": (HowToCombineTransforms \"Add\"): a sum of transforms cannot follow "
                      "another transform. Allowed: Compose, or the field of the sum "
                      "(--write FIELD.nii.gz).");
  TransformChain<D> last = *second;
  last.initial =
      second->initial ? joinedChain<D>(std::move(first), second->initial, where) : std::move(first);
  last.combination = Combination::compose;
  return std::make_shared<TransformChain<D>>(std::move(last));
}

template std::shared_ptr<const TransformChain<2>> joinedChain(std::shared_ptr<const TransformChain<2>>,
                                                              const std::shared_ptr<const TransformChain<2>>&,
                                                              const std::string&);
template std::shared_ptr<const TransformChain<3>> joinedChain(std::shared_ptr<const TransformChain<3>>,
                                                              const std::shared_ptr<const TransformChain<3>>&,
                                                              const std::string&);

}
