#include "Tools/Cohort/RowWorker.h"

#include "Components/RegisterComponents.h"
#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Error.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Register/RegisterRun.h"

#include <cerrno>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

void put(const ProcessLine& line, const Json& json)
{
  try {
    line.send(Message(json.dump(-1, ' ', false, Json::error_handler_t::replace)));
  } catch (const ProcessLine::Ended&) { // which the next read tells
  }
}

/// Waits for it. Nothing if the other process has ended.
std::optional<Json> taken(const ProcessLine& line)
{
  try {
    return Json::parse(line.receive().bytes());
  } catch (const ProcessLine::Ended&) {
    return {};
  }
}

/// The system or its user ends a process by one of these signals, for want of memory above all. A process
/// that hears the signal ends with 0.
bool isFromOutside(int state)
{
  return WIFSIGNALED(state)
             ? WTERMSIG(state) == SIGKILL || WTERMSIG(state) == SIGTERM
             : WEXITSTATUS(state) == static_cast<int>(ExitCode::outOfMemory) || WEXITSTATUS(state) == 0;
}

}

RowAnswer answerOfDeath(std::size_t index, int state)
{
  const std::string how = WIFSIGNALED(state) ? "signal " + std::to_string(WTERMSIG(state))
                                             : "exit code " + std::to_string(WEXITSTATUS(state));
  const std::string twice =
      "the process of this row ended twice with " + how + ", and the second time it was alone. ";
  const bool lackedMemory = isFromOutside(state);
  return {index,
          static_cast<int>(lackedMemory ? ExitCode::outOfMemory : ExitCode::registrationFailed),
          twice
              + (lackedMemory ? "A process ends so when memory is short, or when somebody ends it. Allowed: "
                                "more memory, and the same command again."
                              : "This is a defect of the program; please report it."),
          {}};
}

RowWorker::RowWorker(const std::string& gpu, int lanes) : lanes_(lanes)
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  const std::string lanesText = std::to_string(lanes);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // a cohort that is killed leaves nobody behind
    if (getppid() != parent)
      _exit(0);
    sigset_t none; // this program takes signals by a thread of its own
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    dup2(ends[1], STDIN_FILENO);
    if (gpu != "all")
      setenv("CUDA_VISIBLE_DEVICES", gpu.c_str(), 1);
    execl("/proc/self/exe", "tessera-cohort", "serve-rows", lanesText.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  const int failure = errno;
  close(ends[1]);
  line_.emplace(ends[0], -1);
  if (process_ < 0)
    throw std::system_error(failure, std::generic_category(), "fork");
}

RowWorker::~RowWorker()
{
  line_.reset();
  if (process_ < 0)
    return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void RowWorker::start(std::size_t row, const RunRequest& request)
{
  rows_.push_back(row);
  put(*line_, {{"row", row}, {"request", json(request)}, {"version", projectVersion()}});
}

std::optional<RowAnswer> RowWorker::answer()
{
  if (pollfd waiting{line_->socket(), POLLIN, 0}; poll(&waiting, 1, 0) <= 0)
    return {};
  const std::optional<Json> reply = taken(*line_);
  hasEnded_ = !reply;
  if (!reply)
    return {};
  const Json& json = *reply;
  RowAnswer answer{json["row"], json["exitCode"], json["message"], {}, json["isBusy"]};
  for (const Json& known : json["digests"])
    answer.digests.push_back({known[0], known[1], known[2], known[3], known[4]});
  std::erase(rows_, answer.row);
  return answer;
}

nlohmann::ordered_json RowWorker::ask(const nlohmann::ordered_json& question)
{
  put(*line_, question);
  const std::optional<Json> reply = taken(*line_);
  hasEnded_ = !reply;
  return reply.value_or(Json::object());
}

double RowWorker::hostBytes(const RunRequest& request)
{
  return ask({{"plan", json(request)}}).value("bytes", 0.0);
}

int RowWorker::gpuCount()
{
  return ask({{"gpus", true}}).value("count", 0);
}

void RowWorker::signal(int number) const
{
  if (process_ > 0)
    kill(process_, number);
}

int RowWorker::end()
{
  int state = 0;
  while (process_ > 0 && waitpid(process_, &state, 0) < 0 && errno == EINTR)
    ;
  process_ = -1;
  return state;
}

namespace {

/// One process's rows: lanes take requests from the same socket.
class RowServer {
public:
  RowServer() { registerComponents(registry_); }

  void serve()
  {
    while (const std::optional<Json> request = next())
      answer(*request);
  }

private:
  std::optional<Json> next()
  {
    const std::lock_guard lock(reading_);
    std::optional<Json> request = taken(line_);
    return stopAsked() ? std::nullopt : std::move(request);
  }

  void answer(const Json& request)
  {
    Json reply;
    if (request.contains("gpus"))
      reply = {{"count", findCudaDevices().found.size()}};
    else if (request.contains("plan"))
      reply = {{"bytes", plannedBytes(request["plan"])}};
    else
      reply = run(request);
    const std::lock_guard lock(writing_);
    put(line_, reply);
  }

  double plannedBytes(const Json& json)
  {
    try {
      Log unread;
      return planOf(registry_, requestOf(json), unread).host.bytesBesideProgram();
    } catch (const std::exception&) { // the row itself will tell
      return 0;
    }
  }

  Json run(const Json& request)
  {
    RowAnswer found{request["row"], 0, "", {}};
    RunLog log(LogLevel::off);
    try {
      if (request["version"] != projectVersion())
        failAs(ExitCode::usage, "tessera-cohort",
               "a row of version " + request["version"].get<std::string>() + " came to a worker of version "
                   + projectVersion(),
               "one version");
      RegisterOptions options{requestOf(request["request"]), "", false};
      options.commandLine = commandLineOf(options.request);
      runRegistration(registry_, options, "tessera-cohort", log, false,
                      [this](const std::string& path, const std::stop_token& stop) {
                        return digests_.digest(path, stop);
                      });
    } catch (...) {
      const Failure failure = failureOf(std::current_exception(), caughtSignal());
      found.exitCode = failure.code;
      found.message = failure.message;
      found.isBusy = log.folderIsBusy();
      log.error(failure.message);
    }
    malloc_trim(0); // rows differ in size
    Json known = Json::array();
    for (const KnownDigest& file : digests_.takeNew())
      known.push_back({file.path, file.bytes, file.inode, file.changedNs, file.sha256});
    return {{"row", found.row},
            {"exitCode", found.exitCode},
            {"message", found.message},
            {"digests", known},
            {"isBusy", found.isBusy}};
  }

  Registry registry_;
  DigestCache digests_;
  ProcessLine line_{STDIN_FILENO, -1};
  std::mutex reading_, writing_;
};

}

int serveRows(int lanes)
{
  prctl(PR_SET_NAME, "tessera-worker"); // which tools such as top show
  RowServer server;
  std::vector<std::thread> others;
  for (int lane = 1; lane < lanes; ++lane)
    others.emplace_back([&server] { server.serve(); });
  server.serve();
  for (std::thread& other : others)
    other.join();
  return 0;
}

}
