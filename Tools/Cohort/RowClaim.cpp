#include "Tools/Cohort/RowClaim.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/NumberIn.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

/// The name by which a scheduler knows this node, else that of the host: several nodes may share a host.
std::string nodeName()
{
  if (const char* node = std::getenv("SLURMD_NODENAME"))
    return node;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return host;
}

std::string bootOfSystem()
{
  const std::vector<std::string> words = wordsOf(readTextFile("/proc/sys/kernel/random/boot_id").text);
  return words.empty() ? "unknown" : words.front();
}

/// When a process started, in ticks since the boot: a number of a process may be used again.
std::string startOf(pid_t process)
{
  const std::string text = readTextFile("/proc/" + std::to_string(process) + "/stat").text;
  const std::vector<std::string> fields = wordsOf(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  return fields.size() < 20 ? "gone" : fields[19]; // the 22nd field; two end with the bracket
}

/// The namespace in which numbers of processes mean what they mean here: containers of one host may have
/// their own.
std::string processNamespace()
{
  std::error_code unknown;
  const std::string name = std::filesystem::read_symlink("/proc/self/ns/pid", unknown).string();
  return unknown ? "unknown" : name;
}

struct Owner {
  std::string node, boot, start, processes;
  pid_t process = 0;

  /// A process that was killed before it wrote its name has left an empty claim; others are damaged.
  bool isNobody() const { return process <= 0; }
};

Owner ownerIn(const std::string& path)
{
  std::vector<std::string> words = wordsOf(readStateFile(path, 4096).text);
  words.resize(5);
  return {words[0], words[1], words[3], words[4], numberIn<pid_t>(words[2]).value_or(0)};
}

double secondsOf(const timespec& time)
{
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}

double fileServerSeconds(const std::string& folder)
{
  const std::string path = folder + ".clock-" + nodeName() + "-" + std::to_string(getpid());
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  struct stat info {};
  const bool known = file >= 0 && write(file, "x", 1) == 1 && fstat(file, &info) == 0;
  if (file >= 0)
    close(file);
  unlink(path.c_str());
  return known ? secondsOf(info.st_mtim) : static_cast<double>(std::time(nullptr));
}

RowClaim::RowClaim(std::string rowFolder, std::chrono::seconds age)
    : folder_(std::move(rowFolder)), path_(folder_ + ".taken"), age_(age)
{
}

bool RowClaim::create() const
{
  const std::string text = nodeName() + " " + bootOfSystem() + " " + std::to_string(getpid()) + " "
                           + startOf(getpid()) + " " + processNamespace() + "\n";
  const int file = open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0 && errno == EEXIST) {
    std::error_code ignored;
    const auto there = std::filesystem::symlink_status(path_, ignored);
    if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there))
      return false;
    failAs(ExitCode::unwritableOutput, path_,
           std::string("the row cannot be claimed, because this is a ") + kindOfFile(there.type()),
           "nothing, or the file of another process");
  }
  const bool isWritten =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int failure = errno;
  if (file >= 0)
    close(file);
  if (!isWritten) {
    if (file >= 0)
      unlink(path_.c_str());
    failAs(ExitCode::unwritableOutput, path_,
           std::string("the row cannot be claimed (") + std::strerror(failure) + ")",
           "a folder that may be written to and has room");
  }
  return true;
}

bool RowClaim::take()
{
  std::error_code failure;
  std::filesystem::create_directories(folder_, failure);
  if (failure)
    failAs(ExitCode::unwritableOutput, folder_,
           "the folder of a row cannot be made (" + failure.message() + ")",
           "a folder that may be written to");
  return create() || (isAbandoned() && removeAbandoned() && create());
}

bool RowClaim::isTaken() const
{
  return access(path_.c_str(), F_OK) == 0 && !isAbandoned();
}

bool RowClaim::isAbandoned() const
{
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0)
    return true;
  const Owner owner = ownerIn(path_);
  if (owner.node == nodeName() && owner.boot == bootOfSystem() && owner.processes == processNamespace()
      && !owner.isNobody())
    return startOf(owner.process) != owner.start;
  const std::chrono::seconds age = owner.isNobody() ? std::min(age_, std::chrono::seconds(5)) : age_;
  // A time in the future is no sign of life either: its process would have replaced it by the time of now.
  return std::abs(fileServerSeconds(folder_) - secondsOf(info.st_mtim)) > static_cast<double>(age.count());
}

bool RowClaim::removeAbandoned() const
{
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0)
    return true;
  // The second name of the file can be made once. Should the process that made it die before the next line,
  // another may try after a further age.
  const double idle = fileServerSeconds(folder_) - secondsOf(info.st_mtim);
  const std::string second = path_ + "-" + std::to_string(info.st_ino) + "-"
                             + std::to_string(info.st_mtim.tv_sec) + "-"
                             + std::to_string(static_cast<long>(idle / static_cast<double>(age_.count())));
  if (link(path_.c_str(), second.c_str()) != 0)
    return false;
  struct stat linked {};
  const bool isThatClaim = stat(second.c_str(), &linked) == 0 && linked.st_ino == info.st_ino;
  if (isThatClaim) // not the one of a process that was faster
    unlink(path_.c_str());
  unlink(second.c_str());
  return isThatClaim;
}

std::string RowClaim::ownerText() const
{
  const Owner owner = ownerIn(path_);
  return owner.isNobody() ? "a process that the claim does not name"
                          : "process " + std::to_string(owner.process) + " on " + owner.node;
}

void RowClaim::touch() const
{
  utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
}

void RowClaim::release() const
{
  unlink(path_.c_str());
}

void RowClaim::releaseIfAbandoned() const
{
  if (access(path_.c_str(), F_OK) == 0 && isAbandoned())
    removeAbandoned();
}

}
