#include "Core/Runs/Prediction/ResamplingWork.h"

#include "Core/Registration/Chain/OneSplineChain.h"
#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/Fields/WholeField.h"
#include "Core/Registration/Interpolation/LabelMajority.h"
#include "Core/Registration/Inverse/InverseTransform.h"

#include <cmath>

namespace tessera {
namespace {

constexpr int cubicOrder = 3;
/// The time for a root of a chain with one B-spline, in values of that chain at a point.
constexpr double mapsOfRootOnCpu = 7, mapsOfRootOnCuda = 3.5;

/// The coefficients that a B-spline of this order reads.
double coefficientsOf(int order, int dimension)
{
  return std::pow(order + 1, dimension);
}

/// Adds `count` interpolated values. `nearest` is directNearest or pointNearest; the kinds of work for other
/// interpolations by the same way follow it in the enumeration.
template <int D>
void addLookUps(WorkItems& items, Work nearest, int order, double count)
{
  const auto after = [&](int steps) { return static_cast<Work>(static_cast<int>(nearest) + steps); };
  if (order > 1)
    items.add(after(2), count * coefficientsOf(order, D) / coefficientsOf(cubicOrder, D));
  else
    items.add(after(order == orderOfLabels ? 3 : order), count);
}

/// Whether a link of a chain is a B-spline whose grid lies along the axes of the lattice that reaches it.
template <int D>
bool isAligned(const TransformChain<D>& link, ImageGeometry<D> lattice)
{
  if (!link.transform->field())
    return false;
  if (link.initial && link.combination == Combination::compose) {
    const auto before = asOneSpline<D>(*link.initial);
    if (!before || before->spline || before->linear.matrix != identityMatrix<D>())
      return false;
    lattice.originMm = before->linear(lattice.originMm);
  }
  return link.transform->field()->alignedField(lattice).has_value();
}

/// Whether kernels evaluate the B-spline in single precision.
template <int D>
bool isPlainCubic(const TransformChain<D>& link)
{
  const BSplineGrid<D>& grid = link.transform->field()->grid();
  return grid.order == cubicOrder && !grid.cyclic;
}

/// The time of a pair of a voxel and a landmark in a field of polynomials (SplineField.h), relative to that
/// of a pair alone: few pairs are computed.
constexpr double shareOfLandmarks = 0.02;

/// Adds the work of T(x) for `points` points, transform by transform. A B-spline along the lattice's axes is
/// work of the kind `aligned`. The work of a spline of many landmarks is multiplied by `landmarkFactor`. A
/// root of an inverse counts as `mapsOfRoot` values of the inverted chain.
template <int D>
void addPoints(WorkItems& items, Work aligned, double landmarkFactor, const TransformChain<D>& chain,
               const ImageGeometry<D>& lattice, double points, double mapsOfRoot)
{
  if (const InverseTransform<D>* inverse = asInverse(chain))
    return addPoints<D>(items, Work::pointSpline, 1, inverse->inverted(), lattice, mapsOfRoot * points, 0);
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get()) {
    MappingWork work;
    link->transform->addWork(work);
    const double pairs = points * work.landmarks;
    items.add(isAligned(*link, lattice) ? aligned : Work::pointSpline,
              points * work.coefficients / coefficientsOf(cubicOrder, D));
    items.add(Work::pointLandmark, pairs < fewestPairsOfField ? pairs : pairs * landmarkFactor);
    items.add(Work::pointLinear, points * work.lookUps);
    items.add(Work::pointLinearTransform, points * work.linearMaps);
  }
}

double secondsOf(const std::array<ThreadRate, workCount>& rates, const WorkItems& work, int measuredThreads,
                 int threads)
{
  double nanoseconds = 0;
  for (std::size_t i = 0; i < workCount; ++i)
    nanoseconds += work.items[i] * rates[i].nanoseconds(measuredThreads, threads);
  return 1e-9 * nanoseconds;
}

}

