// needs: GPU
#include "Core/Compute/Error.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

using ForkOnCuda = testing::GpuTest;

TEST_F(ForkOnCuda, TheChildOfAProcessThatHasStartedCudaIsToldToBeSpawned)
{
  const Device device{DeviceKind::cuda, 0};
  makeContext(device, 1);

  const pid_t child = fork();
  if (child == 0) {
    bool isTold = false;
    try {
      makeContext(device, 1);
    } catch (const Error& error) {
      isTold =
          error.code() == ExitCode::device && std::string(error.what()).find("spawn") != std::string::npos;
    }
    _exit(isTold ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 0);
}

}
}
