#pragma once
#include <map>
#include <string>
#include <vector>

#include "ai/inference/registry.h"
#include "platform/base/config.h"

namespace millrace::app {

// The sections of the configuration file that say which models there are (interface.md).
struct ModelNodes {
  const base::ConfigNode& models;     // a list: one target each
  const base::ConfigNode& providers;  // by name: where they are; every model of theirs can be asked for
  const base::ConfigNode& aliases;    // another word for a provider's: its name
  const base::ConfigNode& mcp;        // a list: servers of tools that clients call by a slug
  bool mock = false;                  // setting `mock`: mock/* may be fallbacks
};

struct ModelsSection {
  inference::ModelSettings settings;          // the right ones
  std::vector<std::string> places;            // where each of settings.models begins: "millrace.yaml:12"
  std::vector<base::ConfigMistake> mistakes;  // each with its line; a key that is not there is none that ends
};

// `environment`: where `env:NAME` and the well-known key variables are looked up. `file:PATH` is read.
// `timeouts` are every target's. Blocks on the disk.
ModelsSection read_models(const ModelNodes& nodes, const std::map<std::string, std::string>& environment,
                          const providers::Target::Timeouts& timeouts);

}  // namespace millrace::app
