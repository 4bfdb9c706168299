// needs: Runs
#include "Core/Runs/Resampling/BatchSources.h"
#include "Core/Runs/Transforming/TransformSink.h"

#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Resamplers/DefaultResampler.h"
#include "Testing/Support/ParameterText.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {
long allocationsLeft = -1; // before all fail; negative: none does
}

// Inlined, malloc and free would look to the compiler like the wrong partners of delete and new.
[[gnu::noinline]] void* operator new(std::size_t bytes)
{
  if (allocationsLeft == 0)
    throw std::bad_alloc();
  if (allocationsLeft > 0)
    --allocationsLeft;
  if (void* const memory = std::malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
// Without this, memory of the address sanitizer's own form would go to the delete below.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept
{
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept
{
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept
{
  std::free(memory);
}

namespace tessera {
namespace {

/// Otherwise the next image of a batch would get the voxels of the image that failed.
TEST(BatchSources, AnImageWithoutMemoryLeavesNothingOfItself)
{
  Context context{{}, 1};
  const TransformChain<2> chain;
  const DefaultResampler<2> resampler(testing::parametersOf("(DefaultPixelValue 0)", 2));
  Log log;
  KeptTransform<2> kept;
  const ImageBatch<2> batch{context,
                            chain,
                            resampler,
                            [](bool) {
                              return std::make_unique<LinearInterpolator<2>>(
                                  testing::parametersOf("(DefaultPixelValue 0)", 2));
                            },
                            {},
                            {},
                            true,
                            PixelType::int16,
                            kept.images(),
                            0,
                            log};
  auto image = std::make_shared<Image<2>>();
  image->geometry.size = {4, 4};
  image->geometry.spacingMm = {1, 1};
  image->voxels.resize(16);
  MovingImage<2> moving;
  moving.components = {image};

  const ImageTask task{"-in", {}, false, "result", {}};

  int failures = 0;
  for (bool isAdded = false; !isAdded; ++failures) {
    BatchSources<2> sources;
    sources.add(batch, task, moving);
    allocationsLeft = failures;
    try {
      sources.add(batch, task, moving);
      isAdded = true;
    } catch (const std::bad_alloc&) {
    }
    allocationsLeft = -1;
    ASSERT_EQ(sources.sources.size(), isAdded ? 2u : 1u) << failures;
    ASSERT_EQ(sources.types.size(), isAdded ? 2u : 1u) << failures;
  }
  EXPECT_GT(failures, 4);
}

}
}
