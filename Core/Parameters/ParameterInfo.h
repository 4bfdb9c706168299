#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

enum class ParameterType { integer, real, boolean, text };

/// How the values of a parameter are counted.
enum class Arity {
  single,               // a single value
  perLevel,             // a value for each level; missing levels take the first value
  perDimension,         // a value for each axis; missing axes take the first value
  perLevelAndDimension, // level * D + axis; missing entries take the first value
  schedule,             // values for all levels (times all axes) or none; the component checks the count
  list,                 // any number of values
};

/// `minimum` of a parameter that must be above 0.
constexpr double aboveZero = std::numeric_limits<double>::min();

/// A row of a component's parameter table; typed reads, checks, --describe and the reference pages use it.
struct ParameterInfo {
  std::string name;
  ParameterType type = ParameterType::text;
  Arity arity = Arity::single;
  std::string defaultText;          // in the form that it has in a file; empty: no default
  std::string unit;                 // "mm", "voxels", "rad", ...; empty if none
  std::string meaning;              // one line
  std::vector<std::string> choices; // texts allowed; empty: any
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
};

/// A table row with its default in the type it is read as: double, std::int64_t, bool or std::string.
template <class T>
struct Parameter : ParameterInfo {
  T defaultValue{};

  /// Returns this row with a limit for its values.
  Parameter atLeast(double limit) &&
  {
    minimum = limit;
    return std::move(*this);
  }
  Parameter atMost(double limit) &&
  {
    maximum = limit;
    return std::move(*this);
  }
};

/// Makers of rows. A NaN default of a real means that the text has no default.
Parameter<double> realParameter(std::string name, double defaultValue, Arity arity, std::string unit,
                                std::string meaning);
Parameter<std::int64_t> integerParameter(std::string name, std::int64_t defaultValue, std::int64_t minimum,
                                         Arity arity, std::string unit, std::string meaning);
Parameter<bool> booleanParameter(std::string name, bool defaultValue, Arity arity, std::string meaning);
Parameter<std::string> textParameter(std::string name, std::string defaultValue, Arity arity,
                                     std::string meaning, std::vector<std::string> choices = {});

/// The description of a component for the registry, --describe and the reference pages.
struct ComponentDescription {
  std::string role;    // "Metric", "Transform", ... as parameter files name it; empty: they do not
  std::string name;    // value in the parameter file = class = file
  std::string summary; // one line, with the formula or the source
  std::vector<ParameterInfo> parameters{};
  std::vector<std::string> aliases{}; // other values that mean the same
};

/// The rows of several tables, one table behind the other.
std::vector<ParameterInfo> joinedRows(std::initializer_list<std::vector<ParameterInfo>> tables);

}
