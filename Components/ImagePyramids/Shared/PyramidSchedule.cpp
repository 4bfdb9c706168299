#include "Components/ImagePyramids/Shared/PyramidSchedule.h"

#include "Core/Registration/GeometryInUse.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

Parameter<double> scheduleRow(const std::string& name, const std::string& unit, const std::string& meaning)
{
  return realParameter(name, std::nan(""), Arity::schedule, unit, meaning).atLeast(0);
}

}

std::string sideName(ImageSide side)
{
  return side == ImageSide::fixed ? "Fixed" : "Moving";
}

ComponentDescription pyramidDescription(ImageSide side, const std::string& name, const std::string& summary,
                                        std::vector<ParameterInfo> parameters)
{
  return {sideName(side) + "ImagePyramid", name, summary, std::move(parameters), {sideName(side) + name}};
}

std::vector<Parameter<double>> factorRows(ImageSide side)
{
  const std::string meaning =
      "factor for each level and axis, coarse to fine; default 2^(levels - 1 - level)";
  return {scheduleRow("ImagePyramidSchedule", "voxels", meaning),
          scheduleRow(sideName(side) + "ImagePyramidSchedule", "voxels",
                      "the same for this image alone; overrides the parameters above"),
          scheduleRow("Schedule", "voxels",
                      "the same for the pyramid with this label (" + sideName(side)
                          + "ImagePyramid0Schedule); overrides the others")};
}

ComponentDescription factorPyramidDescription(ImageSide side, const std::string& name,
                                              const std::string& summary)
{
  const std::vector<Parameter<double>> rows = factorRows(side);
  return pyramidDescription(side, name, summary, {rows.begin(), rows.end()});
}

std::vector<Parameter<double>> rescaleRows(ImageSide side)
{
  const std::string meaning =
      "shrink factor for each level and axis, coarse to fine; default 2^(levels - 1 - level)";
  const std::string wins = "another name of the parameter above; overrides it";
  return {scheduleRow("ImagePyramidRescaleSchedule", "voxels", meaning),
          scheduleRow("ImagePyramidSchedule", "voxels", wins),
          scheduleRow(sideName(side) + "ImagePyramidRescaleSchedule", "voxels",
                      "the same for this image alone; overrides the parameters above"),
          scheduleRow(sideName(side) + "ImagePyramidSchedule", "voxels", wins)};
}

std::vector<Parameter<double>> sigmaRows(ImageSide side)
{
  const std::string meaning = "sigma for each level and axis, coarse to fine; default half the shrunk "
                              "spacing, 0 at a last factor of 1";
  return {scheduleRow("ImagePyramidSmoothingSchedule", "mm", meaning),
          scheduleRow(sideName(side) + "ImagePyramidSmoothingSchedule", "mm",
                      "the same for this image alone; overrides the parameters above")};
}

template <int D>
Schedule<D, double> readSchedule(const Parameters& parameters, const std::vector<Parameter<double>>& rows)
{
  Schedule<D, double> schedule(parameters.levelCount());
  const std::size_t wanted = schedule.size() * D;
  std::size_t found = 0;
  for (std::size_t entry = 0; entry < wanted; ++entry)
    for (std::size_t row = rows.size(); row-- > 0;)
      if (const auto value = parameters.find(rows[row], entry)) {
        if (!(*value >= 0 && std::isfinite(*value)))
          parameters.fail(rows[row].name,
                          "entry " + std::to_string(entry + 1) + " is negative or not a number",
                          "Allowed: values of 0 or more");
        schedule[entry / D][entry % D] = *value;
        ++found;
        break;
      }
  if (found == wanted)
    return schedule;
  for (const Parameter<double>& row : rows)
    if (parameters.has(row.name))
      parameters.warn(parameters.where(row.name) + ": " + std::to_string(found) + " entries for "
                      + std::to_string(parameters.levelCount()) + " levels of " + std::to_string(D)
                      + " axes, which need " + std::to_string(wanted)
                      + ": the default schedule is used instead.");
  return {};
}

template <int D>
Schedule<D, std::size_t> readFactors(const Parameters& parameters, const std::vector<Parameter<double>>& rows,
                                     FactorRule rule)
{
  const Schedule<D, double> given = readSchedule<D>(parameters, rows);
  const auto name = [&] { // the name of the last one that is given, which wins
    const auto last =
        std::find_if(rows.rbegin(), rows.rend(), [&](const auto& row) { return parameters.has(row.name); });
    return last->name;
  };
  const bool keepsTimes = rule == FactorRule::free && parameters.withLabel("").get(lastAxisIsTime());
  const std::size_t levels = parameters.levelCount();
  Schedule<D, std::size_t> factors(levels);
  for (std::size_t level = 0; level < levels; ++level)
    for (int d = 0; d < D; ++d) {
      std::size_t& factor = factors[level][d];
      if (given.empty()) {
        factor = std::size_t{1} << std::min<std::size_t>(levels - 1 - level, 31);
        if (keepsTimes && d + 1 == D)
          factor = 0;
        continue;
      }
      const double value = given[level][d];
      if (value > 1e6)
        parameters.fail(name(), "a factor over 1000000", "Allowed: whole factors");
      factor = static_cast<std::size_t>(value);
      if (value != std::floor(value))
        parameters.warn(parameters.where(name())
                        + ": factors are whole numbers: the fraction of a factor is cut off, as in elastix.");
      if (rule == FactorRule::decreasing && factor == 0)
        parameters.warn(parameters.where(name()) + ": a factor below 1 counts as 1, as in elastix.");
      if (rule == FactorRule::decreasing && level > 0 && factor > factors[level - 1][d])
        parameters.warn(parameters.where(name())
                        + ": factors of this pyramid do not grow from level to level: the one before is "
                          "kept, as in elastix.");
      if (rule == FactorRule::decreasing)
        factor = std::max<std::size_t>(1, level > 0 ? std::min(factor, factors[level - 1][d]) : factor);
    }
  return factors;
}

template <int D>
Vec<D> factorsAsVec(const Size<D>& factors)
{
  Vec<D> schedule;
  std::copy(factors.begin(), factors.end(), schedule.begin());
  return schedule;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(readSchedule<D>, readFactors<D>, factorsAsVec<D>);

}
