#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Device.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using testing::messageOf;

TEST(ChooseDevices, OneDeviceIsChosenAsByChooseDevice)
{
  const std::vector<DeviceChoice> choices = chooseDevices("cpu", "--device");
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices[0].device.kind, DeviceKind::cpu);
  EXPECT_EQ(messageOf([] { chooseDevices("gpu", "--device"); }),
            messageOf([] { chooseDevice("gpu", "--device", ""); }));
}

TEST(ChooseDevices, ListsThatAreNoneAreErrorsBeforeDevicesAreLookedFor)
{
  for (const char* text :
       {"cuda:0,", "cuda:,1", "cuda:0,a", "cuda:0 ,1", "cuda:0,,1", "cuda:0,-1", "cuda:0,1000"})
    EXPECT_EQ(messageOf([&] { chooseDevices(text, "--device"); }),
              std::string("--device: \"") + text
                  + "\": no such devices. Allowed: different numbers, such as \"cuda:0,1\".");
  EXPECT_EQ(messageOf([] { chooseDevices("cuda:1,0,1", "--device"); }),
            "--device: \"cuda:1,0,1\": a device stands there twice. Allowed: different numbers, such as "
            "\"cuda:0,1\".");
}

TEST(ChooseDevices, EachOfAListHasToBeThere)
{
  const std::size_t count = findCudaDevices().found.size();
  const std::string beyond = "cuda:0," + std::to_string(count + 1);
  const std::string wrong = count == 0 ? "\"cuda:0\"" : "only " + std::to_string(count);
  EXPECT_PRED2(testing::contains, messageOf([&] { chooseDevices(beyond, "--device"); }), wrong);
}

TEST(ChooseDevice, ABuildWithoutCudaHasNoDeviceAndNoStream)
{
  if (builtWithCuda)
    GTEST_SKIP() << "this build has CUDA";
  EXPECT_EQ(findCudaDevices().whyNone, "this build has no CUDA");
  EXPECT_EQ(messageOf([] { chooseDevice("cuda", "--device", ""); }),
            "--device: \"cuda\": this build has no CUDA. Allowed: \"cpu\" or \"auto\".");
  EXPECT_EQ(messageOf([] {
              makeContext({DeviceKind::cuda, 0}, 1);
            }),
            "CUDA: a stream: this build has no CUDA. Allowed: (Device \"cpu\").");
}

TEST(ChooseDevice, WorkThatIsNotSharedOutTakesNoList)
{
  EXPECT_EQ(messageOf([] { chooseDevice("cuda:0,1", "--device", ""); }),
            "--device: \"cuda:0,1\": no such device. Allowed: \"auto\", \"cpu\", \"cuda\" or \"cuda:N\".");
}

}
}
