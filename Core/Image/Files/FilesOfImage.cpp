#include "Core/Image/Files/FilesOfImage.h"

#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/ImageFormat.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> slicesIn(const std::string& folder)
{
  std::vector<std::string> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_regular_file(ignored) && mayBeDicom(entry.path().string()))
      files.push_back(entry.path().string());
  return files;
}

}

bool mayBeDicom(const std::string& path)
{
  constexpr std::uint64_t preamble = 128;
  if (bytesOfFile(path, 0, 4) == std::string("\x00\x05\x16\x07", 4))
    return false; // AppleDouble: macOS puts ._NAME beside NAME on disks of other systems
  return hasEnding(path, ".dcm") || bytesOfFile(path, preamble, 4) == "DICM";
}

std::optional<DicomPlace> dicomPlace(const std::string& path)
{
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return DicomPlace{path, ""};
  const fs::path folder = fs::path(path).parent_path(), name = fs::path(path).filename();
  if (folder.empty() || name.empty() || fs::exists(fs::symlink_status(path, ignored))
      || !fs::is_directory(folder, ignored) || slicesIn(folder).empty())
    return std::nullopt;
  return DicomPlace{folder.string(), name.string()};
}

std::vector<std::string> filesOfImage(const std::string& path)
{
  if (const std::optional<DicomPlace> dicom = dicomPlace(path))
    return slicesIn(dicom->folder);
  std::vector<std::string> files{path};
  if (std::error_code ignored;
      !fs::is_regular_file(path, ignored)) // opening a pipe would wait for its writer
    return files;
  const std::string format = formatOf(path);
  if (format.empty() || format == "mhd" || format == "mha" || format == "nrrd" || format == "nhdr") {
    const FileHead head(path);
    for (const auto& dataFiles : {metaImageDataFiles(head), nrrdDataFiles(head)})
      files.insert(files.end(), dataFiles.begin(), dataFiles.end());
  }
  for (const auto& [header, voxels] : {std::pair{".hdr", ".img"}, {".img", ".hdr"}})
    if (path.ends_with(header))
      files.push_back(path.substr(0, path.size() - std::string(header).size()) + voxels);
  return files;
}

std::vector<std::string> filesOfResult(const std::string& path)
{
  const std::string format = formatOf(path), stem = path.substr(0, path.size() - format.size());
  std::vector<std::string> files{path};
  if (format == "mhd")
    files.insert(files.end(), {stem + "raw", stem + "zraw"});
  if (format == "nhdr")
    files.insert(files.end(), {stem + "raw", stem + "raw.gz"});
  if (format == "hdr" || format == "img")
    files = {stem + "hdr", stem + "img"};
  return files;
}

}
