// needs: GPU
#include "Core/Image/Voxels/ImageToCuda.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Image/ImageInMemory.h"
#include "Core/Image/Voxels/LabelImage.h"
#include "Testing/Support/Files/StoredImages.h"
#include "Testing/Support/Naive/ResampledImages.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/ResampleScenes.h"
#include "Testing/Support/Scenes/ScaledNifti.h"

#include <cmath>
#include <cstring>

namespace tessera {
namespace {

using namespace testing;

/// An image on its way from a file, and all that must outlive it.
struct Brought {
  Context context = makeContext({DeviceKind::cuda, 0}, 3);
  SliceReader<3> reader;
  std::optional<ImagesOnCuda<3>> images;

  explicit Brought(const std::string& path, VoxelsAs as = VoxelsAs::intensities) : reader(path, {}, as)
  {
    images = ImageToCuda<3>(context, reader, reader.geometry()).run();
  }

  std::vector<float> voxels(std::size_t i) const { return images->voxels.at(i)->toHost(context); }
};

/// NaN is none of the values.
bool sameBits(const std::vector<float>& a, const std::vector<float>& b)
{
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expectMask(const Brought& brought, const MaskPointer<3>& expected)
{
  ASSERT_EQ(brought.images->valid != nullptr, expected != nullptr);
  if (!expected)
    return;
  EXPECT_EQ(voxelsOnCuda<3>(brought.context, brought.images->valid)->toHost(brought.context),
            expected->voxels);
}

/// The image that the host reads from the file.
void expectTheHosts(const std::string& path)
{
  SCOPED_TRACE(path);
  std::vector<std::string> notes;
  const LoadedImage<3> host = readImage<3>(path, {}, notes);
  const Brought brought(path);
  ASSERT_TRUE(brought.images);
  ASSERT_EQ(brought.images->images.size(), 1u);
  EXPECT_EQ(brought.images->images[0]->geometry, host.image.geometry);
  EXPECT_TRUE(brought.images->images[0]->voxels.empty());
  EXPECT_TRUE(sameBits(brought.voxels(0), host.image.voxels));
  EXPECT_EQ(brought.reader.notes(), notes);
  EXPECT_EQ(brought.reader.nonFiniteVoxels(), host.nanVoxels);
  expectMask(brought, host.finiteVoxels);
}

class ImageToCudaTest : public GpuTest {
protected:
  std::string path(const std::string& name) const { return folder / name; }

  TemporaryFolder folder;
  ImageGeometry<3> grid = obliqueGeometry<3>({37, 29, 23});
};

TEST_F(ImageToCudaTest, EveryPixelTypeHasTheBitsThatTheHostReads)
{
  Image<3> image = noiseImage<3>(grid, 3);
  for (float& voxel : image.voxels)
    voxel = (voxel - 100) * 3e7f; // beyond what floats hold of whole numbers, and clamped by short types
  for (const PixelType type : allPixelTypes)
    for (const std::string name : {"a.mha", "a.nii", "a.nii.gz"}) {
      writeImage(path(name), image, type, true);
      expectTheHosts(path(name));
    }
}

TEST_F(ImageToCudaTest, ScaledNumbersOfEveryTypeToo)
{
  Image<3> image = noiseImage<3>(grid, 3);
  for (float& voxel : image.voxels)
    voxel = std::floor(voxel - 100) * 3e7f;
  image.voxels[0] = 0; // scaled to a number by any slope
  for (const PixelType type : allPixelTypes) {
    writeImage(path("a.nii"), image, type, false);
    for (const SlopeAndIntercept& scaling : scalings)
      expectTheHosts(writeScaled(folder, "a.nii", "s.nii", scaling));
  }
}

TEST_F(ImageToCudaTest, ImagesOfManyPiecesToo)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({301, 203, 151}), 5); // 18 MB of shorts
  for (const PixelType type : {PixelType::int16, PixelType::float32, PixelType::float64})
    for (const std::string name : {"a.nii", "a.nii.gz"}) {
      writeImage(path(name), image, type, true);
      expectTheHosts(path(name));
    }
}

TEST_F(ImageToCudaTest, WholeNumbersThatFloatsRoundAndThoseThatAreNone)
{
  std::vector<std::byte> stored(grid.voxelCount() * sizeof(double));
  auto* const doubles = reinterpret_cast<double*>(stored.data());
  for (std::size_t i = 0; i < grid.voxelCount(); ++i)
    doubles[i] = i % 11 == 3   ? NAN
                 : i % 13 == 4 ? -INFINITY
                 : i % 17 == 5 ? 1e300
                               : 0.1 * static_cast<double>(i);
  writeStoredImage<3>(path("d.mha"), grid, PixelType::float64, 1, stored, false, 1);
  expectTheHosts(path("d.mha"));
  auto* const whole = reinterpret_cast<std::int64_t*>(stored.data());
  for (std::size_t i = 0; i < grid.voxelCount(); ++i)
    whole[i] = (std::int64_t(1) << (i % 60)) + static_cast<std::int64_t>(i) - 77;
  writeStoredImage<3>(path("l.nrrd"), grid, PixelType::int64, 1, stored, true, 1);
  expectTheHosts(path("l.nrrd"));
  writeStoredImage<3>(path("u.nrrd"), grid, PixelType::uint64, 1, stored, true, 1);
  expectTheHosts(path("u.nrrd"));
}

TEST_F(ImageToCudaTest, ComponentsAreImagesAndColourIsOne)
{
  VectorImage<3> field{grid, 3, std::vector<float>(3 * grid.voxelCount())};
  for (std::size_t i = 0; i < field.voxels.size(); ++i)
    field.voxels[i] = i % 19 == 7 ? NAN : static_cast<float>(i) * 0.37f;
  for (const std::string name : {"v.mha", "v.nii.gz"}) {
    writeVectorImage<3>(path(name), field, true);
    const Brought brought(path(name));
    ASSERT_TRUE(brought.images);
    ASSERT_EQ(brought.images->images.size(), 3u);
    std::vector<std::uint8_t> finite(grid.voxelCount(), 1);
    for (std::size_t c = 0; c < 3; ++c) {
      std::vector<float> expected(grid.voxelCount());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const float value = field.voxels[3 * i + c];
        finite[i] = finite[i] && std::isfinite(value);
        expected[i] = std::isfinite(value) ? value : 0;
      }
      EXPECT_TRUE(sameBits(brought.voxels(c), expected)) << name << ", component " << c;
    }
    expectMask(brought, std::make_shared<Mask<3>>(grid, finite));
  }
  for (const int components : {3, 4}) {
    std::vector<std::byte> colours(grid.voxelCount() * static_cast<std::size_t>(components));
    for (std::size_t i = 0; i < colours.size(); ++i)
      colours[i] = static_cast<std::byte>(i * 37 % 251);
    const std::string name = components == 3 ? "c3.mha" : "c4.mha";
    writeStoredImage<3>(path(name), grid, PixelType::uint8, components, colours, false, 1);
    expectTheHosts(path(name));
  }
}

