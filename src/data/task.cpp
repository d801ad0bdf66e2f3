#include "data/task.hpp"

#include <stdexcept>

#include "config/text.hpp"

namespace ridgeline {

TaskRegistry& TaskRegistry::instance() {
  static TaskRegistry registry;
  return registry;
}

void TaskRegistry::add(TaskEntry entry) {
  const std::string name = entry.name;
  if (!entries_.emplace(name, std::move(entry)).second) throw std::logic_error("task " + name + " is registered twice");
}

const TaskEntry& TaskRegistry::get(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found != entries_.end()) return found->second;
  throw Error(Exit::mistake,
              "there is no task " + excerpt(name) + suggestion(name, names(), "known are " + join(names(), ", ")));
}

std::vector<std::string> TaskRegistry::names() const {
  std::vector<std::string> list;
  for (const auto& [name, entry] : entries_) list.push_back(name);
  return list;
}

}  // namespace ridgeline
