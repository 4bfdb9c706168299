#include "Tools/Transform/ImageBatch.h"

#include "Core/Compute/Memory.h"
#include "Core/Compute/Parallel.h"
#include "Core/Registration/Reporter.h"
#include "Tools/Transform/BatchReader.h"
#include "Tools/Transform/BatchSources.h"
#include "Tools/Transform/LargeImage.h"
#include "Tools/Transform/MemoryBudget.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double groupsInMemory = 3; // one that is read, one that is resampled, one that is written; more are read if they fit

template <int D>
using Item = BatchItem<D>;
template <int D>
using Group = std::vector<Item<D>>;

std::string textOf(const std::exception_ptr& failure)
{
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return "memory: this image needs more than there is. Allowed: smaller images, or --max-memory.";
  } catch (const std::exception& error) {
    return error.what();
  }
}

template <int D>
class BatchRun {
public:
  BatchRun(const ImageBatch<D>& batch, std::vector<ImageTask>& tasks);

  BatchResult run();

private:
  std::vector<Group<D>> grouped();
  std::size_t groupsReadAtOnce(std::size_t groupCount) const;
  Group<D> read(Group<D>) const;
  Group<D> written(Group<D>) const;
  void resample(Group<D>&) const;
  void resampleInSlabs(Item<D>&) const;
  void report(Group<D>);

  void resampleLarge(Item<D>&) const;

  LargeImage large(const Item<D>&) const;
  std::size_t layersThatFit(const Item<D>&) const;
  std::size_t allLayers() const { return batch_.lattice.size[D - 1]; }
  ResultFile<D> open(const Item<D>& item) const
  {
    return {batch_.pathOf(*item.task),
            batch_.output,
            item.moving,
            batch_.pixelType,
            batch_.resampler.resultImage().compress,
            large(item).threadsForFiles(batch_.context.threads)};
  }

  const ImageBatch<D>& batch_;
  bool single_;
  MemoryBudget memory_;
  double budget_ = memory_.bytes;
  BatchReader<D> reader_;
  bool overlaps_;
  double largestGroupBytes_ = 0;
  std::vector<Item<D>> items_;
  std::size_t failed_ = 0;
  double resampleSeconds_ = 0;
};

template <int D>
BatchRun<D>::BatchRun(const ImageBatch<D>& batch, std::vector<ImageTask>& tasks)
    : batch_(batch), single_(tasks.size() == 1), memory_(batch.maxMemory), reader_(batch, memory_),
      overlaps_(batch.context.threads > 1)
{
  for (ImageTask& task : tasks)
    items_.push_back(reader_.sized(task));
}

/// In the order of the command line. While one group is resampled the next is read and the last one written, if they all fit.
template <int D>
std::vector<Group<D>> BatchRun<D>::grouped()
{
  const std::size_t most = batch_.context.onCuda() ? 1 : mostImagesAtOnce;
  std::vector<Group<D>> groups;
  double bytes = 0;
  for (Item<D>& item : items_) {
    const double more = item.movingBytes + item.resultBytes;
    if (groups.empty() || groups.back().size() == most || bytes + more > budget_ / groupsInMemory) {
      groups.emplace_back();
      bytes = 0;
    }
    bytes += more;
    largestGroupBytes_ = std::max(largestGroupBytes_, bytes);
    overlaps_ = overlaps_ && bytes <= budget_ / groupsInMemory;
    groups.back().push_back(std::move(item));
  }
  return groups;
}

/// One thread inflates a file of others, for longer than a GPU resamples its image.
template <int D>
std::size_t BatchRun<D>::groupsReadAtOnce(std::size_t groupCount) const
{
  const double fit = budget_ / std::max(1.0, largestGroupBytes_) - (groupsInMemory - 1);
  const std::size_t useful = std::min(batch_.context.onCuda() ? static_cast<std::size_t>(batch_.context.threads) : 1, groupCount);
  return static_cast<std::size_t>(std::clamp(fit, 1.0, static_cast<double>(std::min(useful, mostImagesAtOnce))));
}

