#include "Tools/Common/BidsTransformName.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Tools/Common/CommandLine.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

namespace tessera {
namespace {

const std::string suffix = "_xfm", ending = ".h5";

[[noreturn]] void fail(const std::string& path, const std::string& wrong)
{
  failAs(ExitCode::usage, "--write " + path, "it is nearly a name of BIDS for transforms, but " + wrong,
         "sub-X_from-A_to-B_mode-image_xfm.h5, with letters and digits as X, A and B; or --format NAME "
         "beside another name, without a JSON file");
}

bool isLabel(const std::string& text)
{
  return !text.empty()
         && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '+'; });
}

}

std::optional<BidsTransformName> bidsTransformName(const std::string& path)
{
  const std::filesystem::path file(path);
  const std::string name = "_" + file.filename().string(), stem = name.substr(0, name.find('.'));
  const auto has = [&](const char* entity) { return stem.find(entity) != std::string::npos; };
  if (!(has("_sub-") && stem.ends_with(suffix)) && !has("_mode-") && !(has("_from-") && has("_to-")))
    return std::nullopt;
  if (!stem.ends_with(suffix))
    fail(path, "it does not end with _xfm");
  if (name.substr(stem.size()) != ending)
    fail(path, "\"" + name.substr(stem.size()) + "\" is not its ending");
  std::map<std::string, std::pair<std::size_t, std::string>> entities; // by key: place and label
  for (const std::string& part : piecesOf(stem.substr(1, stem.size() - 1 - suffix.size()), '_')) {
    const std::size_t dash = part.find('-');
    const std::string key = part.substr(0, dash),
                      label = dash == std::string::npos ? "" : part.substr(dash + 1);
    if (!isLabel(key) || !isLabel(label))
      fail(path, "\"" + part + "\" is no key and label with one - between them");
    if (!entities.emplace(key, std::pair(entities.size(), label)).second)
      fail(path, key + "- is there twice");
  }
  std::size_t last = 0;
  for (const char* key : {"sub", "from", "to", "mode"}) {
    const auto found = entities.find(key);
    if (found == entities.end())
      fail(path, std::string("it has no ") + key + "-");
    if (const std::size_t place = found->second.first;
        place < last || (key == std::string("sub") && place > 0))
      fail(path, std::string(key) + "- is not in its place");
    last = found->second.first;
  }
  if (const std::string& mode = entities["mode"].second; mode != "image")
    fail(path, "mode-" + mode + " is another direction than that of the files of ITK");
  return BidsTransformName{entities["from"].second, entities["to"].second,
                           std::filesystem::path(file).replace_extension(".json").string()};
}

std::string bidsSidecarText(const BidsTransformName& name, const std::vector<std::string>& sources)
{
  const nlohmann::ordered_json json{
      {"Description", "Resamples images of " + name.from + " on the grid of " + name.to + ": maps points of "
                          + name.to + " to " + name.from + ", in mm and LPS (ITK)."},
      {"Sources", sources},
      {"GeneratedBy", nlohmann::ordered_json::array({{{"Name", "Tessera"}, {"Version", projectVersion()}}})}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}
