#include "Tools/Python/Work.h"

#include "Core/Compute/Error.h"
#include "Tools/Python/Arrays.h"
#include "Tools/Python/Bindings.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <set>

#include <pthread.h>
#include <unistd.h>

namespace tessera::python {
namespace {

/// What all work of a process shares.
struct AllWork {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Work*> running;
  std::size_t unlocked = 0; // threads of Python that have set its lock free
  bool isOver = false;
};

/// Never destroyed, since threads may use it until the process has ended. A forked process has no threads of
/// work, and its mutex may have been locked.
AllWork& all()
{
  static AllWork* const shared = [] {
    static AllWork* const made = new AllWork;
    pthread_atfork(nullptr, nullptr, [] { new (made) AllWork; });
    return made;
  }();
  return *shared;
}

/// Sets the lock of the interpreter free. Python ends threads that ask for it once the interpreter ends,
/// which C++ does not survive: such a thread stays here for ever instead.
class WithoutPythonsLock {
public:
  WithoutPythonsLock()
  {
    const std::lock_guard lock(all().mutex);
    ++all().unlocked;
    state_ = PyEval_SaveThread();
  }
  ~WithoutPythonsLock()
  {
    std::unique_lock lock(all().mutex);
    if (all().isOver) {
      leave();
      lock.unlock();
      for (;;)
        pause();
    }
    lock.unlock();
    PyEval_RestoreThread(state_);
    lock.lock();
    leave();
  }
  WithoutPythonsLock(const WithoutPythonsLock&) = delete;
  WithoutPythonsLock& operator=(const WithoutPythonsLock&) = delete;

private:
  static void leave()
  {
    --all().unlocked;
    all().changed.notify_all();
  }

  PyThreadState* state_;
};

constexpr int debugLevel = 10, infoLevel = 20, warningLevel = 30, errorLevel = 40;

std::chrono::duration<double> atMost(double seconds)
{
  return std::chrono::duration<double>(std::clamp(seconds, 0.0, 3600.0));
}

}

bool WorkLog::tellsIterations() const
{
  return work_.leastLevel_ <= debugLevel;
}

void WorkLog::iteration(const std::string& line)
{
  write(LogLevel::info, line, LineKind::detail);
}

void WorkLog::progressed(const Progress& progress)
{
  const std::lock_guard lock(all().mutex);
  work_.progress_ = progress;
  work_.progress_->seconds = secondsSince(work_.begun_);
}

void WorkLog::write(LogLevel level, const std::string& line, LineKind kind)
{
  const int kept = level == LogLevel::error     ? errorLevel
                   : level == LogLevel::warning ? warningLevel
                   : kind == LineKind::detail   ? debugLevel
                                                : infoLevel;
  if (kept < work_.leastLevel_ || line.empty())
    return;
  const std::lock_guard lock(all().mutex);
  work_.lines_.push_back({kept, line});
}

Work::Work(nb::object inputs, int leastLevel, Body body)
    : inputs_(std::move(inputs)), leastLevel_(leastLevel), process_(getpid())
{
  const std::lock_guard lock(all().mutex);
  if (all().isOver)
    throw Error(ExitCode::usage, "tessera: the interpreter is about to end. Allowed: calls before that.");
  all().running.insert(this);
  try {
    thread_ = std::thread([this, body = std::move(body)] { run(body); });
  } catch (...) {
    all().running.erase(this);
    throw;
  }
}

void Work::run(const Body& body)
{
  try {
    make_ = body(*this);
  } catch (...) {
    exception_ = std::current_exception();
  }
  const std::lock_guard lock(all().mutex);
  hasEnded_ = true;
  all().running.erase(this);
  all().changed.notify_all();
}

Work::~Work()
{
  if (process_ != getpid()) { // the thread does not exist here
    new std::thread(std::move(thread_));
    return;
  }
  askToStop();
  waitForEnd();
}

void Work::waitForEnd()
{
  if (!thread_.joinable())
    return;
  const WithoutPythonsLock unlocked;
  thread_.join();
}

void Work::requireOwnProcess() const
{
  if (process_ != getpid())
    throw Failed{{static_cast<int>(ExitCode::usage),
                  "tessera: this run belongs to the process that was forked, and does not go on here. "
                  "Allowed: runs that begin after the fork."}};
}

bool Work::wait(double seconds)
{
  return waitForOne({this}, seconds);
}

bool Work::waitForOne(const std::vector<Work*>& some, double seconds)
{
  for (const Work* const work : some)
    work->requireOwnProcess();
  const auto haveEnded = [&] {
    return std::ranges::any_of(some, [](const Work* work) { return work->hasEnded_; });
  };
  const WithoutPythonsLock unlocked;
  std::unique_lock lock(all().mutex);
  return all().changed.wait_for(lock, atMost(seconds), haveEnded);
}

void Work::endAll()
{
  const nb::gil_scoped_release released;
  std::unique_lock lock(all().mutex);
  all().isOver = true;
  for (Work* const work : all().running)
    work->askToStop();
  all().changed.wait(lock, [] { return all().running.empty() && all().unlocked == 0; });
}

std::vector<Work::Line> Work::takeLines()
{
  requireOwnProcess();
  const std::lock_guard lock(all().mutex);
  return std::exchange(lines_, {});
}

std::optional<Progress> Work::takeProgress()
{
  requireOwnProcess();
  const std::lock_guard lock(all().mutex);
  return std::exchange(progress_, {});
}

nb::object Work::result()
{
  requireOwnProcess();
  waitForEnd();
  inputs_.reset();
  if (exception_)
    throw Failed{failureOf(exception_)};
  return make_();
}

nb::object Work::partial()
{
  requireOwnProcess();
  waitForEnd();
  inputs_.reset();
  return partial_ ? partial_() : nb::none();
}

void bindWork(nb::module_& module)
{
  nb::class_<Progress>(module, "Progress",
                       "How far a registration is; stages, levels and iterations count from 0.")
      .def_ro("stage", &Progress::stage, "The stage that runs.")
      .def_ro("stages", &Progress::stages, "The number of stages.")
      .def_ro("level", &Progress::level, "The level of the stage that runs.")
      .def_ro("levels", &Progress::levels, "The number of levels of the stage.")
      .def_ro("iteration", &Progress::iteration, "The iteration of the level.")
      .def_ro("value", &Progress::value, "The value of the metric.")
      .def_ro("iterations", &Progress::iterations,
              "The most iterations of the level; None for an optimizer that has no such number.")
      .def_ro("seconds", &Progress::seconds, "Since the run began.");
  nb::class_<Work>(module, "Work")
      .def("wait", &Work::wait)
      .def("stop", &Work::askToStop)
      .def("lines",
           [](Work& work) {
             std::vector<std::pair<int, nb::str>> lines;
             for (const Work::Line& line : work.takeLines())
               lines.emplace_back(line.level, textOf(line.text));
             return lines;
           })
      .def("progress", &Work::takeProgress)
      .def("warnings", [](const Work& work) { return textsOf(work.warnings()); })
      .def("result", &Work::result)
      .def("partial", &Work::partial);
  module.def("wait_for_one", &Work::waitForOne);
  module.def("end_all", &Work::endAll);
}

}
