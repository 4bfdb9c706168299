#include "Core/Runs/LabelNames.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/NumberIn.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace tessera {
namespace {

/// Words stand between tabs if there are tabs, else between blanks, where quotes hold them together.
std::vector<std::string> wordsOfRow(const std::string& line)
{
  if (line.find('\t') != std::string::npos)
    return piecesOf(line, '\t');
  std::vector<std::string> words = cellsOf(line, ' ');
  std::erase(words, "");
  return words;
}

/// The words between the number of a label and three or more numbers at the end, such as those of a colour.
std::string nameAmong(const std::vector<std::string>& words)
{
  std::size_t end = words.size();
  while (end > 2 && numberIn<double>(words[end - 1]))
    --end;
  if (words.size() - end < 3)
    end = words.size();
  return joined(std::vector(words.begin() + 1, words.begin() + static_cast<std::ptrdiff_t>(end)), " ");
}

}

std::map<std::int64_t, std::string> labelNamesIn(std::string_view table)
{
  std::map<std::int64_t, std::string> names;
  std::size_t index = 0, name = 1; // columns
  for (std::string line : linesOf(table)) {
    line.resize(line.size() - line.ends_with('\r'));
    const std::vector<std::string> words = wordsOfRow(line);
    const auto column = [&](const char* title) {
      return static_cast<std::size_t>(std::ranges::find(words, title) - words.begin());
    };
    if (std::max(column("index"), column("name")) < words.size()) {
      index = column("index");
      name = column("name");
    } else if (std::max(index, name) < words.size()) {
      const std::string found = numberIn<double>(words[name])                       ? words.back()
                                : name == 1 && line.find('\t') == std::string::npos ? nameAmong(words)
                                                                                    : words[name];
      if (const auto label = numberIn<std::int64_t>(words[index]); label && !numberIn<double>(found))
        names[*label] = found;
    }
  }
  return names;
}

std::map<std::int64_t, std::string> labelNamesBeside(const std::string& labelMap)
{
  const std::filesystem::path map(labelMap);
  const std::string file = map.filename().string(), stem = file.substr(0, file.find('.'));
  for (const std::string& table :
       {stem + ".tsv", stem + ".txt", stem + ".label", std::string("FreeSurferColorLUT.txt")})
    if (auto names = labelNamesIn(readTextFile(map.parent_path() / table).text); !names.empty())
      return names;
  return {};
}

}
