#pragma once
#include <map>
#include <string>
#include <vector>

#include "ai/engines/speech/speaker.h"
#include "app/config/settings.h"
#include "platform/base/result.h"
#include "schemas/media/local_voices.h"

namespace millrace::app {

// The Piper voices of the setting speech.models. Immutable; thread-safe.
class VoiceModels {
 public:
  // Blocks on the disk.
  explicit VoiceModels(const Settings& settings);

  // As clients see them. A voice whose files are not complete is among them, with one speaker.
  const schemas::LocalVoiceModels& listed() const { return listed_; }
  bool empty() const { return voices_.empty(); }
  // kModelNotFound: no row has the name. kInternal: the files of the voice or of the engine are not complete;
  // the message is for the operator. kInvalidField: the model has no such voice.
  base::Result<engines::VoiceChoice> find(const std::string& name, std::string_view voice) const;
  // The folders that the engine's processes read.
  const std::vector<std::string>& folders() const { return folders_; }

 private:
  std::map<std::string, base::Result<engines::LoadableModelPtr>, std::less<>> voices_;
  std::vector<std::string> folders_;
  schemas::LocalVoiceModels listed_;
};

}  // namespace millrace::app
