#include "Core/Parameters/ParameterCheck.h"

#include "Core/Parameters/KnownElastixComponents.h"
#include "Core/Parameters/KnownElastixParameters.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tessera {
namespace {

using Warn = std::function<void(const std::string&)>;

void checkValue(const ParameterInfo& row, const ParameterMap& map, const ParameterEntry& entry,
                std::size_t index, const Warn& warn)
{
  switch (row.type) {
  case ParameterType::integer:
    readValue<std::int64_t>(row, map, entry, index, warn);
    break;
  case ParameterType::real:
    readValue<double>(row, map, entry, index, warn);
    break;
  case ParameterType::boolean:
    readValue<bool>(row, map, entry, index, warn);
    break;
  case ParameterType::text:
    readValue<std::string>(row, map, entry, index, warn);
    break;
  }
}

/// Collects the parameters that are not needed, and reports them in one line for each reason.
class Unneeded {
public:
  void add(const ParameterEntry& entry, std::string_view reason)
  {
    auto found = std::ranges::find(groups_, reason, &Group::reason);
    if (found == groups_.end())
      found = groups_.insert(groups_.end(), {std::string(reason), ""});
    found->names += (found->names.empty() ? "" : ", ") + entry.name;
  }

  void report(const std::string& file, std::vector<std::string>& notes) const
  {
    std::string line;
    for (const Group& group : groups_)
      line += (line.empty() ? "" : "; ") + group.names + " (" + group.reason + ")";
    if (!line.empty())
      notes.push_back((file.empty() ? "" : file + ": ")
                      + "parameters of elastix that are not needed here: " + line + ".");
  }

private:
  struct Group {
    std::string reason, names;
  };
  std::vector<Group> groups_;
};

class Checker {
public:
  Checker(const ParameterMap& map, const std::vector<ChosenComponent>& chosen,
          const std::vector<const ComponentDescription*>& known)
      : map_(map), known_(known)
  {
    for (const ChosenComponent& component : chosen)
      for (const ParameterInfo& row : component.description->parameters) {
        addReader(row.name, row);
        if (!component.label.empty())
          addReader(component.label + row.name, row);
      }
    for (const ComponentDescription* description : known)
      for (const ParameterInfo& row : description->parameters)
        addCandidate(row.name);
    for (const std::string& name : elastixParameterNames())
      addCandidate(name);
  }

  CheckReport run()
  {
    for (const ParameterEntry& entry : map_.entries()) {
      const auto readers = readers_.find(entry.name);
      if (readers == readers_.end())
        checkUnread(entry);
      else if (!entry.values.empty())
        checkRead(entry, readers->second);
      reportReplaced(entry);
    }
    unneeded_.report(map_.fileName(), report_.notes);
    return std::move(report_);
  }

private:
  void addCandidate(const std::string& name)
  {
    if (seen_.insert(name).second)
      candidates_.push_back(name);
  }

  void addReader(const std::string& name, const ParameterInfo& row)
  {
    readers_[name].push_back(&row);
    addCandidate(name);
  }

  void checkRead(const ParameterEntry& entry, const std::vector<const ParameterInfo*>& rows)
  {
    const Warn warn = [this](const std::string& line) {
      if (std::ranges::find(report_.warnings, line) == report_.warnings.end())
        report_.warnings.push_back(line);
    };
    bool onlyFirst = true;
    for (const ParameterInfo* row : rows) {
      const bool single = row->arity == Arity::single;
      onlyFirst = onlyFirst && single;
      for (std::size_t i = 0; i < (single ? 1 : entry.values.size()); ++i)
        checkValue(*row, map_, entry, i, warn);
    }
    if (onlyFirst && std::ranges::any_of(entry.values, [&](const std::string& value) {
          return value != entry.values[0];
        }))
      report_.notes.push_back(shownEntry(map_, entry) + ": takes one value; the others are not read.");
  }

  void checkUnread(const ParameterEntry& entry)
  {
    if (entry.name.empty()) // told when the file was read
      return;
    if (const ComponentDescription* reader = readerNotChosen(entry.name)) {
      if (isUnknownToElastix(entry.name, reader->role))
        report_.warnings.push_back(shownEntry(map_, entry) + ": " + reader->name
                                   + " reads it, which is not chosen. Allowed: (" + reader->role + " \""
                                   + reader->name + "\"), or no such entry.");
      else
        unneeded_.add(entry, "of components that are not chosen");
      return;
    }
    if (const ElastixParameterGroup* group = findElastixParameter(entry.name))
      unneeded_.add(entry, group->reason);
    else
      report_.warnings.push_back(shownEntry(map_, entry) + ": no chosen component reads it."
                                 + didYouMean(entry.name, candidates_));
  }

  /// A component that would read a parameter that no chosen one reads; null: none would.
  const ComponentDescription* readerNotChosen(const std::string& name) const
  {
    const auto reads = [&](const ComponentDescription* description) {
      const std::string_view unlabelled = afterLabel(name, description->role);
      return std::ranges::any_of(description->parameters, [&](const ParameterInfo& row) {
        return row.name == name || row.name == unlabelled;
      });
    };
    const auto found = std::ranges::find_if(known_, reads);
    return found == known_.end() ? nullptr : *found;
  }

  void reportReplaced(const ParameterEntry& entry)
  {
    for (const std::string& value : entry.values)
      if (const std::string_view why = replacedComponentNote(entry.name, trimmed(value)); !why.empty())
        report_.notes.push_back(shownEntry(map_, entry) + ": " + std::string(why) + ".");
  }

  const ParameterMap& map_;
  const std::vector<const ComponentDescription*>& known_;
  std::unordered_map<std::string, std::vector<const ParameterInfo*>> readers_;
  std::vector<std::string> candidates_; // parameters that are read come first, and win ties
  std::unordered_set<std::string> seen_;
  Unneeded unneeded_;
  CheckReport report_;
};

}

CheckReport checkParameters(const ParameterMap& map, const std::vector<ChosenComponent>& chosen,
                            const std::vector<const ComponentDescription*>& known)
{
  return Checker(map, chosen, known).run();
}

}
