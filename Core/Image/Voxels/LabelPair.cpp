#include "Core/Image/Voxels/LabelPair.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/LabelImage.h"
#include "Core/Parameters/ParameterText.h"

#include <limits>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace tessera {
namespace {

constexpr std::int64_t exactInFloat = std::int64_t(1) << std::numeric_limits<float>::digits;

/// A label map, and the label for which each of its floats stands.
template <int D>
struct ReadLabels {
  Image<D> image;
  std::unordered_map<float, std::int64_t> labelOf;
  bool standForThemselves = true;
};

template <class T>
std::int64_t wholeLabel(T value, const std::string& path)
{
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T limit = 9223372036854775808.0; // 2^63
    if (!(value >= -limit && value < limit))
      failToRead(path, realText(static_cast<double>(value)) + " is no label", allowedLabels);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      failToRead(path, std::to_string(value) + " is no label", allowedLabels);
  }
  return static_cast<std::int64_t>(value);
}

template <int D>
ReadLabels<D> readLabels(const std::string& path, const ReadingOptions& reading, int threads)
{
  LabelImage<D> map = readLabelImage<D>(path, reading, 0, threads);
  ReadLabels<D> read{std::move(map.loaded.image), {}};
  const std::vector<float>& voxels = read.image.voxels;
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    if ((i > 0 && voxels[i] == voxels[i - 1]) || read.labelOf.contains(voxels[i])) // labels mostly repeat
      continue;
    withPixelType(map.table.type(), [&]<class T>(std::type_identity<T>) {
      T stored;
      map.table.decode({&voxels[i], 1}, reinterpret_cast<std::byte*>(&stored), 1);
      const std::int64_t label = wholeLabel<T>(stored, path);
      read.labelOf[voxels[i]] = label;
      read.standForThemselves = read.standForThemselves && !map.table.isNumbered() && label >= -exactInFloat
                                && label <= exactInFloat;
    });
  }
  return read;
}

template <int D>
void renumber(ReadLabels<D>& read, const std::unordered_map<std::int64_t, float>& numberOf)
{
  std::unordered_map<float, float> numbers;
  for (const auto& [value, label] : read.labelOf)
    numbers[value] = numberOf.at(label);
  float last = 0, number = numberOf.at(0);
  for (float& voxel : read.image.voxels) {
    if (voxel != last)
      last = voxel, number = numbers.at(voxel);
    voxel = number;
  }
}

}

template <int D>
LabelPair<D> readLabelPair(const LabelFile& first, const LabelFile& second, const ReadingOptions& reading,
                           int threads)
{
  const auto read = [&reading, threads](const LabelFile& file) {
    return withContext(file.option, [&] { return readLabels<D>(file.path, reading, threads); });
  };
  ReadLabels<D> a = read(first), b = read(second);
  LabelPair<D> pair;
  if (!a.standForThemselves || !b.standForThemselves) {
    std::set<std::int64_t> all;
    for (const ReadLabels<D>* map : {&a, &b})
      for (const auto& [value, label] : map->labelOf)
        all.insert(label);
    all.erase(0);
    pair.labels.assign(1, 0);
    pair.labels.insert(pair.labels.end(), all.begin(), all.end());
    if (pair.labels.size() > static_cast<std::size_t>(exactInFloat))
      failToRead(first.option + " and " + second.option,
                 std::to_string(pair.labels.size()) + " different labels", "at most 2^24 labels");
    std::unordered_map<std::int64_t, float> numberOf;
    for (std::size_t number = 0; number < pair.labels.size(); ++number)
      numberOf[pair.labels[number]] = static_cast<float>(number);
    renumber(a, numberOf);
    renumber(b, numberOf);
  }
  pair.first = std::make_shared<Image<D>>(std::move(a.image));
  pair.second = std::make_shared<Image<D>>(std::move(b.image));
  return pair;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(readLabelPair<D>);

}
