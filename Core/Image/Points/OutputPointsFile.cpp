#include "Core/Image/Points/OutputPointsFile.h"

#include "Core/Compute/Error.h"

#include <fstream>
#include <sstream>

namespace tessera {

template <int D>
std::vector<Vec<D>> readOutputPointsMm(const std::string& path)
{
  std::ifstream file(path);
  if (!file)
    throw Error(ExitCode::unreadableInput, path + ": no such file. Allowed: an outputpoints.txt.");
  const std::string key = "OutputPoint = [";
  std::vector<Vec<D>> pointsMm;
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t place = line.find(key);
    std::istringstream numbers(place == std::string::npos ? "" : line.substr(place + key.size()));
    Vec<D> pointMm;
    for (int d = 0; d < D; ++d)
      if (!(numbers >> pointMm[d]))
        throw Error(ExitCode::unreadableInput, path + ":" + std::to_string(pointsMm.size() + 1)
                                                   + ": no \"OutputPoint = [ " + std::to_string(D)
                                                   + " numbers ]\". Allowed: an outputpoints.txt.");
    pointsMm.push_back(pointMm);
  }
  return pointsMm;
}

template std::vector<Vec<2>> readOutputPointsMm<2>(const std::string&);
template std::vector<Vec<3>> readOutputPointsMm<3>(const std::string&);

}
