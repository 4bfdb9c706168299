#include "Tools/Common/AsElastix.h"

#include "Core/Compute/Error.h"

#include <filesystem>
#include <string_view>

#include <unistd.h>

namespace tessera {

std::string programName(const char* firstWord)
{
  return std::filesystem::path(firstWord).filename().string();
}

bool isElastixName(const std::string& program)
{
  return program == "elastix" || program == "transformix";
}

std::string elastixVersionText(const std::string& program, const std::string& built)
{
  const std::string text = program + " version: 5.3.1\n", own = "Tessera version: " + projectVersion() + "\n";
  if (!built.empty())
    return text + own + built;
  return isatty(STDOUT_FILENO) ? text + own : text;
}

const char* elastixFailureLine(const char* firstWord)
{
  std::string_view name = firstWord;
  name.remove_prefix(name.rfind('/') + 1);
  return name == "elastix" ? "Errors occurred!" : name == "transformix" ? "Errors occurred" : "";
}

std::string elastixHint(const std::string& program)
{
  return "Use \"" + program + " --help\" for information about " + program + "-usage.\n";
}

std::string elastixHelp(const std::string& program, ProgramText text)
{
  text.example.replace(0, text.example.find(' '), program);
  return program + " version: 5.3.1 (Tessera " + projectVersion() + ")\n\n" + helpText(text);
}

void failAsElastix(const std::string& missingOption)
{
  throw Error(ExitCode::usage, "No CommandLine option \"" + missingOption + "\" given!");
}

}
