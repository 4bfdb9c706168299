#include "Core/Compute/Memory/DeviceShare.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Testing/Support/OnGpu/HostStream.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tessera {
namespace {

constexpr int device = 1000; // no stream is there

TEST(DeviceShare, TakesUpToItsLimit)
{
  DeviceShare share(device, 100);
  EXPECT_TRUE(share.take(60));
  EXPECT_FALSE(share.take(41));
  EXPECT_EQ(share.left(), 40);
  EXPECT_TRUE(share.take(40));
  share.giveBack(60);
  EXPECT_EQ(share.left(), 60);
  EXPECT_TRUE(std::isinf(DeviceShare(device).left()));
}

TEST(DeviceShare, RemembersTheMostUntilThatIsAsked)
{
  DeviceShare share(device);
  share.take(30);
  share.take(40);
  share.giveBack(40);
  EXPECT_EQ(share.takePeak(), 70);
  EXPECT_EQ(share.takePeak(), 30);
}

TEST(DeviceShare, KnowsWhatOthersOfItsDeviceHaveReservedAndNotTaken)
{
  const DeviceShare own(device);
  DeviceShare elsewhere(device + 1);
  elsewhere.reserve(1000);
  {
    DeviceShare first(device), second(device);
    first.reserve(50);
    second.reserve(20);
    EXPECT_EQ(own.reservedByOthers(), 70);
    EXPECT_EQ(first.reservedByOthers(), 20);
    first.take(15);
    EXPECT_EQ(own.reservedByOthers(), 55);
    second.take(25); // more than it has reserved
    EXPECT_EQ(own.reservedByOthers(), 35);
  }
  EXPECT_EQ(own.reservedByOthers(), 0);
}

class SharingStream : public testing::HostStream {
public:
  DeviceShare* share() override { return &share_; }
  double usableBytes() override { return 100 - share_.reservedByOthers(); }

private:
  DeviceShare share_{device};
};

Context contextOnDevice()
{
  return {{DeviceKind::cuda, device}, 1, std::make_shared<SharingStream>()};
}

TEST(DeviceReservation, IsKeptFromOtherPlansUntilItEnds)
{
  const Context first = contextOnDevice(), second = contextOnDevice();
  const auto takeUpTo = [](const Context& context, double wanted) {
    return [&context, wanted] { return std::min(wanted, usableDeviceMemory(context)); };
  };
  {
    const DeviceReservation most(first, takeUpTo(first, 70));
    EXPECT_EQ(usableDeviceMemory(second), 30);
    EXPECT_EQ(usableDeviceMemory(first), 100);
    const DeviceReservation rest(second, takeUpTo(second, 70));
    EXPECT_EQ(usableDeviceMemory(first), 70);
  }
  EXPECT_EQ(usableDeviceMemory(second), 100);
  EXPECT_EQ(usableDeviceMemory(first), 100);
}

TEST(DeviceReservation, OfAPlanThatFailsIsNone)
{
  const Context first = contextOnDevice(), second = contextOnDevice();
  EXPECT_THROW(DeviceReservation(first, []() -> double { throw std::runtime_error("no plan"); }),
               std::runtime_error);
  EXPECT_EQ(usableDeviceMemory(second), 100);
}

TEST(DeviceReservation, IsNothingOnTheCpu)
{
  EXPECT_NO_THROW(DeviceReservation({}, [] { return 0.0; }));
}

}
}
