#pragma once

#include "Core/Parameters/ParameterMap.h"

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Reads a parameter text in TOML as elastix 5.3 does: `Name = value` or `Name = [value, ...]`, where a value
/// is a text, a number or a boolean. Entries are in the order of the text. `name` stands for the file in
/// messages. Throws Error(usage) with file and line: grammar, a table, a value of another kind, and in a
/// program that was built without TOML.
ParameterMap parseTomlText(std::string_view text, const std::string& name);

/// An entry to be written: texts, or, if there are none, numbers.
struct TomlEntry {
  std::string name;
  std::vector<std::string> texts;
  std::vector<double> numbers;
};

/// Entries as TOML, in the order of their names. Texts "true" and "false" become booleans, whole numbers
/// integers; every number is read back as the same bits. Throws Error(usage) in a program without TOML.
std::string tomlText(const std::vector<TomlEntry>&);

/// Whether a file name ends in .toml.
bool isTomlFile(std::string_view path);

}
