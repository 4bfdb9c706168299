#pragma once

#include "Components/RegisterComponents.h"

namespace tessera::testing {

inline const Registry& allComponents()
{
  static const Registry known = [] {
    Registry r;
    registerComponents(r);
    return r;
  }();
  return known;
}

}
