#include "Core/Registry/Describe.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

using Row = std::array<std::string, 4>;
const Row heading{"Parameter", "Default", "Values", "Meaning"};

std::string typeText(ParameterType type)
{
  switch (type) {
  case ParameterType::integer:
    return "whole number";
  case ParameterType::real:
    return "number";
  case ParameterType::boolean:
    return "true or false";
  case ParameterType::text:
    break;
  }
  return "text";
}

std::string arityText(Arity arity)
{
  switch (arity) {
  case Arity::single:
    return "";
  case Arity::perLevel:
    return ", per level";
  case Arity::perDimension:
    return ", per axis";
  case Arity::perLevelAndDimension:
    return ", per level and axis";
  case Arity::schedule:
    return ", for all levels";
  case Arity::list:
    break;
  }
  return ", any number of values";
}

std::string boundsText(const ParameterInfo& row)
{
  const bool below = row.minimum > std::numeric_limits<int>::min(), above = std::isfinite(row.maximum);
  if (row.minimum == aboveZero)
    return above ? ", above 0, at most " + realText(row.maximum) : ", above 0";
  if (below && above)
    return ", " + realText(row.minimum) + " to " + realText(row.maximum);
  if (below)
    return ", at least " + realText(row.minimum);
  return above ? ", at most " + realText(row.maximum) : "";
}

std::string defaultText(const ParameterInfo& row)
{
  const bool quoted = row.type == ParameterType::text || row.type == ParameterType::boolean;
  if (row.defaultText.empty())
    return "-";
  return quoted ? "\"" + row.defaultText + "\"" : row.defaultText;
}

std::string valuesText(const ParameterInfo& row)
{
  const std::string kind =
      row.choices.empty() ? typeText(row.type) : "\"" + joined(row.choices, "\", \"") + "\"";
  return kind + arityText(row.arity) + boundsText(row) + (row.unit.empty() ? "" : ", in " + row.unit);
}

/// Parameters of which there is one for each image, such as Name0 and Name1, share the row Name<i>.
std::vector<Row> table(const ComponentDescription& component)
{
  std::vector<Row> rows{heading};
  for (const ParameterInfo& row : component.parameters) {
    const std::size_t stem = row.name.find_last_not_of("0123456789") + 1;
    const std::string name = stem == row.name.size() ? row.name : row.name.substr(0, stem) + "<i>";
    const Row shown{name, defaultText(row), valuesText(row), row.meaning};
    if (std::find(rows.begin(), rows.end(), shown) == rows.end())
      rows.push_back(shown);
  }
  return rows;
}

/// The component in the form that a parameter file has.
std::string entry(const ComponentDescription& component)
{
  return "(" + component.role + " \"" + component.name + "\")";
}

/// A long list of choices must not push the meaning off the screen.
std::string aligned(const std::vector<Row>& rows)
{
  constexpr std::size_t widestColumn = 56;
  std::array<std::size_t, 3> widths{};
  for (const Row& row : rows)
    for (std::size_t column = 0; column < widths.size(); ++column)
      if (row[column].size() <= widestColumn)
        widths[column] = std::max(widths[column], row[column].size());

  std::string text;
  for (const Row& row : rows) {
    text += "  ";
    for (std::size_t column = 0; column < widths.size(); ++column)
      text += row[column]
              + std::string(std::max(widths[column], row[column].size()) - row[column].size() + 2, ' ');
    text += row.back() + "\n";
  }
  return text;
}

/// A bar would end the cell, an angle bracket begin a tag.
std::string cell(const std::string& text)
{
  std::string escaped;
  for (const char c : text)
    escaped += c == '|' || c == '<' ? std::string("\\") + c : std::string(1, c);
  return escaped;
}

}

std::string describeComponent(const ComponentDescription& component)
{
  std::string text =
      (component.role.empty() ? component.name : entry(component)) + "\n  " + component.summary + "\n";
  if (!component.aliases.empty())
    text += "  Other names: \"" + joined(component.aliases, "\", \"") + "\"\n";
  return text + "\n" + (component.parameters.empty() ? "  No parameters.\n" : aligned(table(component)));
}

std::string describeAsMarkdown(const ComponentDescription& component)
{
  std::string text = "## " + component.name + "\n\n";
  text += (component.role.empty() ? "" : "`" + entry(component) + "`: ") + component.summary + "\n\n";
  if (!component.aliases.empty())
    text += "Other names: `" + joined(component.aliases, "`, `") + "`\n\n";
  if (component.parameters.empty())
    return text + "No parameters.\n";
  for (const Row& row : table(component)) {
    const bool isHeading = row == heading;
    text += "| " + (isHeading ? row[0] : "`" + row[0] + "`") + " | " + cell(row[1]) + " | " + cell(row[2])
            + " | " + cell(row[3]) + " |\n";
    if (isHeading)
      text += "| --- | --- | --- | --- |\n";
  }
  return text;
}

}
