#include "Tools/Cohort/Manifest.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/ShippedParameters.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

namespace tessera {
namespace {

constexpr std::size_t maxRows = 1'000'000, longestLine = 1 << 20, maxErrors = 100;

const std::vector<std::string> manyValued{"f", "m", "fMask", "mMask", "p"}; // also with a number behind

std::string lettersOf(const std::string& name)
{
  std::string letters;
  for (const unsigned char c : name)
    if (std::isalnum(c))
      letters += static_cast<char>(std::tolower(c));
  return letters;
}

/// The option that a covariate's name is nearly that of, with its number; empty if there is none.
std::string optionNear(const std::string& name)
{
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string letters = lettersOf(name.substr(0, digits));
  std::vector<std::string> longOnes; // one letter more or less makes many short words an option
  for (const std::string& option : columnOptions())
    if (lettersOf(option) == letters)
      return option + name.substr(digits);
    else if (option.size() > 4)
      longOnes.push_back(option);
  return letters.size() > 4 ? nearestName(name.substr(0, digits), longOnes) : "";
}

enum class ColumnKind { id, session, option, covariate };

struct Column {
  ColumnKind kind = ColumnKind::covariate;
  std::string option;    // without its number
  std::size_t index = 0; // of the option's values
};

Column columnOf(const std::string& name)
{
  if (name == "id" || name == "participant_id")
    return {ColumnKind::id, "", 0};
  if (name == "session_id")
    return {ColumnKind::session, "", 0};
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string stem = name.substr(0, digits);
  if (digits < name.size() && name.size() - digits < 4 && std::ranges::count(manyValued, stem) > 0)
    return {ColumnKind::option, stem, std::stoul(name.substr(digits))};
  if (std::ranges::count(columnOptions(), name) > 0)
    return {ColumnKind::option, name, 0};
  return {};
}

bool isControlCharacter(char c)
{
  return std::iscntrl(static_cast<unsigned char>(c)) && c != '\t';
}

/// As --reference of tessera-follow.
bool isReference(const std::string& text)
{
  const auto number = parseInteger(text);
  return text == "mean" || text == "first" || text == "fixed" || (number && *number >= 0);
}

bool isIdCharacter(char c)
{
  return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

/// Reads the table line by line and gathers all errors.
class Reader {
public:
  Reader(const std::string& path, const OptionValues& defaults) : defaults_(defaults)
  {
    manifest_.path = path;
    folder_ = std::filesystem::path(path).parent_path();
  }

  Manifest read()
  {
    const TextFile table = readStateFile(manifest_.path, std::size_t{4} << 30);
    if (!table.failure.empty())
      failAs(ExitCode::unreadableInput, manifest_.path, "the table cannot be read (" + table.failure + ")",
             "a file with a line a row and values separated by tabs");
    for (std::string line : linesOf(table.text)) {
      if (errors_.size() >= maxErrors)
        break;
      ++line_;
      if (line_ == 1 && line.starts_with("\xef\xbb\xbf")) // a byte order mark
        line.erase(0, 3);
      if (line.ends_with('\r'))
        line.pop_back();
      if (line.size() > longestLine)
        fail(1, "a line of " + std::to_string(line.size()) + " bytes", "at most 1 MB");
      else if (const auto control = std::ranges::find_if(line, isControlCharacter); control != line.end())
        fail(static_cast<std::size_t>(std::count(line.begin(), control, '\t')) + 1,
             "the control character " + std::to_string(static_cast<unsigned char>(*control)),
             "UTF-8 text (not UTF-16), with lines that end with LF or CR LF");
      else if (!line.empty() && !line.starts_with('#'))
        columns_.empty() ? readHeader(cellsOf(line, '\t')) : readRow(cellsOf(line, '\t'));
      if (line_ == headerLine_ && !errors_.empty()) // what they mean for the rows is not known
        break;
      if (manifest_.rows.size() > maxRows) {
        fail(1, "too many rows", "at most 1000000");
        break;
      }
    }
    if (columns_.empty() && errors_.empty())
      fail(1, "no line with the names of the columns", "a first line such as id, f, m, separated by tabs");
    else if (manifest_.rows.empty() && errors_.empty())
      fail(1, "no rows", "a line for each registration");
    if (!errors_.empty()) {
      findMissingFiles();
      std::string text = joined(errors_, "\n  ");
      if (errors_.size() >= maxErrors)
        text += "\n  more errors may follow";
      throw Error(ExitCode::usage, text);
    }
    return std::move(manifest_);
  }

private:
  void fail(std::size_t column, const std::string& wrong, const std::string& allowed)
  {
    errors_.push_back(manifest_.path + ":" + std::to_string(line_) + ":" + std::to_string(column) + ": "
                      + wrong + ". Allowed: " + allowed + ".");
  }

  /// Told beside other errors of the table; where there are none, a row without its file fails alone.
  void findMissingFiles()
  {
    for (const ManifestRow& row : manifest_.rows)
      for (const auto& [option, paths] : row.options)
        for (const std::string& path : paths)
          if (isPathOption(option) && errors_.size() < maxErrors && !std::filesystem::exists(path))
            errors_.push_back(manifest_.path + ":" + std::to_string(row.line) + ": " + row.id + ": " + option
                              + ": " + path + ": no such file.");
  }

  void readHeader(const std::vector<std::string>& names)
  {
    headerLine_ = line_;
    std::set<std::string> seen;
    std::size_t ids = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Column column = columnOf(names[i]);
      if (names[i].empty())
        fail(i + 1, "a column without a name", "a name for each column");
      else if (!seen.insert(names[i]).second)
        fail(i + 1, "the column \"" + names[i] + "\" is there twice", "each name once");
      if (column.kind == ColumnKind::id && ++ids == 2)
        fail(i + 1, "\"id\" and \"participant_id\" are both there", "one of the two columns");
      if (column.kind == ColumnKind::covariate) {
        manifest_.covariates.push_back(names[i]);
        if (const std::string option = optionNear(names[i]); !option.empty())
          manifest_.warnings.push_back(
              manifest_.path + ":" + std::to_string(line_) + ":" + std::to_string(i + 1) + ": the column \""
              + names[i] + "\" is no option but is copied to the tables. Did you mean \"" + option + "\"?");
      }
      columns_.push_back(column);
    }
    if (ids == 0)
      fail(1, "no column \"id\" or \"participant_id\"; the first is \"" + names.front() + "\"",
           names.front().find(',') == std::string::npos
               ? "one that names each row; tabs between the columns"
               : "tabs in place of commas: tr ',' '\\t' <" + manifest_.path + " >pairs.tsv");
  }

  void readRow(const std::vector<std::string>& fields)
  {
    if (fields.size() != columns_.size())
      return fail(std::min(fields.size(), columns_.size()),
                  std::to_string(fields.size()) + " values for " + std::to_string(columns_.size())
                      + " columns",
                  "as many as there are names in the first line; values hold no tabs");
    ManifestRow row;
    row.line = line_;
    std::map<std::string, std::map<std::size_t, std::string>> values; // by option and number
    std::string session;
    std::size_t idColumn = 1;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const Column& column = columns_[i];
      if (column.kind == ColumnKind::covariate)
        row.covariates.push_back(fields[i]);
      else if (!isGivenCell(fields[i]))
        continue;
      else if (column.kind == ColumnKind::id)
        row.id = fields[i], idColumn = i + 1;
      else if (column.kind == ColumnKind::session)
        session = fields[i];
      else if (column.option == "device" && fields[i] != "cpu" && fields[i] != "cuda")
        fail(i + 1, "device \"" + fields[i] + "\": no such device of a cohort", "cpu or cuda");
      else if (column.option == "inverse-too" && fields[i] != "true" && fields[i] != "false")
        fail(i + 1, "inverse-too \"" + fields[i] + "\"", "true or false");
      else if (column.option == "reference" && !isReference(fields[i]))
        fail(i + 1, "reference \"" + fields[i] + "\"",
             "mean, first, the number of a volume from 0, or fixed");
      else if (!values[column.option].emplace(column.index, valueOf(column.option, fields[i])).second)
        fail(i + 1,
             "the option \"" + column.option + "\" is there as \"" + column.option + "\" and as \""
                 + column.option + "0\"",
             "one of the two columns");
    }
    row.id += session.empty() ? "" : "_" + session;
    checkId(row.id, idColumn);
    row.options = defaults_;
    for (const auto& [option, numbered] : values) {
      std::vector<std::string> list;
      for (const auto& [index, value] : numbered) {
        if (index != list.size())
          fail(1,
               "the option \"" + option + std::to_string(list.size()) + "\" is not given, but \"" + option
                   + std::to_string(index) + "\" is",
               "numbers from 0 without a gap");
        list.push_back(value);
      }
      row.options[option] = std::move(list);
    }
    const auto reference = row.options.find("reference");
    const bool takesVolume = reference != row.options.end() && reference->second.front() != "fixed";
    if (takesVolume && row.options.contains("f"))
      fail(1, "row \"" + row.id + "\" has \"f\", and \"reference\" is " + reference->second.front(),
           "f with the reference fixed, or no f");
    for (const char* needed : {"f", "m", "p"})
      if (!row.options.contains(needed) && (needed[0] != 'f' || !takesVolume))
        fail(1, "row \"" + row.id + "\" has no \"" + needed + "\"",
             "a value in a column of this name, or -" + std::string(needed) + " on the command line");
    manifest_.rows.push_back(std::move(row));
  }

