#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/speech/speaker_files.h"
#include "ai/engines/speech/speech_model.h"
#include "ai/inference/routing/registry.h"
#include "app/config/section_map.h"
#include "platform/base/config.h"

namespace millrace::app {

// The setting stt.models: local models for transcription (docs/audio.md).
struct SpeechModelsSection {
  std::vector<engines::SpeechModel> models;  // the valid ones
  std::vector<std::string> places;           // where each of them begins: "millrace.yaml:12"
  std::vector<base::ConfigMistake> mistakes;
};

// Reads a list of {name, family, path, languages}. A folder without the files of its family is a mistake that
// is not fatal, because only the process that transcribes needs it. Blocks on the disk.
SpeechModelsSection read_speech_models(const base::ConfigNode& section);

// Reads stt.speakers. A file that is missing, damaged or of another family is a mistake that is not fatal, as
// above; a path that is not absolute, or one file without the other, is fatal. Blocks on the disk.
engines::SpeakerFiles read_speaker_files(const base::Config& config,
                                         std::vector<base::ConfigMistake>& mistakes);

// Why the settings refuse a valid name: a built-in model has it, or it is one of `further`. Empty: they do
// not.
std::string taken_model_name(const std::string& name, std::span<const std::string_view> further);
// Reads `family` and `languages` of a row. A mistake if they are missing or invalid.
std::optional<engines::SpeechModelFamily> read_speech_family(SectionMap& map);
std::vector<std::string> read_speech_languages(SectionMap& map);

// Reads `name` and `path` of a row. `example`: for the errors; `further`: names of the gateway's own models.
std::string read_local_model_name(SectionMap& map, const std::string& example,
                                  std::span<const std::string_view> further);
std::string read_model_folder(SectionMap& map, const std::string& example);

// Rows of stt.models or speech.models: their names, and where each begins.
struct LocalRows {
  std::string setting;
  std::vector<std::string> names;
  std::vector<std::string> places;
};

// Adds a mistake for each name that `others`, the models of providers, have, too, or that begins with the
// name of a provider. `other_places`: where each row of others.models begins.
void check_local_model_names(const LocalRows& rows, const inference::ModelSettings& others,
                             std::span<const std::string> other_places,
                             std::vector<base::ConfigMistake>& mistakes);
// Adds a mistake for each name of `rows` that `others` have, too.
void check_same_names(const LocalRows& rows, const LocalRows& others,
                      std::vector<base::ConfigMistake>& mistakes);

}  // namespace millrace::app
