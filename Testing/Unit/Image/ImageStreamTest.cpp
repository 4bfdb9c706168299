// needs: ITK
#include "Core/Image/Files/ImageStream.h"
#include "Core/Image/FileChecks/WholeFile.h"
#include "Core/Image/Files/ImageFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/ItkFiles.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <cmath>

#include <zlib.h>

namespace tessera {
namespace {

using namespace testing;

/// Waves with some noise in them: compresses as images do. Whole numbers from 0 to 1000.
std::vector<float> smoothValues(std::size_t count)
{
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double wave =
        500 + 450 * std::sin(static_cast<double>(i) / 700) * std::cos(static_cast<double>(i) / 31);
    values[i] =
        static_cast<float>(std::floor(wave) + randomWords({}, static_cast<std::uint32_t>(i), 0)[0] % 16);
  }
  return values;
}

std::string unzipped(const std::string& path)
{
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string all, piece(1 << 16, '\0');
  for (int got; (got = gzread(file.get(), piece.data(), static_cast<unsigned>(piece.size()))) > 0;)
    all.append(piece, 0, static_cast<std::size_t>(got));
  return all;
}

template <class Dimension>
class ImageStreamOfDimension : public ::testing::Test {
protected:
  static constexpr int D = Dimension::value;
  TemporaryFolder ours, itks;
};
using Dimensions = ::testing::Types<std::integral_constant<int, 2>, std::integral_constant<int, 3>>;
TYPED_TEST_SUITE(ImageStreamOfDimension, Dimensions);

TYPED_TEST(ImageStreamOfDimension, UncompressedFilesHaveTheBytesOfItksFiles)
{
  constexpr int D = TestFixture::D;
  const ImageGeometry<D> geometry = obliqueGeometry<D>(perAxis<D>(std::size_t(7), -2));
  for (const std::string name : {"a.mha", "a.mhd", "a.nii", "a.nrrd"})
    for (const PixelType type : allPixelTypes)
      for (const int components : {1, 2, D, D * D}) {
        SCOPED_TRACE(name + ", " + pixelTypeName(type) + ", " + std::to_string(components));
        const VectorImage<D> image{geometry, components, smoothValues(geometry.voxelCount() * components)};
        const auto toType = [&]<class T>(std::type_identity<T>) {
          std::vector<T> pixels;
          for (const float value : image.voxels)
            pixels.push_back(sizeof(T) > 1 ? static_cast<T>(value) : static_cast<T>(std::min(value, 127.0f)));
          writeByItk<T>(this->itks / name, geometry, components, pixels, false);
        };
        VectorImage<D> clamped = image;
        for (float& value : clamped.voxels)
          value = pixelTypeSize(type) > 1 ? value : std::min(value, 127.0f);

        writeVectorImage(this->ours / name, clamped, false, 2, type);

        withPixelType(type, toType);
        EXPECT_EQ(this->ours.read(name), this->itks.read(name));
        if (name == "a.mhd") {
          EXPECT_EQ(this->ours.read("a.raw"), this->itks.read("a.raw"));
        }
      }
}

class ImageStreamTest : public ::testing::Test {
protected:
  /// Some blocks long as shorts, and no multiple of a block.
  const Image<3> image{obliqueGeometry<3>({101, 83, 41}), smoothValues(101 * 83 * 41)};
  const std::vector<short> shorts{image.voxels.begin(), image.voxels.end()};
  TemporaryFolder ours, itks;
};

TEST_F(ImageStreamTest, ReadersOfOneGzipMemberFindTheWholeFile)
{
  writeImage(ours / "a.nii.gz", image, PixelType::int16, true, 3);

  writeByItk<short>(itks / "a.nii", image.geometry, 1, shorts, false);
  EXPECT_EQ(unzipped(ours / "a.nii.gz"), itks.read("a.nii"));
  const std::string file = ours.read("a.nii.gz");
  z_stream stream{}; // stops at the end of the first member
  ASSERT_EQ(inflateInit2(&stream, 31), Z_OK);
  std::string bytes(itks.read("a.nii").size() + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
  stream.avail_in = static_cast<uInt>(file.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END); // with the checksum and the length
  EXPECT_EQ(stream.avail_in, 0u);
  EXPECT_EQ(stream.total_out, bytes.size() - 1);
  inflateEnd(&stream);
}

TEST_F(ImageStreamTest, ItkReadsWhatWasCompressedInBlocks)
{
  for (const std::string name : {"a.mha", "a.mhd", "a.nii.gz", "a.nrrd"}) {
    SCOPED_TRACE(name);
    writeImage(ours / name, image, PixelType::int16, true, 3);

    EXPECT_EQ(readByItk<short>(ours / name), shorts);
    ImageHeader header = headerOf(name, image.geometry, PixelType::int16, 1);
    EXPECT_TRUE(isWholeImageFile(ours / name, header, shorts.data()));
    header.spacingMm[0] *= 1.001;
    EXPECT_EQ(isWholeImageFile(ours / name, header, shorts.data()), name != "a.nrrd"); // which is read back
    writeByItk<short>(itks / name, image.geometry, 1, shorts, true);
    const std::string data = name == "a.mhd" ? "a.zraw" : name;
    const std::size_t itkBytes = itks.read(data).size();
    EXPECT_LT(ours.read(data).size(), itkBytes + itkBytes * 6 / 100); // of images without noise
  }
}

TEST_F(ImageStreamTest, CompressedHeadersAreThoseOfItk)
{
  writeImage(ours / "a.mha", image, PixelType::int16, true);
  writeImage(ours / "a.nrrd", image, PixelType::int16, true);
  writeByItk<short>(itks / "a.mha", image.geometry, 1, shorts, true);
  writeByItk<short>(itks / "a.nrrd", image.geometry, 1, shorts, true);

  const auto head = [](const std::string& file, const std::string& end) {
    return file.substr(0, file.find(end) + end.size());
  };
  EXPECT_EQ(head(ours.read("a.nrrd"), "\n\n"), head(itks.read("a.nrrd"), "\n\n"));
  std::string meta = head(ours.read("a.mha"), "= LOCAL\n"), itkMeta = head(itks.read("a.mha"), "= LOCAL\n");
  const auto cutNumber = [](std::string& text) {
    const std::size_t start = text.find("CompressedDataSize = "), end = text.find('\n', start);
    const std::string number = text.substr(start + 21, end - start - 21);
    text.erase(start, end - start);
    return std::stoull(number);
  };
  const std::size_t headBytes = meta.size(), stated = cutNumber(meta);
  const BlockIndex index = zlibIndex(ours / "a.mha", headBytes, stated);
  EXPECT_EQ(ours.read("a.mha").substr(headBytes + stated),
            zlibIndexText(index)); // behind the stream stands the index alone
  cutNumber(itkMeta);
  EXPECT_EQ(meta, itkMeta);
}

TEST_F(ImageStreamTest, TheBytesDependNeitherOnThreadsNorOnPieces)
{
  for (const std::string name : {"a.mha", "a.nii.gz", "a.nrrd", "a.nii"}) {
    SCOPED_TRACE(name);
    writeImage(ours / name, image, PixelType::int16, true, 1);
    const std::string whole = ours.read(name);
    for (const int threads : {2, 5}) {
      writeImage(ours / name, image, PixelType::int16, true, threads);
      EXPECT_EQ(ours.read(name) == whole, true) << threads;
    }
    ImageFileSlabs<3> slabs(ours / name, image.geometry, PixelType::int16, 1, true, 2);
    const std::span<const float> values(image.voxels);
    for (std::size_t first = 0, count = 1; first < values.size(); first += count, count = 3 * count + 1)
      slabs.write(values.subspan(first, std::min(count, values.size() - first)));
    slabs.commit();
    EXPECT_EQ(ours.read(name) == whole, true) << "in pieces";
  }
}

TEST_F(ImageStreamTest, NothingIsSeenBeforeTheEnd)
{
  {
    ImageFileSlabs<3> slabs(ours / "a.nii.gz", image.geometry, PixelType::int16, 1, true, 1);
    slabs.write(image.voxels);
    EXPECT_FALSE(std::filesystem::exists(ours / "a.nii.gz"));
  }
  EXPECT_EQ(ours.entryCount(), 0u);
}

TEST_F(ImageStreamTest, AVoxelTooFewIsADefectAndNoFile)
{
  ImageFileSlabs<3> slabs(ours / "a.mha", image.geometry, PixelType::int16, 1, true, 1);
  slabs.write(std::span(image.voxels).first(1000));
  EXPECT_THROW(slabs.commit(), std::logic_error);
  EXPECT_THROW(slabs.write(image.voxels), std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(ours / "a.mha"));
}

TEST_F(ImageStreamTest, KindsThatAreNotWrittenSlabBySlabAreRefused)
{
  const auto open = [&](const std::string& name, int components) {
    return testing::errorText(
        [&] { ImageFileSlabs<3>(ours / name, image.geometry, PixelType::int16, components, true, 1); },
        ExitCode::unwritableOutput);
  };
  const std::string refusal = ": files of this kind cannot be written slab by slab. Allowed: mha, mhd, nrrd, "
                              "and for one component a voxel also nii and nii.gz.";
  EXPECT_EQ(open("a.vtk", 1), ours / "a.vtk" + refusal);
  EXPECT_EQ(open("a.nii.gz", 3), ours / "a.nii.gz" + refusal);
}

std::string lengthOfBlocks(const BlockIndex& index)
{
  std::uint64_t total = 0;
  for (const std::uint32_t bytes : index.deflatedBytes)
    total += bytes;
  return std::to_string(index.deflatedBytes.size()) + " blocks of " + std::to_string(index.blockBytes)
         + ", together " + std::to_string(total);
}

/// Lengths around the end of a block, of the first one above all.
TEST(EncodedFileTest, EveryLengthComesBackAndTheIndexSaysWhereTheBlocksAre)
{
  const TemporaryFolder folder;
  const std::size_t block = deflateBlockBytes;
  for (const std::size_t length :
       {std::size_t(0), std::size_t(1), block - 1, block, block + 1, 2 * block, 3 * block + 7}) {
    SCOPED_TRACE(length);
    std::string text(length, '\0');
    for (std::size_t i = 0; i < length; ++i)
      text[i] = static_cast<char>((i * i) % 251);
    const auto write = [&](const std::string& name, const std::string& head, FileEncoding encoding) {
      EncodedFile file(folder / name, head, {encoding, length, 2});
      file.write(std::as_bytes(std::span(text)));
      const std::uint64_t stored = file.finish();
      file.close();
      return stored;
    };
    const std::string blocks = std::to_string(std::max<std::size_t>(1, (length + block - 1) / block))
                               + " blocks of " + std::to_string(block) + ", together ";

    const std::uint64_t gzipBytes = write("a.gz", "", FileEncoding::gzip);
    EXPECT_EQ(gzipBytes, folder.read("a.gz").size());
    EXPECT_EQ(unzipped(folder / "a.gz") == text, true);
    const BlockIndex gzip = gzipIndex(folder / "a.gz");
    EXPECT_EQ(lengthOfBlocks(gzip),
              blocks + std::to_string(gzipBytes - gzip.firstBlock - 8)); // checksum and length

    const std::uint64_t zlibBytes = write("a.z", "head", FileEncoding::zlib);
    const std::string stream = folder.read("a.z").substr(4, zlibBytes);
    std::string back(length + 1, 'x');
    uLongf backBytes = back.size();
    ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(back.data()), &backBytes,
                         reinterpret_cast<const Bytef*>(stream.data()), zlibBytes),
              Z_OK);
    EXPECT_EQ(back.substr(0, backBytes) == text, true);
    const BlockIndex zlib = zlibIndex(folder / "a.z", 4, zlibBytes);
    EXPECT_EQ(zlib.firstBlock, 6u);
    EXPECT_EQ(lengthOfBlocks(zlib),
              blocks + std::to_string(zlibBytes - 6)); // a head of two bytes, the checksum
  }
}

