#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Image/Files/ImageFile.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Phantom/LiverPhantom.h"

#include <boost/program_options.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <thread>

namespace tessera {
namespace {

namespace options = boost::program_options;

std::string pointsText(const std::vector<Vec<3>>& pointsMm)
{
  std::string text = "point\n" + std::to_string(pointsMm.size()) + "\n";
  for (const Vec<3>& point : pointsMm)
    text += joined(point, " ", [](double mm) { return significant(mm, 9); }) + "\n";
  return text;
}

/// Numbers that are separated by x, such as "512x228x385"; one number stands for three. Throws Error(usage).
Vec<3> threeOf(const std::string& option, const std::string& text, double least, double largest)
{
  std::vector<std::string> words = cellsOf(text, 'x');
  if (words.size() == 1)
    words.resize(3, words.front());
  Vec<3> values{};
  bool isRight = words.size() == 3;
  for (std::size_t d = 0; isRight && d < 3; ++d) {
    values[d] = numberIn<double>(words[d]).value_or(NAN);
    isRight = values[d] >= least && values[d] <= largest;
  }
  if (!isRight)
    failAs(ExitCode::usage, option, "\"" + text + "\": not one or three numbers",
           "numbers from " + significant(least, 6) + " to " + significant(largest, 6) + ", separated by x");
  return values;
}

/// before.nii.gz, after.nii.gz, labels of both, and points of the liver in both.
void makeLiver(const std::string& out, const LiverPhantom& phantom, std::size_t points)
{
  std::filesystem::create_directories(out);
  Context context;
  context.threads = static_cast<int>(std::thread::hardware_concurrency());
  writeImage(out + "/before.nii.gz", phantom.before(context), PixelType::int16, true);
  writeImage(out + "/after.nii.gz", phantom.after(context), PixelType::int16, true);
  writeImage(out + "/labels_before.nii.gz", phantom.labelsBefore(context), PixelType::uint8, true);
  writeImage(out + "/labels_after.nii.gz", phantom.labelsAfter(context), PixelType::uint8, true);
  const std::vector<Vec<3>> pointsBefore = phantom.liverPointsMm(points);
  std::vector<Vec<3>> pointsAfter;
  for (const Vec<3>& point : pointsBefore)
    pointsAfter.push_back(phantom.movedMm(point));
  writeTextFile(out + "/points_before.txt", pointsText(pointsBefore));
  writeTextFile(out + "/points_after.txt", pointsText(pointsAfter));
}

/// before.nii.gz with points_before.txt, and images of the abdomen as it is lifted while the patient
/// breathes, breath_000.mha and so on, with points_000.txt.
void makeBreathing(const std::string& out, LiverPhantom phantom, double liftMm, int steps, std::size_t points)
{
  std::filesystem::create_directories(out);
  Context context;
  context.threads = static_cast<int>(std::thread::hardware_concurrency());
  writeImage(out + "/before.nii.gz", phantom.before(context), PixelType::int16, true);
  const std::vector<Vec<3>> pointsMm = phantom.liverPointsMm(points);
  writeTextFile(out + "/points_before.txt", pointsText(pointsMm));
  constexpr double breathsAStep = 0.13, depth = 0.15; // of the whole lift
  for (int step = 0; step < steps; ++step) {
    char number[16];
    std::snprintf(number, sizeof number, "%03d", step);
    const double breath = std::sin(2 * 3.14159265358979 * breathsAStep * (step + 1));
    phantom.lift(liftMm * ((1 - depth) * (step + 1) / steps + depth * breath));
    std::vector<Vec<3>> moved;
    for (const Vec<3>& pointMm : pointsMm)
      moved.push_back(phantom.movedMm(pointMm));
    writeTextFile(out + "/points_" + number + ".txt", pointsText(moved));
    writeImage(out + "/breath_" + number + ".mha",
               phantom.after(context, static_cast<std::uint32_t>(step + 1)), PixelType::int16, false);
  }
}

int run(int argc, char** argv, RunLog& log)
try {
  const EndOnSignals ending(log);
  std::string out, size, spacing;
  std::uint32_t seed = 0;
  int steps = 0;
  double liftMm = LiverPhantom::usualLiftMm;
  std::size_t voxels = 160, points = 200;
  options::options_description description("Options");
  auto add = description.add_options();
  add("help", "print this");
  add("make", "write the images before.nii.gz and after.nii.gz, their labels labels_*.nii.gz (1 liver, 2 "
              "tumours, 3 spine) and points of the liver in both, points_*.txt, into --out");
  add("breathe", options::value(&steps),
      "write before.nii.gz and so many images of the abdomen as it is lifted while the patient breathes, "
      "breath_000.mha, ..., each with points, into --out");
  add("out", options::value(&out), "folder");
  add("voxels", options::value(&voxels), "voxels along x (160); the image is 300 mm wide");
  add("size", options::value(&size), "NXxNYxNZ: voxels along each axis, instead of --voxels");
  add("spacing", options::value(&spacing), "MM or XxYxZ in mm, with --size (1)");
  add("points", options::value(&points), "points of the liver (200)");
  add("seed", options::value(&seed), "draws other noise, vessels and points (0)");
  add("lift", options::value(&liftMm), "how far the front wall rises, in mm, 0 to 22 (11)");

  options::variables_map given;
  options::store(options::parse_command_line(argc, argv, description), given);
  options::notify(given);
  if (!(liftMm >= 0 && liftMm <= 2 * LiverPhantom::usualLiftMm)) // the inversion converges
    failAs(ExitCode::usage, "--lift", significant(liftMm, 6) + ": out of range", "0 to 22 mm");
  Size<3> extents{voxels, voxels * 3 / 4, voxels * 5 / 8};
  Vec<3> spacingMm = threeOf("--spacing", spacing.empty() ? "1" : spacing, 0.01, 100);
  if (size.empty())
    spacingMm.fill(300.0 / static_cast<double>(voxels));
  else
    for (std::size_t d = 0; d < 3; ++d)
      extents[d] = static_cast<std::size_t>(threeOf("--size", size, 8, 4096)[d]);
  if (given.count("make") && !out.empty())
    makeLiver(out, LiverPhantom(extents, spacingMm, seed, liftMm), points);
  else if (steps > 0 && !out.empty())
    makeBreathing(out, LiverPhantom(extents, spacingMm, seed, liftMm), liftMm, steps, points);
  else
    std::cout << "tessera-phantom --make --out demo\n\nA liver phantom with a known deformation.\n\n"
              << description;
  return 0;
} catch (const options::error& error) {
  throw Error(ExitCode::usage, std::string("command line: ") + error.what() + ". Allowed: see --help.");
}

}
}

int main(int argc, char** argv)
{
  return tessera::runProgram([&](tessera::RunLog& log) { return tessera::run(argc, argv, log); });
}
