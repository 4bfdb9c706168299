#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Points/PointsFile.h"
#include "Core/Runs/Resampling/ResultSink.h"
#include "Core/Runs/TransformOutput/TransformOutput.h"
#include "Core/Runs/Transforming/TransformResults.h"

#include <cstring>
#include <map>

namespace tessera {

/// Takes what a TransformRun computes, in the run's thread but for the voxels of images. An exception ends
/// the run.
template <int D>
class TransformSink {
public:
  virtual ~TransformSink() = default;

  /// All checks are done and the work begins.
  virtual void planned(const TransformPlan&) {}
  /// Tells what the chain does on a lattice. `cpu`: a context for it.
  virtual void describe(Context& cpu, const TransformChain<D>&, const ImageGeometry<D>& lattice) = 0;
  virtual void pointsMapped(const InputPoints<D>&, const MappedPoints<D>&) = 0;
  /// T(x) - x in mm, determinants, or dT_row/dx_column, row after row.
  virtual void fieldMade(const FieldAskedFor&, VectorImage<D>) = 0;
  /// Takes the transform that was asked for as a file. `cpu`: a context to write it.
  virtual void transformFound(Context& cpu, const TransformOutput<D>&) = 0;
  virtual void imagesStarted(std::size_t /*count*/) {}
  virtual ResultSink<D>& images() = 0;
  /// `outside`: the share of the result that lies outside of the image.
  virtual void imageMade(const ImageTask&, double /*outside*/) {}
  /// Where the time of the whole run went, if it made no more than one image; the rows add up to it.
  virtual void timeFound(const std::vector<TimeRow>&) {}
};

/// Keeps all in memory. Of the chain and what is told of it, it keeps the chain.
template <int D>
class KeptTransform : public TransformSink<D>, private ResultSink<D> {
public:
  ChainPointer<D> chain;
  std::vector<Vec<D>> pointsMm;                 // mapped, in the order in which they were given
  std::map<std::string, VectorImage<D>> fields; // by FieldAskedFor::stem
  std::vector<ResultImage<D>> results;          // of the images, then the label maps; no pixels: it failed

  void describe(Context&, const TransformChain<D>& told, const ImageGeometry<D>&) override
  {
    chain = std::make_shared<TransformChain<D>>(told);
  }
  void pointsMapped(const InputPoints<D>&, const MappedPoints<D>& mapped) override
  {
    pointsMm = mapped.outputMm;
  }
  void fieldMade(const FieldAskedFor& asked, VectorImage<D> field) override
  {
    fields[asked.stem] = std::move(field);
  }
  void transformFound(Context&, const TransformOutput<D>& output) override { chain = output.chain; }
  void imagesStarted(std::size_t count) override { results.resize(count); }
  ResultSink<D>& images() override { return *this; }

private:
  class Stream final : public ResultStream {
  public:
    Stream(ResultImage<D> image, ResultImage<D>& result) : image_(std::move(image)), result_(result) {}

    void write(std::unique_ptr<std::byte[]> voxels, std::size_t bytes) override
    {
      if (bytes == image_.byteCount()) {
        image_.pixels = std::move(voxels);
        return;
      }
      if (!image_.pixels)
        image_.pixels = std::make_unique_for_overwrite<std::byte[]>(image_.byteCount());
      std::memcpy(image_.pixels.get() + written_, voxels.get(), bytes);
      written_ += bytes;
    }
    void commit() override { result_ = std::move(image_); }

  private:
    ResultImage<D> image_;
    ResultImage<D>& result_;
    std::size_t written_ = 0; // bytes
  };

  bool takesSlabs(const ImageTask&, const ImageGeometry<D>&, int) const override { return true; }
  std::unique_ptr<ResultStream> open(const ImageTask& task, ResultImage<D> image, int) override
  {
    return std::make_unique<Stream>(std::move(image), results.at(task.number));
  }
  std::string nameOf(const ImageTask& task) const override { return task.outputStem; }
};

}
