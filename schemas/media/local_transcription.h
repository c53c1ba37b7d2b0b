#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::schemas {

// The built-in models: the default one, and a small one that needs no speech engine.
inline constexpr std::string_view kMoonshineModel = "millrace/moonshine-en";
inline constexpr std::string_view kSphinxModel = "millrace/sphinx-en";
// The names of the gateway's own models begin with it; no other model may have such a name.
inline constexpr std::string_view kOwnModelPrefix = "millrace/";

// OpenAI's names, which existing clients send: further names of the default model.
std::span<const std::string_view> default_transcription_names();

// A transcription model that this gateway runs itself.
struct LocalTranscriptionModel {
  std::string name;                    // as clients request it
  std::string display_name;            // for people
  std::vector<std::string> languages;  // ISO 639-1; it knows no others
  bool translates = false;             // can translate its languages into English
  bool is_configured = false;          // of the setting stt.models

  bool knows(std::string_view code) const;
  bool is_english_only() const;
};

// The local transcription models of one gateway. Immutable.
class LocalTranscriptionModels {
 public:
  // Without Moonshine, whose files are optional, Sphinx is the default model.
  explicit LocalTranscriptionModels(bool has_moonshine = false,
                                    std::vector<LocalTranscriptionModel> configured = {});

  // Also finds the default model by its further names. Null: no local model has the name.
  const LocalTranscriptionModel* find(std::string_view name) const;
  // The local model that serves a request for `name`. Null: a provider's model does, or none. A provider's
  // model comes before a built-in one of the same name, but not before a configured one.
  const LocalTranscriptionModel* serving(std::string_view name, bool has_provider) const;
  // True: the name is that of a model which this gateway could have, but which is not installed.
  bool is_missing(std::string_view name) const;
  const LocalTranscriptionModel& default_model() const { return models_.front(); }
  std::span<const LocalTranscriptionModel> all() const { return models_; }  // the default model first
  std::vector<std::string_view> names() const;  // with the further names of the default model

 private:
  std::vector<LocalTranscriptionModel> models_;
};

// kModelNotFound for a model that `is_missing`: says what to do.
base::Error missing_model(std::string_view name);

}  // namespace millrace::schemas
