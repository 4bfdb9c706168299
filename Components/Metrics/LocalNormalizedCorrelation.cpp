#include "Components/Metrics/LocalNormalizedCorrelation.h"

#include "Components/Metrics/Shared/LocalWindows/LocalCorrelationOnCuda.h"
#include "Components/Metrics/Shared/LocalWindows/WindowSums.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Registration/Terms/ImageTerm.h"

#include <algorithm>

namespace tessera {
namespace {

const Parameter<double> localIntensityNoise =
    realParameter("LocalIntensityNoise", 0.001, Arity::perLevel, "shares of the intensity range",
                  "noise of both images: windows with less contrast weigh little")
        .atLeast(1e-3)
        .atMost(1); // less is lost in the rounding of sums

const Parameter<bool> localIntensityNoiseIsShared =
    booleanParameter("LocalIntensityNoiseIsShared", true, Arity::perLevel,
                     "whether noise counts as contrast that both images have in common, so that an image "
                     "stays where it is beside itself; \"false\" pulls the moving image towards contrast");

/// Each window has a sum of every one of these quantities.
enum Quantity { ones, f, m, ff, mm, fm, quantityCount };

TESSERA_MULTIVERSION_TO_V4 void writeQuantities(const float* fixed, const float* moving,
                                                const IntensityUnit& fixedUnit,
                                                const IntensityUnit& movingUnit, std::size_t count,
                                                double* const* rows)
{
  double *const one = rows[ones], *const ofF = rows[f], *const ofM = rows[m];
  double *const ofFF = rows[ff], *const ofMM = rows[mm], *const ofFM = rows[fm];
  for (std::size_t i = 0; i < count; ++i) {
    const bool isNumber = moving[i] == moving[i];
    const double a = isNumber ? (fixed[i] - fixedUnit.middle) * fixedUnit.scale : 0;
    const double b = isNumber ? (moving[i] - movingUnit.middle) * movingUnit.scale : 0;
    one[i] = isNumber ? 1 : 0;
    ofF[i] = a;
    ofM[i] = b;
    ofFF[i] = a * a;
    ofMM[i] = b * b;
    ofFM[i] = a * b;
  }
}

/// Sums of the windows to their correlation coefficients, and unless p is null to what slopes need.
TESSERA_MULTIVERSION_TO_V4 void correlate(const double* const* sums, const float* moving, std::size_t count,
                                          double noiseVariance, bool noiseIsShared, double* coefficients,
                                          float* p, float* q, float* r)
{
  for (std::size_t i = 0; i < count; ++i) {
    const bool isNumber = moving[i] == moving[i]; // then the window holds at least this position
    const double n = isNumber ? sums[ones][i] : 1;
    const double meanF = sums[f][i] / n, meanM = sums[m][i] / n;
    const double ofNoise = noiseVariance * n;
    const double cov = sums[fm][i] - sums[f][i] * meanM + (noiseIsShared ? ofNoise : 0);
    const double a = sums[ff][i] - sums[f][i] * meanF, b = sums[mm][i] - sums[m][i] * meanM;
    const double contrast = a > 0 ? a : 0;
    const double varF = contrast + ofNoise, varM = (b > 0 ? b : 0) + ofNoise;
    const double inverse = isNumber ? 1 / (varF * varM) : 0;
    const double weight = noiseIsShared ? contrast * varM * inverse : 1;
    const double size = weight * (cov < 0 ? -cov : cov);
    coefficients[i] = cov * size * inverse;
    if (p) {
      const double ofP = 2 * size * inverse, ofQ = ofP * cov * varF * inverse;
      p[i] = static_cast<float>(ofP);
      q[i] = static_cast<float>(ofQ);
      r[i] = static_cast<float>(ofQ * meanM - ofP * meanF);
    }
  }
}

TESSERA_MULTIVERSION_TO_V4 void widen(const float* from, std::size_t count, double* to)
{
  for (std::size_t i = 0; i < count; ++i)
    to[i] = from[i];
}

TESSERA_MULTIVERSION_TO_V4 void writeSlopes(const double* const* sums, const float* fixed,
                                            const float* moving, const IntensityUnit& fixedUnit,
                                            const IntensityUnit& movingUnit, double factor, std::size_t count,
                                            float* slopes)
{
  for (std::size_t i = 0; i < count; ++i) {
    const double a = (fixed[i] - fixedUnit.middle) * fixedUnit.scale;
    const double b = (moving[i] - movingUnit.middle) * movingUnit.scale;
    const double slope = factor * (a * sums[0][i] - b * sums[1][i] + sums[2][i]);
    slopes[i] = moving[i] == moving[i] ? static_cast<float>(slope) : 0;
  }
}

}

LocalNormalizedCorrelation::LocalNormalizedCorrelation(const Parameters& parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level) {
    windows_.push_back(LocalWindow::read(parameters, level));
    noises_.push_back(parameters.get(localIntensityNoise, level));
    noiseIsShared_.push_back(parameters.get(localIntensityNoiseIsShared, level));
  }
}

