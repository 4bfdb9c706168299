#include "Tools/Decode/ItkTransformCheck.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/ItkTransformFiles/ItkTransformClass.h"
#include "Core/Parameters/ParameterText.h"

#include <itkBSplineTransform.h>
#include <itkMatrixOffsetTransformBase.h>
#include <itkTransformBase.h>
#include <itkTransformFactory.h>
#include <itk_H5Cpp.h>

#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace tessera {
namespace {

const std::string allowedText =
    "an ITK transform file: \"Transform:\", \"Parameters:\" and \"FixedParameters:\" of each transform";

constexpr const char *noClass = "a transform in it has no class",
                     *classesText = "an ITK transform file with the class of each transform";

template <unsigned order>
void registerBSplines()
{
  itk::TransformFactory<itk::BSplineTransform<double, 2, order>>::RegisterTransform();
  itk::TransformFactory<itk::BSplineTransform<double, 3, order>>::RegisterTransform();
}

/// The description of one transform in a file.
struct Entry {
  std::string className;
  std::optional<std::vector<double>> fixed;
  std::optional<std::size_t> parameterCount;

  bool isComposite() const { return className.starts_with("CompositeTransform"); }
  /// Fixed parameters are size, origin, spacing and direction of a grid.
  bool hasGrid() const
  {
    return className.starts_with("BSpline") || className.starts_with("DisplacementField");
  }
};

/// Checks that ITK has the class, which it would else tell with a list of all that it has. Its linear classes
/// read as many values as they have parameters, even beyond the end of a shorter list.
void checkClass(const std::string& path, const Entry& entry)
{
  std::string name = entry.className; // ITK's reader makes doubles of floats, too
  if (const std::size_t type = name.find("_float_"); type != std::string::npos)
    name.replace(type, 7, "_double_");
  registerItkTransforms();
  const itk::LightObject::Pointer object = itk::ObjectFactoryBase::CreateInstance(name.c_str());
  if (!object)
    failToReadItkClass(path, entry.className);
  object->UnRegister(); // CreateInstance returns an additional reference
  if (entry.isComposite() || entry.hasGrid())
    return;
  const auto* transform = dynamic_cast<const itk::TransformBaseTemplate<double>*>(object.GetPointer());
  if (!transform
      || transform->GetTransformCategory() != itk::TransformBaseTemplateEnums::TransformCategory::Linear)
    return;
  const std::size_t given = entry.parameterCount.value_or(0), wanted = transform->GetNumberOfParameters();
  if (given != wanted)
    failToRead(path, entry.className + " has " + std::to_string(given) + " parameters",
               std::to_string(wanted) + " for a transform of this class");
}

void checkEntry(const std::string& path, const Entry& entry)
{
  if (!entry.className.empty())
    checkClass(path, entry);
  if (!entry.fixed || !entry.parameterCount)
    return;
  const std::vector<double>& fixed = *entry.fixed;
  for (const double value : fixed)
    if (!std::isfinite(value))
      failToRead(path, entry.className + " has a fixed parameter that is no finite number", "finite numbers");
  const std::size_t dimension = itkDimension(entry.className);
  if (!entry.hasGrid() || dimension == 0 || fixed.size() < dimension)
    return;
  double values = static_cast<double>(dimension);
  for (std::size_t d = 0; d < dimension; ++d) {
    if (fixed[d] < 1 || fixed[d] != std::floor(fixed[d]))
      failToRead(path, entry.className + " has a grid of " + realText(fixed[d]) + " points along an axis",
                 "whole numbers above 0");
    values *= fixed[d];
  }
  if (values != static_cast<double>(*entry.parameterCount))
    failToRead(path,
               entry.className + " has " + std::to_string(*entry.parameterCount)
                   + " parameters, and a grid of " + realText(values / static_cast<double>(dimension))
                   + " points",
               "one parameter a point and axis");
}

std::vector<double> numbersOf(const std::string& path, const std::string& className,
                              std::span<const std::string> words)
{
  std::vector<double> numbers;
  for (const std::string& word : words) {
    const std::optional<double> number = parseReal(word);
    if (!number)
      failToRead(path, className + " has \"" + word.substr(0, 40) + "\" where a number should stand",
                 "numbers");
    numbers.push_back(*number);
  }
  return numbers;
}

void checkWholeEntry(const std::string& path, const Entry& entry)
{
  if (entry.className.empty())
    return;
  if (!entry.isComposite() && (!entry.fixed || !entry.parameterCount))
    failToRead(path, entry.className + " has no " + (entry.fixed ? "Parameters:" : "FixedParameters:"),
               allowedText);
  checkEntry(path, entry);
}

/// The values of a data set of a transform, which older files name with a slip; nothing if there is none.
std::optional<H5::DataSet> dataSet(const H5::Group& group, const std::string& name)
{
  for (const std::string prefix : {"Transform", "Tranform"})
    if (group.nameExists(prefix + name))
      return group.openDataSet(prefix + name);
  return std::nullopt;
}

Entry entryOf(const H5::Group& group)
{
  constexpr hssize_t maxFixed = 1000;
  Entry entry;
  if (const auto type = dataSet(group, "Type")) {
    const H5::StrType text = type->getStrType();
    if (text.isVariableStr()) { // the library would read beyond a text that is not there
      char* name = nullptr;
      type->read(&name, text);
      entry.className = name ? name : "";
      H5free_memory(name);
    } else
      type->read(entry.className, text);
  }
  if (const auto fixed = dataSet(group, "FixedParameters")) {
    const hssize_t count = fixed->getSpace().getSimpleExtentNpoints();
    if (count >= 0 && count <= maxFixed) {
      entry.fixed = std::vector<double>(static_cast<std::size_t>(count));
      fixed->read(entry.fixed->data(), H5::PredType::NATIVE_DOUBLE);
    }
  }
  if (const auto parameters = dataSet(group, "Parameters"))
    entry.parameterCount = static_cast<std::size_t>(parameters->getSpace().getSimpleExtentNpoints());
  return entry;
}

}

