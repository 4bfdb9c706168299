#include "Core/Runs/Following/WhatWasRun.h"

#include "Core/Compute/NumberIn.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <algorithm>

namespace tessera {
namespace {

std::shared_ptr<const ParameterMap> withLevels(const std::shared_ptr<const ParameterMap>& text,
                                               const std::vector<bool>& runs)
{
  std::vector<std::string> values;
  for (const bool isRun : runs)
    values.push_back(isRun ? "true" : "false");
  return withValues(text, stageparameters::runResolution().name, values);
}

}

std::shared_ptr<const ParameterMap> withValues(const std::shared_ptr<const ParameterMap>& text,
                                               const std::string& name, std::vector<std::string> values)
{
  auto changed = std::make_shared<ParameterMap>(text->fileName());
  for (const ParameterEntry& entry : text->entries())
    if (entry.name != name)
      changed->add(entry);
  changed->add({name, std::move(values), 0});
  return changed;
}

std::shared_ptr<const ParameterMap> fromLevel(const std::shared_ptr<const ParameterMap>& text, int first)
{
  const Parameters parameters(text, "", 3, levelCountOf(text));
  std::vector<bool> runs;
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    runs.push_back(first >= 0 && static_cast<int>(level) >= first
                   && parameters.get(stageparameters::runResolution(), level));
  return withLevels(text, runs);
}

std::shared_ptr<const ParameterMap> asItRan(const std::shared_ptr<const ParameterMap>& text,
                                            const std::vector<LevelSummary>& levels)
{
  std::vector<bool> runs(levelCountOf(text));
  for (const LevelSummary& level : levels)
    runs[level.level] = true;
  std::shared_ptr<const ParameterMap> ran = withLevels(text, runs);
  const auto cut = std::ranges::find_if(levels, &LevelSummary::endedInTime);
  if (cut == levels.end())
    return ran;
  const std::string label = "Optimizer0", name = "MaximumNumberOfIterations";
  const auto row = integerParameter(name, 0, 0, Arity::perLevel, "", "");
  const Parameters ofOptimizer(text, label, 3, runs.size());
  std::vector<std::string> iterations(runs.size(), "0");
  for (const LevelSummary& level : levels)
    iterations[level.level] = std::to_string(level.level != cut->level && ofOptimizer.has(name)
                                                 ? ofOptimizer.get(row, level.level)
                                                 : static_cast<std::int64_t>(level.iterations));
  return withValues(ran, label + name, iterations);
}

std::string parameterText(const ParameterMap& map)
{
  std::string text;
  for (const ParameterEntry& entry : map.entries()) {
    if (entry.name.empty())
      continue;
    text += "(" + entry.name;
    for (const std::string& value : entry.values)
      text += numberIn<double>(value) ? " " + value : " \"" + value + "\"";
    text += ")\n";
  }
  return text;
}

}
