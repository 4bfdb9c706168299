#include "Core/Runs/Resampling/ImageBatch.h"

#include "Core/Compute/Cuda/Marks.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Runs/Resampling/BatchReader.h"
#include "Core/Runs/Resampling/BatchSources.h"
#include "Core/Runs/Resampling/LargeImage.h"
#include "Core/Runs/Resampling/MemoryBudget.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <map>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

// One group is read, one is resampled and one is written at the same time. More are if they fit into memory.
constexpr double groupsInMemory = 3;
// Files that are written at the same time: each keeps compressed blocks in memory until they can be written.
constexpr double maxFilesWritten = 4, bytesOfWriter = 34e6, shareOfWriters = 1.0 / 16;

template <int D>
using Item = BatchItem<D>;
template <int D>
using Group = std::vector<Item<D>>;

/// Calls action(item) for `atOnce` items at a time, each on its own thread; the action must not throw.
/// Parallel loops inside the actions share the worker threads, and their serial parts, such as inflating one
/// stream, run side by side.
template <int D, class Action>
void forEachItem(Group<D>& group, std::size_t atOnce, Action&& action)
{
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next++) < group.size();)
      action(group[i]);
  };
  std::vector<std::future<void>> others;
  while (others.size() + 1 < std::min(atOnce, group.size()))
    others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others)
    other.get();
}

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

/// Groups that are read and written while another one is resampled.
struct GroupsAtOnce {
  std::size_t read, written;
};

template <int D>
class BatchRun {
public:
  BatchRun(const ImageBatch<D>& batch, std::vector<ImageTask>& tasks)
      : batch_(batch), single_(tasks.size() == 1), memory_(batch.maxMemory), reader_(batch, memory_),
        overlaps_(batch.context.threads > 1)
  {
    for (ImageTask& task : tasks)
      items_.push_back(reader_.sized(task));
    files_ = std::ranges::count(tasks, 0u, &ImageTask::volume);
  }

  BatchResult run()
  {
    const auto begin = Clock::now();
    if (single_)
      keepMarks(batch_.context);
    std::vector<Group<D>> groups = grouped();
    const auto policy = overlaps_ && groups.size() > 1 ? std::launch::async : std::launch::deferred;
    const auto startReading = [&](std::size_t g) {
      return std::async(policy,
                        [this, group = std::move(groups[g])]() mutable { return read(std::move(group)); });
    };
    std::deque<std::future<Group<D>>> reading, writing;
    const GroupsAtOnce atOnce = groupsAtOnce(groups.size());
    const auto finishWriting = [&](std::size_t maxPending) {
      for (; writing.size() > maxPending; writing.pop_front())
        report(writing.front().get());
    };
    for (std::size_t g = 0; g < atOnce.read; ++g)
      reading.push_back(startReading(g));
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const double before = transferMilliseconds(batch_.context);
      Group<D> group = reading.front().get();
      countReading(before);
      reading.pop_front();
      if (g + atOnce.read < groups.size())
        reading.push_back(startReading(g + atOnce.read));
      batch_.context.stop.endIfAsked();
      const auto start = Clock::now();
      resample(group);
      resampleSeconds_ += secondsSince(start);
      finishWriting(atOnce.written - 1);
      writing.push_back(std::async(
          policy, [this, group = std::move(group)]() mutable { return written(std::move(group)); }));
      if (policy == std::launch::deferred)
        finishWriting(0);
    }
    finishWriting(0);
    if (failed_ > 0)
      batch_.log.error(std::to_string(failed_) + " of " + std::to_string(files_)
                       + " images failed; the others are written.");
    return {failed_ > 0 ? ExitCode::someRowsFailed : ExitCode::done, resampleSeconds_, std::move(made_),
            single_ ? timeTable(secondsSince(begin)) : std::vector<TimeRow>()};
  }

