// needs: ITK
#include "Core/Image/Files/ImageHead.h"
#include "Testing/Support/Files/ItkFiles.h"
#include "Testing/Support/Files/PlaceOf.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Tools/Decode/ItkImage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace tessera {
namespace {

/// A header as text, each number by its bits.
std::string bitsOf(const ImageHeader& header)
{
  std::ostringstream text;
  text << std::hexfloat << header.dimension << ' ' << header.components << ' '
       << static_cast<int>(header.componentType) << ' ' << static_cast<int>(header.meaning);
  for (int axis = 0; axis < header.dimension; ++axis) {
    text << " | " << header.size[axis] << ' ' << header.spacingMm[axis] << ' ' << header.originMm[axis];
    for (int row = 0; row < header.dimension; ++row)
      text << ' ' << header.direction[row][axis];
  }
  return text.str();
}

enum class Known { byUsAndItk, byUsAlone, byItkAlone };

/// Compares our header of a file with ITK's.
Known compare(const std::string& path, bool isField = false, bool isOfData = false)
{
  std::optional<ImageHeader> ours, itks;
  try {
    if (testing::placeOf(path))
      ours = openImage(path, {})->header();
  } catch (const Error&) { // a geometry that makes no sense
  }
  try {
    itks = openByItk(path, {}).header;
  } catch (const std::exception&) {
  }
  if (!ours)
    return Known::byItkAlone;
  if (!itks)
    return Known::byUsAlone;
  if (isField && itks->dimension > 3) { // ITK before 5.4 has five axes of scalars
    itks->dimension = ours->dimension;
    itks->components = ours->components;
    itks->meaning = ours->meaning;
  }
  if (isOfData) // where ITK adds scl_inter beside a slope of 0, which by the standard scales nothing
    itks->componentType = ours->componentType;
  EXPECT_EQ(bitsOf(*ours), bitsOf(*itks)) << path;
  return Known::byUsAndItk;
}

class HeadersLikeItk : public ::testing::Test {
protected:
  template <class Value>
  static void put(std::string& bytes, std::size_t place, Value value)
  {
    std::memcpy(bytes.data() + place, &value, sizeof value);
  }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  bool one(int of) { return whole(1, of) == 1; }

