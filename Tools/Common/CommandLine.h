#pragma once

#include <map>
#include <string>
#include <vector>

namespace tessera {

/// An option of a program, written `-name value` as elastix does, `--name value` or `--name=value`.
struct Option {
  std::string name;
  std::string value; // what help calls its value; empty: a switch
  std::string meaning;
  bool repeatable = false;
  bool indexed = false;                  // also -name0, -name1, ...
  std::vector<std::string> aliases = {}; // other names for the same
  const char* dashes = "-";              // as help shows it
};

/// An option that elastix does not have; help shows it as --name.
inline Option ownOption(std::string name, std::string value, std::string meaning,
                        std::vector<std::string> aliases = {})
{
  return {std::move(name), std::move(value), std::move(meaning), false, false, std::move(aliases), "--"};
}

struct OptionGroup {
  std::string title;
  std::vector<Option> options;
};

/// What help says of a program.
struct ProgramText {
  std::string name, example, summary;
  std::vector<OptionGroup> groups;
  std::string closing;
};

/// The options that were given, with their values in order.
class Arguments {
public:
  explicit Arguments(std::map<std::string, std::vector<std::string>> values) : values_(std::move(values)) {}

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// Every value; empty if the option was not given. Of an indexed option: in the order of the indices.
  std::vector<std::string> all(const std::string& name) const;
  /// The only value, or `absent`.
  std::string text(const std::string& name, const std::string& absent = "") const;

private:
  std::map<std::string, std::vector<std::string>> values_;
};

/// Throws Error(usage) naming the token: unknown option (with the nearest one), value missing, given twice,
/// gap in indices.
Arguments parseCommandLine(const std::vector<OptionGroup>& groups, const std::vector<std::string>& tokens);

/// The whole command line as a shell takes it: words that it would not leave as they are stand in quotes.
std::string commandLineText(const std::string& program, const std::vector<std::string>& tokens);

/// Example first, then usage, options wrapped to 100 columns, exit codes.
std::string helpText(const ProgramText& program);

/// Name, version, compiler, and what the build supports, one line each.
std::string versionText(const std::string& program);

/// To standard output; returns 0, the exit code of who only had that to do. Throws Error(unwritableOutput).
int printText(const std::string& text);

/// "tessera 0.1.0" without the name.
std::string projectVersion();

}
