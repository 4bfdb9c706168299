// Points in text, VTK and binary files.
#include "Core/Image/Points/PointsFile.h"
#include "Testing/Fuzz/Fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
  using namespace tessera;
  fuzz::succeeds([&] { readPoints<3>(fuzz::fileOf(bytes, count)); });
  return 0;
}
