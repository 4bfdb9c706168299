#include "Tools/Common/ShippedParameters.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Parameters/TomlFile.h"

#include <algorithm>

namespace tessera {
namespace {

namespace fs = std::filesystem;

bool isFile(const fs::path& path)
{
  std::error_code unknown; // the run that reads the file tells it
  return fs::exists(path, unknown) && !fs::is_directory(path, unknown);
}

/// Reads the table whose lines are given. Files of parameters have none, so that tables are cut here.
Preset presetOf(const std::string& name, const std::string& lines, const std::string& path)
{
  const ParameterMap map = parseTomlText(lines, path);
  const auto values = [&](const char* entry) {
    const ParameterEntry* const found = map.find(entry);
    if (!found)
      failUsage(path + ": [" + name + "]", "no " + std::string(entry), "Allowed: images, stages, evidence");
    return found->values;
  };
  return {name, values("images").front(), values("evidence").front(), values("stages")};
}

std::vector<std::string> namesOf(const std::vector<Preset>& presets)
{
  std::vector<std::string> names;
  for (const Preset& preset : presets)
    names.push_back(preset.name);
  return names;
}

}

fs::path shippedFolder()
{
  std::error_code unknown;
  const fs::path beside = fs::read_symlink("/proc/self/exe", unknown).parent_path().parent_path();
  const fs::path folder = beside / "share/tessera/Parameters", found = fs::canonical(folder, unknown);
  return unknown ? folder : found;
}

std::string parameterFile(const std::string& given, const fs::path& folder)
{
  for (const std::string& name : {given, given + ".txt"})
    if (isFile(folder / name))
      return (folder / name).string();
  if (given.find('/') == std::string::npos)
    for (const std::string& name : {given, given + ".txt"})
      if (name.ends_with(".txt") && isFile(shippedFolder() / name))
        return (shippedFolder() / name).string();
  return (folder / given).string();
}

std::vector<Preset> shippedPresets()
{
  const std::string path = shippedFolder() / "presets.toml";
  const TextFile file = readTextFile(path);
  if (!file.failure.empty())
    failUsage(path, "the file cannot be read", "Allowed: an installation with its parameter files");
  std::vector<Preset> presets;
  std::string name, lines, before; // before: empty lines, so that messages count lines as the file does
  const auto keep = [&] {
    if (!name.empty())
      presets.push_back(presetOf(name, before + lines, path));
    before += std::string(static_cast<std::size_t>(std::ranges::count(lines, '\n')), '\n');
    lines.clear();
  };
  for (const std::string& line : linesOf(file.text))
    if (line.starts_with('[') && line.ends_with(']')) {
      keep();
      name = line.substr(1, line.size() - 2);
      before += '\n';
    } else
      lines += line + "\n";
  keep();
  return presets;
}

Preset shippedPreset(const std::string& name)
{
  const std::vector<Preset> presets = shippedPresets();
  const auto found = std::ranges::find(presets, name, &Preset::name);
  if (found == presets.end()) {
    const std::vector<std::string> names = namesOf(presets);
    throw Error(ExitCode::usage, "command line: --preset: \"" + name + "\": no such preset."
                                     + didYouMean(name, names) + " Allowed: " + joined(names)
                                     + "; --list-presets tells what they are for.");
  }
  return *found;
}

std::string presetList()
{
  std::string text;
  for (const Preset& preset : shippedPresets())
    text += preset.name + "\n    " + preset.images + "\n    stages: " + joined(preset.stages)
            + "\n    expect: " + preset.evidence + "\n";
  return text + "The files are in " + shippedFolder().string() + ".\n";
}

std::string didYouMeanShipped(const std::string& given)
{
  std::vector<std::string> names;
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator(shippedFolder(), unknown))
    if (entry.path().extension() == ".txt")
      names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return didYouMean(fs::path(given).stem(), names);
}

}
