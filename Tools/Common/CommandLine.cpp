#include "Tools/Common/CommandLine.h"

#include "Core/Compute/Error.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/ShippedParameters.h"
#include "Tools/Common/StandardOutput.h"

#include <boost/program_options.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>

namespace po = boost::program_options;

namespace tessera {
namespace {

/// The option that a token names. `index` is set for an indexed one such as -f0.
struct Named {
  const Option* option = nullptr;
  std::optional<std::size_t> index;
};

[[noreturn]] void failWithAdvice(const std::string& given, const std::string& wrong,
                                 const std::string& advice)
{
  throw Error(ExitCode::usage, "command line: " + given + ": " + wrong + ". " + advice + ".");
}

Named findOption(const std::vector<OptionGroup>& groups, const std::string& name)
{
  const std::size_t digits = name.size() - (name.find_last_not_of("0123456789") + 1);
  const std::string stem = name.substr(0, name.size() - digits);
  Named indexed;
  for (const OptionGroup& group : groups)
    for (const Option& option : group.options) {
      if (option.name == name || std::count(option.aliases.begin(), option.aliases.end(), name))
        return {&option, std::nullopt};
      if (option.indexed && option.name == stem && digits > 0 && digits < 4)
        indexed = {&option, std::stoul(name.substr(stem.size()))};
    }
  return indexed;
}

/// The name of a token: without dashes, and up to '='.
std::string nameOf(const std::string& token)
{
  const std::size_t start = token.compare(0, 2, "--") == 0 ? 2 : 1;
  return token.substr(start,
                      token.find('=') == std::string::npos ? std::string::npos : token.find('=') - start);
}

bool looksLikeOption(const std::string& token)
{
  return token.size() > 1 && token[0] == '-';
}

/// Names that other programs have for options of these; letters alone, without capitals.
constexpr std::array<std::pair<const char*, const char*>, 21> otherNames{
    {{"fixed", "f"},          {"fixedimage", "f"}, {"reference", "f"},     {"ref", "f"},
     {"target", "f"},         {"moving", "m"},     {"movingimage", "m"},   {"source", "m"},
     {"floating", "m"},       {"flo", "m"},        {"output", "out"},      {"o", "out"},
     {"parameters", "p"},     {"params", "p"},     {"fixedmask", "fMask"}, {"mask", "fMask"},
     {"movingmask", "mMask"}, {"transform", "tp"}, {"input", "in"},        {"i", "in"},
     {"inputs", "in"}}};

/// The option that another program calls so; else the only one that begins so; else the one whose name is
/// nearest; empty if none is near.
std::string meantOption(const std::string& name, const std::vector<std::string>& names)
{
  std::string letters;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)))
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [other, option] : otherNames)
    if (letters == other && std::ranges::count(names, option) > 0)
      return option;
  const auto begins = [&](const std::string& option) { return option.starts_with(name); };
  if (std::ranges::count_if(names, begins) == 1)
    return *std::ranges::find_if(names, begins);
  return name.size() == 1 ? "" : nearestName(name, names); // each name of one letter is near to any other
}

/// Fails for a word that holds a character of a word processor in place of a plain one, and is no file.
void checkPlain(const std::string& token)
{
  std::error_code ignored;
  if (const std::string hint = hintOfWordProcessor(token);
      !hint.empty() && !std::filesystem::exists(token, ignored))
    failWithAdvice("\"" + token + "\"", "a character that word processors put in place of a plain one", hint);
}

void failUnknown(const std::vector<OptionGroup>& groups, const std::string& token)
{
  checkPlain(token);
  if (!looksLikeOption(token))
    failWithAdvice("\"" + token + "\"", "a value without an option",
                   "Every value follows its option; --help lists them");
  std::vector<std::string> names;
  for (const OptionGroup& group : groups)
    for (const Option& option : group.options)
      names.push_back(option.name);
  std::string nearest = meantOption(nameOf(token), names);
  if (!nearest.empty())
    nearest = findOption(groups, nearest).option->dashes + nearest;
  failWithAdvice(token, "no such option",
                 (nearest.empty() ? "" : "Did you mean " + nearest + "? ") + std::string("--help lists all"));
}

