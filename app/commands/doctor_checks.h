#pragma once
#include <string>
#include <vector>

#include "ai/engines/pool/engine_pool.h"
#include "ai/engines/speech/speaker.h"
#include "ai/engines/speech/transcriber.h"
#include "app/config/settings.h"
#include "platform/base/result.h"

// Check that the local engines work, end to end through the sandbox. They block. The error says what failed.
namespace millrace::app {

base::Status check_ocr(engines::EnginePool& children);
// An English sentence as a WAV file.
base::Result<std::string> speak_sentence(engines::EnginePool& children);
// The same with a Piper voice.
base::Result<std::string> speak_sentence(engines::EnginePool& children, engines::VoiceChoice voice);

// With SpeakerTask::kTellApart, a voice must be found.
struct TranscriptionTrial {
  engines::Recognition how;
  bool knows_english = true;  // the sentence must be recognised
};
// `sentence`: of speak_sentence.
base::Status check_transcription(engines::EnginePool& children, const std::string& sentence,
                                 const TranscriptionTrial& trial);

// The state of one provider's server.
struct ProviderFinding {
  std::string detail;  // "openai at https://…: 61 models"
  std::string advice;  // empty: no problem
};
// Requests the model list of each server that the configuration and the environment name, once, and looks for
// an Ollama on its default port. Blocks: some seconds for each server that does not respond.
std::vector<ProviderFinding> check_providers(const inference::ModelSettings& models);

// Which processes use a data directory, determined by the locks that they hold. The functions change nothing,
// block briefly, and see only processes of this pid namespace.

// Names of the live workers, sorted.
std::vector<std::string> live_workers(const std::string& data_dir);

// True if another process has the store open.
bool is_served(const std::string& data_dir);

}  // namespace millrace::app