template <int D>
Group<D> BatchRun<D>::read(Group<D> group) const
{
  const auto readItem = [&](Item<D>& item) { overlaps_ ? reader_.readAhead(item) : reader_.read(item); };
  if (group.size() == 1)
    readItem(group.front()); // on all threads where its file allows that
  else
    forEachChunk(Context{{}, batch_.context.threads}, group.size(), [&](std::size_t i) { readItem(group[i]); });
  return group;
}

template <int D>
Group<D> BatchRun<D>::written(Group<D> group) const
{
  for (Item<D>& item : group)
    attempt(item, item.writeSeconds, [&] {
      if (item.result.empty())
        return; // already, in slabs
      ResultFile<D> file = open(item);
      file.write(item.result, batch_.lattice.voxelCount());
      file.commit();
    });
  return group;
}

template <int D>
LargeImage BatchRun<D>::large(const Item<D>& item) const
{
  return {*item.task, batch_.pathOf(*item.task), item.movingBytes, item.resultBytes, memory_, item.asAWholeBytes};
}

/// Layers of the result that fit into memory beside an image that is not large.
template <int D>
std::size_t BatchRun<D>::layersThatFit(const Item<D>& item) const
{
  if (item.movingBytes + item.resultBytes <= budget_)
    return allLayers();
  requireSlabs<D>(batch_, large(item), static_cast<int>(item.components));
  const double layers = (budget_ - item.movingBytes) / (item.resultBytes / static_cast<double>(allLayers()));
  return static_cast<std::size_t>(std::max(1.0, layers));
}

template <int D>
void BatchRun<D>::resampleInSlabs(Item<D>& item) const
{
  const std::size_t layers = layersThatFit(item);
  BatchSources<D> sources;
  sources.add(batch_, item.moving);
  item.moving.voxelsOnCuda.clear();
  batch_.log.detail("  " + item.task->input + ": " + std::to_string((allLayers() + layers - 1) / layers) + " slabs of "
                    + std::to_string(layers) + " layers");
  ResultFile<D> file = open(item);
  for (std::size_t first = 0; first < allLayers(); first += layers) {
    const LayerRange range{first, layers};
    const GridLayers<D> slab(batch_.lattice, range);
    ComponentPixels pixels =
        batch_.resampler.resamplePixels(batch_.context, batch_.chain, sources.sources, batch_.lattice, sources.types, range);
    file.write(pixels, slab.end - slab.begin);
  }
  file.commit();
}

template <int D>
void BatchRun<D>::resampleLarge(Item<D>& item) const
{
  attempt(item, item.resampleSeconds, [&] {
    const LargeImageReport report = resampleLargeImage<D>(batch_, large(item));
    item.moving.notes = report.notes;
    item.moving.warnings = report.warnings;
    item.readSeconds += report.readSeconds;
    item.resampleSeconds -= report.readSeconds;
  });
}

template <int D>
void BatchRun<D>::resample(Group<D>& group) const
{
  if (group.size() == 1) {
    Item<D>& item = group.front();
    reader_.read(item);
    if (reader_.isLarge(item))
      return resampleLarge(item);
    std::size_t layers = allLayers();
    attempt(item, item.resampleSeconds, [&] { layers = layersThatFit(item); });
    if (layers < allLayers()) {
      attempt(item, item.resampleSeconds, [&] { resampleInSlabs(item); });
      item.moving.components = {};
      item.moving.valid = nullptr;
      item.moving.validOnCuda = nullptr;
      return;
    }
  }
  BatchSources<D> sources;
  std::size_t together = 0;
  for (Item<D>& item : group) {
    attempt(item, item.resampleSeconds, [&] { sources.add(batch_, item.moving); });
    item.moving.voxelsOnCuda.clear();
    together += item.failure ? 0 : 1;
  }
  const auto start = Clock::now();
  ComponentPixels results;
  std::exception_ptr failure;
  try {
    if (!sources.sources.empty())
      results = batch_.resampler.resamplePixels(batch_.context, batch_.chain, sources.sources, batch_.lattice, sources.types);
  } catch (...) {
    failure = std::current_exception();
  }
  auto result = results.begin();
  for (Item<D>& item : group) {
    if (item.failure)
      continue;
    item.failure = failure;
    item.resampleSeconds += secondsSince(start);
    item.together = together;
    for (std::size_t c = 0; !failure && c < item.moving.components.size(); ++c)
      item.result.push_back(std::move(*result++));
    for (ImagePointer<D>& image : item.moving.components)
      image.reset(); // their number is still asked for
    item.moving.validOnCuda.reset();
  }
}

