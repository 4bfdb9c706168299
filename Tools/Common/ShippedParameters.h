#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

/// The folder of the parameter files that come with the programs: ../share/tessera/Parameters beside them.
std::filesystem::path shippedFolder();

/// The file that a word means: itself in `folder` (empty: the working folder), there with .txt behind it, or,
/// if it is a name without a folder, the shipped file of that name. The word in `folder` if there is none.
std::string parameterFile(const std::string& given, const std::filesystem::path& folder = {});

/// Shipped parameter files for a kind of images: a table of presets.toml, which says what each entry means.
struct Preset {
  std::string name, images, evidence;
  std::vector<std::string> stages;
};

/// Those of presets.toml, in its order. Throws Error(usage) if the file is missing or damaged.
std::vector<Preset> shippedPresets();
/// Throws Error(usage) for a name that is not there.
Preset shippedPreset(const std::string& name);
/// The text of --list-presets.
std::string presetList();

/// ` Did you mean "MRRigid"?`, or empty.
std::string didYouMeanShipped(const std::string& given);

/// The preset of a registration that names none.
inline constexpr const char* defaultPreset = "general";

}