/// The tokens in Boost's long style: "--name" followed by its value. Adds every name, with its index, to
/// `names`.
std::vector<std::string> normalized(const std::vector<OptionGroup>& groups,
                                    const std::vector<std::string>& tokens,
                                    const std::vector<std::string>& operands,
                                    std::map<std::string, Named>& names)
{
  std::vector<std::string> result;
  auto operand = operands.begin();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (!looksLikeOption(token) && operand != operands.end()) {
      checkPlain(token);
      names[*operand] = findOption(groups, *operand);
      result.insert(result.end(), {"--" + *operand++, token});
      continue;
    }
    const Named named = looksLikeOption(token) ? findOption(groups, nameOf(token)) : Named{};
    if (!named.option)
      failUnknown(groups, token);
    const std::string name = named.option->name + (named.index ? std::to_string(*named.index) : "");
    names[name] = named;
    const std::size_t equals = token.find('=');
    const auto refuseEmpty = [&](const std::string& given) {
      failCommandLine(given, "an empty value",
                      std::string(named.option->dashes) + name + " " + named.option->value);
    };
    if (!named.option->value.empty() && equals + 1 == token.size())
      refuseEmpty(token);
    result.push_back("--" + name + (equals == std::string::npos ? "" : token.substr(equals)));
    if (named.option->value.empty() || equals != std::string::npos)
      continue;
    const bool valueFollows =
        i + 1 < tokens.size()
        && !(looksLikeOption(tokens[i + 1]) && findOption(groups, nameOf(tokens[i + 1])).option);
    if (!valueFollows)
      failCommandLine(token, "no value given", token + " " + named.option->value);
    result.push_back(tokens[++i]);
    if (tokens[i].empty())
      refuseEmpty(token + " \"\"");
    checkPlain(tokens[i]);
  }
  return result;
}

po::variables_map parsed(const std::vector<std::string>& tokens, const std::map<std::string, Named>& names)
{
  po::options_description description;
  for (const auto& [name, named] : names) {
    if (named.option->value.empty())
      description.add_options()(name.c_str(), "");
    else if (named.option->repeatable)
      description.add_options()(name.c_str(), po::value<std::vector<std::string>>()->composing(), "");
    else
      description.add_options()(name.c_str(), po::value<std::string>(), "");
  }
  namespace style = po::command_line_style;
  po::variables_map map;
  try {
    po::store(po::command_line_parser(tokens)
                  .options(description)
                  .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                  .run(),
              map);
  } catch (const po::multiple_occurrences& error) {
    std::string name = error.get_option_name();
    name.erase(0, name.find_first_not_of('-'));
    failCommandLine(names.at(name).option->dashes + name, "given more than once", "once");
  } catch (const po::error& error) {
    failWithAdvice("options", error.what(), "--help lists what is allowed");
  }
  return map;
}

/// The values of -f0, -f1, ... by index. -f is -f0.
std::map<std::size_t, std::string> indexedValues(const std::string& stem, const po::variables_map& map,
                                                 const std::map<std::string, Named>& names)
{
  std::map<std::size_t, std::string> values;
  for (const auto& [name, named] : names)
    if (named.option->name == stem
        && !values.emplace(named.index.value_or(0), map[name].as<std::string>()).second)
      failCommandLine("-" + stem + " and -" + stem + "0", "the same image given twice", "one of them");
  std::size_t expected = 0;
  for (const auto& [index, value] : values)
    if (index != expected++)
      failWithAdvice("-" + stem + std::to_string(index),
                     "-" + stem + std::to_string(expected - 1) + " is missing",
                     std::string("Indices run from 0 without a gap")
                         + (stem.ends_with("Mask") ? "; a mask of ones limits nothing" : ""));
  return values;
}

void appendWrapped(std::string& text, const std::string& words, std::size_t indent)
{
  constexpr std::size_t width = 100;
  std::size_t column = indent;
  for (std::size_t start = 0, end; start < words.size(); start = end + 1) {
    end = std::min(words.find(' ', start), words.size());
    const std::size_t length = end - start;
    if (column > indent && column + 1 + length > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      text += " ";
      ++column;
    }
    text += words.substr(start, length);
    column += length;
  }
  text += "\n";
}

}

std::vector<std::string> Arguments::all(const std::string& name) const
{
  const auto found = values_.find(name);
  return found == values_.end() ? std::vector<std::string>{} : found->second;
}

std::string Arguments::text(const std::string& name, const std::string& absent) const
{
  const auto found = values_.find(name);
  return found == values_.end() || found->second.empty() ? absent : found->second.front();
}

