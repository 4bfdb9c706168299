#include "Tools/Bench/Benches.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/ScratchFolder.h"
#include "Core/Compute/Math/Median.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Image/Files/ImageFile.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Rivals/ItkFiles.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <system_error>

namespace tessera {
namespace {

const std::vector<std::string> allFormats = {"nii.gz", "mha-compressed", "nii", "mha", "nrrd"};
const std::string compressedEnding = "-compressed";

ScratchFolder scratchFolder()
{
  try {
    return ScratchFolder("tessera-bench-");
  } catch (const std::system_error& error) {
    throw Error(ExitCode::unwritableOutput, "tessera-bench: a folder for temporary files: it cannot be made ("
                                                + error.code().message()
                                                + "). Allowed: a writable folder in TMPDIR.");
  }
}

/// An image with structures of some voxels and noise of four bits, intensities 0 to 1000. As shorts it
/// compresses to a little less than half, as images of brains do. As bytes it has a quarter of the
/// intensities.
Image<3> volumeOf(const std::array<int, 3>& size, PixelType type)
{
  Image<3> image;
  for (int d = 0; d < 3; ++d) {
    image.geometry.size[d] = static_cast<std::size_t>(size[d]);
    image.geometry.spacingMm[d] = 1;
  }
  image.geometry.direction = identityMatrix<3>();
  image.voxels.resize(image.geometry.voxelCount());
  for (std::size_t i = 0; i < image.voxels.size(); ++i) {
    const double x = static_cast<double>(i % size[0]), y = static_cast<double>(i / size[0] % size[1]);
    const double wave = std::sin(x / 19) * std::cos(y / 23);
    image.voxels[i] = wave < 0 ? 0
                               : std::floor(static_cast<float>(980 * wave))
                                     + randomWords(Draw{1}, static_cast<std::uint32_t>(i), 0)[0] % 16;
    if (type == PixelType::uint8)
      image.voxels[i] = std::floor(image.voxels[i] / 4);
  }
  return image;
}

struct Action {
  std::string method;
  int threads;
  std::function<void()> run;
  std::vector<double> ms = {};
};

/// Measures the actions in turn, so that other work on the machine disturbs all of them alike. The first one
/// is the baseline of the ratios.
void measure(const std::string& name, double voxels, double bytes, std::vector<Action> actions,
             std::size_t repeats, std::vector<BenchResult>& results)
{
  for (std::size_t repeat = 0; repeat < repeats; ++repeat)
    for (Action& action : actions)
      addMilliseconds(action.ms.emplace_back(), action.run);
  const double baseline = median(actions.front().ms);
  for (const Action& action : actions) {
    const double ms = median(action.ms);
    results.push_back(measuredRow({{}, action.threads}, name, action.method, {ms, ms}, voxels, bytes));
    results.back().ratio = baseline / ms;
  }
}

void requireEqual(const std::vector<float>& voxels, const std::vector<float>& expected,
                  const std::string& what)
{
  const auto [found, wanted] = std::mismatch(voxels.begin(), voxels.end(), expected.begin(), expected.end());
  if (found != voxels.end() || wanted != expected.end())
    throw Error(ExitCode::registrationFailed, what + ": other voxels than were written, from number "
                                                  + std::to_string(found - voxels.begin()) + " of "
                                                  + std::to_string(expected.size()) + ". Allowed: the same.");
}

void measureVolume(const Context& context, const FileSettings& settings, const std::array<int, 3>& size,
                   PixelType type, std::vector<BenchResult>& results)
{
  const Image<3> image = volumeOf(size, type);
  const auto voxels = static_cast<double>(image.voxels.size());
  const std::string extent = extentsName(size);
  const auto read = [&](const std::string& path, int count) {
    std::vector<std::string> notes;
    return readImage<3>(path, {}, notes, count).image.voxels;
  };
  for (const std::string& asked : settings.formats) {
    const bool compress = asked == "nii.gz" || asked.ends_with(compressedEnding);
    const std::string format = asked.substr(0, asked.find('-'));
    const std::string name =
        extent + " " + pixelTypeName(type) + " " + format + (compress ? " compressed" : "");
    // Each format has a folder of its own, because NIfTI's library reads a.nii for a.nii.gz if both are
    // there.
    const ScratchFolder folder = scratchFolder();
    const std::string itks = folder / ("itk." + format), ours = folder / ("ours." + format);
    const double bytes = voxels * static_cast<double>(pixelTypeSize(type));
    const auto write = [&](int count) {
      return [&, count] { writeImage(ours, image, type, compress, count); };
    };
    const auto load = [&](const std::string& path, int count) {
      return [&read, path, count] { read(path, count); };
    };
    measure("write " + name, voxels, bytes,
            {{"ITK", 1, [&] { writeImageByItk(itks, image, type, compress); }},
             {"blocks", 1, write(1)},
             {"blocks", context.threads, write(context.threads)}},
            settings.repeats, results);
    requireEqual(readImageByItk(ours), image.voxels, ours + " as ITK reads it");
    requireEqual(read(itks, context.threads), image.voxels, itks + " as it is read here");
    measure("read " + name, voxels, bytes,
            {{"ITK", 1, [&] { readImageByItk(itks); }},
             {"file of ITK", 1, load(itks, 1)},
             {"file of ITK", context.threads, load(itks, context.threads)},
             {"own file", context.threads, load(ours, context.threads)}},
            settings.repeats, results);
  }
}

}

std::vector<std::string> benchFormats(const std::vector<std::string>& asked)
{
  for (const std::string& format : asked)
    if (std::ranges::find(allFormats, format) == allFormats.end())
      throw Error(ExitCode::usage,
                  "--method: \"" + format + "\": not known here. Allowed: " + joined(allFormats) + ".");
  return asked.empty() ? allFormats : asked;
}

std::vector<PixelType> benchPixels(const std::vector<std::string>& asked)
{
  std::vector<PixelType> types;
  for (const std::string& name : asked) {
    types.push_back(parsePixelType(name, "--pixels"));
    if (types.back() != PixelType::int16 && types.back() != PixelType::float32
        && types.back() != PixelType::uint8)
      throw Error(ExitCode::usage,
                  "--pixels: \"" + name + "\": not measured. Allowed: short, float, unsigned char.");
  }
  return types.empty() ? std::vector{PixelType::int16, PixelType::float32} : types;
}

std::vector<BenchResult> fileBench(Context& context, const FileSettings& settings)
{
  std::vector<BenchResult> results;
  for (const std::array<int, 3>& size : settings.volumes)
    for (const PixelType type : settings.types)
      measureVolume(context, settings, size, type, results);
  return results;
}

}
