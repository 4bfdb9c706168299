#include "Core/Registration/Fields/FieldSlabs.h"

#include "Components/FieldInterpolators/Separable.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/HostStream.h"
#include "Testing/Support/Scenes/AlignedFields.h"

#include <cstdlib>

namespace tessera {
namespace {

using namespace testing;

/// With little memory.
class LittleHostStream final : public HostStream {
public:
  explicit LittleHostStream(std::size_t bytes) : free_(bytes) {}

  void* allocate(std::size_t bytes) override
  {
    EXPECT_LE(bytes, free_);
    free_ -= bytes;
    auto* block = static_cast<std::size_t*>(std::malloc(bytes + 64));
    *block = bytes;
    return reinterpret_cast<char*>(block) + 64;
  }
  void release(void* memory, std::size_t) noexcept override
  {
    if (!memory)
      return;
    auto* block = reinterpret_cast<std::size_t*>(static_cast<char*>(memory) - 64);
    free_ += *block;
    std::free(block);
  }
  std::size_t freeBytes() override { return free_; }

private:
  std::size_t free_;
};

/// Separable on that device; notes the slices of each slab.
template <int D>
class Slabwise final : public FieldInterpolator<D> {
public:
  mutable std::vector<int> slices;

  std::string name() const override { return "Slabwise"; }
  bool runsOn(DeviceKind) const override { return true; }
  std::string refusal(const AlignedField<D>&) const override { return {}; }
  void displacements(Context&, const AlignedField<D>& field, const FieldCoefficients& coefficients,
                     const FieldTarget& target) const override
  {
    slices.push_back(field.axes[D - 1].voxels);
    const std::vector<double> points(coefficients.onCuda, coefficients.onCuda + D * field.pointCount());
    Context host;
    Separable<D>().displacements(host, field, {points.data(), nullptr}, target);
  }
};

constexpr std::size_t plenty = std::size_t(1) << 30, tables = std::size_t(16) << 20;

template <int D>
struct Case {
  AlignedField<D> field;
  std::vector<double> coefficients;
  Slabwise<D> method;

  explicit Case(const AlignedField<D>& f) : field(f), coefficients(randomCoefficients<D>(f, 20, 1))
  {
    for (double& coefficient : coefficients)
      coefficient = static_cast<float>(coefficient);
  }
  std::vector<float> inSlabs(std::size_t deviceBytes, std::size_t slabBytes)
  {
    Context context{{DeviceKind::cuda, 0}, 1, std::make_shared<LittleHostStream>(deviceBytes)};
    std::vector<float> values(D * field.voxelCount(), -777);
    evaluateInSlabs<D>(context, method, &FieldInterpolator<D>::displacements, field, coefficients, values,
                       slabBytes);
    EXPECT_EQ(context.stream->freeBytes(), deviceBytes);
    return values;
  }
  std::vector<float> whole() const
  {
    Context host;
    std::vector<float> values(D * field.voxelCount());
    Separable<D>().displacements(host, field, {coefficients.data(), nullptr},
                                 {values.data(), FieldLayout::interleaved, nullptr});
    return values;
  }
};

template <int D>
void expectWhole(Case<D>& c, const std::vector<float>& values)
{
  const std::vector<float> expected = c.whole();
  for (std::size_t i = 0; i < expected.size();
       ++i) // the index of a slice is rounded once more in a slab: 1e-14 of its place
    ASSERT_NEAR(values[i], expected[i], std::abs(expected[i]) * 0x1p-23 + 20 * 1e-13) << i;
}

TEST(FieldSlabs, TogetherAreTheWholeField)
{
  Case<3> volume(coveredField<3>({17, 19, 23}, {5.37, 3, 6.1}, {0.3, 0.6, 0.9}, 3));
  const std::size_t sliceBytes = 17 * 19 * 3 * sizeof(float);
  expectWhole(volume, volume.inSlabs(plenty, 5 * sliceBytes + 3));
  EXPECT_EQ(volume.method.slices, (std::vector<int>{5, 5, 5, 5, 3}));

  Case<2> plane(shifted<2>(coveredField<2>({33, 7}, {5, 5}, {0.3, 0.6}, 2), -0.8));
  expectWhole(plane, plane.inSlabs(plenty, 2 * 33 * 2 * sizeof(float)));
  EXPECT_EQ(plane.method.slices, (std::vector<int>{2, 2, 2, 1}));
}

TEST(FieldSlabs, OneIsEnoughWithRoom)
{
  Case<3> volume(coveredField<3>({17, 19, 23}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3));
  EXPECT_EQ(volume.inSlabs(plenty, usualSlabBytes), volume.whole());
  EXPECT_EQ(volume.method.slices, std::vector<int>{23});
}

TEST(FieldSlabs, HaveASliceAtLeastAndFitWhatIsFree)
{
  Case<3> volume(coveredField<3>({17, 19, 23}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3));
  const std::size_t sliceBytes = 17 * 19 * 3 * sizeof(float);
  const std::size_t fixed = 2 * volume.coefficients.size() * sizeof(float) + tables;
  expectWhole(volume, volume.inSlabs(plenty, 1));
  EXPECT_EQ(volume.method.slices, std::vector<int>(23, 1));
  volume.method.slices.clear();
  expectWhole(volume, volume.inSlabs(fixed + 9 * sliceBytes + 1, usualSlabBytes));
  EXPECT_EQ(volume.method.slices, (std::vector<int>{9, 9, 5}));
}

TEST(FieldSlabs, ReportWhatASliceNeedsIfItDoesNotFit)
{
  Case<3> volume(coveredField<3>({17, 19, 23}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3));
  const std::size_t needed =
      2 * volume.coefficients.size() * sizeof(float) + tables + 17 * 19 * 3 * sizeof(float);
  EXPECT_EQ(errorText([&] { volume.inSlabs(needed - 1, usualSlabBytes); }, ExitCode::outOfMemory),
            "a field of 17 x 19 x 23 voxels on cuda:0: " + std::to_string(needed)
                + " bytes are needed for the control points and one slice of voxels: "
                + std::to_string(needed - 1)
                + " are free. Allowed: a smaller or coarser output grid, or the device \"cpu\".");
  expectWhole(volume, volume.inSlabs(needed, usualSlabBytes));
}

}
}
