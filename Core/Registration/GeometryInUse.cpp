#include "Core/Registration/GeometryInUse.h"

namespace tessera {

const Parameter<bool>& useDirectionCosines()
{
  static const auto row =
      booleanParameter("UseDirectionCosines", true, Arity::single,
                       "false: images are taken as if their axes lay along the coordinates");
  return row;
}

}
