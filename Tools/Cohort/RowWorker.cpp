#include "Tools/Cohort/RowWorker.h"

#include "Components/RegisterComponents.h"
#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Error.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Register/RegisterRun.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
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

void putLine(int socket, const std::string& text)
{
  const std::string line = text + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t count = send(socket, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR)
      return; // the other side has ended, which the next read tells
    sent += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
}

std::string textOf(const Json& json)
{
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

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
    dup2(ends[1], STDIN_FILENO);
    if (gpu != "all")
      setenv("CUDA_VISIBLE_DEVICES", gpu.c_str(), 1);
    execl("/proc/self/exe", "tessera-cohort", "serve-rows", lanesText.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  const int failure = errno;
  close(ends[1]);
  socket_ = ends[0];
  if (process_ < 0) {
    close(socket_);
    throw std::system_error(failure, std::generic_category(), "fork");
  }
}

RowWorker::~RowWorker()
{
  close(socket_);
  if (process_ < 0)
    return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void RowWorker::start(std::size_t row, const RunRequest& request)
{
  rows_.push_back(row);
  putLine(socket_, textOf({{"row", row}, {"request", json(request)}, {"version", projectVersion()}}));
}

bool RowWorker::receive()
{
  char bytes[65536];
  const ssize_t count = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count > 0)
    received_.append(bytes, static_cast<std::size_t>(count));
  else if (count == 0 || (errno != EAGAIN && errno != EINTR))
    hasEnded_ = true;
  return count > 0;
}

std::optional<std::string> RowWorker::nextLine()
{
  while (true) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (!receive())
      return {};
  }
}

std::optional<RowAnswer> RowWorker::answer()
{
  const std::optional<std::string> line = nextLine();
  if (!line)
    return {};
  const Json json = Json::parse(*line);
  RowAnswer answer{json["row"], json["exitCode"], json["message"], {}, json["isBusy"]};
  for (const Json& known : json["digests"])
    answer.digests.push_back({known[0], known[1], known[2], known[3], known[4]});
  std::erase(rows_, answer.row);
  return answer;
}

std::string RowWorker::ask(const std::string& line)
{
  putLine(socket_, line);
  while (!hasEnded_) {
    if (std::optional<std::string> answer = nextLine())
      return *answer;
    pollfd wait{socket_, POLLIN, 0};
    poll(&wait, 1, 1000);
  }
  return "{}";
}

double RowWorker::hostBytes(const RunRequest& request)
{
  return Json::parse(ask(textOf({{"plan", json(request)}}))).value("bytes", 0.0);
}

int RowWorker::gpuCount()
{
  return Json::parse(ask(textOf({{"gpus", true}}))).value("count", 0);
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
    while (true) {
      const std::size_t end = received_.find('\n');
      if (end != std::string::npos) {
        Json request = Json::parse(received_.substr(0, end));
        received_.erase(0, end + 1);
        return request;
      }
      char bytes[65536];
      const ssize_t count = recv(STDIN_FILENO, bytes, sizeof bytes, 0);
      if (count < 0 && errno == EINTR && !stopAsked())
        continue;
      if (count <= 0 || stopAsked())
        return {};
      received_.append(bytes, static_cast<std::size_t>(count));
    }
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
    putLine(STDIN_FILENO, textOf(reply));
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
        throw Error(ExitCode::usage,
                    "tessera-cohort: a row of version " + request["version"].get<std::string>()
                        + " came to a worker of version " + projectVersion() + ". Allowed: one version.");
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
  std::mutex reading_, writing_;
  std::string received_;
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