/// Compares labels with those of the host; false if the host must number them.
bool arriveOnDevice(const std::string& path)
{
  const LabelImage<3> host = readLabelImage<3>(path, {}, 0, 1);
  const Brought brought(path, VoxelsAs::labels);
  EXPECT_EQ(brought.images.has_value(), !host.table.isNumbered());
  if (!brought.images)
    return false;
  EXPECT_TRUE(sameBits(brought.voxels(0), host.loaded.image.voxels));
  EXPECT_EQ(brought.reader.notes(), std::vector<std::string>{});
  expectMask(brought, host.loaded.finiteVoxels);
  return true;
}

/// NIFTI_INTENT_DISPVECT, and vectors of whole numbers.
TEST_F(ImageToCudaTest, ComponentsThatLieApartOneAfterTheOther)
{
  const ImageGeometry<3> several = obliqueGeometry<3>({101, 83, 67}); // pieces end within components
  std::vector<float> values(3 * several.voxelCount());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 30011) - 7;
  for (const PixelType type : {PixelType::float32, PixelType::int16}) {
    const std::vector<std::int16_t> shorts(values.begin(), values.end());
    const auto stored =
        type == PixelType::float32 ? std::as_bytes(std::span(values)) : std::as_bytes(std::span(shorts));
    writeStoredImage<3>(path("v.nii"), several, type, 3, stored, false, 1);
    std::string bytes = folder.read("v.nii");
    if (type == PixelType::float32) {
      const std::int16_t displacements = 1006;
      std::memcpy(bytes.data() + 68, &displacements, sizeof displacements);
    }
    const VectorImage<3> host = readVectorImage<3>(folder.write("v.nii", bytes), {});
    const Brought brought(path("v.nii"));
    ASSERT_TRUE(brought.images);
    ASSERT_EQ(brought.images->images.size(), 3u);
    for (std::size_t c = 0; c < 3; ++c) {
      std::vector<float> expected(several.voxelCount());
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = host.voxels[3 * i + c];
      EXPECT_TRUE(sameBits(brought.voxels(c), expected)) << pixelTypeName(type) << ", component " << c;
    }
    EXPECT_FALSE(brought.images->valid);
  }
}

