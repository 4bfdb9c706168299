#include "Testing/Support/Files/ResultPixels.h"

namespace tessera {
namespace {

TEST(ResultPixels, AreTheRoundedFloats)
{
  for (const int threads : {1, 3}) {
    Context context{{}, threads};
    testing::expectRoundedFloats(context, 1);
  }
}

}
}
