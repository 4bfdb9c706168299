#include "Core/Parameters/ParameterInfo.h"

#include "Core/Parameters/ParameterText.h"

#include <cmath>

namespace tessera {
namespace {

template <class T>
Parameter<T> makeParameter(std::string name, ParameterType type, Arity arity, std::string defaultText,
                           T defaultValue, std::string unit, std::string meaning)
{
  Parameter<T> parameter;
  parameter.defaultValue = std::move(defaultValue);
  ParameterInfo& row = parameter;
  row.name = std::move(name);
  row.type = type;
  row.arity = arity;
  row.defaultText = std::move(defaultText);
  row.unit = std::move(unit);
  row.meaning = std::move(meaning);
  return parameter;
}

}

Parameter<double> realParameter(std::string name, double defaultValue, Arity arity, std::string unit,
                                std::string meaning)
{
  std::string text = std::isnan(defaultValue) ? "" : realText(defaultValue);
  return makeParameter(std::move(name), ParameterType::real, arity, std::move(text), defaultValue,
                       std::move(unit), std::move(meaning));
}

Parameter<std::int64_t> integerParameter(std::string name, std::int64_t defaultValue, std::int64_t minimum,
                                         Arity arity, std::string unit, std::string meaning)
{
  return makeParameter(std::move(name), ParameterType::integer, arity, std::to_string(defaultValue),
                       defaultValue, std::move(unit), std::move(meaning))
      .atLeast(static_cast<double>(minimum));
}

Parameter<bool> booleanParameter(std::string name, bool defaultValue, Arity arity, std::string meaning)
{
  return makeParameter(std::move(name), ParameterType::boolean, arity, defaultValue ? "true" : "false",
                       defaultValue, "", std::move(meaning));
}

Parameter<std::string> textParameter(std::string name, std::string defaultValue, Arity arity,
                                     std::string meaning, std::vector<std::string> choices)
{
  std::string text = defaultValue;
  auto parameter = makeParameter(std::move(name), ParameterType::text, arity, std::move(text),
                                 std::move(defaultValue), "", std::move(meaning));
  parameter.choices = std::move(choices);
  return parameter;
}

std::vector<ParameterInfo> joinedRows(std::initializer_list<std::vector<ParameterInfo>> tables)
{
  std::vector<ParameterInfo> rows;
  for (const std::vector<ParameterInfo>& table : tables)
    rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

}