private:
  /// Groups of consecutive images. While one group is resampled, the next one is read and the one before is
  /// written, if all three fit into memory.
  std::vector<Group<D>> grouped()
  {
    const std::size_t maxImages = batch_.context.onCuda() ? 1 : maxImagesAtOnce;
    std::vector<Group<D>> groups;
    double bytes = 0;
    for (Item<D>& item : items_) {
      const double more = item.movingBytes + item.resultBytes;
      if (groups.empty() || groups.back().size() == maxImages
          || bytes + more > memory_.bytes / groupsInMemory) {
        groups.emplace_back();
        bytes = 0;
      }
      bytes += more;
      largestGroupBytes_ = std::max(largestGroupBytes_, bytes);
      overlaps_ = overlaps_ && bytes <= memory_.bytes / groupsInMemory;
      groups.back().push_back(std::move(item));
    }
    return groups;
  }

  /// A GPU resamples an image faster than one thread inflates a file or copies a result. So several images
  /// are read and written at the same time, as far as they fit into memory.
  GroupsAtOnce groupsAtOnce(std::size_t groupCount) const
  {
    const double fit = memory_.bytes / std::max(1.0, largestGroupBytes_) - 1;
    const std::size_t useful =
        std::min(batch_.context.onCuda() ? static_cast<std::size_t>(batch_.context.threads) : 1, groupCount);
    const double maxGroups = static_cast<double>(std::min(useful, maxImagesAtOnce)),
                 read = std::clamp(fit - 1, 1.0, maxGroups),
                 written = std::clamp(fit - read, 1.0,
                                      std::min(maxGroups, static_cast<double>(filesWrittenAtOnce())));
    return {static_cast<std::size_t>(read), static_cast<std::size_t>(written)};
  }

  std::size_t filesWrittenAtOnce() const
  {
    const double fit = shareOfWriters * memory_.bytes / bytesOfWriter,
                 useful = std::min<double>(maxFilesWritten, batch_.context.threads);
    return overlaps_ ? static_cast<std::size_t>(std::clamp(fit, 1.0, std::max(1.0, useful))) : 1;
  }

  Group<D> read(Group<D> group) const
  {
    forEachItem<D>(group, static_cast<std::size_t>(batch_.context.threads),
                   [&](Item<D>& item) { overlaps_ ? reader_.readAhead(item) : reader_.read(item); });
    return group;
  }

  Group<D> written(Group<D> group) const
  {
    forEachItem<D>(group, filesWrittenAtOnce(), [&](Item<D>& item) {
      attempt(item, item.writeSeconds, [&] {
        if (item.result.empty())
          return; // written in slabs before
        ResultWriter<D> file = open(item);
        file.write(item.result, batch_.lattice.voxelCount());
        item.clamped += file.clamped();
        file.commit();
      });
    });
    return group;
  }

  /// Counts the transfers of reading, whose milliseconds were `before` when it began.
  void countReading(double before) const
  {
    const double transfers = transferMilliseconds(batch_.context) - before;
    times_.upOfReadingMs += transfers;
    times_.upMs += transfers;
  }

  void addSource(BatchSources<D>& sources, Item<D>& item) const
  {
    const double before = transferMilliseconds(batch_.context);
    markPart(batch_.context, nullptr);
    addMilliseconds(times_.addMs, [&] { sources.add(batch_, *item.task, item.moving); });
    markPart(batch_.context, "prefilter");
    times_.upMs += transferMilliseconds(batch_.context) - before;
  }

  void resample(Group<D>& group) const
  {
    if (group.size() == 1) {
      Item<D>& item = group.front();
      const double before = transferMilliseconds(batch_.context);
      reader_.read(item);
      countReading(before);
      if (reader_.isLarge(item))
        return resampleLarge(item);
      std::size_t slices = resultSlices();
      attempt(item, item.resampleSeconds, [&] { slices = resultSlicesAtOnce(item); });
      if (slices < resultSlices()) {
        attempt(item, item.resampleSeconds, [&] { resampleInSlabs(item); });
        item.moving.components = {};
        item.moving.valid = nullptr;
        item.moving.validOnCuda = nullptr;
        return;
      }
    }
    BatchSources<D> sources;
    std::size_t imagesTogether = 0;
    for (Item<D>& item : group) {
      attempt(item, item.resampleSeconds, [&] { addSource(sources, item); });
      item.moving.voxelsOnCuda.clear();
      imagesTogether += item.failure ? 0 : 1;
    }
    const auto start = Clock::now();
    ComponentPixels results;
    std::vector<std::size_t> clamped;
    std::exception_ptr failure;
    try {
      if (!sources.sources.empty())
        results = batch_.resampler.resamplePixels(batch_.context, batch_.chain, sources.sources,
                                                  batch_.lattice, sources.types, {}, &clamped);
    } catch (...) {
      failure = std::current_exception();
    }
    auto result = results.begin();
    auto clampedOfResult = clamped.begin();
    for (Item<D>& item : group) {
      if (item.failure)
        continue;
      item.failure = failure;
      item.resampleSeconds += secondsSince(start);
      item.imagesTogether = imagesTogether;
      for (std::size_t c = 0; !failure && c < item.moving.components.size(); ++c) {
        item.result.push_back(std::move(*result++));
        item.clamped += item.moving.isLabels ? 0 : *clampedOfResult;
        ++clampedOfResult;
      }
      for (ImagePointer<D>& image : item.moving.components)
        image.reset(); // open() still needs the number of components
      item.moving.validOnCuda.reset();
    }
  }

  /// The rows of BatchResult::time, of the one image that was reported last.
  std::vector<TimeRow> timeTable(double wholeSeconds) const
  {
    const bool onCuda = batch_.context.onCuda();
    std::map<std::string, double> parts = takeMarkedParts(batch_.context);
    const std::string device = deviceName(batch_.context.device);
    const double resampling = 1000 * times_.resampleSeconds;
    double prefilter = times_.addMs;
    if (onCuda)
      prefilter = std::max(0.0, parts["prefilter"] - (times_.upMs - times_.upOfReadingMs));
    else
      parts["kernels"] = resampling - prefilter;
    std::vector<TimeRow> rows{{"reading", 1000 * times_.readSeconds - times_.upOfReadingMs, "cpu"},
                              {"up", times_.upMs, device},
                              {"prefilter", prefilter, device},
                              {"kernels", parts["kernels"], device},
                              {"cast", parts["cast"], device},
                              {"down", 0, device},
                              {"writing", 1000 * times_.writeSeconds, "cpu"}};
    if (onCuda)
      rows[5].milliseconds = std::max(0.0, resampling - (times_.upMs - times_.upOfReadingMs) - prefilter
                                               - parts["kernels"] - parts["cast"]);
    double sum = 0;
    for (const TimeRow& row : rows)
      sum += row.milliseconds;
    rows.push_back({"other", 1000 * wholeSeconds - sum, "cpu"});
    return rows;
  }

  void resampleInSlabs(Item<D>& item) const
  {
    const std::size_t slices = resultSlicesAtOnce(item);
    BatchSources<D> sources;
    addSource(sources, item);
    item.moving.voxelsOnCuda.clear();
    batch_.log.detail("  " + item.task->input.path + ": " + slabsText(resultSlices(), slices));
    ResultWriter<D> file = open(item);
    file.writeSlabs(sources.sources, slices, [](const SliceRange&) {});
    item.clamped = file.clamped();
    file.commit();
  }

  void report(Group<D> group)
  {
    for (Item<D>& item : group) {
      const std::string name = item.task->option + ": " + item.task->input.path;
      if (item.task->header)
        for (const std::string& note : item.task->header->notes)
          batch_.log.note(item.task->option + ": " + note);
      for (const std::string& note : item.moving.notes)
        batch_.log.note(item.task->option + ": " + note);
      for (const std::string& warning : item.moving.warnings)
        batch_.log.warning(item.task->option + ": " + warning);
      ResultSeries* const series = item.task->series.get();
      if (item.failure && series && std::exchange(series->hasFailed, true))
        continue; // one volume tells it
      if (item.failure && files_ == 1)
        std::rethrow_exception(item.failure);
      times_.readSeconds = item.readSeconds;
      times_.resampleSeconds = item.resampleSeconds;
      times_.writeSeconds = item.writeSeconds;
      if (item.failure) {
        batch_.log.error(textOf(item.failure));
        ++failed_;
        continue;
      }
      tellOfClamped(name, item.clamped, item.task->header->componentType, batch_.typeOf(*item.task),
                    batch_.log);
      if (series && (series->hasFailed || item.task->volume + 1 < series->volumes))
        continue;
      if (single_)
        batch_.log.detail("  Resampling without reading and writing took " + decimals(item.resampleSeconds, 3)
                          + " s");
      made_.push_back(item.task);
      batch_.log.info("  " + name + " -> " + batch_.results.nameOf(*item.task));
      batch_.log.info(
          "    Reading took " + decimals(item.readSeconds, 3) + " s, resampling "
          + decimals(item.resampleSeconds, 3) + " s"
          + (item.imagesTogether > 1 ? " (" + std::to_string(item.imagesTogether) + " images together)" : "")
          + " on " + deviceName(batch_.context.device) + ", writing " + decimals(item.writeSeconds, 3)
          + " s");
    }
  }

  void resampleLarge(Item<D>& item) const
  {
    attempt(item, item.resampleSeconds, [&] {
      if (item.task->load)
        large(item).fail("an image of one time takes " + memoryText(item.movingBytes)
                             + " and a part of its result " + memoryText(item.minResultBytes),
                         "", item.movingBytes + item.minResultBytes);
      const LargeImageReport report = resampleLargeImage<D>(batch_, large(item));
      item.moving.notes = report.notes;
      item.moving.warnings = report.warnings;
      item.clamped = report.clamped;
      item.readSeconds += report.readSeconds;
      item.resampleSeconds -= report.readSeconds;
    });
  }

  LargeImage large(const Item<D>& item) const
  {
    return {*item.task, item.movingBytes, item.resultBytes, memory_, item.wholeImageBytes};
  }

  /// The number of slices of the result that fit into memory beside an image that is not large.
  std::size_t resultSlicesAtOnce(const Item<D>& item) const
  {
    if (item.movingBytes + item.resultBytes <= memory_.bytes)
      return resultSlices();
    requireSlabs<D>(batch_, large(item), static_cast<std::size_t>(item.components));
    const double slices =
        (memory_.bytes - item.movingBytes) / (item.resultBytes / static_cast<double>(resultSlices()));
    return static_cast<std::size_t>(std::max(1.0, slices));
  }

  std::size_t resultSlices() const { return batch_.lattice.size[D - 1]; }
  ResultWriter<D> open(const Item<D>& item) const
  {
    return {batch_, *item.task, item.moving.labels, item.moving.components.size(),
            memory_.threadsForFiles(batch_.context.threads)};
  }

  const ImageBatch<D>& batch_;
  bool single_;
  MemoryBudget memory_;
  BatchReader<D> reader_;
  bool overlaps_;
  double largestGroupBytes_ = 0;
  std::vector<Item<D>> items_;
  std::ptrdiff_t files_ = 0; // of which one may have several volumes
  std::size_t failed_ = 0;
  std::vector<const ImageTask*> made_;
  double resampleSeconds_ = 0;
  mutable struct { // of a single image, by the thread that resamples
    double readSeconds = 0, resampleSeconds = 0, writeSeconds = 0;
    double addMs = 0, upMs = 0, upOfReadingMs = 0; // upMs: transfers of reading and of adding sources
  } times_;
};

}

template <int D>
BatchResult resampleImages(const ImageBatch<D>& batch, std::vector<ImageTask>& tasks)
{
  return BatchRun<D>(batch, tasks).run();
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(resampleImages<D>);

}