template <int D>
void BatchRun<D>::report(Group<D> group)
{
  for (Item<D>& item : group) {
    const std::string name = item.task->option + ": " + item.task->input;
    for (const std::string& note : item.moving.notes)
      batch_.log.note(item.task->option + ": " + note);
    for (const std::string& warning : item.moving.warnings)
      batch_.log.warning(item.task->option + ": " + warning);
    if (item.failure && single_)
      std::rethrow_exception(item.failure);
    if (item.failure) {
      batch_.log.error(textOf(item.failure));
      ++failed_;
      continue;
    }
    if (single_)
      batch_.log.detail("  Resampling without reading and writing took " + decimals(item.resampleSeconds, 3) + " s");
    batch_.log.info("  " + name + " -> " + batch_.pathOf(*item.task));
    batch_.log.info("    Reading took " + decimals(item.readSeconds, 3) + " s, resampling " + decimals(item.resampleSeconds, 3)
                    + " s" + (item.together > 1 ? " (" + std::to_string(item.together) + " images together)" : "") + " on "
                    + deviceName(batch_.context.device) + ", writing " + decimals(item.writeSeconds, 3) + " s");
  }
}

template <int D>
BatchResult BatchRun<D>::run()
{
  const std::size_t count = items_.size();
  std::vector<Group<D>> groups = grouped();
  const auto policy = overlaps_ && groups.size() > 1 ? std::launch::async : std::launch::deferred;
  const auto startReading = [&](std::size_t g) {
    return std::async(policy, [this, group = std::move(groups[g])]() mutable { return read(std::move(group)); });
  };
  std::future<Group<D>> writing;
  std::deque<std::future<Group<D>>> reading;
  const std::size_t readAtOnce = groupsReadAtOnce(groups.size());
  const auto finishWriting = [&] {
    if (writing.valid())
      report(writing.get());
  };
  for (std::size_t g = 0; g < readAtOnce; ++g)
    reading.push_back(startReading(g));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Group<D> group = reading.front().get();
    reading.pop_front();
    if (g + readAtOnce < groups.size())
      reading.push_back(startReading(g + readAtOnce));
    const auto start = Clock::now();
    resample(group);
    resampleSeconds_ += secondsSince(start);
    finishWriting();
    writing = std::async(policy, [this, group = std::move(group)]() mutable { return written(std::move(group)); });
    if (policy == std::launch::deferred)
      finishWriting();
  }
  finishWriting();
  if (failed_ > 0)
    batch_.log.error(std::to_string(failed_) + " of " + std::to_string(count) + " images failed; the others are written.");
  return {failed_ > 0 ? ExitCode::someRowsFailed : ExitCode::done, resampleSeconds_};
}

}

template <int D>
BatchResult resampleImages(const ImageBatch<D>& batch, std::vector<ImageTask>& tasks)
{
  return BatchRun<D>(batch, tasks).run();
}

template BatchResult resampleImages(const ImageBatch<2>&, std::vector<ImageTask>&);
template BatchResult resampleImages(const ImageBatch<3>&, std::vector<ImageTask>&);

}
