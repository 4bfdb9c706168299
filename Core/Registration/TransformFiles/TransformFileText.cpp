#include "Core/Registration/TransformFiles/TransformFile.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Parameters/TomlFile.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"

#include <cmath>
#include <set>

namespace tessera {
namespace {

void requireFinite(const std::string& name, double number)
{
  if (!std::isfinite(number))
    failAs(ExitCode::unwritableOutput, "(" + name + ")",
           realText(number) + " cannot be written to a transform parameter file", "finite numbers");
}

/// The text of one file while it is written.
class Text {
public:
  Text(std::vector<std::string>& warnings, int threads) : warnings_(warnings), context_{Device{}, threads} {}

  void heading(const std::string& line) { pieces_.back() += "\n// " + line + "\n"; }

  void add(const FileEntry& entry)
  {
    if (entry.texts.empty())
      return addNumbers(entry.name, entry.numbers);
    pieces_.back() += "(" + entry.name;
    for (const std::string& value : entry.texts)
      pieces_.back() += " \"" + checked(entry.name, value) + "\"";
    pieces_.back() += ")\n";
  }

  /// Adds an entry with numbers, of which there may be a million.
  void addNumbers(const std::string& name, std::span<const double> numbers)
  {
    constexpr std::size_t numbersOfPiece = 4096, usualLength = 22;
    pieces_.back() += "(" + name;
    const std::size_t before = pieces_.size();
    pieces_.resize(before + (numbers.size() + numbersOfPiece - 1) / numbersOfPiece);
    forEachRange(context_, numbers.size(), numbersOfPiece, [&](std::size_t first, std::size_t last) {
      std::string& piece = pieces_[before + first / numbersOfPiece];
      piece.reserve((last - first) * usualLength);
      for (std::size_t i = first; i < last; ++i) {
        requireFinite(name, numbers[i]);
        piece += ' ';
        piece += realText(numbers[i]);
      }
    });
    pieces_.back() += ")\n";
  }

  std::vector<std::string> take() { return std::move(pieces_); }

private:
  const std::string& checked(const std::string& name, const std::string& value)
  {
    if (value.find_first_of("\"\n\r") != std::string::npos || value.find("//") != std::string::npos)
      failAs(ExitCode::unwritableOutput, "(" + name + " \"" + value + "\")",
             "no parameter file can hold a quote, a line break or //", "another name");
    const std::size_t refused = value.find_first_of(",;!@#$%&|<>?");
    if (refused != std::string::npos && reported_.insert(value).second)
      warnings_.push_back("(" + name + " \"" + value + "\"): transformix 5.0.1 refuses a file with '"
                          + value[refused] + "' in a value; newer versions read it.");
    return value;
  }

