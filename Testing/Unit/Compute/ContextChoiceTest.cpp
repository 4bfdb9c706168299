// needs: GPU
#include "Core/Compute/ContextChoice.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"

namespace tessera {
namespace {

using testing::messageOf;

TEST(ChooseContext, TheCpuIsNotAskedWhetherItCan)
{
  const ContextChoice choice =
      chooseContext("cpu", "--device", 3, "", [](const Context&) -> std::string { return "never"; });
  EXPECT_FALSE(choice.context.onCuda());
  EXPECT_EQ(choice.context.threads, 3);
  EXPECT_EQ(choice.reason, chooseDevice("cpu", "--device", "").reason);
}

TEST(ChooseContext, AGpuThatCannotLeavesAutoToTheCpuAndIsAnErrorByName)
{
  TESSERA_NEEDS_GPU();
  const auto whyNot = [](const Context& context) -> std::string {
    return context.onCuda() ? "the work is too large" : "not a GPU";
  };
  const ContextChoice choice = chooseContext("auto", "--device", 2, "", whyNot);
  EXPECT_FALSE(choice.context.onCuda());
  EXPECT_EQ(choice.reason, "cpu: the work is too large");
  EXPECT_EQ(messageOf([&] { chooseContext("cuda", "--device", 2, "", whyNot); }),
            "--device cuda: the work is too large. Allowed: cpu, auto.");
  EXPECT_TRUE(chooseContext("cuda", "--device", 2, "", [](const Context&) { return ""; }).context.onCuda());
}

}
}
