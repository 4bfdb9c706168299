#include "Tools/Python/Chain.h"

#include "Components/RegisterComponents.h"
#include "Core/Compute/Error.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Work.h"
#include "Tools/Register/StageOutputs.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace tessera::python {
namespace {

constexpr int mostSilent = 1000; // a level of Python's logging above all others

std::vector<std::string> textsOf(const FileEntry& entry)
{
  std::vector<std::string> values = entry.texts;
  for (const double number : entry.numbers)
    values.push_back(realText(number));
  return values;
}

Entries entriesOf(const ParameterMap& map)
{
  Entries entries;
  for (const ParameterEntry& entry : map.entries())
    entries.emplace_back(entry.name, entry.values);
  return entries;
}

template <int D>
std::vector<FileSection> sectionsOf(const TransformMap& map)
{
  const Parameters parameters(map, "", D, 1);
  const auto resampler =
      components().create<Resampler<D>>(componentNames(parameters, "Resampler").front(),
                                        parameters.withLabel("Resampler0"), parameters.where("Resampler"));
  return resamplingSections<D>(components(), parameters, *resampler);
}

/// Returns the texts and numbers that a transform has beside its name and its parameters. Throws Error for an
/// inverse.
template <int D>
std::vector<std::pair<std::vector<std::string>, std::vector<double>>> modelOf(const TransformChain<D>& link)
{
  std::vector<std::pair<std::vector<std::string>, std::vector<double>>> model;
  try {
    for (const FileEntry& entry : link.transform->fileEntries())
      model.emplace_back(entry.texts, entry.numbers);
  } catch (const Error&) { // a field that is no file
    ItkTransform itk = link.transform->itkTransform(link.parameters);
    model = {{{itk.className}, std::move(itk.fixedParameters)}, {{}, std::move(itk.parameters)}};
  }
  return model;
}

template <int D>
bool areEqual(const TransformChain<D>* a, const TransformChain<D>* b)
try {
  for (; a != b && a && b; a = a->initial.get(), b = b->initial.get())
    if (a->combination != b->combination || a->parameters != b->parameters
        || (a->transform != b->transform
            && (a->transform->name() != b->transform->name() || modelOf(*a) != modelOf(*b))))
      return false;
  return a == b;
} catch (const Error&) {
  return false;
}

/// (chain, grid) of what a file or maps hold.
template <int D>
nb::object made(const TransformFileContent<D>& content)
{
  return nb::make_tuple(Chain(content.chain, sectionsOf<D>(content.map), content.useDirectionCosines),
                        numbersOf<D>(content.output));
}

template <int D>
Work::Make read(Work& work, const std::string& path)
{
  const auto warn = [&](const std::string& line) { work.log.warning(line); };
  const Context host;
  if (path.ends_with(".txt") || path.ends_with(".toml")) {
    const auto content = readTransformFile<D>(host, path, components(), warn);
    return [content] { return made<D>(content); };
  }
  const auto chain = readTransformChain<D>(host, path, components(), warn);
  return [chain] { return nb::make_tuple(Chain(chain, {}, true), nb::none()); };
}

template <int D>
Work::Make fromTexts(Work& work, const std::vector<std::string>& texts)
{
  std::vector<TransformMap> maps;
  std::vector<std::string> notes;
  for (const std::string& text : texts)
    maps.push_back(std::make_shared<ParameterMap>(
        parseParameterText(text, "transform " + std::to_string(maps.size()), notes)));
  const TransformFileContent<D> content =
      transformFromMaps<D>({}, maps, components(), [&](const std::string& line) { work.log.warning(line); });
  return [content] { return made<D>(content); };
}

}

const Registry& components()
{
  static const Registry* const registry = [] {
    auto* const made = new Registry;
    registerComponents(*made);
    return made;
  }();
  return *registry;
}

template <int D>
Chain chainOfStage(ChainPointer<D> chain, const std::shared_ptr<const ParameterMap>& map)
{
  const StageSettings settings(Parameters(map, "", D, 1));
  return Chain(std::move(chain), sectionsOf<D>(map), settings.useDirectionCosines);
}
template Chain chainOfStage<3>(ChainPointer<3>, const std::shared_ptr<const ParameterMap>&);

/// `settings`: of resampling; empty: those of the components.
template <int D>
Chain chainOfItk(const std::vector<ItkNumbers>& numbers, const Entries& settings)
{
  std::vector<ItkTransform> transforms;
  for (const auto& [className, fixedParameters, parameters] : numbers)
    transforms.push_back({className, fixedParameters, parameters});
  ChainPointer<D> chain = chainFromItk<D>(transforms, components(), "transform", {});
  return settings.empty() ? Chain(std::move(chain), {}, true)
                          : chainOfStage<D>(std::move(chain), mapOf(settings, "settings"));
}

std::shared_ptr<const ParameterMap> mapOf(const Entries& entries, const std::string& name,
                                          const std::vector<std::size_t>& lines)
{
  auto map = std::make_shared<ParameterMap>(name);
  for (const auto& [entry, values] : entries) {
    if (map->find(entry))
      throw Error(ExitCode::usage, name + ": (" + entry + "): given twice. Allowed: each name once.");
    const std::size_t number = map->entries().size();
    map->add({entry, values, number < lines.size() ? lines[number] : 0});
  }
  return map;
}

GivenTransform Chain::given(const std::string& name) const
{
  return std::visit([&](const auto& chain) { return GivenTransform{name, chain}; }, chain_);
}