  /// A rotation, [row][column].
  Matrix<3> rotation()
  {
    const int kind = whole(0, 3);
    double a = real(-1, 1), b = real(-1, 1), c = real(-1, 1), d = real(-1, 1);
    if (kind == 0)
      b = c = d = 0;
    else if (kind == 1) // half turns, where the quaternion's first number is 0
      a = 0, b = whole(0, 1), c = 1 - b, d = 0;
    else if (kind == 2)
      b = real(-1e-4, 1e-4), c = real(-1e-4, 1e-4), d = real(-1e-4, 1e-4), a = 1;
    const double n = std::sqrt(a * a + b * b + c * c + d * d);
    a /= n, b /= n, c /= n, d /= n;
    return {{{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
             {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
             {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}}};
  }

  template <int D>
  ImageGeometry<D> grid()
  {
    ImageGeometry<D> geometry;
    const Matrix<3> turn = rotation();
    const double angle = one(3) ? 0 : real(-4, 4);
    const Matrix<2> plane{{{std::cos(angle), -std::sin(angle)}, {std::sin(angle), std::cos(angle)}}};
    for (int d = 0; d < D; ++d) {
      geometry.size[d] = static_cast<std::size_t>(whole(1, 5));
      geometry.spacingMm[d] = one(3) ? whole(1, 4) : real(0.01, 8);
      geometry.originMm[d] = one(4) ? 0 : real(-300, 300);
      for (int e = 0; e < D; ++e)
        if constexpr (D == 3)
          geometry.direction[d][e] = turn[d][e];
        else
          geometry.direction[d][e] = plane[d][e];
    }
    return geometry;
  }

  std::string nifti(bool& isField)
  {
    std::string head(352, '\0');
    const int axes = one(4) ? 5 : whole(2, 4), intent = axes == 5 ? (one(2) ? 1006 : 1007) : 0;
    isField = intent == 1006;
    put(head, 0, std::int32_t(348));
    put(head, 40, static_cast<std::int16_t>(axes));
    std::size_t count = 1;
    for (int axis = 0; axis < 7; ++axis) {
      const int length = axis == 4 && intent                      ? whole(1, 4)
                         : axis < (intent ? 3 : 4) && axis < axes ? whole(1, 4)
                         : one(9)                                 ? 0
                                                                  : 1;
      put(head, 42 + 2 * static_cast<std::size_t>(axis), static_cast<std::int16_t>(length));
      if (axis < axes)
        count *= static_cast<std::size_t>(std::max(1, length));
    }
    constexpr std::int16_t types[] = {2, 4, 8, 16, 64, 256, 512, 768, 1024, 1280};
    constexpr std::size_t lengths[] = {1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
    const int type = isField ? 3 : whole(0, 9);
    put(head, 68, static_cast<std::int16_t>(intent));
    put(head, 70, types[type]);
    put(head, 72, static_cast<std::int16_t>(8 * lengths[type]));
    const Matrix<3> turn = rotation(), other = one(3) ? rotation() : turn;
    std::array<float, 3> mm{};
    put(head, 76, one(2) ? 1.0F : -1.0F);
    for (std::size_t i = 0; i < 3; ++i)
      put(head, 80 + 4 * i, mm[i] = static_cast<float>(one(3) ? whole(1, 3) : real(0.1, 4)));
    put(head, 92, one(4) ? 0.0F : 2.5F);
    put(head, 108, 352.0F);
    if (intent == 0 && one(3)) {
      put(head, 112, static_cast<float>(real(-2, 2)));
      put(head, 116, one(2) ? 0.0F : static_cast<float>(real(-2, 2)));
    }
    put(head, 123, static_cast<char>(whole(0, 3)));
    put(head, 252, static_cast<std::int16_t>(one(4) ? 0 : whole(1, 4)));
    put(head, 254, static_cast<std::int16_t>(one(4) ? 0 : whole(1, 4)));
    for (std::size_t i = 0; i < 3; ++i) {
      put(head, 256 + 4 * i, static_cast<float>(real(-0.57, 0.57)));
      put(head, 268 + 4 * i, static_cast<float>(real(-200, 200)));
    }
    const double error = one(2) ? 0 : std::pow(10, real(-8, -1));
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j)
        put(head, 280 + 16 * i + 4 * j, static_cast<float>(other[i][j] * mm[j] + error * real(-1, 1)));
      put(head, 292 + 16 * i, static_cast<float>(real(-200, 200)));
    }
    if (one(2)) { // a qform that says what the sform does, nearly or to the bit
      const double trace = 1 + other[0][0] + other[1][1] + other[2][2];
      if (trace > 0.1) {
        const double a = 0.5 * std::sqrt(trace);
        put(head, 76, 1.0F);
        put(head, 256, static_cast<float>((other[2][1] - other[1][2]) / (4 * a)));
        put(head, 260, static_cast<float>((other[0][2] - other[2][0]) / (4 * a)));
        put(head, 264, static_cast<float>((other[1][0] - other[0][1]) / (4 * a)));
        for (std::size_t i = 0; i < 3; ++i)
          std::memcpy(head.data() + 268 + 4 * i, head.data() + 292 + 16 * i, 4);
      }
    }
    std::memcpy(head.data() + 344, "n+1", 3);
    return head + std::string(count * lengths[type], '\1');
  }

  testing::TemporaryFolder folder;
  std::mt19937 random{1};
};

TEST_F(HeadersLikeItk, NiftiOfAllForms)
{
  int both = 0, ours = 0;
  for (int i = 0; i < 1000 && !HasFailure(); ++i) {
    bool isField = false;
    const std::string bytes = nifti(isField);
    const Known known = compare(folder.write("a.nii", bytes), isField);
    both += known == Known::byUsAndItk;
    ours += known == Known::byUsAlone;
  }
  EXPECT_GT(both, 500);
  EXPECT_LT(ours, 10); // an sform alone whose axes are not quite perpendicular
}

TEST_F(HeadersLikeItk, FilesOfTheTestData)
{
  int both = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TESSERA_DATA_DIR, ignored)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file(ignored) && entry.file_size(ignored) < 200000000 && testing::placeOf(path))
      both += compare(path, true, true) == Known::byUsAndItk;
  }
  if (both == 0)
    GTEST_SKIP() << "no image in TESSERA_DATA_DIR";
}

template <int D, class T>
void compareHeads(const testing::TemporaryFolder& folder, const ImageGeometry<D>& geometry, PixelType type,
                  int components)
{
  std::vector<T> voxels(geometry.voxelCount() * static_cast<std::size_t>(components), T(1));
  for (const std::string format : {"nii", "mha", "nrrd"}) {
    const std::string path = folder / ("a." + format);
    testing::writeByItk<T>(path, geometry, components, voxels, false);
    std::ostringstream file;
    file << std::ifstream(path, std::ios::binary).rdbuf();
    const std::string head = file.str().substr(0, file.str().size() - voxels.size() * sizeof(T));
    EXPECT_EQ(imageFileHead(format, headerOf(path, geometry, type, components)), head) << format;
    if (format != "nii") // NiftiOfAllForms has those
      EXPECT_EQ(compare(path), Known::byUsAndItk) << format;
  }
}

TEST_F(HeadersLikeItk, WhatWeWriteAndReadBack)
{
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const int components = one(2) ? 1 : whole(2, 4);
    compareHeads<3, float>(folder, grid<3>(), PixelType::float32, components);
    compareHeads<2, short>(folder, grid<2>(), PixelType::int16, components);
    compareHeads<3, unsigned char>(folder, grid<3>(), PixelType::uint8, 1);
  }
  compareHeads<3, signed char>(folder, grid<3>(), PixelType::int8, 1);
  compareHeads<3, unsigned short>(folder, grid<3>(), PixelType::uint16, 1);
  compareHeads<3, int>(folder, grid<3>(), PixelType::int32, 1);
  compareHeads<3, unsigned int>(folder, grid<3>(), PixelType::uint32, 1);
  compareHeads<3, std::int64_t>(folder, grid<3>(), PixelType::int64, 1);
  compareHeads<3, std::uint64_t>(folder, grid<3>(), PixelType::uint64, 1);
  compareHeads<3, double>(folder, grid<3>(), PixelType::float64, 1);
}

}
}
