// Transform parameter files, with the transforms that they name.
#include "Components/RegisterComponents.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Testing/Fuzz/Fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
  using namespace tessera;
  static const Registry& registry = [] -> const Registry& {
    auto& made = *new Registry;
    registerComponents(made);
    return made;
  }();
  fuzz::succeeds([&] { readTransformFile<2>({}, fuzz::fileOf(bytes, count), registry, {}); });
  return 0;
}
