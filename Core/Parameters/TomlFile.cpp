#include "Core/Parameters/TomlFile.h"

#include "Core/Parameters/ParameterText.h"

#ifdef TESSERA_WITH_TOML
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <sstream>
#endif

namespace tessera {

bool isTomlFile(std::string_view path)
{
  return path.ends_with(".toml");
}

#ifdef TESSERA_WITH_TOML

namespace {

constexpr const char* allowed =
    "Allowed: Name = value or Name = [value, ...], values being texts, numbers or booleans";

std::string whereIn(const std::string& file, const toml::source_region& region)
{
  return file + ":" + std::to_string(region.begin.line);
}

bool isAscii(char character)
{
  return static_cast<unsigned char>(character) < 0x80;
}

/// Where a string that begins at `at` ends: behind its closing quotes, or at the end of a line that lacks
/// them.
std::size_t endOfString(std::string_view text, std::size_t at)
{
  const char quote = text[at];
  const bool isLong = text.substr(at, 3) == std::string(3, quote);
  const std::string quotes(isLong ? 3 : 1, quote);
  for (at += quotes.size(); at < text.size(); at += quote == '"' && text[at] == '\\' ? 2 : 1) {
    if (text.substr(at, quotes.size()) == quotes) {
      at += quotes.size();
      for (int more = 0; isLong && more < 2 && at < text.size() && text[at] == quote; ++more)
        ++at; // a long string may end with quotes of its own
      return at;
    }
    if (!isLong && text[at] == '\n')
      return at;
  }
  return text.size();
}

/// Refuses texts on which toml++ 3 runs into undefined behaviour: characters beyond ASCII that are in neither
/// a string nor a comment, or behind a backslash, and strings that touch a word or another string. TOML
/// allows none of them.
void checkCharacters(std::string_view text, const std::string& file)
{
  constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF", beforeString = " \t\r\n=[{,.",
                             afterString = " \t\r\n=]},.#";
  std::size_t at = text.starts_with(byteOrderMark) ? byteOrderMark.size() : 0;
  const std::size_t begin = at;
  const auto refuse = [&](const std::string& what) {
    failUsage(file + ":" + std::to_string(1 + std::ranges::count(text.substr(0, at), '\n')), what, allowed);
  };
  while (at < text.size()) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (text[at] == '"' || text[at] == '\'') {
      if (at > begin && beforeString.find(text[at - 1]) == std::string_view::npos)
        refuse("quotes within a word");
      const std::size_t end = std::min(endOfString(text, at), text.size());
      for (const bool hasEscapes = text[at] == '"'; at < end; ++at)
        if (hasEscapes && text[at] == '\\' && ++at < end && !isAscii(text[at]))
          refuse("a character beyond ASCII behind a backslash");
      at = end;
      if (at < text.size() && afterString.find(text[at]) == std::string_view::npos)
        refuse("a character behind closing quotes");
    } else if (isAscii(text[at])) {
      ++at;
    } else {
      refuse("a character beyond ASCII outside of quotes");
    }
  }
}

/// The text in ASCII, because toml++ 3 runs into undefined behaviour on other characters, too, where it looks
/// for the end of a word. Each byte beyond, and each ~, becomes ~<HH> with its two hexadecimal digits.
std::string inAscii(std::string_view text)
{
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string ascii;
  for (const char character : text)
    if (isAscii(character) && character != '~')
      ascii += character;
    else
      ascii += {'~', '<', digits[static_cast<unsigned char>(character) / 16],
                digits[static_cast<unsigned char>(character) % 16], '>'};
  return ascii;
}

/// Undoes inAscii.
std::string fromAscii(const std::string& ascii)
{
  std::string text;
  for (std::size_t at = 0; at < ascii.size(); ++at) {
    unsigned byte = 0;
    const char *const first = ascii.data() + at + 2, *const last = first + 2;
    const bool isByte = at + 5 <= ascii.size() && ascii.compare(at, 2, "~<") == 0 && *last == '>'
                        && std::from_chars(first, last, byte, 16).ptr == last;
    text += isByte ? static_cast<char>(byte) : ascii[at];
    at += isByte ? 4 : 0;
  }
  return text;
}

std::string valueText(const toml::node& node, const std::string& file, const std::string& name)
{
  if (const auto* text = node.as_string())
    return fromAscii(text->get());
  if (const auto* whole = node.as_integer())
    return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point())
    return realText(real->get());
  if (const auto* boolean = node.as_boolean())
    return boolean->get() ? "true" : "false";
  failUsage(whereIn(file, node.source()) + ": " + name,
            node.is_table() ? "a table" : "a value that is no text, number or boolean", allowed);
}

bool isWhole(double number)
{
  constexpr double largest = 9007199254740992; // 2^53
  return std::abs(number) < largest && number == std::floor(number) && !(number == 0 && std::signbit(number));
}

void push(toml::array& values, const TomlEntry& entry)
{
  for (const std::string& text : entry.texts) {
    if (text == "true" || text == "false")
      values.push_back(text == "true");
    else
      values.push_back(text);
  }
  if (!entry.texts.empty())
    return;
  for (const double number : entry.numbers) {
    if (isWhole(number))
      values.push_back(static_cast<std::int64_t>(number));
    else
      values.push_back(number);
  }
}

}

ParameterMap parseTomlText(std::string_view text, const std::string& name)
{
  checkCharacters(text, name);
  toml::table table;
  try {
    constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";
    table = toml::parse(inAscii(text.starts_with(byteOrderMark) ? text.substr(byteOrderMark.size()) : text),
                        name);
  } catch (const toml::parse_error& error) {
    failUsage(whereIn(name, error.source()), fromAscii(std::string(error.description())), allowed);
  }
  std::vector<ParameterEntry> entries;
  for (const auto& [key, node] : table) {
    ParameterEntry entry{fromAscii(std::string(key.str())), {}, key.source().begin.line};
    if (const toml::array* const values = node.as_array())
      for (const toml::node& value : *values)
        entry.values.push_back(valueText(value, name, entry.name));
    else
      entry.values.push_back(valueText(node, name, entry.name));
    if (entry.values.empty())
      failUsage(whereIn(name, node.source()) + ": " + entry.name, "no value", allowed);
    entries.push_back(std::move(entry));
  }
  std::ranges::stable_sort(entries, {}, &ParameterEntry::line);
  ParameterMap map(name);
  for (ParameterEntry& entry : entries)
    map.add(std::move(entry));
  return map;
}

std::string tomlText(const std::vector<TomlEntry>& entries)
{
  toml::table table;
  for (const TomlEntry& entry : entries) {
    toml::array values;
    push(values, entry);
    if (values.size() == 1)
      values.front().visit([&](const auto& value) { table.insert_or_assign(entry.name, value); });
    else
      table.insert_or_assign(entry.name, std::move(values));
  }
  std::ostringstream text;
  text.exceptions(std::ios::badbit); // without memory the text would be cut
  text << toml::default_formatter{table} << "\n";
  return text.str();
}

#else

namespace {

constexpr const char* without = "this program was built without TOML";
constexpr const char* instead = "Allowed: elastix's text (*.txt), or a build with the library toml++";

}

ParameterMap parseTomlText(std::string_view, const std::string& name)
{
  failUsage(name, without, instead);
}

std::string tomlText(const std::vector<TomlEntry>&)
{
  failUsage("(OutputTransformParameterFileFormat \"TOML\")", without, instead);
}

#endif

}
