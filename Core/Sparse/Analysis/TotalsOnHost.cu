#include "Core/Sparse/Analysis/TotalsOnHost.h"

#include "Core/Compute/Cuda/Cuda.cuh"

#include <atomic>

namespace tessera {
namespace {

/// Lets the other hardware thread of the core run for some cycles.
void relax()
{
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}

TotalsOnHost::TotalsOnHost(const Context& context) : context_(context), reported_(context, 1)
{
  reported_[0].turn = 0;
}

TotalsTarget TotalsOnHost::next()
{
  return {&reported_[0], ++turn_};
}

const ReportedTotals& TotalsOnHost::wait() const
{
  constexpr unsigned looksBetweenQuestions =
      1024; // how often the driver is asked whether the work has failed
  const volatile std::uint32_t& turn = reported_[0].turn;
  for (unsigned looks = 1; turn != turn_; ++looks) {
    relax();
    if (looks % looksBetweenQuestions != 0 || cudaStreamQuery(cudaStreamOf(context_)) == cudaErrorNotReady)
      continue;
    context_.stream->wait();
    if (turn != turn_)
      throw Error(
          ExitCode::device,
          "A B on CUDA: the device has done all work and reported no totals. Allowed: a working device.");
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return reported_[0];
}

}
