#pragma once
#include <map>
#include <string>
#include <vector>

#include "ai/engines/speech/transcriber.h"
#include "app/config/settings.h"
#include "platform/base/result.h"
#include "schemas/media/local_transcription.h"

namespace millrace::app {

// The folder of the speech engine: stt.engine, or the one beside this program. Empty: none.
std::string speech_engine_folder(const Settings& settings);

// Whether the default model, Moonshine, can be used. kInternal: why not, and what to do. Reads no model.
base::Status check_moonshine(const Settings& settings);

// Whether the local models can tell speakers apart: stt.speakers is set, and the speech engine can be used.
bool can_tell_speakers_apart(const Settings& settings);

// The local transcription models that clients may request.
schemas::LocalTranscriptionModels local_transcription_models(const Settings& settings);

// The local transcription models that the worker of this host can load. Immutable; thread-safe.
class SpeechModels {
 public:
  explicit SpeechModels(const Settings& settings);

  // The recogniser of the model of that name; `with_speakers`: with the files of stt.speakers.
  // kModelNotFound: the host does not have it. kInternal: its files, or those of the engine, are not
  // complete.
  base::Result<engines::Recognition> find(const std::string& name, bool with_speakers = false) const;
  // The files that the engine's processes read: of the models that can be used, and of the library.
  const std::vector<std::string>& files() const { return files_; }

 private:
  struct Entry {
    base::Result<engines::Recognition> plain, with_speakers;
  };
  void add_files(const base::Result<engines::Recognition>& recognition);

  std::map<std::string, Entry, std::less<>> models_;
  std::vector<std::string> files_;
};

}  // namespace millrace::app
