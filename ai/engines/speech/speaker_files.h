#pragma once
#include <string>

#include "ai/engines/speech/loadable_model.h"
#include "platform/base/result.h"

namespace millrace::engines {

// The models that tell speakers apart (the setting stt.speakers): ONNX files as sherpa-onnx publishes them.
struct SpeakerFiles {
  std::string segmentation;  // pyannote segmentation: who speaks when
  std::string embedding;     // of WeSpeaker, 3D-Speaker or NeMo: a speaker's voice

  bool empty() const { return segmentation.empty() && embedding.empty(); }
  bool operator==(const SpeakerFiles&) const = default;
};

// Whether the files exist, are whole and have the metadata that the engine needs; without them it ends its
// process. Reads no weights. kInternal: what is wrong with which file.
base::Status check_speaker_files(const SpeakerFiles& files);

// `model` with these files; with null: PocketSphinx with these files and the library in `folder`
// (speech_engine_folder.h). kInternal: the library is not complete, or as for check_speaker_files.
base::Result<LoadableModelPtr> with_speakers(const std::string& folder, const LoadableModelPtr& model,
                                             const SpeakerFiles& files);

}  // namespace millrace::engines
