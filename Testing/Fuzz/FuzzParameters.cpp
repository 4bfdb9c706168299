// The text of parameter files, and TOML.
#include "Core/Parameters/ParameterMap.h"
#include "Core/Parameters/TomlFile.h"
#include "Testing/Fuzz/Fuzz.h"

#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count)
{
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(bytes), count);
  std::vector<std::string> notes;
  fuzz::succeeds([&] { parseParameterText(text, "fuzz.txt", notes); });
  fuzz::succeeds([&] { parseTomlText(text, "fuzz.toml"); });
  return 0;
}
