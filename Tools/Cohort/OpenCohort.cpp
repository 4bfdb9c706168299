#include "Tools/Cohort/OpenCohort.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Files/Sha256.h"
#include "Tools/Cohort/RowWorker.h"
#include "Tools/Common/Process.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string absolutePath(const std::string& path)
{
  return fs::absolute(path).lexically_normal().string();
}

OptionValues absolutePaths(OptionValues options)
{
  for (auto& [name, values] : options)
    if (isPathOption(name))
      std::ranges::transform(values, values.begin(), absolutePath);
  return options;
}

CohortFolder folderOf(const std::string& path, std::size_t rows)
{
  const std::optional<CohortFile> before = readCohortFile(path);
  return {path, before ? before->rows : rows};
}

double inputBytes(const ManifestRow& row)
{
  double bytes = 0;
  for (const auto& [option, paths] : row.options)
    for (const std::string& path : option == "f" || option == "m" ? paths : std::vector<std::string>{}) {
      std::error_code missing;
      const auto size = fs::file_size(path, missing);
      bytes += missing ? 0 : static_cast<double>(size);
    }
  return bytes;
}

}

OpenCohort::OpenCohort(const CohortOptions& options, Log& log)
    : options_(options), manifest_(readManifest(options.operand, absolutePaths(options.defaults))),
      folder_(folderOf(prepareOutputFolder(options.outputFolder), manifest_.rows.size())),
      digestFolder_(folder_.file(".inputs"))
{
  tellWarnings(manifest_, options_.strict, log);
  checkRows();
  settleCohortFile();
  digests_.read(digestFolder_);
  for (std::size_t i = 0; i < manifest_.rows.size(); ++i)
    if (i % options_.shards == options_.shard - 1)
      mine_.push_back(i);
}

void OpenCohort::checkRows() const
{
  std::set<std::string> ids{"all", "failed"};
  for (const ManifestRow& row : manifest_.rows)
    ids.insert(row.id);
  for (const std::string& id : options_.again)
    if (!ids.contains(id))
      failAs(ExitCode::usage, "--again " + id, "the table has no such row", "an id, \"failed\" or \"all\"");
}

void OpenCohort::settleCohortFile()
{
  const std::string table = absolutePath(options_.operand);
  const std::optional<CohortFile> before = readCohortFile(folder_.path());
  if (before && before->manifest != table)
    failAs(ExitCode::usage, "-out",
           folder_.path() + " has the results of " + before->manifest + ", not of " + table,
           "another folder");
  if (before && options_.device != "auto" && options_.device != before->deviceKind)
    failAs(ExitCode::usage, "--device " + options_.device,
           "the rows in " + folder_.path() + " were begun on " + before->deviceKind
               + ", and results of both differ in their last bits",
           "--device " + before->deviceKind + ", or another folder for -out");
  if (before) {
    file_ = *before;
  } else {
    const std::string kind = options_.device != "auto" ? options_.device : gpus().empty() ? "cpu" : "cuda";
    file_ = {table, kind, {}, options_.commandLine, manifest_.rows.size()};
    for (const auto& [name, values] : absolutePaths(options_.defaults))
      for (const std::string& value : values) {
        file_.defaults.push_back(name);
        file_.defaults.push_back(value);
      }
    writeCohortFile(folder_.path(), file_);
  }
  const std::string copy = readTextFile(options_.operand).text, path = folder_.file("manifest.tsv");
  if (!fs::exists(path) || readTextFile(path).text != copy)
    writeTextFile(path, copy);
}

RowClaim OpenCohort::claim(std::size_t index) const
{
  return {rowFolder(index), std::chrono::seconds(options_.claimSeconds)};
}

RowState OpenCohort::state(std::size_t index, bool isVerified, std::optional<RowRecord>& record)
{
  return rowState(row(index), folder_, kindOf(index), digests_, isVerified, record);
}

bool OpenCohort::isAskedAgain(const std::string& id, RowState state) const
{
  return std::ranges::any_of(options_.again, [&](const std::string& asked) {
    return asked == id || asked == "all" || (asked == "failed" && state == RowState::failed);
  });
}

std::deque<std::size_t>
OpenCohort::waitingRows(const std::function<void(std::size_t, RowState, const RowRecord&)>& visit)
{
  std::deque<std::size_t> waiting;
  std::map<std::size_t, std::pair<double, std::string>> order;
  for (const std::size_t index : mine_) {
    std::optional<RowRecord> record;
    const RowState now = state(index, options_.verify, record);
    if (now != RowState::waiting && !isAskedAgain(row(index).id, now)) {
      claim(index).releaseIfAbandoned();
      AtomicFile::removeAbandoned(rowFolder(index)); // of a process that ended once the record was there
      visit(index, now, *record);
      continue;
    }
    if (record && record->isDone())
      visit(index, RowState::waiting, *record);
    waiting.push_back(index);
    Sha256 sha; // rows of one size come in an order of their own in each table
    sha.add(row(index).id);
    order[index] = {-inputBytes(row(index)), sha.hexadecimal()};
  }
  std::ranges::sort(waiting, {}, [&](std::size_t index) { return order[index]; });
  DigestCache::append(digestFolder_, digests_.takeNew());
  return waiting;
}

const std::vector<std::string>& OpenCohort::gpus()
{
  if (gpus_)
    return *gpus_;
  gpus_.emplace();
  std::string given = std::getenv("CUDA_VISIBLE_DEVICES") ? std::getenv("CUDA_VISIBLE_DEVICES") : "";
  RowWorker probe("all", 1); // this process never starts CUDA
  for (int i = 0, count = probe.gpuCount(); i < count; ++i) {
    const std::size_t comma = given.find(',');
    gpus_->push_back(given.empty() ? std::to_string(i) : given.substr(0, comma));
    given = comma == std::string::npos ? "" : given.substr(comma + 1);
  }
  return *gpus_;
}

void OpenCohort::keepDigests(const std::vector<KnownDigest>& digests)
{
  for (const KnownDigest& known : digests)
    digests_.add(known);
  DigestCache::append(digestFolder_, digests);
}

}
