#include "Components/Resamplers/Shared/SourceBatches.h"

#include "Testing/Support/Naive/ResampleByHand.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

std::vector<float> rowMovedBy(double voxels, const std::string& extrapolation)
{
  const ImageGeometry<2> grid{{4, 2}, {2, 1}, {10, 20}, identityMatrix<2>()};
  auto moving = std::make_shared<Image<2>>(Image<2>{grid, {1, 4, 9, 16, 1, 4, 9, 16}});
  const Image<2> result =
      resampled<2>("(DefaultPixelValue -7)\n(ResampleExtrapolation \"" + extrapolation + "\")\n",
                   affineChain<2>(identityMatrix<2>(), {2 * voxels, 0}), moving, grid);
  return {result.voxels.begin(), result.voxels.begin() + 4};
}

TEST(SourceBatches, ExtrapolatesByHand)
{
  EXPECT_EQ(rowMovedBy(2, "Constant"), (std::vector<float>{9, 16, -7, -7}));
  EXPECT_EQ(rowMovedBy(2, "Nearest"), (std::vector<float>{9, 16, 16, 16}));
  EXPECT_EQ(rowMovedBy(2, "Mirror"), (std::vector<float>{9, 16, 9, 4}));
  EXPECT_EQ(rowMovedBy(-2.5, "Nearest"), (std::vector<float>{1, 1, 1, 2.5}));
  EXPECT_EQ(rowMovedBy(-2.5, "Mirror"), (std::vector<float>{12.5, 6.5, 2.5, 2.5}));
  EXPECT_EQ(rowMovedBy(9, "Mirror"), (std::vector<float>{16, 9, 4, 1})); // period of 6 voxels
}

/// Continuous index -> value, linear between voxels that any rule of `folded` continues beyond the borders.
template <class Fold>
double naiveExtrapolated(const Image<3>& image, const Vec<3>& index, Fold folded)
{
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::size_t offset = 0;
    for (int d = 3; d-- > 0;) {
      const double low = std::floor(index[d]), fraction = index[d] - low;
      weight *= corner >> d & 1 ? fraction : 1 - fraction;
      offset =
          offset * image.geometry.size[d]
          + folded(static_cast<long>(low) + (corner >> d & 1), static_cast<long>(image.geometry.size[d]));
    }
    sum += weight * image.voxels[offset];
  }
  return sum;
}

TEST(SourceBatches, ExtrapolatesAsANaiveLoopFarBeyondTheBorders)
{
  const ImageGeometry<3> grid = obliqueGrid();
  const ImagePointer<3> moving = imageOf<3>(grid, [](const Vec<3>& mm) {
    return static_cast<float>(100 * std::sin(mm[0]) + 50 * std::cos(2 * mm[1]) + mm[2]);
  });
  Matrix<3> matrix = identityMatrix<3>();
  matrix[0][0] = 5;
  matrix[1][1] = -4;
  matrix[2][1] = 0.5;
  const Vec<3> offset{150, 90, -20};
  const auto clamped = [](long i, long size) {
    return static_cast<std::size_t>(std::clamp(i, 0L, size - 1));
  };
  const auto mirrored = [](long i, long size) {
    while (i < 0 || i >= size)
      i = i < 0 ? -i : 2 * (size - 1) - i;
    return static_cast<std::size_t>(i);
  };

  const Image<3> nearest =
      resampled<3>("(ResampleExtrapolation \"Nearest\")\n", affineChain<3>(matrix, offset), moving, grid);
  const Image<3> mirror =
      resampled<3>("(ResampleExtrapolation \"Mirror\")\n", affineChain<3>(matrix, offset), moving, grid);

  const PointToIndex<3> toIndex = grid.pointToIndex();
  const AffineMap<3> mapping{matrix, offset};
  std::size_t v = 0, outside = 0;
  imageOf<3>(grid, [&](const Vec<3>& mm) {
    const Vec<3> index = toIndex(mapping(mm));
    const double tolerance =
        1e-9 * 160 * 100; // indices are rounded at 1e-14 of 100 voxels, slopes are below 160 a voxel
    EXPECT_NEAR(nearest.voxels[v], naiveExtrapolated(*moving, index, clamped), tolerance) << v;
    EXPECT_NEAR(mirror.voxels[v], naiveExtrapolated(*moving, index, mirrored), tolerance) << v;
    outside += index[0] < -20 || index[0] > 40;
    ++v;
    return 0.0f;
  });
  EXPECT_GT(outside, v / 4);
}

