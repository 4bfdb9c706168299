#include "Tools/Common/Signals.h"

#include "Core/Compute/ScratchFolder.h"

#include <csignal>

#include <pthread.h>
#include <unistd.h>

namespace tessera {
namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void rememberSignal(int signal)
{
  caught = signal;
}

sigset_t endingSignals()
{
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}

void watchSignals()
{
  struct sigaction action {};
  action.sa_handler = rememberSignal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int caughtSignal()
{
  return caught;
}

EndOnSignals::EndOnSignals(std::function<void(int)> tell) : tell_(std::move(tell))
{
  const sigset_t set = endingSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr); // of threads that are made from now on too
  watcher_ = std::thread([this] { watch(); });
}

EndOnSignals::~EndOnSignals()
{
  isOver_ = true;
  pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
  const sigset_t set = endingSignals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void EndOnSignals::watch()
{
  const sigset_t set = endingSignals();
  int signal = 0;
  sigwait(&set, &signal);
  if (isOver_)
    return;
  ScratchFolder::removeAll();
  std::signal(SIGINT, SIG_DFL); // a second one ends what is in the way of the last words
  std::signal(SIGTERM, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  tell_(signal);
  _exit(128 + signal);
}

}