  void checkId(const std::string& id, std::size_t column)
  {
    if (id.empty())
      return fail(column, "a row without id", "a name for each row");
    if (id.size() > 200 || id.starts_with('.') || id.starts_with('-') || id.find("..") != std::string::npos
        || !std::ranges::all_of(id, isIdCharacter))
      fail(column, "the id \"" + id + "\" cannot be a folder's name",
           "letters, digits, '_', '-' and single '.', not '.' or '-' first, at most 200");
    if (id == "all" || id == "failed")
      fail(column, "the id \"" + id + "\" has a meaning for --again", "another id");
    std::string folded = id;
    std::ranges::transform(folded, folded.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!ids_.insert(folded).second)
      fail(column, "the id \"" + id + "\" is there twice (capitals do not count)", "each id once");
  }

  std::string valueOf(const std::string& option, const std::string& text) const
  {
    if (const std::string file = parameterFile(text, folder_); option == "p" && file != folder_ / text)
      return file;
    if (!isPathOption(option) || folder_.empty() || std::filesystem::path(text).is_absolute())
      return isPathOption(option) ? pathOnThisSystem(text) : text;
    return std::filesystem::path(pathOnThisSystem((folder_ / text).string())).lexically_normal().string();
  }

  const OptionValues& defaults_;
  std::filesystem::path folder_;
  Manifest manifest_;
  std::vector<Column> columns_;
  std::set<std::string> ids_; // without capitals
  std::vector<std::string> errors_;
  std::size_t line_ = 0, headerLine_ = 0;
};

}

const std::vector<std::string>& columnOptions()
{
  static const std::vector<std::string> names{"f",       "m",      "fMask",       "mMask",         "p",
                                              "t0",      "fp",     "mp",          "point-weights", "fLabels",
                                              "mLabels", "device", "inverse-too", "reference"};
  return names;
}

void tellWarnings(const Manifest& manifest, bool areErrors, Log& log)
{
  std::string errors;
  for (const std::string& warning : manifest.warnings)
    if (areErrors)
      errors += (errors.empty() ? "--strict: " : "\n  --strict: ") + warning;
    else
      log.warning(warning);
  if (!errors.empty())
    throw Error(ExitCode::usage, errors);
}

bool isPathOption(const std::string& option)
{
  return option != "device" && option != "inverse-too" && option != "reference";
}

Manifest readManifest(const std::string& path, const OptionValues& defaults)
{
  return Reader(path, defaults).read();
}

}
