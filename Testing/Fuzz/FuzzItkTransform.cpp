// Transform files of ITK: text, and HDF5.
#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"
#include "Testing/Fuzz/Fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
  tessera::fuzz::succeeds([&] { tessera::readItkTransforms(tessera::fuzz::fileOf(bytes, count)); });
  return 0;
}