TEST(SourceBatches, ExtrapolationKeepsMasksAndWhatIsNoNumber)
{
  const ImageGeometry<2> grid{{3, 1}, {1, 1}, {0, 0}, identityMatrix<2>()};
  auto moving = std::make_shared<Image<2>>(Image<2>{grid, {1, 2, 3}});
  const auto valid = std::make_shared<Mask<2>>(grid, std::vector<std::uint8_t>{1, 1, 0});
  const std::string text = "(DefaultPixelValue -7)\n(ResampleExtrapolation \"Nearest\")\n";
  TransformChain<2> nowhere = affineChain<2>(identityMatrix<2>(), {0, 0});
  nowhere.parameters.back() = std::numeric_limits<double>::quiet_NaN();

  EXPECT_EQ(resampled<2>(text, affineChain<2>(identityMatrix<2>(), {-2, 0}), moving, grid, 1, valid).voxels,
            (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(resampled<2>(text, affineChain<2>(identityMatrix<2>(), {1, 0}), moving, grid, 1, valid).voxels,
            (std::vector<float>{2, -7, -7}));
  EXPECT_EQ(resampled<2>(text, nowhere, moving, grid).voxels, (std::vector<float>{-7, -7, -7}));
}

TEST(SourceBatches, SeveralImagesAtOnceAreThoseOneByOne)
{
  const ImageGeometry<3> grid = obliqueGrid();
  ImageGeometry<3> other = grid;
  other.size = {9, 12, 31};
  other.spacingMm = {1.3, 1.7, 1.9};
  const std::vector<ImagePointer<3>> images{
      imageOf<3>(grid, planeAt), imageOf<3>(other, planeAt),
      imageOf<3>(grid, [](const Vec<3>& mm) { return static_cast<float>(mm[0] * mm[1]); })};
  const auto valid = std::make_shared<Mask<3>>(grid, std::vector<std::uint8_t>(grid.voxelCount(), 1));
  const TransformChain<3> chain = affineChain<3>(identityMatrix<3>(), {3.5, -2.75, 4.25});
  for (const char* text : {"(DefaultPixelValue -9)\n", "(ResampleExtrapolation \"Nearest\")\n"}) {
    Context context{{}, 2};
    std::vector<std::unique_ptr<LinearInterpolator<3>>> interpolators;
    std::vector<ResampleSource<3>> sources;
    for (const ImagePointer<3>& image : images) {
      interpolators.push_back(
          std::make_unique<LinearInterpolator<3>>(parametersOf(text, 3), InterpolatorUse::resampling));
      interpolators.back()->prepareForLevel(context, image, 0);
      sources.push_back({interpolators.back().get(), image == images[2] ? valid : nullptr});
    }

    const std::vector<Image<3>> all =
        resampledImages<3>(DefaultResampler<3>(parametersOf(text, 3)), context, chain, sources, grid);

    ASSERT_EQ(all.size(), images.size());
    for (std::size_t i = 0; i < images.size(); ++i)
      EXPECT_EQ(all[i].voxels, resampled<3>(text, chain, images[i], grid, 1, sources[i].valid).voxels) << i;
    EXPECT_NE(all[0].voxels, all[1].voxels);
  }
}

TEST(SourceBatches, SlicesAreThoseOfTheWhole)
{
  const ImageGeometry<3> grid = obliqueGrid();
  const ImagePointer<3> moving = imageOf<3>(grid, planeAt);
  const TransformChain<3> chain = affineChain<3>(identityMatrix<3>(), {0.3, 0.2, 0.1});
  LinearInterpolator<3> interpolator(parametersOf("", 3), InterpolatorUse::resampling);
  interpolator.prepareForLevel(host, moving, 0);
  const DefaultResampler<3> resampler(parametersOf("(DefaultPixelValue -3)\n", 3));
  const ResampleSource<3> source{&interpolator, nullptr};
  const Image<3> whole = resampledImage(resampler, host, chain, source, grid);

  std::vector<float> pieces;
  for (std::size_t first = 0; first < grid.size[2]; first += 5) {
    const Image<3> part =
        resampledImages(resampler, host, chain, std::span(&source, 1), grid, {first, 5}).front();
    EXPECT_EQ(part.geometry.size[2],
              std::min<std::size_t>(5, grid.size[2] - first)); // 23 slices: the last part has 3
    EXPECT_EQ(part.geometry.originMm, grid.pointFromIndex()({0, 0, static_cast<double>(first)}));
    pieces.insert(pieces.end(), part.voxels.begin(), part.voxels.end());
  }

  EXPECT_EQ(pieces, whole.voxels);
  EXPECT_TRUE(
      resampledImages(resampler, host, chain, std::span(&source, 1), grid, {23, 1}).front().voxels.empty());
}

const std::pair<const char*, int> interpolators[] = {
    {"NearestNeighborInterpolator", 0}, {"LinearInterpolator", 1},  {"LabelMajorityInterpolator", 0},
    {"BSplineInterpolator", 0},         {"BSplineInterpolator", 1}, {"BSplineInterpolator", 2},
    {"BSplineInterpolator", 3},         {"BSplineInterpolator", 5}};

/// Images whose validity is said, though all voxels are valid, are asked by points, others by rows.
template <int D>
void expectRowsAreTheirPoints(const ImagePointer<D>& moving, const TransformChain<D>& chain,
                              const ImageGeometry<D>& output)
{
  const auto resampler = resamplerOf<D>("(DefaultPixelValue -5000)\n");
  const auto valid =
      std::make_shared<Mask<D>>(moving->geometry, std::vector<std::uint8_t>(moving->voxels.size(), 1));
  for (const auto& [name, order] : interpolators) {
    const auto interpolator = preparedInterpolator<D>(host, name, moving, order);

    const Image<D> byRows = resampledImage(*resampler, host, chain, {interpolator.get(), nullptr}, output);
    const Image<D> byPoints = resampledImage(*resampler, host, chain, {interpolator.get(), valid}, output);

    // the last bits of indices differ, by which values may be rounded to the next float; what is nearest does
    // not
    const double tolerance =
        order == 0 ? 0 : 2 * std::numeric_limits<float>::epsilon() * largestMagnitude(moving->voxels);
    EXPECT_LE(largestDifference(byRows.voxels, byPoints.voxels), tolerance) << name << " " << order;
  }
}

template <int D>
void expectRowsAreTheirPoints(const Size<D>& size)
{
  ImageGeometry<D> grid;
  grid.size = size;
  grid.spacingMm.fill(0.7);
  grid.originMm.fill(-12.6);
  const auto moving = std::make_shared<Image<D>>(noiseImage<D>(grid, 9));
  Matrix<D> turned = identityMatrix<D>(), back = identityMatrix<D>(), flat = identityMatrix<D>(),
            askew = identityMatrix<D>(), fine = identityMatrix<D>(), coarse = identityMatrix<D>();
  turned[0][1] = 0.0625;
  turned[1][0] = -0.125;
  back[0][0] = -1;
  flat[0][0] = 0; // a row is mapped onto one point
  askew[1][0] = 0.00001;
  fine[0][0] = -0.3;
  coarse[0][0] = 2.5;
  Vec<D> none{}, some, half, far;
  some.fill(1.234);
  half.fill(0.35); // half a voxel: midway between others, and on the border of the image
  far.fill(1e7);
  Vec<D> mirrored{};
  mirrored[0] = 2 * grid.originMm[0] + 0.7 * (static_cast<double>(size[0]) - 1);
  for (const auto& [matrix, offset] : {std::pair{identityMatrix<D>(), none},
                                       {identityMatrix<D>(), half},
                                       {identityMatrix<D>(), some},
                                       {turned, some},
                                       {back, mirrored},
                                       {flat, none},
                                       {flat, half},
                                       {askew, half},
                                       {fine, some},
                                       {coarse, some},
                                       {identityMatrix<D>(), far}})
    expectRowsAreTheirPoints<D>(moving, affineChain<D>(matrix, offset), grid);
}

TEST(SourceBatches, RowsAreTheirPoints)
{
  expectRowsAreTheirPoints<2>({1100, 5}); // three pieces a row
  expectRowsAreTheirPoints<2>({1, 9});
  expectRowsAreTheirPoints<3>({37, 11, 9});
  expectRowsAreTheirPoints<3>({33, 1, 3});
}

TEST(SourceBatches, EveryChainHasTheSameBitsForAnyThreadsAndSlices)
{
  const ResampleScene<3> scene({61, 23, 17}, {40, 21, 19});
  const auto resampler = resamplerOf<3>("");
  for (const char* word : {"A", "B", "AB", "BA", "TABES"})
    for (const auto& [name, order] : interpolators) {
      const TransformChain<3> chain = letterChain<3>(word, scene.fixed);
      Context one{{}, 1}, three{{}, 3};
      const auto interpolator = preparedInterpolator<3>(one, name, scene.moving, order);
      const ResampleSource<3> source{interpolator.get(), nullptr};

      const Image<3> whole = resampledImage(*resampler, one, chain, source, scene.fixed->geometry);
      const Image<3> slices =
          resampledImages(*resampler, three, chain, std::span(&source, 1), scene.fixed->geometry, {4, 7})
              .front();

      EXPECT_EQ(resampledImage(*resampler, three, chain, source, scene.fixed->geometry).voxels, whole.voxels)
          << word << " " << name;
      const auto first = whole.voxels.begin() + 4 * 61 * 23;
      EXPECT_TRUE(std::equal(slices.voxels.begin(), slices.voxels.end(), first, first + 7 * 61 * 23))
          << word << " " << name;
    }
}

}
}
