#include "Tools/Common/Signals.h"

#include "Core/Compute/Files/ScratchFolder.h"

#include <csignal>

#include <pthread.h>
#include <unistd.h>

namespace tessera {
namespace {

volatile std::sig_atomic_t caught = 0;
std::atomic<bool> asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may write nothing else");
std::atomic<bool> isOnlyRecorded{false};
std::atomic_flag isSettled; // how the program ends

extern "C" void rememberSignal(int signal)
{
  if (caught == 0)
    caught = signal;
  asked = true;
}

/// Whether SIGHUP is ignored, as under nohup, so that the program outlives its terminal.
bool hangupIsIgnored()
{
  struct sigaction action {};
  sigaction(SIGHUP, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

sigset_t endingSignals()
{
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (!hangupIsIgnored()) // a blocked signal is delivered even if it is ignored
    sigaddset(&set, SIGHUP);
  return set;
}

/// Takes the signals that come right behind another one: for a program that is to end, a system may send TERM
/// and HUP at once, which is no second request.
void takeThoseOfOneRequest(const sigset_t& set)
{
  constexpr timespec wait{0, 50'000'000};
  while (sigtimedwait(&set, nullptr, &wait) > 0) {
  }
}

}

void watchSignals()
{
  isOnlyRecorded = true;
  struct sigaction action {};
  action.sa_handler = rememberSignal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  action.sa_flags = SA_RESTART; // not SA_RESETHAND: system and shell may both send SIGHUP for one hangup
  if (!hangupIsIgnored())
    sigaction(SIGHUP, &action, nullptr);
}

int caughtSignal()
{
  return caught;
}

const std::atomic<bool>& stopAsked()
{
  return asked;
}

void settleEnd()
{
  if (isSettled.test_and_set())
    isSettled.wait(true); // which never changes
}

EndOnSignals::EndOnSignals(Log& log, std::function<void(int)> further)
    : EndOnSignals([&log, further](int signal) {
        log.error("interrupted by signal " + std::to_string(signal)
                  + ": the run is not complete; results that are there are whole.");
        if (further)
          further(signal);
      })
{
}

EndOnSignals::EndOnSignals(std::function<void(int)> report) : report_(std::move(report))
{
  const sigset_t set = endingSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr); // threads that are created later inherit the mask
  watcher_ = std::thread([this] { watch(); });
}

EndOnSignals::~EndOnSignals()
{
  if (!isOver_.exchange(true)) // else the watcher ends the program, and a signal would do so in its place
    pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
  if (isSettled.test()) // a record says how the program ends
    return;
  const sigset_t set = endingSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void EndOnSignals::watch()
{
  const sigset_t set = endingSignals();
  int signal = 0;
  sigwait(&set, &signal);
  while (!isOver_ && isOnlyRecorded && (caught == 0 || signal == SIGHUP)) {
    rememberSignal(signal);
    takeThoseOfOneRequest(set);
    if (isOver_) // whose signal may have been taken
      return;
    sigwait(&set, &signal);
  }
  if (isOver_) // which the destructor waits for
    return;
  takeThoseOfOneRequest(set);
  if (isOver_)
    return;
  if (isSettled.test_and_set()) { // only a second one ends the program
    sigwait(&set, &signal);
    if (isOver_)
      return;
    _exit(128 + signal);
  }
  if (isOver_.exchange(true))
    return;
  ScratchFolder::removeAll();
  std::signal(SIGINT, SIG_DFL); // a second one ends the program even if the report hangs
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_IGN); // system and shell may both send it for one hangup
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  if (caught == 0) {
    caught = signal;
    report_(signal);
  }
  _exit(128 + signal);
}

}