template <int D>
void addImages(DeviceWork& work, const TransformChain<D>& chain, const ImageGeometry<D>& lattice, int order,
               const std::vector<ImageSizes>& images, std::size_t imagesAtOnce)
{
  const std::optional<OneSplineChain<D>> whole = asOneSpline<D>(chain);
  const bool isLinear = whole && !whole->spline;
  const TransformChain<D>* const spline = whole ? whole->spline : nullptr;
  const bool isDirectOnCuda = isLinear || (spline && isPlainCubic(*spline));
  const bool isDirectOnCpu = isLinear && order != orderOfLabels;
  const auto voxels = static_cast<double>(lattice.voxelCount());
  for (std::size_t i = 0; i < images.size(); ++i) {
    const double moving = images[i].voxels * images[i].components, output = voxels * images[i].components;
    if (order > 1)
      for (WorkItems* items : {&work.cpu, &work.cuda})
        items->add(Work::prefilter, moving * (order / 2));
    work.cuda.images += images[i].components;
    work.cuda.uploadedBytes += images[i].voxels * images[i].uploadedBytes;
    work.cuda.downloadedBytes += output * images[i].resultBytes;
    addLookUps<D>(work.cpu, isDirectOnCpu ? Work::directNearest : Work::pointNearest, order, output);
    addLookUps<D>(work.cuda, isDirectOnCuda ? Work::directNearest : Work::pointNearest, order, output);
    if (!isDirectOnCpu && i % imagesAtOnce == 0)
      addPoints<D>(work.cpu, Work::pointAlignedSpline, 1, chain, lattice, voxels, mapsOfRootOnCpu);
    if (!isDirectOnCuda)
      addPoints<D>(work.cuda, Work::pointSpline, D == 3 ? shareOfLandmarks : 1, chain, lattice, output,
                   mapsOfRootOnCuda);
    else if (spline)
      work.cuda.add(Work::directSpline, output);
  }
}

template <int D>
void addField(DeviceWork& work, const TransformChain<D>& chain, const ImageGeometry<D>& lattice,
              std::size_t components)
{
  const auto voxels = static_cast<double>(lattice.voxelCount());
  work.cuda.downloadedBytes += voxels * static_cast<double>(components * sizeof(float));
  if (asInverse(chain)) {
    addPoints<D>(work.cpu, Work::pointSpline, 1, chain, lattice, voxels, mapsOfRootOnCpu);
    addPoints<D>(work.cuda, Work::pointSpline, 1, chain, lattice, voxels, mapsOfRootOnCuda);
    return;
  }
  if (wholeFieldOf(chain)) {
    addPoints<D>(work.cpu, Work::pointAlignedSpline, 1, chain, lattice, voxels, 0);
    addPoints<D>(work.cuda, Work::pointSpline, shareOfLandmarks, chain, lattice, voxels, 0);
  }
  const Work kind = components == 1                             ? Work::fieldDeterminants
                    : components == static_cast<std::size_t>(D) ? Work::fieldDisplacements
                                                                : Work::fieldMatrices;
  work.cpu.add(kind, voxels);
  work.cuda.add(kind, voxels);
}

double cpuSeconds(const Calibration& calibration, int dimension, const DeviceWork& work, int threads)
{
  return calibration.cpuStartSeconds
         + secondsOf(calibration.of(dimension).cpu, work.cpu, calibration.threads, threads);
}

double cudaSeconds(const Calibration& calibration, int dimension, const DeviceWork& work, int threads)
{
  double nanoseconds =
      work.cuda.uploadedBytes * calibration.upload.nanoseconds(calibration.threads, threads)
      + work.cuda.downloadedBytes * calibration.download.nanoseconds(calibration.threads, threads);
  for (std::size_t i = 0; i < workCount; ++i)
    nanoseconds += work.cuda.items[i] * calibration.of(dimension).cuda[i];
  return calibration.cudaStartSeconds + work.cuda.images * calibration.cudaImageSeconds + 1e-9 * nanoseconds;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template void addImages<D>(DeviceWork&, const TransformChain<D>&, const ImageGeometry<D>&, int,            \
                             const std::vector<ImageSizes>&, std::size_t);                                   \
  template void addField<D>(DeviceWork&, const TransformChain<D>&, const ImageGeometry<D>&, std::size_t)
TESSERA_INSTANTIATE(2);
TESSERA_INSTANTIATE(3);
#undef TESSERA_INSTANTIATE

}
