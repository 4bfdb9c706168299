// Transform files of ITK: text, and HDF5.
#include "Testing/Fuzz/Fuzz.h"
#include "Tools/Decode/ItkTransforms.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
  tessera::fuzz::succeeds([&] { tessera::readItkTransformsByItk(tessera::fuzz::fileOf(bytes, count)); });
  return 0;
}
