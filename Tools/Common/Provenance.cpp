#include "Tools/Common/Provenance.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Runs/RunRecord.h"
#include "Tools/Common/CommandLine.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>

#include <sys/resource.h>
#include <unistd.h>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

Json variables(std::initializer_list<const char*> names)
{
  Json found = Json::object();
  for (const char* name : names)
    if (const char* value = std::getenv(name))
      found[name] = value;
  return found;
}

}

Json provenance()
{
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Json record{{"schema", runSchema}, {"resultVersion", resultVersion}, {"version", projectVersion()}};
  constexpr std::array<std::pair<const char*, const char*>, 5> facts{{{"Git revision SHA", "gitRevision"},
                                                                      {"Git revision date", "gitDate"},
                                                                      {"Compiler", "compiler"},
                                                                      {"ITK version", "itk"},
                                                                      {"Devices", "builtFor"}}};
  for (const std::string& line : linesOf(builtFrom()))
    for (const auto& [shown, name] : facts)
      if (line.starts_with(shown + std::string(": ")))
        record[name] = line.substr(std::string(shown).size() + 2);
  record["host"] = host;
  record["job"] = variables({"SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURMD_NODENAME",
                             "PBS_JOBID", "JOB_ID", "LSB_JOBID"});
  record["peakHostBytes"] = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024; // kB on Linux
  return record;
}

}
