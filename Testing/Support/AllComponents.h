#pragma once

#include "Components/RegisterComponents.h"

namespace tessera::testing {

inline const Registry& allComponents()
{
  static const Registry& known = []() -> const Registry& {
    static Registry r; // some components keep its address
    registerComponents(r);
    return r;
  }();
  return known;
}

}
