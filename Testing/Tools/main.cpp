// The measuring hands of .test files: makes phantoms, and compares what programs wrote. Exits 1 where a
// comparison fails.
#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Points/PointsFile.h"
#include "Testing/Support/Scenes/KnownMotion.h"
#include "Testing/Support/Scenes/Phantom.h"
#include "Testing/Tools/Differences.h"
#include "Testing/Tools/NumbersAgree.h"

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <system_error>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::testing {
namespace {

namespace options = boost::program_options;
using Given = options::variables_map;

template <class T>
std::vector<T> listOf(const Given& given, const std::string& name, std::size_t count, T otherwise)
{
  std::vector<T> values = given.count(name) ? given[name].as<std::vector<T>>() : std::vector<T>{};
  while (values.size() < count)
    values.push_back(values.empty() ? otherwise : values.back());
  return values;
}

/// A turn of --turn-deg, stretches of --stretch and waves of --wave-mm about the centre, then --shift-mm.
template <int D>
KnownMotion<D> motionOf(const Given& given, const ImageGeometry<D>& geometry)
{
  const auto shift = listOf<double>(given, "shift-mm", D, 0),
             stretch = listOf<double>(given, "stretch", D, 1);
  KnownMotion<D> motion;
  motion.centerMm = geometry.centerMm();
  for (int d = 0; d < D; ++d) {
    motion.shiftMm[d] = shift[d];
    motion.stretch[d] = stretch[d];
  }
  motion.turnRadians = listOf<double>(given, "turn-deg", 1, 0)[0] * std::numbers::pi / 180;
  motion.waveMm = listOf<double>(given, "wave-mm", 1, 0)[0];
  motion.waveLengthMm = listOf<double>(given, "wave-length-mm", 1, 100)[0];
  return motion;
}

/// Blobs at --size, --spacing, turned if --oblique, and moved: image(T(x)) = blobs(x) with T of motionOf.
/// --textured spreads small ones over the whole box, for fields that are to be found everywhere. --invert
/// swaps dark and bright, as another modality would.
template <int D>
void phantom(const Given& given, const std::string& file)
{
  const auto size = listOf<double>(given, "size", D, 64), spacing = listOf<double>(given, "spacing", D, 1);
  Size<D> voxels;
  Vec<D> spacingMm;
  for (int d = 0; d < D; ++d) {
    voxels[d] = static_cast<std::size_t>(size[d]);
    spacingMm[d] = spacing[d];
  }
  ImageGeometry<D> geometry =
      given.count("oblique") ? obliqueGeometry<D>(voxels) : centredGeometry<D>(voxels, spacingMm);
  if (given.count("spacing"))
    geometry.spacingMm = spacingMm;

  const auto seed = static_cast<std::uint64_t>(listOf<double>(given, "seed", 1, 1)[0]);
  const auto blobs = given.count("textured")
                         ? scatteredBlobs<D>(geometry, D == 2 ? 60 : 150, seed, 1.2, 0.025)
                         : scatteredBlobs<D>(geometry, 24, seed);
  const KnownMotion<D> motion = motionOf<D>(given, geometry);
  const bool invert = given.count("invert");
  Image<D> image = drawImage<D>(geometry, [&](const Vec<D>& movedMm) {
    const double value = sumOf(blobs, motion.backward(movedMm));
    return invert ? 500 / (1 + value / 100) : value;
  });
  addNoise<D>(image, listOf<double>(given, "noise", 1, 0)[0], 17);
  writeImage<D>(file, image, PixelType::float32, false);
}

template <int D>
void mask(const Given& given, const std::string& like, const std::string& file)
{
  const ImageGeometry<D> geometry = geometryOf<D>(readImageHeader(like, {}));
  const double share = listOf<double>(given, "share", 1, 0.7)[0];
  const AffineMap<D> indexFromPoint = geometry.indexFromPoint();
  const Image<D> image = drawImage<D>(geometry, [&](const Vec<D>& point) {
    const Vec<D> index = indexFromPoint(point);
    double r2 = 0;
    for (int d = 0; d < D; ++d) {
      const double half = 0.5 * (static_cast<double>(geometry.size[d]) - 1);
      r2 += (index[d] - half) * (index[d] - half) / (share * share * half * half);
    }
    return r2 <= 1 ? 1.0 : 0.0;
  });
  writeImage<D>(file, image, PixelType::uint8, false);
}

std::string textOf(const Given& given, const std::string& name, const std::string& otherwise)
{
  return given.count(name) ? given[name].as<std::string>() : otherwise;
}

std::string labelOf(const Given& given)
{
  return textOf(given, "as", "values");
}

int verdict(bool good, const char* what, double found, double allowed)
{
  std::printf("%s: %.9g, allowed %.9g%s\n", what, found, allowed, good ? "" : "  <-- FAILS");
  return good ? 0 : 1;
}

/// Largest difference of two images of any number of components, and the share of voxels beyond it with
/// --share-beyond.
template <int D>
int imagesAgree(const Given& given, const std::string& first, const std::string& second)
{
  const VectorImage<D> a = readVectorImage<D>(first, {}), b = readVectorImage<D>(second, {});
  if (a.geometry.size != b.geometry.size || a.components != b.components) {
    std::printf("%s and %s differ in size or components\n", first.c_str(), second.c_str());
    return 1;
  }
  for (int d = 0; d < D && !given.count("values-only"); ++d) {
    const double apart = std::abs(a.geometry.originMm[d] - b.geometry.originMm[d])
                         + std::abs(a.geometry.spacingMm[d] - b.geometry.spacingMm[d]);
    if (!(apart < 1e-5))
      return verdict(false, "geometry apart, mm", apart, 1e-5);
  }
  const auto [lowest, highest] = std::minmax_element(b.voxels.begin(), b.voxels.end());
  const double range = static_cast<double>(*highest) - *lowest,
               ofRange = listOf<double>(given, "of-range", 1, 0)[0];
  const double within = listOf<double>(given, "within", 1, 0)[0] + ofRange * range;
  const double allowedShare = listOf<double>(given, "share-beyond", 1, 0)[0];
  double largest = 0;
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < a.voxels.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a.voxels[i]) - b.voxels[i]);
    largest = std::max(largest, difference);
    beyond += !(difference <= within);
  }
  recordDifference(textOf(given, "quantity", ""),
                   ofRange > 0 ? LargestDifference{largest / range, ofRange, " of range"}
                               : LargestDifference{largest, within, ""});
  const double share = static_cast<double>(beyond) / static_cast<double>(a.voxels.size());
  std::printf("%s: largest difference %.3g of %zu values, allowed %.3g\n", labelOf(given).c_str(), largest,
              a.voxels.size(), within);
  return verdict(share <= allowedShare, "share of values beyond --within", share, allowedShare);
}