void failCommandLine(const std::string& given, const std::string& wrong, const std::string& allowed)
{
  failWithAdvice(given, wrong, "Allowed: " + allowed);
}

std::string choiceOf(const Arguments& arguments, const std::string& option, const std::string& names)
{
  const std::string value = arguments.text(option, names.substr(0, names.find(',')));
  if (value.find(',') != std::string::npos
      || (", " + names + ",").find(", " + value + ",") == std::string::npos)
    failCommandLine("--" + option + " " + value, "not known", names);
  return value;
}

Arguments parseCommandLine(const std::vector<OptionGroup>& groups, const std::vector<std::string>& tokens,
                           const std::vector<std::string>& operands)
{
  std::map<std::string, Named> names;
  const bool asksForHelp = !operands.empty() && tokens == std::vector<std::string>{"help"};
  const std::vector<std::string> normal =
      normalized(groups, asksForHelp ? std::vector<std::string>{"--help"} : tokens, operands, names);
  const po::variables_map map = parsed(normal, names);

  std::map<std::string, std::vector<std::string>> values;
  for (const auto& [name, named] : names) {
    std::vector<std::string>& list = values[named.option->name];
    if (named.option->value.empty())
      continue;
    if (named.option->repeatable)
      list = map[name].as<std::vector<std::string>>();
    else if (named.option->indexed) {
      list.clear();
      for (const auto& [index, value] : indexedValues(named.option->name, map, names))
        list.push_back(value);
    } else
      list = {map[name].as<std::string>()};
  }
  return Arguments(std::move(values));
}

std::string commandLineText(const std::string& program, const std::vector<std::string>& tokens)
{
  const auto quoted = [](const std::string& word) {
    const auto isPlain = [](unsigned char c) {
      return std::isalnum(c) || std::string_view("_./=:,+@%-").find(c) != std::string_view::npos;
    };
    if (!word.empty() && std::all_of(word.begin(), word.end(), isPlain))
      return word;
    std::string text = "'";
    for (const char c : word)
      text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
  };
  std::string text = quoted(program);
  for (const std::string& token : tokens)
    text += " " + quoted(token);
  return text;
}

std::string helpText(const ProgramText& program)
{
  constexpr std::size_t indent = 24;
  std::string text = "  " + program.example + "\n\n" + program.summary + "\n";
  for (const OptionGroup& group : program.groups) {
    text += "\n" + group.title + "\n";
    for (const Option& option : group.options) {
      std::string head = "  " + std::string(option.dashes) + option.name;
      if (!option.value.empty())
        head += " " + option.value;
      head +=
          head.size() + 2 > indent ? "\n" + std::string(indent, ' ') : std::string(indent - head.size(), ' ');
      text += head;
      appendWrapped(text, option.meaning, indent);
    }
  }
  return text + "\n" + program.closing;
}

std::string projectVersion()
{
  return TESSERA_VERSION;
}

int printText(const std::string& text)
{
  putStandardOutput(text);
  if (flushStandardOutput() != 0)
    throw Error(ExitCode::unwritableOutput, standardOutputError());
  return 0;
}

std::string builtFrom()
{
#ifdef TESSERA_WITHOUT_CUDA
  const std::string devices = "cpu (built without CUDA)";
#else
  const std::string devices = "cpu, cuda";
#endif
  return "Compiler: GCC version " __VERSION__ "\nDevices: " + devices + "\n" TESSERA_BUILT_FROM;
}

std::string versionText(const Arguments& arguments, const std::string& program)
{
  const std::string built = builtFrom();
  const bool extended = arguments.has("extended-version");
  if (!extended && !arguments.has("version"))
    return "";
  if (isElastixName(program))
    return elastixVersionText(program, extended ? built : "");
  return program + " " + projectVersion() + "\n" + built + "Parameter files: " + shippedFolder().string()
         + "\n";
}

std::string outputFolderIn(const std::vector<std::string>& tokens)
{
  std::string folder;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    const std::size_t equals = token.find('=');
    const std::string option = token.substr(0, equals);
    if (option == "--check" || option == "-check")
      return "";
    if (option != "-out" && option != "--out")
      continue;
    const bool follows = equals == std::string::npos;
    if (!folder.empty() || (follows && i + 1 == tokens.size()))
      return "";
    folder = follows ? tokens[++i] : token.substr(equals + 1);
  }
  return folder;
}

}
