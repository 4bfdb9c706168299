#include "Core/Runs/RunRecord.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/Threads/Interruption.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Parameters/ParameterText.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// A line of a parameter file without its comment and with single blanks. Quoted text stays as it is.
std::string meaningOf(const std::string& line)
{
  std::string kept;
  bool isQuoted = false, blank = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (!isQuoted && (c == ' ' || c == '\t' || c == '\r')) {
      blank = true;
      continue;
    }
    if (!isQuoted && line.compare(i, 2, "//") == 0)
      break;
    if (blank && !kept.empty())
      kept += ' ';
    blank = false;
    isQuoted = isQuoted != (c == '"');
    kept += c;
  }
  return kept;
}

std::string digestOfParameters(const std::string& text)
{
  Sha256 sha;
  for (const std::string& line : linesOf(text))
    if (const std::string meaning = meaningOf(line); !meaning.empty()) {
      sha.add(meaning);
      sha.add("\n");
    }
  return sha.hexadecimal();
}

std::string digestOfSeveral(const std::vector<std::string>& files, const FileDigest& digestOfOne,
                            const std::stop_token& stop)
{
  std::vector<std::string> lines;
  lines.reserve(files.size());
  for (const std::string& file : files)
    lines.push_back(fs::path(file).filename().string() + " " + digestOfOne(file, stop) + "\n");
  std::sort(lines.begin(), lines.end());
  Sha256 sha;
  for (const std::string& line : lines)
    sha.add(line);
  return sha.hexadecimal();
}

std::uint64_t sizeOf(const std::string& path)
{
  std::error_code failure;
  const std::uint64_t bytes = fs::file_size(path, failure);
  return failure ? 0 : bytes;
}

/// The bytes of all files; nothing if one of them is missing or a pipe, which gives its bytes only once.
std::optional<std::uint64_t> bytesOf(const RunInput& input)
{
  std::uint64_t bytes = 0;
  for (const std::string& file : input.files) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
      return std::nullopt;
    bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

}

InputDigest digestOf(const RunInput& input, const FileDigest& digestOfOne, const std::stop_token& stop,
                     std::uint64_t largest)
{
  const std::optional<std::uint64_t> bytes = bytesOf(input);
  InputDigest digest{input.role, input.path, bytes.value_or(0), ""};
  if (!bytes || *bytes > largest || stop.stop_requested())
    return digest;
  try {
    if (input.parameterText)
      digest.sha256 = digestOfParameters(*input.parameterText);
    else if (input.files.size() == 1)
      digest.sha256 = digestOfOne(input.files.front(), stop);
    else if (!input.files.empty())
      digest.sha256 = digestOfSeveral(input.files, digestOfOne, stop);
    if (const auto dicom = dicomPlace(input.path); dicom && !dicom->series.empty()) {
      Sha256 sha; // the folder may hold other series
      sha.add(digest.sha256 + " series " + dicom->series + "\n");
      digest.sha256 = sha.hexadecimal();
    }
  } catch (const Error&) { // the run itself tells what is wrong with this input
    digest.sha256.clear();
  } catch (const Interrupted&) {
    digest.sha256.clear();
  }
  return digest;
}

std::string runKey(const std::vector<InputDigest>& inputs, const ReadingOptions& reading,
                   const std::string& deviceKind)
{
  Sha256 sha;
  sha.add("results " + std::to_string(resultVersion) + "\ndevice " + deviceKind + "\n");
  for (const InputDigest& input : inputs) {
    if (input.sha256.empty())
      return "";
    sha.add(input.role + " " + input.sha256 + "\n");
  }
  for (const std::string& series : reading.dicomSeries)
    sha.add("series " + series + "\n");
  for (const double mm : reading.pixelSpacingMm)
    sha.add("pixel spacing " + realText(mm) + "\n");
  if (reading.allowMissingSlices)
    sha.add("missing slices\n");
  return sha.hexadecimal();
}

Json json(const std::vector<InputDigest>& digests)
{
  Json list = Json::array();
  for (const InputDigest& digest : digests)
    list.push_back({{"role", digest.role},
                    {"path", digest.path},
                    {"bytes", digest.bytes},
                    {"sha256", digest.sha256.empty() ? Json() : Json(digest.sha256)}});
  return list;
}

Json jsonOfOutputs(const std::vector<std::string>& paths, const FileDigest& digestOfOne)
{
  Json list = Json::array();
  for (const std::string& path : paths)
    if (std::error_code failure; fs::is_regular_file(path, failure))
      list.push_back({{"path", path}, {"bytes", sizeOf(path)}, {"sha256", digestOfOne(path, {})}});
  return list;
}

}
