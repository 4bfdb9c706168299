#include "Tools/Bench/Images/ResampleCases.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Threads/Parallel.h"

#include <cmath>

namespace tessera {
namespace {

/// A transform for measurements. Its parameters have many digits, so that no voxel is mapped midway between
/// two others, where the last bits would decide.
template <int D>
struct BenchTransform {
  const char* name;
  std::vector<double> parameters; // in the component's order; empty: displacements of control points
};

template <int D>
BenchTransform<D> benchTransform(char letter, const std::string& word)
{
  switch (letter) {
  case 'T':
    return {"TranslationTransform", D == 2 ? std::vector{2.317, -1.731} : std::vector{2.317, -1.731, 1.419}};
  case 'E':
    return {"EulerTransform", D == 2 ? std::vector{0.0613, 1.107, -0.719}
                                     : std::vector{0.0411, -0.0323, 0.0607, 1.107, -0.719, 0.913}};
  case 'S':
    return {"SimilarityTransform", D == 2
                                       ? std::vector{1.0309, -0.0517, 0.613, 1.331}
                                       : std::vector{0.0213, 0.0331, -0.0257, 0.613, 1.331, -0.829, 1.0309}};
  case 'A':
    return {"AffineTransform", D == 2 ? std::vector{1.0307, 0.0511, -0.0413, 0.9803, 1.213, -0.631}
                                      : std::vector{1.0307, 0.0511, -0.0203, -0.0413, 0.9803, 0.0307, 0.0109,
                                                    -0.0211, 1.0203, 1.213, -0.631, 0.517}};
  case 'B':
    return {"BSplineTransform", {}};
  default:
    failAs(ExitCode::usage, "--transform", "\"" + word + "\": no such transform",
           "up to 8 letters of T, E, S, A and B, the last one first");
  }
}

/// Displacements of control points: a smooth wave and random numbers, times `factor`.
std::vector<double> displacementsMm(std::size_t count, int components, double factor)
{
  std::vector<double> values(count);
  const std::size_t points = count / static_cast<std::size_t>(components);
  for (std::size_t i = 0; i < count; ++i) {
    const auto point = static_cast<double>(i % points), component = static_cast<double>(i / points);
    values[i] = 1.6 * std::sin(0.37 * point + 2 * component)
                + 1.6 * unitUniform(randomWords(Draw{}, static_cast<std::uint32_t>(i), 0)[0]) - 0.8;
    values[i] *= factor;
  }
  return values;
}

}

void Agreement::add(std::span<const float> ours, const float* itk, bool countDifferent)
{
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const bool inside = ours[i] != outsideValue, insideItk = itk[i] != outsideValue;
    if (inside != insideItk || (countDifferent && ours[i] != itk[i]))
      ++mismatches;
    if (!inside || !insideItk)
      continue;
    const double difference =
        std::abs(static_cast<double>(ours[i]) - static_cast<double>(itk[i])) / intensityRange;
    squares += difference * difference;
    largest = std::max(largest, difference);
    ++inBoth;
  }
}

void Agreement::addTo(BenchResult& result) const
{
  result.rmsError = inBoth > 0 ? std::sqrt(squares / static_cast<double>(inBoth)) : 0;
  result.largestError = largest;
}

Parameters benchParameters(const std::string& text, const std::string& label, int dimension,
                           std::size_t levels)
{
  std::vector<std::string> notes;
  return Parameters(std::make_shared<ParameterMap>(parseParameterText(text, "benchmark", notes)), label,
                    static_cast<std::size_t>(dimension), levels);
}

template <int D>
ImageGeometry<D> benchGrid(const Size<D>& size)
{
  ImageGeometry<D> grid;
  grid.size = size;
  for (int d = 0; d < D; ++d) {
    grid.spacingMm[d] = d == 2 ? 1.1 : 0.8;
    grid.originMm[d] = 30.0 * d - 100;
  }
  return grid;
}

template <int D>
ImagePointer<D> benchImage(const Context& context, const ImageGeometry<D>& grid)
{
  auto image = std::make_shared<Image<D>>(Image<D>{grid, std::vector<float>(grid.voxelCount())});
  const std::size_t width = grid.size[0];
  forEachChunk(Context{{}, context.threads}, grid.voxelCount() / width, [&](std::size_t row) {
    const std::size_t y = row % grid.size[1], z = row / grid.size[1];
    const double fromMiddle[2] = {
        2.0 * static_cast<double>(y) / static_cast<double>(grid.size[1]) - 1,
        D == 3 ? 2.0 * static_cast<double>(z) / static_cast<double>(grid.size[D - 1]) - 1 : 0};
    const double wave = std::sin(0.13 * static_cast<double>(y)) * std::cos(0.11 * static_cast<double>(z));
    for (std::size_t x = 0; x < width; ++x) {
      const double r = 2.0 * static_cast<double>(x) / static_cast<double>(width) - 1;
      const bool inside = r * r + fromMiddle[0] * fromMiddle[0] + fromMiddle[1] * fromMiddle[1] < 0.7;
      const std::size_t voxel = row * width + x;
      const double noise = unitUniform(randomWords(Draw{}, static_cast<std::uint32_t>(voxel), 0)[0]);
      image->voxels[voxel] = static_cast<float>(
          (inside ? 550 + 400 * wave * std::sin(0.17 * static_cast<double>(x)) : 0) + 50 * noise);
    }
  });
  return image;
}

template <int D>
ChainPointer<D> benchChain(const Registry& registry, const std::string& word, const ImagePointer<D>& fixed,
                           double controlPointVoxels)
{
  const std::string spacing = "(FinalGridSpacingInVoxels " + std::to_string(controlPointVoxels) + ")\n";
  if (word.empty() || word.size() > 8)
    benchTransform<D>('\0', word);
  ChainPointer<D> chain;
  Context context;
  for (auto letter = word.rbegin(); letter != word.rend(); ++letter) {
    const BenchTransform<D> made = benchTransform<D>(*letter, word);
    std::shared_ptr<Transform<D>> transform =
        registry.create<Transform<D>>(made.name, benchParameters(spacing, "Transform0", D), "benchmark");
    std::vector<double> parameters =
        optimizable(*transform).initialize(context, {fixed, fixed, nullptr, nullptr, nullptr, nullptr});
    optimizable(*transform).prepareForLevel(context, 0, parameters);
    auto link = std::make_shared<TransformChain<D>>();
    link->initial = chain;
    link->parameters = made.parameters.empty()
                           ? displacementsMm(parameters.size(), D, controlPointVoxels / 10)
                           : made.parameters;
    link->transform = transform;
    chain = link;
  }
  return chain;
}

template <int D>
std::vector<ItkTransform> itkTransformsOf(const TransformChain<D>& chain)
{
  std::vector<ItkTransform> all;
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    all.push_back(link->transform->itkTransform(link->parameters));
  return all;
}

TESSERA_INSTANTIATE_FUNCTIONS(benchGrid<D>, benchImage<D>, benchChain<D>, itkTransformsOf<D>);

}
