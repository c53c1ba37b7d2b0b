#pragma once
#include <string>
#include <vector>

#include "platform/base/result.h"

namespace millrace::engines {

// A local voice for speech: a Piper voice (VITS) in sherpa-onnx's layout, in one folder.
struct VoiceModel {
  std::string name;                    // as clients request it
  std::string path;                    // the folder
  std::vector<std::string> languages;  // ISO 639-1, such as "en"
  bool operator==(const VoiceModel&) const = default;

  bool is_english() const;
};

// A voice without a lexicon speaks English by the built-in pronunciation rules.
struct VoiceFiles {
  std::string model, tokens;  // absolute, without symbolic links
  std::string lexicon;        // empty: there is none
  int speakers = 1;
};

inline constexpr int kVoiceSpeakersMax = 10'000;
inline constexpr std::int64_t kLexiconBytesMax = std::int64_t{64} << 20;

// Finds the files of `voice` in its folder (*.onnx, tokens.txt, lexicon*.txt) and reads the model's metadata.
// Does not load the model: a damaged one is found when it is loaded. The error is for the operator: it names
// the folder or the file, and what is missing.
base::Result<VoiceFiles> find_voice_files(const VoiceModel& voice);

}  // namespace millrace::engines
