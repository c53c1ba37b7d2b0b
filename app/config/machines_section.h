#pragma once
#include <string>
#include <vector>

#include "platform/base/config.h"
#include "schemas/machines/machine.h"

namespace millrace::app {

// The section `machines` of the configuration file (docs/README.md): a list of maps. Pure.
struct MachinesSection {
  std::vector<schemas::Machine> machines;  // the valid ones, in the file's order; source kFile
  std::vector<std::string> places;         // where each one begins: "millrace.yaml:12"
  // Each with its line, and the nearest known key or the bound.
  std::vector<base::ConfigMistake> mistakes;
};
MachinesSection read_machines(const base::ConfigNode& section);

}  // namespace millrace::app
