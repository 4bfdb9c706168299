#include "Components/Transforms/Shared/TransformFileReading.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/InputFile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

namespace tessera {
namespace {

const Parameter<double> transformParameters =
    realParameter("TransformParameters", std::numeric_limits<double>::quiet_NaN(), Arity::list, "",
                  "the transform's parameters");
const Parameter<std::string> binaryFileName =
    textParameter("TransformParameters", "", Arity::single, "file of little-endian doubles");
const Parameter<bool> usesBinaryFormat =
    booleanParameter("UseBinaryFormatForTransformationParameters", false, Arity::single,
                     "TransformParameters names a file of little-endian doubles");

std::vector<double> readDoubles(const std::string& path, std::size_t expected, const std::string& where,
                                const std::string& because)
{
  const InputFile file(path);
  std::error_code ignored;
  const bool isFile = std::filesystem::is_regular_file(path, ignored);
  const std::uint64_t bytes = isFile ? file.size() : 0;
  if (!isFile || bytes != expected * sizeof(double))
    failAs(ExitCode::unreadableInput, where,
           path + " has " + std::to_string(bytes) + " bytes, not 8 times " + std::to_string(expected)
               + " parameters (" + because + ")",
           "a file of that many little-endian doubles");
  std::vector<double> values(expected);
  file.read(0, values.data(), bytes);
  if (std::ranges::any_of(values, [](double value) { return !std::isfinite(value); }))
    failAs(ExitCode::unreadableInput, where, path + " holds numbers that are not finite", "finite numbers");
  return values;
}

}

std::vector<double> readTransformParameters(const Parameters& transformFile, std::size_t expected,
                                            const std::string& because)
{
  const std::string key = transformParameters.name;
  if (transformFile.get(usesBinaryFormat))
    return readDoubles(pathBesideTransformFile(transformFile, key, transformFile.get(binaryFileName)),
                       expected, transformFile.where(key), because);
  std::vector<double> values = transformFile.all(transformParameters);
  if (values.size() != expected)
    transformFile.fail(
        key, std::to_string(values.size()) + " values, but " + because + " makes " + std::to_string(expected),
        "Allowed: " + std::to_string(expected) + " values");
  return values;
}

}