TEST(GzipIndexTest, AMarkTellsAnyLengthAndInflatesToNothing)
{
  const TemporaryFolder folder;
  for (const std::uint32_t length : {0u, 1u, 31u, 32u, 262144u, 1u << 31}) {
    const std::string mark = blockMark(length), text = "text";
    const std::vector<unsigned char> last = deflatedFast(std::as_bytes(std::span(text)), true);
    std::string stream = mark + std::string(last.begin(), last.end());
    std::string back(text.size(), ' ');
    EXPECT_TRUE(inflateBlock(std::span(reinterpret_cast<const unsigned char*>(stream.data()), stream.size()),
                             std::as_writable_bytes(std::span(back))));
    EXPECT_EQ(back, text);
    EXPECT_EQ(
        gzipIndex(folder.write("a.gz", gzipHeader({1 << 20}) + mark + std::string(30, 'x'))).deflatedBytes,
        std::vector<std::uint32_t>{static_cast<std::uint32_t>(length + mark.size())});
  }
}

TEST(GzipIndexTest, WhereNoMarkStandsTheIndexEnds)
{
  const TemporaryFolder folder;
  const std::string blocks = blockMark(3) + "abc" + blockMark(2) + "de", trailer(8, 't'),
                    header = gzipHeader({1 << 20});
  EXPECT_EQ(gzipIndex(folder.write("a.gz", header + blocks + trailer)).deflatedBytes,
            (std::vector<std::uint32_t>{38, 37}));
  EXPECT_EQ(gzipIndex(folder.write("a.gz", header + blocks + "other" + trailer)).deflatedBytes.size(), 2u);
  EXPECT_EQ(gzipIndex(folder.write("a.gz", header)).deflatedBytes.size(), 0u); // cut off
}

