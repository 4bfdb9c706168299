// usage: cut-files CASES SEED FILE...
// Damages image files in many ways and cuts them: a file that reads whole must not read when it is cut, or
// must read as the same image (where what was cut off was no part of it). The files are images, each small,
// and the data files that some of them name; all lie in one folder. Two kinds of cuts are left out, since
// nobody can see them: one within the last number of a text, and one of a data file whose voxels are counted
// from its end. Prints how many cases were tried, how many damaged files read whole, and how many of those
// did not read when cut. Ends with 0, or with 1 if a part was read as if it were whole; then the file and its
// part are kept in the working folder, as cut-NUMBER-whole.* and cut-NUMBER-part.*. A case whose library ends
// the process, or takes more than 20 s, is counted, kept as cut-NUMBER-ended.*, and no failure: the programs
// read such files in processes of their own.
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/ScratchFolder.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Image/Files/ImageSource.h"
#include "Testing/Support/Files/PlaceOf.h"
#include "Tools/Decode/ItkImage.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t casesOfProcess = 5000;
constexpr std::size_t maxBytes = std::size_t(1) << 20; // of voxels: a larger image is not read
constexpr unsigned secondsOfCase = 20;

/// Counts that the processes which try cases share with the one that began them.
struct Counts {
  std::atomic<std::uint64_t> next, whole, refused, same, wrong;
};

struct SeedFile {
  std::string name, bytes;
  bool isImage = false;
};

struct Image {
  std::vector<std::size_t> size;
  std::vector<std::byte> voxels;

  bool operator==(const Image&) const = default;
};

