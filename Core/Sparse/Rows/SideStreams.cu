#include "Core/Sparse/Rows/SideStreams.h"

#include "Core/Compute/Cuda/Cuda.cuh"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::size_t sideCount = 4;

}

struct SideStreams::State {
  std::shared_ptr<Stream> keptAlive;
  cudaStream_t main = nullptr;
  std::array<cudaStream_t, sideCount> side{};
  std::array<cudaEvent_t, sideCount> joined{};
  cudaEvent_t forked = nullptr;

  ~State()
  {
    for (cudaStream_t stream : side)
      if (stream)
        cudaStreamDestroy(stream);
    for (cudaEvent_t event : joined)
      if (event)
        cudaEventDestroy(event);
    if (forked)
      cudaEventDestroy(forked);
  }
};

SideStreams::SideStreams(const Context& context) : state_(std::make_unique<State>())
{
  state_->keptAlive = context.stream;
  state_->main = cudaStreamOf(context);
  for (cudaStream_t& stream : state_->side)
    checkCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  for (cudaEvent_t& event : state_->joined)
    checkCuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  checkCuda(cudaEventCreateWithFlags(&state_->forked, cudaEventDisableTiming), "making an event");
}
SideStreams::~SideStreams() = default;
SideStreams::SideStreams(SideStreams&&) noexcept = default;
SideStreams& SideStreams::operator=(SideStreams&&) noexcept = default;

void SideStreams::run(const std::vector<std::function<void(void*)>>& launches)
{
  if (launches.size() == 1)
    return launches.front()(state_->main);
  const std::size_t used = std::min(launches.size() - 1, sideCount);
  checkCuda(cudaEventRecord(state_->forked, state_->main), "parting streams");
  launches.front()(state_->main);
  for (std::size_t i = 0; i < used; ++i)
    checkCuda(cudaStreamWaitEvent(state_->side[i], state_->forked), "parting streams");
  for (std::size_t i = 1; i < launches.size(); ++i)
    launches[i](state_->side[(i - 1) % sideCount]);
  for (std::size_t i = 0; i < used; ++i) {
    checkCuda(cudaEventRecord(state_->joined[i], state_->side[i]), "joining streams");
    checkCuda(cudaStreamWaitEvent(state_->main, state_->joined[i]), "joining streams");
  }
}

}
