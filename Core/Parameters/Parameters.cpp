#include "Core/Parameters/Parameters.h"

#include "Core/Parameters/ParameterText.h"

#include <mutex>
#include <set>

namespace tessera {

/// Lines already reported, shared by every view of one text.
struct Parameters::Reported {
  std::mutex mutex;
  std::set<std::string> lines;
};

Parameters::Parameters(std::shared_ptr<const ParameterMap> map, std::string label, std::size_t dimension,
                       std::size_t levelCount, Warn warn)
    : map_(std::move(map)), label_(std::move(label)), dimension_(dimension), levelCount_(levelCount),
      warn_(std::move(warn)), reported_(std::make_shared<Reported>())
{
}

Parameters Parameters::withLabel(std::string label) const
{
  Parameters other = *this;
  other.label_ = std::move(label);
  return other;
}

/// The entry that a parameter is read from. A name with the label wins over the plain name; within each, the
/// entry asked for wins over entry 0.
const ParameterEntry* Parameters::winner(const std::string& name, std::size_t entry, bool fallBack,
                                         std::size_t& index) const
{
  for (const std::string& key : {label_ + name, name}) {
    const ParameterEntry* found = map_->find(key);
    if (!found || found->values.empty())
      continue;
    if (entry < found->values.size() || fallBack) {
      index = entry < found->values.size() ? entry : 0;
      return found;
    }
  }
  return nullptr;
}

template <class T>
T Parameters::get(const Parameter<T>& parameter, std::size_t entry) const
{
  std::size_t index = 0;
  const ParameterEntry* found = winner(parameter.name, entry, true, index);
  return found
             ? readValue<T>(parameter, *map_, *found, index, [this](const std::string& line) { warn(line); })
             : parameter.defaultValue;
}

template <class T>
std::optional<T> Parameters::find(const Parameter<T>& parameter, std::size_t entry) const
{
  std::size_t index = 0;
  const ParameterEntry* found = winner(parameter.name, entry, false, index);
  if (!found)
    return std::nullopt;
  return readValue<T>(parameter, *map_, *found, index, [this](const std::string& line) { warn(line); });
}

template <class T>
std::vector<T> Parameters::all(const Parameter<T>& parameter) const
{
  std::size_t index = 0;
  std::vector<T> values;
  const ParameterEntry* found = winner(parameter.name, 0, true, index);
  if (!found)
    return values;
  values.reserve(found->values.size());
  const Warn report = [this](const std::string& line) { warn(line); };
  for (std::size_t i = 0; i < found->values.size(); ++i)
    values.push_back(readValue<T>(parameter, *map_, *found, i, report));
  return values;
}

bool Parameters::has(const std::string& name) const
{
  std::size_t index = 0;
  return winner(name, 0, true, index) != nullptr;
}

std::string Parameters::where(const std::string& name) const
{
  std::size_t index = 0;
  if (const ParameterEntry* found = winner(name, 0, true, index))
    return shownEntry(*map_, *found);
  return shownEntry(*map_, ParameterEntry{name, {}, 0});
}

void Parameters::fail(const std::string& name, const std::string& wrong, const std::string& allowed) const
{
  failUsage(where(name), wrong, allowed);
}

void Parameters::warn(const std::string& line) const
{
  if (!warn_)
    return;
  {
    const std::lock_guard lock(reported_->mutex);
    if (!reported_->lines.insert(line).second)
      return;
  }
  warn_(line);
}

template double Parameters::get(const Parameter<double>&, std::size_t) const;
template std::int64_t Parameters::get(const Parameter<std::int64_t>&, std::size_t) const;
template bool Parameters::get(const Parameter<bool>&, std::size_t) const;
template std::string Parameters::get(const Parameter<std::string>&, std::size_t) const;
template std::optional<double> Parameters::find(const Parameter<double>&, std::size_t) const;
template std::optional<std::int64_t> Parameters::find(const Parameter<std::int64_t>&, std::size_t) const;
template std::optional<bool> Parameters::find(const Parameter<bool>&, std::size_t) const;
template std::optional<std::string> Parameters::find(const Parameter<std::string>&, std::size_t) const;
template std::vector<double> Parameters::all(const Parameter<double>&) const;
template std::vector<std::int64_t> Parameters::all(const Parameter<std::int64_t>&) const;
template std::vector<bool> Parameters::all(const Parameter<bool>&) const;
template std::vector<std::string> Parameters::all(const Parameter<std::string>&) const;

}
