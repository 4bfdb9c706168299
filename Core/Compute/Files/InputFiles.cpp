#include "Core/Compute/Files/InputFiles.h"

#include "Core/Compute/Error.h"

#include <filesystem>
#include <system_error>

#include <sys/stat.h>

namespace tessera {

namespace fs = std::filesystem;

std::optional<FilePlace> filePlace(const std::string& path)
{
  std::error_code ignored; // a path that leads nowhere is no file
  const fs::path file =
      path.empty() ? fs::path() : fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  struct stat folder {};
  if (file.empty() || stat(file.parent_path().c_str(), &folder) != 0)
    return std::nullopt;
  return FilePlace{folder.st_dev, folder.st_ino, file.filename().string()};
}

void InputFiles::add(const std::string& path, const std::string& what)
{
  if (std::optional<FilePlace> place = filePlace(path))
    files_.emplace(std::move(*place), Input{path, what});
}

const InputFiles::Input* InputFiles::at(const std::string& path) const
{
  const std::optional<FilePlace> place = filePlace(path);
  const auto input = place ? files_.find(*place) : files_.end();
  return input == files_.end() ? nullptr : &input->second;
}

void InputFiles::checkStay(const std::string& given, const std::vector<std::string>& paths) const
{
  for (const std::string& path : paths)
    if (const Input* const input = at(path))
      failWrittenOver(given, "its result",
                      input->what.ends_with(input->path) ? input->what
                                                         : input->path + ", which belongs to " + input->what);
}

void InputFiles::checkStayBesideLog(const std::string& path) const
{
  std::error_code ignored; // a log that does not exist yet is no input
  for (const auto& [place, input] : files_)
    if (fs::is_regular_file(input.path, ignored) && fs::equivalent(input.path, path, ignored))
      failWrittenOver("-out", "the log " + path, input.what);
}

void failWrittenOver(const std::string& given, const std::string& written, const std::string& what)
{
  throw Error(ExitCode::usage, given + ": " + written + " would be written over " + what
                                   + ". Allowed: another "
                                   + (given == "--write" ? "name for --write." : "folder for -out."));
}

}
