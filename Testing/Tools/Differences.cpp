#include "Testing/Tools/Differences.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tessera::testing {
namespace {

std::string environment(const char* name)
{
  const char* value = std::getenv(name);
  return value ? value : "";
}

}

void recordDifference(const std::string& quantity, const LargestDifference& largest)
{
  const std::string path = environment("TESSERA_DIFFERENCES");
  if (path.empty() || quantity.empty())
    return;
  std::ostringstream line;
  line << environment("TESSERA_TEST") << '\t' << environment("TESSERA_IMAGES") << '\t' << quantity << '\t'
       << largest.found << '\t' << largest.allowed << '\t' << largest.unit << '\n';
  std::ofstream(path, std::ios::app) << line.str();
}

}
