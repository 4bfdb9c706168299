#pragma once

#include <map>
#include <string>
#include <vector>

namespace tessera {

/// An option of a program: `-name value` as in elastix, `--name value` or `--name=value`.
struct Option {
  std::string name;
  std::string value; // name of the value in the help; empty: the option is a switch
  std::string meaning;
  bool repeatable = false;
  bool indexed = false;                  // also -name0, -name1, ...
  std::vector<std::string> aliases = {}; // other names of the option
  const char* dashes = "-";              // in the form that the help shows
};

/// An option that elastix does not have; help shows it as --name.
inline Option ownOption(std::string name, std::string value, std::string meaning,
                        std::vector<std::string> aliases = {})
{
  return {std::move(name), std::move(value), std::move(meaning), false, false, std::move(aliases), "--"};
}

inline Option repeated(Option option)
{
  option.repeatable = true;
  return option;
}

struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

/// The content of a program's help.
struct ProgramText {
  std::string name, example, summary;
  std::vector<OptionGroup> groups;
  std::string closing;
};

/// The options of a command line with their values in order.
class Arguments {
public:
  explicit Arguments(std::map<std::string, std::vector<std::string>> values) : values_(std::move(values)) {}

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// All values of an option, empty if it is absent. Those of an indexed option are in the order of the
  /// indices.
  std::vector<std::string> all(const std::string& name) const;
  /// The only value of an option, or `absent`.
  std::string text(const std::string& name, const std::string& absent = "") const;

private:
  std::map<std::string, std::vector<std::string>> values_;
};

/// Words without an option are the values of `operands`, in this order; "help" alone is --help. Throws
/// Error(usage) with the option: not known (then with the nearest name), without a value, repeated, or with a
/// gap in its indices.
Arguments parseCommandLine(const std::vector<OptionGroup>& groups, const std::vector<std::string>& tokens,
                           const std::vector<std::string>& operands = {});

/// The value of -out in a command line that may be wrong elsewhere. Empty if there is none or more than one,
/// or if the line asks for --check, which writes nothing.
std::string outputFolderIn(const std::vector<std::string>& tokens);

/// Throws Error(usage): "command line: given: wrong. Allowed: allowed."
[[noreturn]] void failCommandLine(const std::string& given, const std::string& wrong,
                                  const std::string& allowed);

/// The value of an option (`--option`), which must be one of the names "first, second, ..."; the first of
/// them if it is absent. Throws Error(usage).
std::string choiceOf(const Arguments&, const std::string& option, const std::string& names);

/// The command line as text for a shell. Words with special characters are quoted.
std::string commandLineText(const std::string& program, const std::vector<std::string>& tokens);

/// The text of --help: an example, usage, options wrapped to 100 columns, exit codes.
std::string helpText(const ProgramText& program);

/// The texts of --version and --extended-version: name, version, and what the program was built with, one
/// line each. Empty if neither is asked for. `program` may be a name of elastix (AsElastix.h).
std::string versionText(const Arguments&, const std::string& program);

/// Writes a text to standard output and returns the exit code 0. Throws Error(unwritableOutput).
int printText(const std::string& text);

/// The version, such as "0.1.0".
std::string projectVersion();

/// Lines `name: value` that tell how the program was built.
std::string builtFrom();

}