template <class T>
bool arriveOnDevice(const TemporaryFolder& folder, const ImageGeometry<3>& grid, PixelType type,
                    const std::vector<T>& few)
{
  std::vector<T> values(grid.voxelCount());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = few[i / 3 % few.size()];
  writeStoredImage<3>(folder / "l.mha", grid, type, 1, std::as_bytes(std::span(values)), true, 1);
  writeStoredImage<3>(folder / "l.nii", grid, type, 1, std::as_bytes(std::span(values)), false, 1);
  arriveOnDevice(writeScaled(folder, "l.nii", "s.nii", {2, -10}));
  return arriveOnDevice(folder / "l.mha");
}

TEST_F(ImageToCudaTest, LabelsArriveUnlessTheHostMustNumberThem)
{
  EXPECT_TRUE(arriveOnDevice<std::uint8_t>(folder, grid, PixelType::uint8, {3, 0, 7}));
  EXPECT_TRUE(arriveOnDevice<std::int32_t>(folder, grid, PixelType::int32, {3, -1, 16777216}));
  EXPECT_TRUE(arriveOnDevice<float>(folder, grid, PixelType::float32, {1, NAN, 2}));
  EXPECT_FALSE(arriveOnDevice<std::int32_t>(folder, grid, PixelType::int32, {16777217, 3}));
  EXPECT_FALSE(arriveOnDevice<double>(folder, grid, PixelType::float64, {16777217, 5}));
}

TEST_F(ImageToCudaTest, WhatIsWrongWithAFileIsToldInTheHostsWords)
{
  const auto expectTheHostsWords = [&](const std::string& name) {
    EXPECT_EQ(errorText([&] { Brought{path(name)}; }, ExitCode::unreadableInput),
              errorText([&] { loadedImage<3>(path(name)); }, ExitCode::unreadableInput))
        << name;
  };
  writeImage(path("a.nii.gz"), noiseImage<3>(grid, 1), PixelType::int16, true);
  std::string bytes = folder.read("a.nii.gz");
  folder.write("short.nii.gz", bytes.substr(0, bytes.size() * 2 / 3));
  expectTheHostsWords("short.nii.gz");
  bytes[bytes.size() - 6] ^= 1; // of the checksum
  folder.write("damaged.nii.gz", bytes);
  expectTheHostsWords("damaged.nii.gz");
  const std::vector<float> none(grid.voxelCount(), NAN);
  writeStoredImage<3>(path("none.mha"), grid, PixelType::float32, 1, std::as_bytes(std::span(none)), false,
                      1);
  expectTheHostsWords("none.mha");
}

/// Splines too, whose coefficients are made of what came to the device.
TEST_F(ImageToCudaTest, InterpolatorsTakeImagesThatTheHostHasNot)
{
  const ResampleScene<3> scene({31, 33, 30}, {37, 29, 23});
  const TransformChain<3> chain = letterChain<3>("AB", scene.fixed);
  writeImage(path("m.mha"), *scene.moving, PixelType::int16, false);
  const auto onHost = std::make_shared<Image<3>>(loadedImage<3>(path("m.mha")).image);
  Brought brought(path("m.mha"));
  const auto resampler = resamplerOf<3>("(DefaultPixelValue -5)");
  for (const std::string name : {"LinearInterpolator", "NearestNeighborInterpolator",
                                 "LabelMajorityInterpolator", "BSplineInterpolator"}) {
    const auto ofHost = preparedInterpolator<3>(brought.context, name, onHost),
               ofDevice = preparedInterpolator<3>(brought.context, name, brought.images->images[0]);
    EXPECT_TRUE(sameBits(
        resampledImage(*resampler, brought.context, chain, {ofDevice.get(), nullptr}, scene.fixed->geometry)
            .voxels,
        resampledImage(*resampler, brought.context, chain, {ofHost.get(), nullptr}, scene.fixed->geometry)
            .voxels))
        << name;
  }
  const ImagePointer<3> image = brought.images->images[0];
  brought.images.reset();
  EXPECT_THROW(voxelsOnCuda<3>(brought.context, image), std::logic_error);
}

TEST_F(ImageToCudaTest, TakesWhatItTellsOfTheDevice)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({301, 203, 151}), 5);
  for (const PixelType type : {PixelType::int16, PixelType::float32}) {
    writeImage(path("a.nii"), image, type, false);
    Context context = makeContext({DeviceKind::cuda, 0}, 2);
    SliceReader<3> reader(path("a.nii"), {}, VoxelsAs::intensities);
    takePeakDeviceMemory(context);

    const auto images = ImageToCuda<3>(context, reader, reader.geometry()).run();

    const double bytesAVoxel = type == PixelType::float32 ? 5 : 4;
    const double planned = bytesAVoxel * static_cast<double>(image.voxels.size())
                           + VoxelsToCuda<3>::deviceBytes(reader.header());
    const double taken = takePeakDeviceMemory(context);
    EXPECT_LE(taken, planned + 4096); // counts, and what allocations are rounded up to
    EXPECT_GE(taken, 0.9 * planned);
  }
}

}
}