void registerItkTransforms()
{
  [[maybe_unused]] static const bool isDone = [] { // ITK would add them again
    itk::TransformFactoryBase::RegisterDefaultTransforms();
    registerBSplines<0>();
    registerBSplines<1>();
    registerBSplines<2>();
    itk::TransformFactory<itk::MatrixOffsetTransformBase<double, 2, 2>>::RegisterTransform();
    itk::TransformFactory<itk::MatrixOffsetTransformBase<double, 3, 3>>::RegisterTransform();
    return true;
  }();
}

std::string checkItkText(const std::string& path)
{
  std::string text = readPlainText(path);
  Entry entry;
  bool endsWhole = true;
  const std::vector<std::string> lines = linesOf(text);
  for (const std::string& line : lines) {
    const std::vector<std::string> words = wordsOf(line);
    if (words.empty())
      continue;
    endsWhole = false;
    if (const std::string& word = words.front(); word == "Transform:") {
      checkWholeEntry(path, entry);
      entry = {};
      if (words.size() < 2)
        failToRead(path, noClass, classesText);
      entry.className = words[1];
    } else if (word == "Parameters:" || word == "FixedParameters:") {
      std::vector<double> numbers = numbersOf(path, entry.className, std::span(words).subspan(1));
      if (word == "Parameters:")
        entry.parameterCount = numbers.size();
      else
        entry.fixed = std::move(numbers);
      endsWhole = &line != &lines.back() || text.ends_with('\n'); // the line has its end
    }
  }
  checkWholeEntry(path, entry);
  if (!endsWhole)
    failToRead(path, "it does not end with a whole line of parameters; it may be cut off", allowedText);
  return text;
}

void checkItkHdf5(const std::string& path)
{
  std::vector<Entry> entries;
  try {
    H5::Exception::dontPrint();
    const H5::H5File file(path, H5F_ACC_RDONLY);
    const H5::Group all = file.openGroup("/TransformGroup");
    for (hsize_t i = 0; i < all.getNumObjs(); ++i)
      entries.push_back(entryOf(all.openGroup(all.getObjnameByIdx(i))));
  } catch (const H5::Exception&) {
    return;
  }
  for (const Entry& entry : entries) {
    if (entry.className.empty())
      failToRead(path, noClass, classesText);
    checkEntry(path, entry);
  }
}

}
