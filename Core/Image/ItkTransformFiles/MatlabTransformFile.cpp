#include "Core/Image/ItkTransformFiles/MatlabTransformFile.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace tessera {
namespace {

// Level 4 MAT-files: MathWorks, "MAT-File Format". All numbers are little-endian, as ANTs writes them.

const std::string allowed = "a 0GenericAffine.mat of ANTs or ITK: a transform and its fixed parameters";
constexpr std::size_t longestFile = std::size_t(1) << 20, longestName = 256;
constexpr std::int32_t doublesType = 0, floatsType = 10; // the types of matrices

struct MatrixHead {
  std::int32_t type, rows, columns, imaginary, nameBytes;
};

struct NamedColumn {
  std::string name;
  std::vector<double> values;
};

bool isPlausible(const MatrixHead& head)
{
  const auto isSize = [](std::int32_t size) {
    return size >= 0 && static_cast<std::size_t>(size) < longestFile;
  };
  return (head.type == doublesType || head.type == floatsType) && isSize(head.rows) && isSize(head.columns)
         && head.imaginary == 0 && head.nameBytes > 1
         && static_cast<std::size_t>(head.nameBytes) <= longestName;
}

std::optional<MatrixHead> headAt(const std::string& bytes, std::size_t position)
{
  MatrixHead head;
  if (bytes.size() < position + sizeof head)
    return std::nullopt;
  std::memcpy(&head, bytes.data() + position, sizeof head);
  return isPlausible(head) ? std::optional(head) : std::nullopt;
}

/// The matrix at a position, as one column; nothing if the bytes are none.
std::optional<NamedColumn> columnAt(const std::string& bytes, std::size_t& position)
{
  const std::optional<MatrixHead> head = headAt(bytes, position);
  if (!head)
    return std::nullopt;
  const std::size_t count = static_cast<std::size_t>(head->rows) * static_cast<std::size_t>(head->columns),
                    width = head->type == doublesType ? sizeof(double) : sizeof(float),
                    nameBytes = static_cast<std::size_t>(head->nameBytes), start = position + sizeof *head;
  if (bytes.size() < start + nameBytes + count * width)
    return std::nullopt;
  NamedColumn column{bytes.substr(start, nameBytes), std::vector<double>(count)};
  column.name.resize(std::min(column.name.find('\0'), column.name.size())); // it ends with a zero
  const char* data = bytes.data() + start + nameBytes;
  for (std::size_t i = 0; i < count; ++i)
    if (width == sizeof(double)) {
      std::memcpy(&column.values[i], data + i * width, width);
    } else {
      float value;
      std::memcpy(&value, data + i * width, width);
      column.values[i] = value;
    }
  position = start + nameBytes + count * width;
  return column;
}

void addColumn(std::string& bytes, const std::string& name, const std::vector<double>& values)
{
  const MatrixHead head{doublesType, static_cast<std::int32_t>(values.size()), 1, 0,
                        static_cast<std::int32_t>(name.size() + 1)};
  bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.append(name.c_str(), name.size() + 1);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
}

}

bool isMatlabFile(const std::string& path)
{
  return headAt(bytesOfFile(path, 0, sizeof(MatrixHead)), 0).has_value();
}

ItkTransform readMatlabTransform(const std::string& path)
{
  const std::string bytes = bytesOfFile(path, 0, longestFile + 1);
  if (bytes.size() > longestFile)
    failToRead(path, "it is too long for a linear transform", allowed);
  std::size_t position = 0;
  const std::optional<NamedColumn> parameters = columnAt(bytes, position),
                                   fixed = parameters ? columnAt(bytes, position) : std::nullopt;
  if (!parameters || !fixed || fixed->name != "fixed" || position != bytes.size())
    failToRead(path, "it is no transform, or damaged", allowed);
  std::string name = parameters->name;
  if (const std::size_t precision = name.find("_float_"); precision != std::string::npos)
    name.replace(precision, std::strlen("_float_"), "_double_");
  return {name, fixed->values, parameters->values};
}

void writeMatlabTransform(const std::string& path, const ItkTransform& transform)
{
  std::string bytes;
  addColumn(bytes, transform.className, transform.parameters);
  addColumn(bytes, "fixed", transform.fixedParameters);
  writeTextFile(path, bytes);
}

}
