#include "Tools/Cohort/CohortOptions.h"

#include "Core/Compute/NumberIn.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/ShippedParameters.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tessera {
namespace {

const std::vector<std::string> commands{"check", "run", "status", "table", "report", "slurm"};

int wholeNumber(const std::string& option, const std::string& text, int least, int most)
{
  const auto value = numberIn<int>(text);
  if (!value || *value < least || *value > most)
    failCommandLine(option, "\"" + text + "\" is no number that it takes",
                    "whole numbers from " + std::to_string(least) + " to " + std::to_string(most));
  return *value;
}

int environmentNumber(const char* name)
{
  const char* text = std::getenv(name);
  if (!text)
    failCommandLine("--shard slurm", std::string(name) + " is not set",
                    "--shard slurm in a job array of Slurm; --shard I/N elsewhere");
  return wholeNumber(std::string("--shard slurm: ") + name, text, 0, 1'000'000'000);
}

/// Identifiers of an array may begin anywhere and have gaps of one step.
void setShardOfSlurm(CohortOptions& options)
{
  const int id = environmentNumber("SLURM_ARRAY_TASK_ID"), least = environmentNumber("SLURM_ARRAY_TASK_MIN"),
            step = std::max(1, environmentNumber("SLURM_ARRAY_TASK_STEP")),
            count = environmentNumber("SLURM_ARRAY_TASK_COUNT");
  const int index = (id - least) / step;
  if (id < least || (id - least) % step != 0 || index >= count)
    failCommandLine(
        "--shard slurm",
        "the task " + std::to_string(id) + " is not one of " + std::to_string(count) + " from "
            + std::to_string(least) + " in steps of " + std::to_string(step),
        "an array of one range, such as --array=1-8; or none of --shard, since processes share a table");
  options.shard = static_cast<std::size_t>(index) + 1;
  options.shards = static_cast<std::size_t>(count);
}

void setShard(CohortOptions& options, const std::string& text)
{
  if (text == "slurm")
    return setShardOfSlurm(options);
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos)
    failCommandLine("--shard", "\"" + text + "\" is no shard", "I/N such as 1/4, or slurm");
  options.shards = static_cast<std::size_t>(wholeNumber("--shard", text.substr(slash + 1), 1, 1'000'000));
  options.shard = static_cast<std::size_t>(
      wholeNumber("--shard", text.substr(0, slash), 1, static_cast<int>(options.shards)));
}

}

ProgramText cohortText()
{
  const auto input = [](const char* name, const char* meaning) {
    return Option{name, "FILE", meaning, false, true};
  };
  Option parameters{"p", "FILE",
                    "parameter file, or the name of one that comes with the programs; several are stages",
                    true};
  const Option again =
      repeated(ownOption("again", "ID", "do this row again even if it is done; also \"failed\" or \"all\""));
  const Option sbatch = repeated(ownOption(
      "sbatch", "OPTIONS", "options of sbatch for the script, such as \"--partition=long --account=mine\""));
  return {
      "tessera-cohort",
      "tessera-cohort run pairs.tsv -out results -p Rigid.txt -p FreeFormNMI.txt",
      "Registers all pairs of a table, several at once, and goes on where it was stopped. Commands: check "
      "TABLE (finds errors without registering, and tells the memory of the largest row and the time of all "
      "rows), run TABLE, status FOLDER, table FOLDER, report FOLDER, slurm TABLE. The table has a line a row "
      "and values separated by tabs; its columns id, f, m, p, ... are those options of tessera.",
      {{"For rows whose columns do not say it",
        {input("f", "fixed image; -f0, -f1, ... for several"),
         input("m", "moving image; -m0, ..."),
         input("fMask", "mask of the fixed image; -fMask0, ..."),
         input("mMask", "mask of the moving image; -mMask0, ..."),
         parameters,
         {"t0", "FILE", "transform parameter file to start from"},
         {"fp", "FILE", "points of the fixed image"},
         {"mp", "FILE", "points of the moving image that correspond to -fp"},
         ownOption("point-weights", "FILE", "how much each pair of -fp and -mp counts"),
         ownOption("fLabels", "FILE", "labels of the fixed image, to compare with --mLabels"),
         ownOption("mLabels", "FILE", "labels of the moving image"),
         ownOption("device", "NAME",
                   "auto (default: cuda if there is a GPU when the cohort begins), cpu or cuda"),
         ownOption("inverse-too", "",
                   "write the inverse of each result, too (in a column: true or false), as --inverse-too of "
                   "tessera"),
         ownOption("strict", "", "a parameter that no component reads is an error")}},
       {"Running",
        {{"out", "FOLDER", "where results are written; made if it is missing"},
         ownOption("jobs", "N", "rows at once; without it one a thread on the CPU, 4 a GPU on CUDA"),
         ownOption("max-memory", "SIZE",
                   "memory of this machine that the rows may take together, such as 8GB"),
         ownOption("shard", "I/N",
                   "only rows I, I+N, I+2N, ...; \"slurm\": by the task of a job array. Not needed for "
                   "processes that see the same folder: they share the rows"),
         again,
         ownOption("verify", "", "compare the digests of the outputs of rows that are done"),
         ownOption("no-pages", "",
                   "leave out report.html and thumbnail.jpg of each row (the --report of tessera)"),
         ownOption("no-early-stop", "", "go on after 20 rows in succession have failed alike"),
         ownOption("claim-age", "SECONDS",
                   "take over the rows of a process that has given no sign for so long (default 600)")}},
       {"Before a run (check)",
        {ownOption(
            "trial", "",
            "register one row in a temporary folder, and tell the time and disk that all rows will take")}},
       {"Pages (report)",
        {ownOption("single-file", "", "thumbnails are inside the index, for at most 500 rows")}},
       {"Script for Slurm (slurm)",
        {ownOption("tasks", "N", "tasks of the job array, a node each (default 1)"),
         ownOption("time", "TIME", "time limit of a task (default 24:00:00)"), sbatch}},
       commonOptions()},
      exitCodesText()};
}

