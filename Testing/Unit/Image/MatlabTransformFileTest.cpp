#include "Core/Image/ItkTransformFiles/MatlabTransformFile.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <cstdint>
#include <fstream>
#include <iterator>

namespace tessera {
namespace {

const ItkTransform affine{"AffineTransform_double_3_3",
                          {1.0 / 3, -2.5, 1e-17},
                          {1.1, 0.02, 0, 0.01, 0.95, 0, 0, 0, 1.2, 123.4567891234567, -1.0 / 3, 4}};

class MatlabTransformFile : public ::testing::Test {
protected:
  std::string path() const { return folder / "0GenericAffine.mat"; }
  std::string bytes() const
  {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }

  testing::TemporaryFolder folder;
};

TEST_F(MatlabTransformFile, ComesBackToTheLastBit)
{
  writeMatlabTransform(path(), affine);
  EXPECT_TRUE(isMatlabFile(path()));
  EXPECT_EQ(readMatlabTransform(path()), affine);
  EXPECT_EQ(folder.entryCount(), 1u);
}

TEST_F(MatlabTransformFile, SinglePrecisionIsRead)
{
  const auto column = [](const std::string& name, const std::vector<float>& values) {
    const std::int32_t head[] = {10, static_cast<std::int32_t>(values.size()), 1, 0,
                                 static_cast<std::int32_t>(name.size() + 1)};
    return std::string(reinterpret_cast<const char*>(head), sizeof head) + name + '\0'
           + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  put(column("AffineTransform_float_2_2", {1, 2, 3, 4, 5, 6.5}) + column("fixed", {-1, 0.25}));
  EXPECT_EQ(readMatlabTransform(path()),
            (ItkTransform{"AffineTransform_double_2_2", {-1, 0.25}, {1, 2, 3, 4, 5, 6.5}}));
}

TEST_F(MatlabTransformFile, DamagedFilesAreRefused)
{
  writeMatlabTransform(path(), affine);
  const std::string whole = bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    put(whole.substr(0, length));
    EXPECT_EQ(testing::exitCodeOf([&] { readMatlabTransform(path()); }), ExitCode::unreadableInput) << length;
  }
  put(whole + "x");
  EXPECT_EQ(testing::exitCodeOf([&] { readMatlabTransform(path()); }), ExitCode::unreadableInput);
  for (std::size_t place = 0; place < 20; ++place) { // numbers of the first header
    std::string changed = whole;
    changed[place] = '\x7f';
    put(changed);
    EXPECT_EQ(testing::exitCodeOf([&] { readMatlabTransform(path()); }), ExitCode::unreadableInput) << place;
  }
  put("1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
  EXPECT_FALSE(isMatlabFile(path()));
}

}
}