template <int D>
int pointsAgree(const Given& given, const std::string& found, const std::string& truth)
{
  const auto a = readPoints<D>(found).values, b = readPoints<D>(truth).values;
  if (a.size() != b.size() || a.empty()) {
    std::printf("%zu and %zu points\n", a.size(), b.size());
    return 1;
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double squared = 0;
    for (int d = 0; d < D; ++d)
      squared += (a[i][d] - b[i][d]) * (a[i][d] - b[i][d]);
    errors.push_back(std::sqrt(squared));
  }
  std::sort(errors.begin(), errors.end());
  double mean = 0;
  for (double e : errors)
    mean += e / static_cast<double>(errors.size());
  const double median = errors[errors.size() / 2];
  std::printf("points %zu: mean %.6g median %.6g largest %.6g mm\n", errors.size(), mean, median,
              errors.back());
  int failures = 0;
  if (given.count("within"))
    failures += verdict(errors.back() <= listOf<double>(given, "within", 1, 0)[0], "largest, mm",
                        errors.back(), listOf<double>(given, "within", 1, 0)[0]);
  if (given.count("mean"))
    failures += verdict(mean <= listOf<double>(given, "mean", 1, 0)[0], "mean, mm", mean,
                        listOf<double>(given, "mean", 1, 0)[0]);
  if (given.count("median"))
    failures += verdict(median <= listOf<double>(given, "median", 1, 0)[0], "median, mm", median,
                        listOf<double>(given, "median", 1, 0)[0]);
  return failures > 0;
}

