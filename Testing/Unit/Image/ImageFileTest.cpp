// needs: ITK
#include "Testing/Support/Files/StoredImages.h"
#include "Testing/Support/Scenes/ScaledNifti.h"

#include <cstring>
#include <limits>

namespace tessera {
namespace {

using testing::TemporaryFolder;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Whole numbers that every pixel type holds.
template <int D>
Image<D> countedImage(const ImageGeometry<D>& geometry)
{
  Image<D> image{geometry, std::vector<float>(geometry.voxelCount())};
  for (std::size_t i = 0; i < image.voxels.size(); ++i)
    image.voxels[i] = static_cast<float>((37 * i) % 101);
  return image;
}

bool accepts(const std::string& format, int dimension, PixelType type, int components)
{
  return testing::messageOf([&] { checkWritable(format, dimension, type, components); }) == "no error";
}

template <int D>
class ImageFileTest : public ::testing::Test {
protected:
  TemporaryFolder folder;
};

template <class Dimension>
class ImageFileOfDimension : public ::testing::Test {
protected:
  static constexpr int D = Dimension::value;
  TemporaryFolder folder;
};
using Dimensions = ::testing::Types<std::integral_constant<int, 2>, std::integral_constant<int, 3>>;
TYPED_TEST_SUITE(ImageFileOfDimension, Dimensions);

TYPED_TEST(ImageFileOfDimension, EveryFormatThatIsAcceptedGivesBackEveryVoxel)
{
  constexpr int D = TestFixture::D;
  const Image<D> image = countedImage(testing::obliqueGeometry<D>(testing::perAxis<D>(std::size_t(7), -2)));
  int written = 0;
  for (const std::string& format : writableFormats())
    for (const PixelType type : allPixelTypes) {
      if (format.starts_with("jp") || !accepts(format, D, type, 1))
        continue;
      for (const bool compress : {false, true}) {
        SCOPED_TRACE(format + ", " + pixelTypeName(type) + (compress ? ", compressed" : ""));
        const std::string path = this->folder / ("image." + format);

        writeImage(path, image, type, compress);

        if (D == 2 && format == "dcm") // one slice of a volume
          EXPECT_EQ(testing::loadedImage<3>(path).image.voxels, image.voxels);
        else
          EXPECT_EQ(testing::loadedImage<D>(path).image.voxels, image.voxels);
        if (format != "bmp") { // its grey values come back as colour
          EXPECT_EQ(readImageHeader(path, {}).componentType, type);
        }
        ++written;
      }
    }
  EXPECT_GT(written, 200); // 10 formats of all 10 types, twice, and some more
}

TYPED_TEST(ImageFileOfDimension, VectorFieldsComeBack)
{
  constexpr int D = TestFixture::D;
  for (const int components : {D, D * D}) {
    VectorImage<D> field{
        testing::obliqueGeometry<D>(testing::perAxis<D>(std::size_t(7), -2)), components, {}};
    for (std::size_t i = 0; i < field.geometry.voxelCount() * components; ++i)
      field.voxels.push_back(0.25f * static_cast<float>(i) - 3);
    for (const std::string& format : writableFormats()) {
      if (!accepts(format, D, PixelType::float32, components))
        continue;
      SCOPED_TRACE(format + ", " + std::to_string(components));
      const std::string path = this->folder / ("field." + format);

      writeVectorImage(path, field, true);

      const VectorImage<D> back = readVectorImage<D>(path, {});
      EXPECT_EQ(back.components, components);
      EXPECT_EQ(back.voxels, field.voxels);
    }
  }
}

using ImageFile = ImageFileTest<3>;

TEST_F(ImageFile, IntegerPixelsAreRoundedHalfUpAndClamped)
{
  Image<2> image{testing::centredGeometry<2>({10, 1}, {1, 1}),
                 {-1e30f, -129.0f, -2.5f, -1.7f, -0.5f, 0.49999997f, 2.5f, 254.6f, 3e30f, nan}};
  writeImage(folder / "u8.mha", image, PixelType::uint8, false);
  writeImage(folder / "i8.mha", image, PixelType::int8, false);
  writeImage(folder / "i32.mha", image, PixelType::int32, false);
  writeImage(folder / "u32.mha", image, PixelType::uint32, false);
  writeImage(folder / "i64.mha", image, PixelType::int64, false);
  writeImage(folder / "u64.mha", image, PixelType::uint64, false);

  using Voxels = std::vector<float>;
  EXPECT_EQ(testing::loadedImage<2>(folder / "u8.mha").image.voxels,
            (Voxels{0, 0, 0, 0, 0, 0, 3, 255, 255, 0}));
  EXPECT_EQ(testing::loadedImage<2>(folder / "i8.mha").image.voxels,
            (Voxels{-128, -128, -2, -2, 0, 0, 3, 127, 127, 0}));
  EXPECT_EQ(testing::loadedImage<2>(folder / "i32.mha").image.voxels,
            (Voxels{-0x1p31f, -129, -2, -2, 0, 0, 3, 255, 0x1p31f, 0}));
  EXPECT_EQ(testing::loadedImage<2>(folder / "u32.mha").image.voxels,
            (Voxels{0, 0, 0, 0, 0, 0, 3, 255, 0x1p32f, 0}));
  EXPECT_EQ(testing::loadedImage<2>(folder / "i64.mha").image.voxels,
            (Voxels{-0x1p63f, -129, -2, -2, 0, 0, 3, 255, 0x1p63f, 0}));
  EXPECT_EQ(testing::loadedImage<2>(folder / "u64.mha").image.voxels,
            (Voxels{0, 0, 0, 0, 0, 0, 3, 255, 0x1p64f, 0}));
}

TEST_F(ImageFile, TheLargestIntegersAreNotWrapped)
{
  const Image<2> image{testing::centredGeometry<2>({2, 1}, {1, 1}), {3e30f, -3e30f}};
  writeImage(folder / "i32.mha", image, PixelType::int32, false);

  const std::string bytes = folder.read("i32.mha");
  std::int32_t pixels[2];
  std::memcpy(pixels, bytes.data() + bytes.size() - sizeof pixels, sizeof pixels);

  EXPECT_EQ(pixels[0], std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(pixels[1], std::numeric_limits<std::int32_t>::min());
}

TEST_F(ImageFile, NotANumberIsSetAsideAndCounted)
{
  Image<3> image = countedImage(testing::obliqueGeometry<3>({4, 3, 2}));
  image.voxels[5] = nan;
  image.voxels[23] = std::numeric_limits<float>::infinity();
  writeImage(folder / "nan.mha", image, PixelType::float32, false);

  const LoadedImage<3> loaded = testing::loadedImage<3>(folder / "nan.mha");

  EXPECT_EQ(loaded.nanVoxels, 2u);
  EXPECT_EQ(loaded.image.voxels[5], 0);
  EXPECT_EQ(loaded.image.voxels[23], 0);
  EXPECT_EQ(loaded.image.voxels[6], image.voxels[6]);
  std::vector<std::uint8_t> finite(24, 1);
  finite[5] = finite[23] = 0;
  ASSERT_NE(loaded.finiteVoxels, nullptr);
  EXPECT_EQ(loaded.finiteVoxels->voxels, finite);
}

TEST_F(ImageFile, AnImageWithoutNaNHasNoMask)
{
  writeImage(folder / "image.mha", countedImage(testing::obliqueGeometry<3>({4, 3, 2})), PixelType::float32,
             false);

  EXPECT_EQ(testing::loadedImage<3>(folder / "image.mha").finiteVoxels, nullptr);
}

TEST_F(ImageFile, AMaskIsWhatIsNotZero)
{
  const auto maskOf = [&](std::vector<float> voxels, PixelType type) {
    const Image<2> image{testing::centredGeometry<2>({static_cast<std::size_t>(voxels.size()), 1}, {1, 1}),
                         std::move(voxels)};
    writeImage(folder / "mask.mha", image, type, false);
    return readMask<2>(folder / "mask.mha", {}).voxels;
  };
  using Inside = std::vector<std::uint8_t>;
  EXPECT_EQ(maskOf({0, 0.5f, -0.25f, 1e-30f, 256, nan}, PixelType::float32), (Inside{0, 1, 1, 1, 1, 0}));
  EXPECT_EQ(maskOf({0, 256, 65280}, PixelType::uint16), (Inside{0, 1, 1}));
  EXPECT_EQ(maskOf({0, -1}, PixelType::int8), (Inside{0, 1}));
}

TEST_F(ImageFile, NiftiFieldsHaveTheirComponentsInTheFifthDimension)
{
  VectorImage<3> field{testing::centredGeometry<3>({4, 3, 2}, {1, 1, 1}), 3, std::vector<float>(72, 1.5f)};
  writeVectorImage(folder / "field.nii", field, false);

  const std::string bytes = folder.read("field.nii");
  const auto shortAt = [&](std::size_t offset) {
    std::int16_t value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  const std::vector<int> dim{shortAt(40), shortAt(42), shortAt(44), shortAt(46), shortAt(48), shortAt(50)};
  EXPECT_EQ(dim, (std::vector<int>{5, 4, 3, 2, 1, 3}));
  EXPECT_EQ(shortAt(68), 1007); // NIFTI_INTENT_VECTOR
}

TEST_F(ImageFile, NiftiKeepsTheFirstTimeOfASeries)
{
  ImageGeometry<4> geometry;
  geometry.size = {3, 2, 2, 4};
  geometry.spacingMm = {1, 1, 1, 0.5};
  geometry.originMm = {1, 2, 3, 1.5};
  writeImage(folder / "series.nii", countedImage(geometry), PixelType::int16, false);
  std::string bytes = folder.read("series.nii");
  bytes[123] = 2 | 16; // in milliseconds
  folder.write("milliseconds.nii", bytes);

  EXPECT_EQ(testing::loadedImage<4>(folder / "series.nii").image.geometry.originMm, geometry.originMm);
  EXPECT_NEAR(testing::loadedImage<4>(folder / "milliseconds.nii").image.geometry.originMm[3], 0.0015, 1e-12);
}

TEST_F(ImageFile, ScaledNumbersOfSeveralComponentsAreRefused)
{
  const ImageGeometry<3> geometry = testing::centredGeometry<3>({6, 5, 4}, {1, 1, 1});
  writeVectorImage<3>(folder / "v.nii", {geometry, 2, std::vector<float>(2 * geometry.voxelCount(), 3)},
                      false);
  const std::string path = testing::writeScaled(folder, "v.nii", "scaled.nii", {2, -10});
  std::string bytes = folder.read("scaled.nii");
  for (const auto& [type, what] : {std::pair{2, "vectors"},
                                   {4, "vectors"},
                                   {16, "vectors"},
                                   {64, "vectors"},
                                   {32, "complex numbers"},
                                   {-128, "colours"}}) {
    bytes[70] = static_cast<char>(type);
    folder.write("scaled.nii", bytes + bytes + bytes);
    EXPECT_EQ(testing::messageOf([&] {
                readImageHeader(path, {});
              }).find(": its scl_slope and scl_inter scale " + std::string(what)),
              path.size());
  }
}

TEST_F(ImageFile, DirectionCosinesCanBeLeftOut)
{
  const ImageGeometry<3> oblique = testing::obliqueGeometry<3>({4, 3, 2});
  const ImageGeometry<3> straight = withIdentityDirection(oblique);
  EXPECT_EQ(straight.direction, identityMatrix<3>());
  EXPECT_EQ(straight.originMm, oblique.originMm);
}

TEST(PixelTypeTest, BothFamiliesOfNamesAreKnown)
{
  for (const PixelType type : allPixelTypes)
    EXPECT_EQ(parsePixelType(pixelTypeName(type), ""), type);
  EXPECT_EQ(parsePixelType("uint16", ""), PixelType::uint16);
  EXPECT_EQ(testing::messageOf([] { parsePixelType("foo", "p.txt:7: (ResultImagePixelType \"foo\")"); }),
            "p.txt:7: (ResultImagePixelType \"foo\"): \"foo\": no such pixel type. Allowed: char, unsigned "
            "char, short, unsigned short, int, unsigned int, long, unsigned long, float, double, int8, "
            "uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64.");
}

TEST(ImageFormatTest, TheLongestKnownExtensionIsTheFormat)
{
  EXPECT_EQ(formatOf("a/b.c/result.0.nii.gz"), "nii.gz");
  EXPECT_EQ(formatOf("result.0.R1.It0000001.MHD"), "mhd");
  EXPECT_EQ(formatOf("a.mhd/result"), "");
  EXPECT_EQ(formatOf("result.xyz"), "");
}

}
}
