#include "Components/FieldInterpolators/VectorPerTile.h"

#include "Testing/Support/Checks/CpuTileMethodChecks.h"

namespace tessera::testing {
namespace {

struct VectorPerTileSubject {
  template <int D>
  using Method = VectorPerTile<D>;
  static constexpr const char* name = "VectorPerTile";
};

INSTANTIATE_TYPED_TEST_SUITE_P(VectorPerTileTest, CpuTileMethodTest, VectorPerTileSubject);

}
}