const ComponentDescription& LocalNormalizedCorrelation::description()
{
  static const ComponentDescription description{
      "Metric", "LocalNormalizedCorrelation",
      "minus the mean squared correlation coefficient, with its sign, of the intensities in the window "
      "around each sample (LNCC; Cachier et al. 2003, Avants et al. 2008); for the samplers Full and Grid",
      joinedRows({LocalWindow::parameters(),
                  {localIntensityNoise, localIntensityNoiseIsShared},
                  imageTermParameters()})};
  return description;
}

std::string LocalNormalizedCorrelation::whyNotOnCuda() const
{
  for (const LocalWindow& window : windows_)
    if (std::ranges::max(window.radius) > LocalWindow::maxRadiusOnCuda)
      return "the metric \"LocalNormalizedCorrelation\" with windows of more than "
             + std::to_string(LocalWindow::maxRadiusOnCuda) + " samples on either side";
  return "";
}

std::unique_ptr<MetricOnCuda> LocalNormalizedCorrelation::onCuda(const Context& context,
                                                                 std::size_t positions) const
{
  const MemoryPart part(context, "metric");
  if (const std::string why = whyNotOnCuda(); !why.empty())
    throw Error(ExitCode::device, "CUDA: " + why + ": has no CUDA form. Allowed: (Device \"cpu\").");
  UnitPairs units{.fixedScale = static_cast<float>(fixed_.scale),
                  .fixedOffset = static_cast<float>(-fixed_.middle * fixed_.scale),
                  .movingScale = static_cast<float>(moving_.scale),
                  .movingOffset = static_cast<float>(-moving_.middle * moving_.scale),
                  .noiseVariance = static_cast<float>(noises_[level_] * noises_[level_]),
                  .noiseIsShared = noiseIsShared_[level_]};
  return std::make_unique<LocalCorrelationOnCuda>(context, windows_[level_], units, positions);
}

void LocalCorrelationOnCuda::begin(Context&) {}

double LocalNormalizedCorrelation::evaluate(const Context& context, const LatticeIntensities& images,
                                            float* slopes)
{
  const LocalWindow& window = windows_[level_];
  const std::size_t width = images.size[0];
  const double noiseVariance = noises_[level_] * noises_[level_];
  const auto rowAt = [&](std::size_t y, std::size_t z) { return (z * images.size[1] + y) * width; };
  for (std::vector<float>* array : {&p_, &q_, &r_})
    array->resize(slopes ? images.positions() : 0);
  std::vector<Correlations> found(RowChunks(images.size).count());

  forEachRowOfWindowSums<quantityCount>(
      context, images.size, window,
      [&](std::size_t y, std::size_t z, const std::array<double*, quantityCount>& rows) {
        const std::size_t row = rowAt(y, z);
        writeQuantities(images.fixed + row, images.moving + row, fixed_, moving_, width, rows.data());
      },
      [&](std::size_t chunk, std::size_t y, std::size_t z,
          const std::array<const double*, quantityCount>& sums) {
        const std::size_t row = rowAt(y, z);
        thread_local std::vector<double> coefficients;
        coefficients.resize(width);
        correlate(sums.data(), images.moving + row, width, noiseVariance, noiseIsShared_[level_],
                  coefficients.data(), slopes ? p_.data() + row : nullptr, q_.data() + row, r_.data() + row);
        for (std::size_t x = 0; x < width; ++x) {
          found[chunk].sum += coefficients[x];
          found[chunk].windows += images.moving[row + x] == images.moving[row + x] ? 1 : 0;
        }
      });

  Correlations all;
  for (const Correlations& ofChunk : found)
    all.add(ofChunk);
  const double factor = all.windows > 0 ? -1 / all.windows : 0;
  if (slopes)
    forEachRowOfWindowSums<3>(
        context, images.size, window,
        [&](std::size_t y, std::size_t z, const std::array<double*, 3>& rows) {
          const std::size_t row = rowAt(y, z);
          widen(p_.data() + row, width, rows[0]);
          widen(q_.data() + row, width, rows[1]);
          widen(r_.data() + row, width, rows[2]);
        },
        [&](std::size_t, std::size_t y, std::size_t z, const std::array<const double*, 3>& sums) {
          const std::size_t row = rowAt(y, z);
          writeSlopes(sums.data(), images.fixed + row, images.moving + row, fixed_, moving_,
                      factor * moving_.scale, width, slopes + row);
        });
  return factor * all.sum;
}

}