/// Mean Dice over the labels that both images hold (without 0), or those of them that --labels names.
template <int D>
int dice(const Given& given, const std::string& first, const std::string& second)
{
  std::vector<std::string> notes;
  const Image<D> a = readImage<D>(first, {}, notes).image, b = readImage<D>(second, {}, notes).image;
  std::map<int, std::array<std::size_t, 3>> counts;
  for (std::size_t i = 0; i < a.voxels.size(); ++i) {
    const int p = static_cast<int>(std::lround(a.voxels[i])),
              q = static_cast<int>(std::lround(b.voxels.at(i)));
    ++counts[p][0];
    ++counts[q][1];
    counts[p][2] += p == q;
  }
  const auto named = listOf<double>(given, "labels", 0, 0);
  double sum = 0, labels = 0;
  for (const auto& [label, count] : counts)
    if (label != 0 && count[0] && count[1]
        && (named.empty() || std::ranges::find(named, label) != named.end())) {
      sum += 2.0 * static_cast<double>(count[2]) / static_cast<double>(count[0] + count[1]);
      ++labels;
    }
  const double atLeast = listOf<double>(given, "at-least", 1, 0)[0];
  return verdict(sum / labels >= atLeast, "mean Dice", sum / labels, atLeast);
}

/// Points of a regular grid of an image's box, as a points file; with --above, those whose nearest voxel is
/// brighter than that.
template <int D>
void gridPoints(const Given& given, const std::string& file)
{
  const ImageGeometry<D> geometry = geometryOf<D>(readImageHeader(file, {}));
  std::vector<std::string> notes;
  const auto above =
      given.count("above") ? std::optional(listOf<double>(given, "above", 1, 0)[0]) : std::nullopt;
  const Image<D> image = above ? readImage<D>(file, {}, notes).image : Image<D>{};
  const auto perAxis = static_cast<std::size_t>(listOf<double>(given, "per-axis", 1, 5)[0]);
  const double margin = listOf<double>(given, "margin", 1, 0.2)[0];
  Size<D> counts;
  counts.fill(perAxis);
  std::vector<Vec<D>> points;
  forEachIndex<D>(counts, [&](const Vec<D>& step, std::size_t) {
    Vec<D> index;
    std::size_t nearest = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      const double last = static_cast<double>(geometry.size[d]) - 1;
      index[d] =
          last * (margin + (1 - 2 * margin) * step[d] / std::max(1.0, static_cast<double>(perAxis) - 1));
      nearest += stride * static_cast<std::size_t>(std::lround(index[d]));
      stride *= geometry.size[d];
    }
    if (!above || image.voxels.at(nearest) > *above)
      points.push_back(geometry.pointFromIndex()(index));
  });
  std::printf("point\n%zu\n", points.size());
  for (const Vec<D>& point : points)
    for (int d = 0; d < D; ++d)
      std::printf("%.17g%c", point[d], d + 1 < D ? ' ' : '\n');
}

/// Size, spacing, origin and length of the diagonal (in mm, of the box of voxel centres), a line each.
template <int D>
void header(const std::string& file)
{
  const ImageGeometry<D> geometry = geometryOf<D>(readImageHeader(file, {}));
  double squared = 0;
  const auto line = [](const char* name, const auto& values) {
    std::printf("%s", name);
    for (const auto value : values)
      std::printf(" %.17g", static_cast<double>(value));
    std::printf("\n");
  };
  for (int d = 0; d < D; ++d)
    squared += std::pow((static_cast<double>(geometry.size[d]) - 1) * geometry.spacingMm[d], 2);
  line("size", geometry.size);
  line("spacing", geometry.spacingMm);
  line("origin", geometry.originMm);
  line("diagonal", std::array{std::sqrt(squared)});
}

/// The points of a file after the motion of a phantom on the same grid as the image.
template <int D>
void movePoints(const Given& given, const std::string& image, const std::string& points)
{
  const KnownMotion<D> motion = motionOf<D>(given, geometryOf<D>(readImageHeader(image, {})));
  const auto values = readPoints<D>(points).values;
  std::printf("point\n%zu\n", values.size());
  for (const Vec<D>& pointMm : values) {
    const Vec<D> moved = motion.forward(pointMm);
    for (int d = 0; d < D; ++d)
      std::printf("%.17g%c", moved[d], d + 1 < D ? ' ' : '\n');
  }
}

