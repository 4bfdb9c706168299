#include "Core/Compute/Files/TextFile.h"
#include "Core/Parameters/ParameterMap.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Parameters/TomlFile.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t shownCharacters = 100;
constexpr const char* bracketsAllowed = "Allowed: (Name value ...), one parameter a line";

/// A line for a message: bytes that a terminal would act on become ?, long ones are cut.
std::string printable(std::string_view line)
{
  std::string text(line.substr(0, shownCharacters));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127)
      c = '?';
  return line.size() > shownCharacters ? text + "..." : text;
}

/// One line of a parameter text.
struct Line {
  const std::string& file;
  std::size_t number;
  std::string text; // without comment, tabs and blanks at its ends

  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed) const
  {
    failUsage(file + ":" + std::to_string(number) + ": " + printable(text), wrong, allowed);
  }
};

/// Splits a line at quotes, and at blanks outside quotes, and calls visit(part, whether it is quoted). Quotes
/// only group: (A "1") is (A 1).
template <class Visit>
void forEachToken(std::string_view inner, Visit&& visit)
{
  for (bool quoted = false;;) {
    const std::size_t end = inner.find_first_of(quoted ? "\"" : "\" ");
    visit(inner.substr(0, end), quoted);
    if (end == inner.npos)
      return;
    quoted ^= inner[end] == '"';
    inner.remove_prefix(end + 1);
  }
}

/// Throws for a character outside of quotes, which may hold any text, that a word processor has changed.
void refuseWordProcessors(const Line& line)
{
  if (std::ranges::all_of(line.text, [](unsigned char byte) { return byte < 128; }))
    return;
  forEachToken(line.text, [&](std::string_view text, bool quoted) {
    if (const std::string hint = hintOfWordProcessor(text); !quoted && !hint.empty())
      line.fail("a character that word processors put in place of a plain one", hint);
  });
}

void checkBrackets(const Line& line)
{
  const std::string& text = line.text;
  if (!text.starts_with('(')) {
    line.fail("the line does not begin with \"(\"", bracketsAllowed);
  }
  if (!text.ends_with(')')) {
    const bool closed = text.find(')') != std::string::npos;
    line.fail(closed ? "there is text after \")\""
                     : "the line has no \")\" (a // begins a comment, even inside quotes)",
              bracketsAllowed);
  }
  if (text.size() < 3 || text.find(' ') == std::string::npos)
    line.fail("a name and at least one value are needed", bracketsAllowed);
  if (std::ranges::count(text, '"') % 2 != 0)
    line.fail("the line has an odd number of quotes (\")", "Allowed: quotes in pairs");
}

void checkName(const Line& line, const std::string& name)
{
  if (name.empty() && line.text[1] != ' ') // a blank is no error, as in elastix
    line.fail("there is a quote before the name", "Allowed: the name right after \"(\"");
  const std::size_t bad = name.find_first_of(".,:;!@#$%^&'()*+|<>?");
  if (bad != std::string::npos)
    line.fail("the name \"" + name + "\" contains \"" + name[bad] + "\"",
              "Allowed: names without . , : ; ! @ # $ % ^ & ' ( ) * + | < > ?");
}

ParameterEntry parseEntry(const Line& line)
{
  refuseWordProcessors(line);
  checkBrackets(line);
  const std::string_view inner = std::string_view(line.text).substr(1, line.text.size() - 2);
  ParameterEntry entry{{}, {}, line.number};
  entry.values.reserve(static_cast<std::size_t>(std::ranges::count(inner, ' ')));
  bool isName = true, closed = false;
  forEachToken(inner, [&](std::string_view text, bool quoted) {
    if (std::exchange(isName, false)) {
      entry.name = text;
      checkName(line, entry.name);
    } else if (!text.empty()) {
      if (closed && !quoted && text.starts_with('('))
        line.fail("two parameters share the line", bracketsAllowed);
      closed = !quoted && text.ends_with(')');
      entry.values.emplace_back(text);
    }
  });
  const bool nothingQuoted = line.text.find('"') == std::string::npos;
  if (entry.values.empty() && nothingQuoted)
    line.fail("a name and at least one value are needed", bracketsAllowed);
  return entry;
}

