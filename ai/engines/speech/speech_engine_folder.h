#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/speech/loadable_model.h"
#include "ai/engines/speech/voice_files.h"
#include "platform/base/result.h"

// The folder with the speech engine, which `scripts/setup` fetches and the package contains: lib/ with
// sherpa-onnx and ONNX Runtime, moonshine-en/ with the default model, and `version`.
namespace millrace::engines {

// The version of sherpa-onnx for which this program is compiled. Its interface changes between versions.
inline constexpr std::string_view kSpeechEngineVersion = "2.0.1";

// `speech` in the folder of the program, or beside that folder, as in a build folder. `program_folder`: where
// millrace and millrace-engine are. Empty: there is none.
std::string find_speech_engine(const std::string& program_folder);

// The library's files. kInternal: this program was compiled without the engine, a file is missing, or the folder has another version; the message says
// what to do.
base::Result<std::vector<SpeechFile>> speech_library(const std::string& folder);

// `model` with the library. kInternal: as above, or its files are not complete or damaged
// (LoadableModel::check).
base::Result<LoadableModelPtr> loadable_model(const std::string& folder, const SpeechModel& model);

// `voice` with the library, and what its files say of it. kInternal: as above.
struct LoadableVoice {
  LoadableModelPtr model;
  int speakers = 1;
};
base::Result<LoadableVoice> loadable_voice(const std::string& folder, const VoiceModel& voice);

// The default model, English, in that folder.
SpeechModel moonshine_model(const std::string& folder);

}  // namespace millrace::engines