std::string bytesOf(const std::string& path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeBytes(const std::string& path, std::string_view bytes)
{
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
    throw Error(ExitCode::unwritableOutput, path + ": it cannot be written. Allowed: a folder with room.");
  std::fclose(file);
}

/// Nothing if the image is larger than a case should be.
template <class Read>
std::optional<Image> voxelsOf(const ImageHeader& header, const Read& read)
{
  if (header.voxelCount() > maxBytes || byteCountOf(header) > maxBytes)
    return std::nullopt;
  Image image{header.size, std::vector<std::byte>(byteCountOf(header))};
  read(image.voxels.data());
  return image;
}

/// Nothing if the image is refused, or larger than a case should be.
std::optional<Image> imageOf(const std::string& path)
{
  try {
    if (testing::placeOf(path)) {
      const std::unique_ptr<ImageSource> source = openImage(path, {});
      return voxelsOf(source->header(), [&](std::byte* voxels) { source->read(voxels, 1); });
    }
    const DecodedImage decoded = openByItk(path, {}); // here: a process for each damaged file takes long
    return voxelsOf(decoded.header, decoded.read);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Damages of a file, most of them in its header.
class Damage {
public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }

  void apply(std::string& bytes)
  {
    constexpr std::size_t maxOfHeader = 400;
    const std::size_t header = std::min(bytes.size(), maxOfHeader);
    if (header == 0)
      return;
    switch (below(9)) {
    case 0:
      bytes[below(header)] = static_cast<char>(random_());
      break;
    case 1:
      bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
      break;
    case 2:
      bytes.insert(below(header), 1, static_cast<char>(random_()));
      break;
    case 3:
      bytes.erase(below(header), 1 + below(4));
      break;
    case 4:
      replaceNumber(bytes, header);
      break;
    case 5:
      bytes.insert(startOfLine(bytes, below(header)), lineOf(bytes, below(header)));
      break;
    case 6:
      bytes.insert(startOfLine(bytes, below(header)), words[below(words.size())]);
      break;
    case 7: {
      const std::string line = lineOf(bytes, below(header));
      bytes.erase(bytes.find(line), line.size());
      break;
    }
    default:
      bytes.append(below(40), static_cast<char>(random_()));
    }
  }

private:
  static constexpr std::array<std::string_view, 20> words{"Comment = x\n",
                                                          "DimSize = 2 2 1\n",
                                                          "NDims = 2\n",
                                                          "BinaryData = False\n",
                                                          "BinaryData = True\n",
                                                          "CompressedData = True\n",
                                                          "CompressedDataSize = 20\n",
                                                          "HeaderSize = -1\n",
                                                          "HeaderSize = 10\n",
                                                          "ElementDataFile = LOCAL\n",
                                                          "ElementDataFile = LIST\n",
                                                          "ElementNumberOfChannels = 2\n",
                                                          "sizes: 2 2 1\n",
                                                          "encoding: ascii\n",
                                                          "encoding: gzip\n",
                                                          "line skip: 1\n",
                                                          "byte skip: -1\n",
                                                          "ASCII\n",
                                                          "BINARY\n",
                                                          "DIMENSIONS 2 2 1\n"};
  static constexpr std::array<std::string_view, 16> numbers{
      "0", "1", "2", "3", "4", "5", "7", "8", "9", "16", "-1", "1e2", "nan", "", "255", "4294967298"};

  static std::size_t startOfLine(const std::string& bytes, std::size_t at)
  {
    const std::size_t before = at == 0 ? std::string::npos : bytes.rfind('\n', at - 1);
    return before == std::string::npos ? 0 : before + 1;
  }
  static std::string lineOf(const std::string& bytes, std::size_t at)
  {
    const std::size_t start = startOfLine(bytes, at), end = bytes.find('\n', at);
    return bytes.substr(start,
                        std::min(end == std::string::npos ? bytes.size() : end + 1, start + 200) - start);
  }
  void replaceNumber(std::string& bytes, std::size_t header)
  {
    constexpr std::string_view digits = "0123456789";
    const std::size_t at = bytes.find_first_of(digits, below(header));
    if (at == std::string::npos)
      return;
    const std::size_t end = bytes.find_first_not_of(digits, at);
    bytes.replace(at, end == std::string::npos ? std::string::npos : end - at,
                  numbers[below(numbers.size())]);
  }

  std::mt19937_64 random_;
};

/// Whether a header has one of the words, in letters of any case and with any blanks between them.
bool hasAny(const std::string& header, std::initializer_list<const char*> words)
{
  std::string letters = lowerCase(header);
  std::erase_if(letters, [](unsigned char letter) { return std::isspace(letter); });
  return std::ranges::any_of(words,
                             [&](const char* word) { return letters.find(word) != std::string::npos; });
}

/// Whether an image whose numbers are text is cut within a number, which nobody can see if it is the last.
bool cutsNumberOfText(const std::string& header, const std::string& all, const std::string& part)
{
  constexpr std::string_view ofNumbers = "0123456789.eE+-";
  return !part.empty() && part.size() < all.size() && ofNumbers.find(part.back()) != std::string_view::npos
         && ofNumbers.find(all[part.size()]) != std::string_view::npos
         && hasAny(header,
                   {"ascii", "encoding:t", "binarydata=f", "binarydata=0", "binarydata:f", "binarydata:0"});
}

struct DamagedImage {
  const SeedFile& undamaged;
  std::string bytes;
};

DamagedImage damagedImage(const std::vector<SeedFile>& files, Damage& damage)
{
  std::vector<const SeedFile*> images;
  for (const SeedFile& file : files)
    if (file.isImage)
      images.push_back(&file);
  const SeedFile& image = *images[damage.below(images.size())];
  DamagedImage damaged{image, image.bytes};
  for (std::size_t left = damage.below(4); left > 0; --left)
    damage.apply(damaged.bytes);
  return damaged;
}

/// One case: a damaged image, and if it reads whole, a part of it.
void tryCase(const std::vector<SeedFile>& files, const ScratchFolder& folder, std::uint64_t number,
             std::uint64_t seed, Counts& counts)
{
  Damage damage(seed + number);
  const auto [image, bytes] = damagedImage(files, damage);
  const std::string path = folder / image.name;
  writeBytes(path, bytes);
  const std::optional<Image> whole = imageOf(path);
  if (!whole || whole->voxels.empty())
    return;
  ++counts.whole;

  std::vector<const SeedFile*> parts; // data files that the header names
  for (const SeedFile& file : files)
    if (!file.isImage && bytes.find(file.name) != std::string::npos)
      parts.push_back(&file);
  const std::size_t which = damage.below(parts.size() + 1);
  const std::string cutName = which < parts.size() ? parts[which]->name : image.name,
                    all = which < parts.size() ? parts[which]->bytes : bytes;
  const std::size_t fromEnd = 1 + (damage.below(2) == 0 ? damage.below(8) : damage.below(all.size()));
  const std::string part = all.substr(0, all.size() - std::min(fromEnd, all.size()));
  const bool countsFromEnd =
      which < parts.size() && hasAny(bytes, {"skip:-", "headersize=-", "headersize:-"});
  if (cutsNumberOfText(bytes, all, part) || countsFromEnd)
    return;
  writeBytes(folder / cutName, part);
  const std::optional<Image> cut = imageOf(path);
  if (which < parts.size())
    writeBytes(folder / cutName, all);
  if (!cut) {
    ++counts.refused;
  } else if (*cut == *whole) {
    ++counts.same;
  } else {
    ++counts.wrong;
    writeBytes("cut-" + std::to_string(number) + "-whole." + image.name, bytes);
    writeBytes("cut-" + std::to_string(number) + "-part." + cutName, part);
  }
}

bool isImage(const std::string& name)
{
  return std::ranges::any_of(std::array{".mha", ".mhd", ".nii", ".nii.gz", ".nrrd", ".nhdr", ".vtk", ".gipl"},
                             [&](const char* ending) { return name.ends_with(ending); });
}

/// The exit code of the program.
int cutFiles(const std::vector<std::string>& paths, std::uint64_t cases, std::uint64_t seed)
{
  seed *= 0x9E3779B97F4A7C15ull;
  std::vector<SeedFile> files;
  for (const std::string& path : paths)
    files.push_back({fs::path(path).filename(), bytesOf(path), isImage(path)});
  const ScratchFolder folder("tessera-cut-");
  for (const SeedFile& file : files) {
    writeBytes(folder / file.name, file.bytes);
  }
  for (const SeedFile& file : files)
    if (file.isImage && !imageOf(folder / file.name)) {
      std::cerr << file.name << ": it cannot be read. Allowed: an image that is whole.\n";
      return 1;
    }

  auto* const shared =
      mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Counts& counts = *new (shared) Counts{};
  std::uint64_t ended = 0;
  while (counts.next < cases) {
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) {
      const int nowhere = open("/dev/null", O_WRONLY); // for what libraries say of damaged files
      dup2(nowhere, STDOUT_FILENO);
      dup2(nowhere, STDERR_FILENO);
      const std::uint64_t last = std::min(cases, counts.next + casesOfProcess);
      while (counts.next < last) {
        alarm(secondsOfCase);
        const std::uint64_t number = counts.next++;
        tryCase(files, folder, number, seed, counts);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      ++ended;
      const std::uint64_t number = counts.next - 1;
      Damage damage(seed + number);
      const auto [image, bytes] = damagedImage(files, damage);
      std::cerr << "case " << number << ": ended by signal " << WTERMSIG(status) << '\n';
      writeBytes("cut-" + std::to_string(number) + "-ended." + image.name, bytes);
    }
  }
  std::cout << cases << " cases: " << counts.whole << " read whole; of their parts " << counts.refused
            << " were refused, " << counts.same << " read as the same image, " << counts.wrong
            << " as another one; " << ended << " processes ended\n";
  return counts.wrong > 0 ? 1 : 0;
}

}
}

int main(int argc, char** argv)
{
  if (argc < 4) {
    std::cerr << "usage: cut-files CASES SEED FILE...\n";
    return 2;
  }
  return tessera::testing::cutFiles({argv + 3, argv + argc}, std::stoull(argv[1]), std::stoull(argv[2]));
}
