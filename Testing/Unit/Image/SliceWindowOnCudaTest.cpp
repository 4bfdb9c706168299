#include "Core/Image/Slices/SliceWindowOnCuda.h"

#include "Testing/Support/OnGpu/HostStream.h"

#include <random>
#include <stdexcept>

namespace tessera {
namespace {

constexpr std::size_t ofSlice = 6, slices = 40;

/// A window of an image whose voxels tell their places, and how many slices were brought in all.
struct Scene {
  Context context{{DeviceKind::cuda, 0}, 1, std::make_shared<testing::HostStream>()};
  std::size_t brought = 0;
  SliceWindowOnCuda<3> window;

  explicit Scene(std::size_t most)
      : window(grid(), most, [this](const Context&, std::size_t first, std::size_t count, float* voxels) {
          brought += count;
          for (std::size_t i = 0; i < count * ofSlice; ++i)
            voxels[i] = static_cast<float>(first * ofSlice + i);
        })
  {
  }
  static ImageGeometry<3> grid()
  {
    ImageGeometry<3> geometry;
    geometry.size = {2, 3, slices};
    return geometry;
  }

  void expect(std::size_t first, std::size_t count)
  {
    const float* const whole = window.moveTo(context, first, count);
    for (std::size_t i = first * ofSlice; i < (first + count) * ofSlice; ++i)
      ASSERT_EQ(whole[i], static_cast<float>(i)) << first << " + " << count << ", voxel " << i;
  }
};

TEST(SliceWindowOnCuda, HasTheSlicesThatAreAskedForInAnyOrder)
{
  std::mt19937 random(3);
  for (const std::size_t most : {1, 2, 7, 39, 40, 100}) {
    Scene scene(most);
    EXPECT_EQ(scene.window.maxSlices(), std::min(most, slices));
    for (int turn = 0; turn < 300; ++turn) {
      const std::size_t count = 1 + random() % scene.window.maxSlices();
      scene.expect(random() % (slices - count + 1), count);
    }
  }
}

TEST(SliceWindowOnCuda, BringsEachSliceOnceFromOneEndToTheOther)
{
  for (const std::size_t step : {1, 3, 5}) {
    Scene up(9), down(9);
    for (std::size_t first = 0; first + 5 <= slices; first += step)
      up.expect(first, 5);
    for (std::size_t end = slices; end >= 5; end -= std::min(end, step))
      down.expect(end - 5, 5);
    up.expect(slices - 5, 5);
    down.expect(0, 5);
    EXPECT_EQ(up.brought, slices) << step;
    EXPECT_EQ(down.brought, slices) << step;
  }
}

TEST(SliceWindowOnCuda, HasNoRoomForMoreThanItWasMadeFor)
{
  Scene scene(4);
  EXPECT_THROW(scene.window.moveTo(scene.context, 0, 5), std::logic_error);
}

/// The source fails, which a damaged file makes it do.
TEST(SliceWindowOnCuda, HasNothingAfterAFailure)
{
  bool fails = true;
  Context context{{DeviceKind::cuda, 0}, 1, std::make_shared<testing::HostStream>()};
  SliceWindowOnCuda<3> window(Scene::grid(), 4,
                              [&](const Context&, std::size_t, std::size_t count, float* voxels) {
                                if (std::exchange(fails, false))
                                  throw std::runtime_error("damaged");
                                std::fill_n(voxels, count * ofSlice, 5.0f);
                              });
  EXPECT_THROW(window.moveTo(context, 0, 2), std::runtime_error);
  EXPECT_EQ(window.moveTo(context, 0, 2)[0], 5.0f);
}

}
}