CohortOptions cohortOptions(const std::vector<std::string>& tokens)
{
  CohortOptions options;
  if (tokens.empty() || std::ranges::count(commands, tokens[0]) == 0)
    failCommandLine(tokens.empty() ? "no command" : "\"" + tokens[0] + "\"",
                    tokens.empty() ? "nothing to do" : "no such command",
                    !tokens.empty() && std::filesystem::exists(tokens[0])
                        ? "a command before it: tessera-cohort run " + tokens[0] + " -out results -p Rigid"
                        : "check, run, status, table, report or slurm; --help tells more");
  options.command = tokens[0];
  const bool isOfTable =
      options.command != "status" && options.command != "table" && options.command != "report";
  if (tokens.size() < 2 || tokens[1].starts_with('-'))
    failCommandLine(options.command, isOfTable ? "no table given" : "no folder given",
                    "tessera-cohort " + options.command + (isOfTable ? " pairs.tsv" : " results"));
  options.operand = tokens[1];
  const Arguments arguments = parseCommandLine(cohortText().groups, {tokens.begin() + 2, tokens.end()});

  options.outputFolder = arguments.text("out");
  if (options.outputFolder.empty() && (options.command == "run" || options.command == "slurm"))
    failCommandLine("-out", "not given", "-out FOLDER");
  for (const std::string& name : columnOptions())
    if (name != "device" && arguments.has(name))
      options.defaults[name] = name == "inverse-too" ? std::vector<std::string>{"true"} : arguments.all(name);
  std::error_code unknown; // whoever reads the file tells it
  for (std::string& file : options.defaults["p"])
    if (std::filesystem::is_fifo(file = parameterFile(file), unknown))
      failCommandLine("-p " + file, "a pipe, which gives its text once", "a file, which each row reads");
  if (options.defaults["p"].empty())
    options.defaults.erase("p");
  options.device = arguments.text("device", "auto");
  if (options.device != "auto" && options.device != "cpu" && options.device != "cuda")
    failCommandLine("--device", "\"" + options.device + "\": no such device of a cohort",
                    "auto, cpu or cuda; CUDA_VISIBLE_DEVICES chooses among GPUs");
  options.strict = arguments.has("strict");
  options.pages = !arguments.has("no-pages");
  if (arguments.has("jobs"))
    options.jobs = wholeNumber("--jobs", arguments.text("jobs"), 1, 1024);
  options.threads = threadCount(arguments);
  if (arguments.has("max-memory"))
    options.maxMemory = memorySize("--max-memory", arguments.text("max-memory"));
  if (arguments.has("shard"))
    setShard(options, arguments.text("shard"));
  options.again = arguments.all("again");
  options.verify = arguments.has("verify");
  options.singleFile = arguments.has("single-file");
  options.trial = arguments.has("trial");
  options.noEarlyStop = arguments.has("no-early-stop");
  if (arguments.has("claim-age"))
    options.claimSeconds = wholeNumber("--claim-age", arguments.text("claim-age"), 1, 1'000'000);
  if (arguments.has("tasks"))
    options.tasks = wholeNumber("--tasks", arguments.text("tasks"), 1, 100'000);
  options.time = arguments.text("time", options.time);
  options.sbatch = arguments.all("sbatch");
  for (const std::string& words : options.sbatch)
    if (!words.starts_with('-') || words.find('\n') != std::string::npos)
      failCommandLine("--sbatch \"" + words + "\"", "not options of sbatch in one line",
                      "--sbatch \"--partition=long --account=mine\", also several times");
  return options;
}

}
