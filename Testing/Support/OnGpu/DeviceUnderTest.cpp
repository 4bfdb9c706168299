#include "Testing/Support/OnGpu/DeviceUnderTest.h"

namespace tessera::testing {

Device deviceUnderTest()
{
  return {DeviceKind::TESSERA_DEVICE_UNDER_TEST, 0};
}

}