/// Prepares a line as elastix does; empty if nothing is left.
std::string prepared(std::string_view raw)
{
  std::string text(raw.substr(0, raw.find("//")));
  std::ranges::replace(text, '\t', ' ');
  return std::string(trimmed(text));
}

/// Reads the lines of one text into a map.
class Parser {
public:
  Parser(const std::string& name, std::vector<std::string>& notes) : map_(name), notes_(notes) {}

  void read(std::string_view raw)
  {
    ++number_;
    if (raw.ends_with('\r'))
      raw.remove_suffix(1);
    if (number_ == 1 && raw.starts_with("\xEF\xBB\xBF")) {
      raw.remove_prefix(3);
      notes_.push_back(
          map_.fileName()
          + ":1: a byte order mark (UTF-8 BOM) stands before the line; elastix refuses such a file.");
    }
    const Line line{map_.fileName(), number_, prepared(raw)};
    checkBytes(raw);
    if (!line.text.empty())
      insert(line, parseEntry(line));
  }

  ParameterMap take() { return std::move(map_); }

private:
  void checkBytes(std::string_view raw) const
  {
    const auto line = [&] { return Line{map_.fileName(), number_, std::string(raw)}; };
    if (raw.find('\0') != std::string_view::npos || raw.starts_with("\xFF\xFE")
        || raw.starts_with("\xFE\xFF")) {
      Line shown = line(); // without bytes of no text
      std::ranges::replace_if(
          shown.text, [](unsigned char byte) { return byte > 127; }, '?');
      shown.fail("this is not plain text", "Allowed: ASCII or UTF-8 text");
    }
    if (raw.find('\r') != std::string_view::npos)
      line().fail("a carriage return stands inside the line", "Allowed: lines that end in LF or CR LF");
  }

  void insert(const Line& line, ParameterEntry entry)
  {
    if (entry.name.empty()) {
      notes_.push_back(map_.where(entry) + ": " + printable(line.text)
                       + ": there is a blank before the name, so the line is not read, as in elastix. "
                         "Allowed: the name right after \"(\".");
      return map_.add(std::move(entry));
    }
    const auto [position, isNew] = positions_.try_emplace(entry.name, map_.entries().size());
    if (isNew) {
      map_.add(std::move(entry));
      return;
    }
    const ParameterEntry& first = map_.entries()[position->second];
    const std::string lines = "lines " + std::to_string(first.line) + " and " + std::to_string(line.number);
    if (first.values != entry.values)
      line.fail("\"" + entry.name + "\" is given twice with different values, on " + lines + "; line "
                    + std::to_string(first.line) + " says "
                    + printable(shownEntry(map_, first).substr(map_.where(first).size() + 2)),
                "Allowed: one line for a parameter");
    notes_.push_back(map_.where(entry) + ": (" + entry.name + "): given twice with the same value, on "
                     + lines + "; elastix refuses such a file.");
  }

  ParameterMap map_;
  std::vector<std::string>& notes_;
  std::unordered_map<std::string, std::size_t> positions_;
  std::size_t number_ = 0;
};

}

ParameterMap parseParameterText(std::string_view text, const std::string& name,
                                std::vector<std::string>& notes)
{
  Parser parser(name, notes);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.take();
}

ParameterMap readParameterFile(const std::string& path, std::vector<std::string>& notes, std::string* text)
{
  std::error_code unknown, ignored;
  if (!std::filesystem::exists(path, unknown) && !unknown) // readTextFile tells why nobody knows
    failUsage(path, "no such file", "Allowed: a parameter file (*.txt, *.toml)");
  if (std::filesystem::is_directory(path, ignored))
    failUsage(path, "this is a folder", "Allowed: a parameter file (*.txt, *.toml)");
  if (!path.ends_with(".txt") && !isTomlFile(path) && !std::filesystem::is_fifo(path, ignored))
    failUsage(path, "the name does not end in .txt or .toml", "Allowed: a parameter file (*.txt, *.toml)");
  const TextFile file = readTextFile(path);
  if (!file.failure.empty())
    failUsage(path, file.failure, "Allowed: a file that this user may read");
  if (text)
    *text = file.text;
  return isTomlFile(path) ? parseTomlText(file.text, path) : parseParameterText(file.text, path, notes);
}

}
