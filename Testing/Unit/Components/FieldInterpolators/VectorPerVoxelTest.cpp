#include "Components/FieldInterpolators/VectorPerVoxel.h"

#include "Testing/Support/Checks/CpuTileMethodChecks.h"

namespace tessera::testing {
namespace {

struct VectorPerVoxelSubject {
  template <int D>
  using Method = VectorPerVoxel<D>;
  static constexpr const char* name = "VectorPerVoxel";
};

INSTANTIATE_TYPED_TEST_SUITE_P(VectorPerVoxelTest, CpuTileMethodTest, VectorPerVoxelSubject);

}
}