/// Prints what a JSON file holds at a pointer such as /stages/0/levels: texts as they are, the length of
/// lists and objects, anything else as JSON. 0, or 1 if the file is no JSON or holds nothing there.
int printJsonValue(const std::string& file, const std::string& pointer)
{
  try {
    std::ifstream stream(file);
    const nlohmann::json value = nlohmann::json::parse(stream).at(nlohmann::json::json_pointer(pointer));
    const std::string text = value.is_string()       ? value.get<std::string>()
                             : value.is_structured() ? std::to_string(value.size())
                                                     : value.dump();
    std::printf("%s\n", text.c_str());
    return 0;
  } catch (const nlohmann::json::exception& error) {
    std::printf("%s: %s: %s\n", file.c_str(), pointer.c_str(), error.what());
    return 1;
  }
}

/// Runs a command, its output on our standard error, and prints the most memory that it had at a time, in kB
/// (of 1024 bytes). Returns its exit code.
int printPeakMemory(const std::vector<std::string>& command)
{
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0)
    throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  rusage used{};
  while (wait4(child, &status, 0, &used) < 0)
    if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "wait4");
  std::printf("%ld\n", used.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <int D>
int run(const std::string& verb, const std::vector<std::string>& files, const Given& given)
{
  if (verb == "phantom")
    return phantom<D>(given, files.at(0)), 0;
  if (verb == "mask")
    return mask<D>(given, files.at(0), files.at(1)), 0;
  if (verb == "grid-points")
    return gridPoints<D>(given, files.at(0)), 0;
  if (verb == "header")
    return header<D>(files.at(0)), 0;
  if (verb == "move-points")
    return movePoints<D>(given, files.at(0), files.at(1)), 0;
  if (verb == "numbers-agree")
    return numbersAgree(
        labelOf(given), textOf(given, "quantity", ""), files.at(0), files.at(1),
        {listOf<double>(given, "within", 1, 0)[0], listOf<double>(given, "relative", 1, 0)[0]});
  if (verb == "images-agree")
    return imagesAgree<D>(given, files.at(0), files.at(1));
  if (verb == "points-agree")
    return pointsAgree<D>(given, files.at(0), files.at(1));
  if (verb == "json")
    return printJsonValue(files.at(0), files.at(1));
  if (verb == "peak-memory")
    return printPeakMemory(files);
  if (verb == "dice")
    return dice<D>(given, files.at(0), files.at(1));
  std::fprintf(stderr, "test-tool: %s: no such verb\n", verb.c_str());
  return 2;
}

int main(int argc, char** argv)
{
  std::string verb;
  std::vector<std::string> files;
  options::options_description description(
      "test-tool VERB FILES: phantom OUT | mask LIKE OUT | grid-points IMAGE | move-points LIKE POINTS | "
      "header IMAGE | images-agree A B | numbers-agree A B | points-agree FOUND TRUTH | dice A B | json FILE "
      "POINTER | peak-memory -- COMMAND");
  auto add = description.add_options();
  add("verb", options::value(&verb));
  add("files", options::value(&files));
  add("as", options::value<std::string>(), "what is compared");
  add("quantity", options::value<std::string>(), "its row in dox/Conformance.md");
  for (const char* flag : {"2d", "4d", "oblique", "invert", "textured", "values-only"})
    add(flag, "");
  for (const char* list :
       {"size",  "spacing", "shift-mm", "turn-deg", "stretch",  "wave-mm",  "wave-length-mm",
        "noise", "seed",    "share",    "within",   "of-range", "relative", "share-beyond",
        "mean",  "median",  "at-least", "labels",   "per-axis", "margin",   "above"})
    add(list, options::value<std::vector<double>>()->multitoken());
  options::positional_options_description places;
  places.add("verb", 1).add("files", -1);
  Given given;
  const int style = options::command_line_style::unix_style & ~options::command_line_style::allow_short;
  options::store(
      options::command_line_parser(argc, argv).options(description).positional(places).style(style).run(),
      given);
  options::notify(given);
  if (given.count("4d"))
    return (verb == "dice" ? dice<4> : pointsAgree<4>)(given, files.at(0), files.at(1));
  return given.count("2d") ? run<2>(verb, files, given) : run<3>(verb, files, given);
}

}
}

int main(int argc, char** argv)
{
  try {
    return tessera::testing::main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "test-tool: " << error.what() << "\n";
    return 2;
  }
}
