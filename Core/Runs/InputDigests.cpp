#include "Core/Runs/InputDigests.h"

#include "Core/Compute/Error.h"

#include <chrono>
#include <utility>

namespace tessera {

InputDigests::InputDigests(std::vector<RunInput> inputs, FileDigest digestOfOne)
    : inputs_(std::move(inputs)), digestOfOne_(std::move(digestOfOne))
{
}

void InputDigests::start()
{
  found_ = std::async(std::launch::async, [this] {
    std::vector<InputDigest> digests;
    for (const RunInput& input : inputs_)
      digests.push_back(digestOf(input, digestOfOne_, stop_.get_token()));
    return digests;
  });
}

bool InputDigests::areFound() const
{
  return found_.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
}

std::vector<InputDigest> InputDigests::of(const Failure& failure)
{
  const bool isWhole = failure.code == 0 || failure.code == static_cast<int>(ExitCode::someRowsFailed);
  if (!isWhole) // which is told after the record is written
    stop();
  std::vector<InputDigest> digests(inputs_.size());
  if (found_.valid())
    digests = found_.get();
  for (std::size_t i = 0; i < digests.size() && !isWhole; ++i)
    if (digests[i].sha256.empty())
      digests[i] = digestOf(inputs_[i], digestOfOne_, {}, failure.code > 128 ? 0 : largestAfterFailure);
  return digests;
}

}
