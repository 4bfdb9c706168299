#include "Tools/Common/Signals.h"

#include <csignal>

namespace tessera {
namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void rememberSignal(int signal)
{
  caught = signal;
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

}
