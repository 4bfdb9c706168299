
#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Runs/Transforming/TransformInputs.h"
#include "Core/Runs/Transforming/TransformRun.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Chain.h"
#include "Tools/Python/Work.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace tessera::python {
namespace {

/// Images to be transformed, as Python asks for it. Sources are those of objects that the caller keeps until
/// the work has ended.
struct TransformAsked {
  std::vector<Chain> chains; // in the order in which they are applied
  std::vector<const Source*> images, labels;
  Entries changes; // of the settings of resampling
  TransformRequest request;
};

TransformRequest requestOf(const TransformAsked& asked, Log& log)
{
  TransformRequest request = asked.request;
  for (const Chain& chain : asked.chains)
    request.transforms.push_back(chain.given("transform " + std::to_string(request.transforms.size() + 1)));
  request.settings = asked.chains.back().settings(asked.changes);
  for (const Source* const source : asked.images)
    request.images.push_back(withContext("-in", [&] { return source->image(request.threads, log); }));
  for (const Source* const source : asked.labels)
    request.labels.push_back(withContext("--labels", [&] { return source->labels(request.threads); }));
  return request;
}

/// What was computed.
class Mapped {
public:
  virtual ~Mapped() = default;

  /// (array, grid) of the only image or label map.
  virtual nb::object image() const = 0;
  virtual nb::object points() const = 0;
  /// The text of transformix's outputpoints.txt; empty for points that were no file.
  virtual const std::string& table() const = 0;
  /// The field whose file would have this stem, which is taken away.
  virtual nb::object field(const std::string& stem) = 0;
  /// All transforms in one chain.
  virtual Chain chain() const = 0;
};

template <int D>
class MappedIn final : public Mapped, public KeptTransform<D> {
public:
  MappedIn(const TransformAsked& asked, Log& log)
      : last_(asked.chains.back()), arePointsOfFile_(asked.request.points.isFile()), log_(&log)
  {
  }

  void transformFound(Context& cpu, const TransformOutput<D>& output) override
  {
    if constexpr (D < 4) // of others the run refuses it
      writeTransform<D>(cpu, components(), output, *log_);
  }

  nb::object image() const override { return viewOf<D>(this->results.at(0), nb::find(this)); }
  nb::object points() const override
  {
    std::vector<double> values;
    for (const Vec<D>& point : this->pointsMm)
      values.insert(values.end(), point.begin(), point.end());
    return arrayOf(std::move(values), {this->pointsMm.size(), D});
  }
  void pointsMapped(const InputPoints<D>& input, const MappedPoints<D>& mapped) override
  {
    KeptTransform<D>::pointsMapped(input, mapped);
    if (arePointsOfFile_)
      table_ = outputPointsText<D>(mapped);
  }
  const std::string& table() const override { return table_; }
  nb::object field(const std::string& stem) override
  {
    VectorImage<D>& field = this->fields.at(stem);
    std::vector<std::size_t> shape = shapeOf<D>(field.geometry);
    if (field.components > 1)
      shape.push_back(D);
    if (field.components == D * D)
      shape.push_back(D);
    return arrayOf(std::move(field.voxels), shape);
  }
  Chain chain() const override { return last_.with(KeptTransform<D>::chain); }

private:
  const Chain last_;
  const bool arePointsOfFile_;
  Log* log_; // of the run
  std::string table_;
};

template <int D>
Work::Make transformed(Work& work, const TransformAsked& asked)
{
  const auto mapped = std::make_shared<MappedIn<D>>(asked, work.log);
  const ExitCode code =
      TransformRun<D>(components(), requestOf(asked, work.log), work.log).execute(*mapped, work.stop());
  if (code != ExitCode::done)
    throw Error(code, "the image: it was not resampled. Allowed: see the log.");
  return [mapped] { return nb::cast(std::shared_ptr<Mapped>(mapped)); };
}

Work* transform(const nb::object& object, int leastLevel)
{
  const auto asked = std::make_shared<TransformAsked>(nb::cast<const TransformAsked&>(object));
  return new Work(object, leastLevel, [asked](Work& work) -> Work::Make {
    return withConstant<2, 4>(asked->chains.front().dimension(),
                              [&]<int D>() { return transformed<D>(work, *asked); });
  });
}

}

void bindTransforming(nb::module_& module)
{
  const auto setFlag = [](auto member) {
    return [member](TransformAsked& asked) { asked.request.*member = true; };
  };
  nb::class_<TransformAsked>(module, "TransformAsked")
      .def(nb::init<>())
      .def("add_chain",
           [](TransformAsked& asked, const Chain& chain, bool inverted) {
             asked.chains.push_back(chain);
             if (inverted)
               asked.request.inverseOf.insert(asked.chains.size());
           })
      .def("set_grid", [](TransformAsked& asked,
                          const GridNumbers& grid) { asked.request.grid = givenGrid(grid, "grid"); })
      .def("set_moving_grid",
           [](TransformAsked& asked, const GridNumbers& grid) {
             asked.request.moving = givenGrid(grid, "moving grid");
           })
      .def(
          "add_image", [](TransformAsked& asked, const Source& source) { asked.images.push_back(&source); },
          nb::keep_alive<1, 2>())
      .def(
          "add_labels", [](TransformAsked& asked, const Source& source) { asked.labels.push_back(&source); },
          nb::keep_alive<1, 2>())
      .def("set_from_time",
           [](TransformAsked& asked, std::size_t number) { asked.request.fromTime = number; })
      .def("set_points",
           [](TransformAsked& asked, const std::string& path) { asked.request.points = {path}; })
      .def("set_points",
           [](TransformAsked& asked, const PointArray& points) {
             asked.request.points = givenPoints("points", points);
           })
      .def("set_changes", [](TransformAsked& asked, const Entries& changes) { asked.changes = changes; })
      .def("ask_for_field", setFlag(&TransformRequest::field))
      .def("ask_for_determinants", setFlag(&TransformRequest::determinants))
      .def("ask_for_matrices", setFlag(&TransformRequest::matrices))
      .def("ask_for_chain", setFlag(&TransformRequest::description))
      .def("write_to",
           [](TransformAsked& asked, const std::string& path, const std::string& format) {
             asked.request.write = path;
             asked.request.format = format;
           })
      .def("set_device",
           [](TransformAsked& asked, const std::string& device) { asked.request.device = device; })
      .def("set_threads", [](TransformAsked& asked, int threads) { asked.request.threads = threads; });
  nb::class_<Mapped>(module, "Mapped")
      .def("image", &Mapped::image, nb::sig("def image(self) -> typing.Any"))
      .def("points", &Mapped::points)
      .def("table", &Mapped::table)
      .def("field", &Mapped::field)
      .def("chain", &Mapped::chain);
  module.def("transform", transform);
}

}
