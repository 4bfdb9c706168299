#include "Testing/Toys/RegisterToys.h"

#include "Components/AddComponent.h"
#include "Components/RegisterComponents.h"
#include "Testing/Toys/Interpolators/CatmullRomInterpolator.h"
#include "Testing/Toys/Metrics/SumOfAbsoluteDifferences.h"
#include "Testing/Toys/Transforms/StretchTransform.h"

namespace tessera {

void registerToys(Registry& registry)
{
  registerComponents(registry);
  addComponent<CatmullRomInterpolator>(registry);
  addComponent<SumOfAbsoluteDifferences>(registry);
  addComponent<StretchTransform>(registry);
}

}