  std::vector<std::string> pieces_{1};
  std::vector<std::string>& warnings_;
  Context context_;
  std::set<std::string> reported_; // values that were reported, so that each is reported once
};

/// A path without doubled slashes, because the grammar reads // as a comment even in quotes.
std::string pathText(const std::string& path)
{
  std::string text;
  for (char c : path)
    if (c != '/' || text.empty() || text.back() != '/')
      text += c;
  return text;
}

template <int D, class Value>
FileEntry axisEntry(const std::string& name, Value&& value)
{
  FileEntry entry{name, {}, {}};
  for (int d = 0; d < D; ++d)
    entry.numbers.push_back(static_cast<double>(value(d)));
  return entry;
}

/// The entries of one file in TOML.
class Toml {
public:
  void heading(const std::string&) {}
  void add(const FileEntry& entry)
  {
    for (const double number : entry.numbers)
      requireFinite(entry.name, number);
    entries_.push_back({entry.name, entry.texts, entry.numbers});
  }
  void addNumbers(const std::string& name, const std::vector<double>& numbers) { add({name, {}, numbers}); }
  std::string text() const { return tomlText(entries_); }

private:
  std::vector<TomlEntry> entries_;
};

template <class Out, int D>
void addTransform(Out& text, const TransformFileSource<D>& source)
{
  const TransformChain<D>& chain = *source.chain;
  const std::string initial = pathText(source.initialPath);
  if (source.itkPath.empty()) {
    text.add({"Transform", {chain.transform->name()}, {}});
    text.add({"NumberOfParameters", {}, {static_cast<double>(chain.parameters.size())}});
    if (!chain.parameters.empty()) // no parameter may stand there without values
      text.addNumbers("TransformParameters", chain.parameters);
  } else {
    text.add({"Transform", {"File"}, {}});
    text.add({"TransformFileName", {pathText(source.itkPath)}, {}});
  }
  text.add({"InitialTransformParametersFileName", {initial}, {}}); // for elastix up to 5.1
  text.add({"InitialTransformParameterFileName", {initial}, {}});  // for elastix from 5.2 on
  if (!source.initialDigest.empty())
    text.add({initialTransformDigest, {source.initialDigest}, {}});
  if (source.itkPath.empty())
    text.add({"UseBinaryFormatForTransformationParameters", {"false"}, {}});
  text.add({"HowToCombineTransforms", {chain.combination == Combination::compose ? "Compose" : "Add"}, {}});
}

template <class Out, int D>
void addGeometry(Out& text, const TransformFileSource<D>& source)
{
  text.heading("Image specific");
  text.add({"FixedImageDimension", {}, {D}});
  text.add({"MovingImageDimension", {}, {D}});
  text.add({"FixedInternalImagePixelType", {source.fixedPixelType}, {}});
  text.add({"MovingInternalImagePixelType", {source.movingPixelType}, {}});
  text.add(axisEntry<D>("Size", [&](int d) { return source.fixed.size[d]; }));
  text.add(axisEntry<D>("Index", [](int) { return 0; }));
  text.add(axisEntry<D>("Spacing", [&](int d) { return source.fixed.spacingMm[d]; }));
  text.add(axisEntry<D>("Origin", [&](int d) { return source.fixed.originMm[d]; }));
  FileEntry direction{"Direction", {}, {}}; // column by column
  for (int column = 0; column < D; ++column)
    for (int row = 0; row < D; ++row)
      direction.numbers.push_back(source.fixed.direction[row][column]);
  text.add(direction);
  text.add({"UseDirectionCosines", {source.useDirectionCosines ? "true" : "false"}, {}});
}

template <class Out, int D>
void addAll(Out& text, const TransformFileSource<D>& source)
{
  addTransform(text, source);
  addGeometry(text, source);
  std::vector<FileEntry> specific;
  if (source.itkPath.empty())
    specific = source.model ? *source.model : source.chain->transform->fileEntries();
  if (!specific.empty())
    text.heading(source.chain->transform->fileHeading());
  for (const FileEntry& entry : specific)
    text.add(entry);
  for (const FileSection& section : source.sections) {
    text.heading(section.heading);
    for (const FileEntry& entry : section.entries)
      text.add(entry);
  }
}

}

template <int D>
std::vector<std::string> transformFilePieces(const TransformFileSource<D>& source,
                                             std::vector<std::string>& warnings)
{
  Text text(warnings, source.threads);
  addAll(text, source);
  return text.take();
}

template <int D>
std::string transformFileText(const TransformFileSource<D>& source, std::vector<std::string>& warnings)
{
  return joined(transformFilePieces<D>(source, warnings), "");
}

template <int D>
std::string transformFileToml(const TransformFileSource<D>& source)
{
  Toml toml;
  addAll(toml, source);
  return toml.text();
}

template <int D>
std::vector<std::string> transformChainTexts(TransformFileSource<D> source,
                                             std::vector<std::string>& warnings)
{
  std::vector<const TransformChain<D>*> links;
  for (const TransformChain<D>* link = source.chain; link; link = link->initial.get())
    links.insert(links.begin(), link);
  const auto* const modelOfLast = source.model;
  std::vector<std::string> texts;
  for (const TransformChain<D>* link : links) {
    source.chain = link;
    source.model = link == links.back() ? modelOfLast : nullptr;
    if (!texts.empty())
      source.initialPath = std::to_string(texts.size() - 1);
    texts.push_back(transformFileText(source, warnings));
  }
  return texts;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(transformChainTexts<D>, transformFileText<D>, transformFilePieces<D>,
                                   transformFileToml<D>);

}
