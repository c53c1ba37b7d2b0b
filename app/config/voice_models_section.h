#pragma once
#include <string>
#include <vector>

#include "ai/engines/speech/voice_files.h"
#include "platform/base/config.h"

namespace millrace::app {

// The setting speech.models: local voices for speech (docs/audio.md).
struct VoiceModelsSection {
  std::vector<engines::VoiceModel> models;  // the valid ones
  std::vector<std::string> places;          // where each of them begins: "millrace.yaml:12"
  std::vector<base::ConfigMistake> mistakes;
};

// Reads a list of {name, path, languages}; without `languages`, English. A folder without the files of a
// Piper voice is a mistake that is not fatal. Blocks on the disk.
VoiceModelsSection read_voice_models(const base::ConfigNode& section);

}  // namespace millrace::app