TEST(GzipIndexTest, FilesOfOthersHaveNone)
{
  const TemporaryFolder folder;
  EXPECT_EQ(
      gzipIndex(folder.write("a.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + std::string(40, 'x')))
          .blockBytes,
      0u);
  EXPECT_EQ(
      gzipIndex(folder.write("a.gz", std::string("\x1f\x8b\x08\x04\0\0\0\0\0\x03\x06\0BC\x02\0\x1b\0", 18)
                                         + std::string(40, 'x')))
          .blockBytes,
      0u); // an extra field of another program
  const std::string header = gzipHeader({1 << 20, {5, 6, 7}});
  EXPECT_EQ(gzipIndex(folder.write("a.gz", header)).deflatedBytes, (std::vector<std::uint32_t>{5, 6, 7}));
  EXPECT_EQ(gzipIndex(folder.write("a.gz", header.substr(0, header.size() - 1))).blockBytes, 0u); // cut off
}

TEST(BlockDeflateTest, ChecksumsOfPiecesJoin)
{
  std::vector<std::byte> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 7);
  const std::span<const std::byte> all(bytes);
  for (const StreamChecksum kind : {StreamChecksum::crc32, StreamChecksum::adler32}) {
    const std::uint32_t joined =
        joinedChecksum(checksumOf(all.first(313), kind), checksumOf(all.subspan(313), kind), 687, kind);
    EXPECT_EQ(joined, checksumOf(all, kind));
    EXPECT_EQ(joinedChecksum(firstChecksum(kind), joined, 1000, kind), joined);
  }
}

TEST(BlockDeflateTest, ABlockThatWasChangedIsNotInflated)
{
  std::vector<std::byte> bytes(5000, std::byte{3}), back(5000);
  const DeflatedBlock block = deflateBlock(bytes, false, StreamChecksum::crc32);
  ASSERT_TRUE(inflateBlock(block.bytes, back));
  EXPECT_EQ(back, bytes);
  EXPECT_FALSE(inflateBlock(std::span(block.bytes).first(block.bytes.size() / 2), back));
  std::vector<std::byte> longer(5001);
  EXPECT_FALSE(inflateBlock(block.bytes, longer));
}

}
}
