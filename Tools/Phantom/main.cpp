#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Points/PointsFile.h"
#include "Tools/Phantom/LiverPhantom.h"
#include "Tools/Phantom/Pictures.h"

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

/// before.nii.gz, after.nii.gz, labels of both, and 200 points of the liver in both.
void makeLiver(const std::string& out, std::size_t voxels)
{
  std::filesystem::create_directories(out);
  Context context;
  context.threads = static_cast<int>(std::thread::hardware_concurrency());
  const LiverPhantom phantom({voxels, voxels * 3 / 4, voxels * 5 / 8}, 300.0 / static_cast<double>(voxels));
  writeImage(out + "/before.nii.gz", phantom.before(context), PixelType::int16, true);
  writeImage(out + "/after.nii.gz", phantom.after(context), PixelType::int16, true);
  writeImage(out + "/labels_before.nii.gz", phantom.labelsBefore(context), PixelType::uint8, true);
  writeImage(out + "/labels_after.nii.gz", phantom.labelsAfter(context), PixelType::uint8, true);
  const std::vector<Vec<3>> pointsBefore = phantom.liverPointsMm(200);
  std::vector<Vec<3>> pointsAfter;
  for (const Vec<3>& point : pointsBefore)
    pointsAfter.push_back(phantom.movedMm(point));
  writeTextFile(out + "/points_before.txt", pointsText(pointsBefore));
  writeTextFile(out + "/points_after.txt", pointsText(pointsAfter));
}

struct ErrorsMm {
  double mean = 0, largest = 0;
};

ErrorsMm errorsOf(const std::vector<Vec<3>>& found, const std::vector<Vec<3>>& truth)
{
  ErrorsMm errors;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double e =
        std::hypot(found.at(i)[0] - truth[i][0], found[i][1] - truth[i][1], found[i][2] - truth[i][2]);
    errors.mean += e / static_cast<double>(truth.size());
    errors.largest = std::max(errors.largest, e);
  }
  return errors;
}

void score(const std::string& start, const std::string& found, const std::string& truth)
{
  const auto truePoints = readPoints<3>(truth).values;
  const ErrorsMm before = errorsOf(readPoints<3>(start).values, truePoints);
  const ErrorsMm after = errorsOf(readPoints<3>(found).values, truePoints);
  std::printf("Error of %zu known points, mm:     mean   largest\n", truePoints.size());
  std::printf("  before registration          %8.2f  %8.2f\n", before.mean, before.largest);
  std::printf("  after registration           %8.2f  %8.2f\n", after.mean, after.largest);
}

void readAndWritePictures(const std::string& fixedFile, const std::string& movingFile,
                          const std::string& resultFile, const std::string& out)
{
  std::vector<std::string> notes;
  Context context;
  const auto read = [&](const std::string& file) { return readImage<3>(file, {}, notes).image; };
  writePictures(context, read(fixedFile), read(movingFile), read(resultFile), out);
}

int run(int argc, char** argv)
{
  std::string out, fixed, moving, result, start, found, truth;
  std::size_t voxels = 160;
  options::options_description description("Options");
  auto add = description.add_options();
  add("help", "print this");
  add("make",
      "write the images before.nii.gz and after.nii.gz, their labels labels_*.nii.gz (1 liver, 2 tumours, "
      "3 spine) and 200 of their points, points_*.txt, into --out");
  add("score", "print the errors of --start and --found against --truth");
  add("pictures",
      "write edges.png, checkerboard.png and difference.png of --fixed, --moving and --result into --out");
  add("out", options::value(&out), "folder");
  add("voxels", options::value(&voxels), "voxels along x (160)");
  add("fixed", options::value(&fixed), "image");
  add("moving", options::value(&moving), "image");
  add("result", options::value(&result), "image");
  add("start", options::value(&start), "points");
  add("found", options::value(&found), "outputpoints.txt");
  add("truth", options::value(&truth), "points");

  options::variables_map given;
  options::store(options::parse_command_line(argc, argv, description), given);
  options::notify(given);
  if (given.count("make") && !out.empty())
    makeLiver(out, voxels);
  else if (given.count("score") && !truth.empty())
    score(start, found, truth);
  else if (given.count("pictures") && !out.empty())
    readAndWritePictures(fixed, moving, result, out);
  else
    std::cout << "tessera-phantom --make --out demo\n\nA liver phantom with a known deformation.\n\n"
              << description;
  return 0;
}

}
}

int main(int argc, char** argv)
{
  try {
    return tessera::run(argc, argv);
  } catch (const tessera::Error& error) {
    std::cerr << "tessera-phantom: " << error.what() << "\n";
    return static_cast<int>(error.code());
  } catch (const boost::program_options::error& error) {
    std::cerr << "tessera-phantom: command line: " << error.what() << ". Allowed: see --help.\n";
    return 2;
  }
}
