// Matrices in all formats, by their endings.
#include "Core/Sparse/MatrixFile.h"
#include "Testing/Fuzz/Fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
  using namespace tessera;
  Context context;
  context.threads = 1;
  fuzz::succeeds([&] { readMatrix(context, fuzz::fileOf(bytes, count)); });
  return 0;
}
