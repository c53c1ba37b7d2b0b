#pragma once
#include <string>
#include <vector>

#include "ai/engines/pool/engine_pool.h"
#include "app/config/settings.h"
#include "platform/base/result.h"

// Whether the local engines do their work: the whole way from here through the jail and back. Both block; the
// error says what stood in the way.
namespace millrace::app {

base::Status try_reading(engines::EnginePool& children);
base::Status try_transcription(engines::EnginePool& children);
base::Status try_speaking(engines::EnginePool& children);

// How one server of models answers.
struct ProviderFinding {
  std::string detail;  // "openai at https://…: 61 models"
  std::string advice;  // empty: it is well
};
// Asks each server that the configuration and the environment name for its list of models, once, and looks
// for an Ollama on its usual port. Blocks: some seconds for each that does not answer.
std::vector<ProviderFinding> check_providers(const inference::ModelSettings& models);

// Who is at work in a data directory, by the locks that its processes hold. Both change nothing there, block
// shortly, and see processes of this pid namespace alone.

// Names of the workers that live, in order.
std::vector<std::string> live_workers(const std::string& data_dir);

// True if another process than this one has the store open.
bool is_served(const std::string& data_dir);

}  // namespace millrace::app