std::shared_ptr<const ParameterMap> Chain::settings(const Entries& changes) const
{
  Entries entries = changes;
  entries.push_back({useDirectionCosines().name, {useDirectionCosines_ ? "true" : "false"}});
  const auto isThere = [&](const std::string& name) {
    return std::ranges::any_of(entries, [&](const auto& entry) { return entry.first == name; });
  };
  for (const FileSection& section : sections_)
    for (const FileEntry& entry : section.entries)
      if (entry.name != "ResultImagePixelType" && entry.name != "ResultImageFormat" && !isThere(entry.name))
        entries.push_back({entry.name, textsOf(entry)});
  return mapOf(entries, "settings");
}

std::vector<std::string> Chain::texts(const GridNumbers& grid, int threads) const
{
  return std::visit(
      [&]<int D>(const ChainPointer<D>& chain) {
        TransformFileSource<D> source{.chain = chain.get(),
                                      .fixed = geometryFrom<D>(grid, "the grid"),
                                      .useDirectionCosines = useDirectionCosines_,
                                      .sections = sections_,
                                      .threads = threads};
        std::vector<std::string> warnings;
        return transformChainTexts<D>(source, warnings);
      },
      chain_);
}

std::vector<ItkNumbers> Chain::itk() const
{
  return std::visit(
      []<int D>(const ChainPointer<D>& chain) {
        std::vector<ItkNumbers> all;
        for (const TransformChain<D>* link = chain.get(); link; link = link->initial.get()) {
          if (link->initial && link->combination == Combination::add)
            throw Error(ExitCode::unwritableOutput, "transform: (HowToCombineTransforms \"Add\"): ITK joins "
                                                    "transforms in another way. Allowed: Compose.");
          const ItkTransform itk = link->transform->itkTransform(link->parameters);
          all.emplace_back(itk.className, itk.fixedParameters, itk.parameters);
        }
        return all;
      },
      chain_);
}

std::optional<std::vector<double>> Chain::matrix() const
{
  return std::visit(
      []<int D>(const ChainPointer<D>& chain) -> std::optional<std::vector<double>> {
        const std::optional<AffineMap<D>> map = asLinearMap<D>(chain.get(), chain->parameters);
        if (!map)
          return std::nullopt;
        std::vector<double> matrix;
        for (int row = 0; row < D; ++row) {
          matrix.insert(matrix.end(), map->matrix[row].begin(), map->matrix[row].end());
          matrix.push_back(map->offset[row]);
        }
        matrix.resize((D + 1) * (D + 1), 0.0);
        matrix.back() = 1;
        return matrix;
      },
      chain_);
}

bool Chain::operator==(const Chain& other) const
{
  return useDirectionCosines_ == other.useDirectionCosines_
         && std::visit(
             []<class A, class B>(const A& a, const B& b) {
               if constexpr (std::is_same_v<A, B>)
                 return areEqual(a.get(), b.get());
               return false;
             },
             chain_, other.chain_);
}

std::size_t Chain::hash() const
{
  return std::visit(
      [](const auto& chain) {
        std::size_t hash = 0;
        const auto add = [&](std::size_t more) { hash = (hash ^ more) * 0x9E3779B97F4A7C15u; };
        for (const auto* link = chain.get(); link; link = link->initial.get()) {
          add(std::hash<std::string>{}(link->transform->name()));
          for (const double parameter : link->parameters)
            add(std::hash<double>{}(parameter));
        }
        return hash;
      },
      chain_);
}

void bindChain(nb::module_& module)
{
  nb::class_<Chain>(module, "Chain")
      .def_prop_ro("dimension", &Chain::dimension)
      .def("texts",
           [](const Chain& chain, const GridNumbers& grid, int threads) {
             return new Work(nb::none(), mostSilent, [=](Work&) -> Work::Make {
               const std::vector<std::string> texts = chain.texts(grid, threads);
               return [texts] { return nb::cast(texts); };
             });
           })
      .def("itk", &Chain::itk)
      .def("matrix", &Chain::matrix)
      .def("settings", [](const Chain& chain) { return entriesOf(*chain.settings({})); })
      .def("uses_direction_cosines", &Chain::usesDirectionCosines)
      .def("__eq__", &Chain::operator==, nb::is_operator(),
           nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", &Chain::hash);
  module.def("chain_of_itk", [](std::size_t dimension, const std::vector<ItkNumbers>& numbers,
                                const Entries& settings) {
    return withConstant<2, 4>(dimension, [&]<int D>() { return chainOfItk<D>(numbers, settings); });
  });
  module.def("read_transform", [](const std::string& path, int leastLevel) {
    return new Work(nb::none(), leastLevel, [path](Work& work) -> Work::Make {
      const std::size_t dimension = readTransformDimension(path, 3);
      return withConstant<2, 4>(dimension, [&]<int D>() { return read<D>(work, path); });
    });
  });
  module.def("chain_of_texts",
             [](std::size_t dimension, const std::vector<std::string>& texts, int leastLevel) {
               return new Work(nb::none(), leastLevel, [=](Work& work) {
                 return withConstant<2, 4>(dimension, [&]<int D>() { return fromTexts<D>(work, texts); });
               });
             });
  module.def("entries_of_text", [](const std::string& text, const std::string& name) {
    std::vector<std::string> notes;
    return entriesOf(parseParameterText(text, name, notes));
  });
  module.def("entries_of_file", [](const std::string& path) {
    std::vector<std::string> notes;
    const ParameterMap map = readParameterFile(path, notes);
    std::vector<std::size_t> lines;
    for (const ParameterEntry& entry : map.entries())
      lines.push_back(entry.line);
    return std::pair(entriesOf(map), lines);
  });
  module.def("transform_digest", transformDigest);
}

}
