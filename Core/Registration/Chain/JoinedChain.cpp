#include "Core/Registration/Chain/JoinedChain.h"

#include "Core/Registration/Chain/AddedTransforms.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"

namespace tessera {

template <int D>
ChainPointer<D> joinedChain(ChainPointer<D> first, const ChainPointer<D>& second, const Registry& registry)
{
  if (!first)
    return second;
  if (second->initial && second->combination == Combination::add) {
    if (const auto map = asLinearMap<D>(second.get(), second->parameters))
      return chainFromItk<D>({itkAffine<D>(*map)}, registry, "added transforms", {}, std::move(first));
    return std::make_shared<TransformChain<D>>(TransformChain<D>{
        std::move(first), Combination::compose, std::make_shared<AddedTransforms<D>>(second), {}});
  }
  TransformChain<D> last = *second;
  last.initial =
      second->initial ? joinedChain<D>(std::move(first), second->initial, registry) : std::move(first);
  last.combination = Combination::compose;
  return std::make_shared<TransformChain<D>>(std::move(last));
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(joinedChain<D>);

}
