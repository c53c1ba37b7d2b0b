#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/speech/speech_model.h"
#include "platform/base/result.h"

namespace millrace::engines {

// How sherpa-onnx loads a model: the member of SherpaOnnxOfflineModelConfig that is filled in.
enum class SpeechModelLayout : std::uint8_t {
  kMoonshineMerged,  // `moonshine`: encoder, merged_decoder (version 2)
  kMoonshineSplit,   // `moonshine`: preprocessor, encoder, uncached_decoder, cached_decoder (version 1)
  kWhisper,          // `whisper`: encoder, decoder
  kSenseVoice,       // `sense_voice`: model
  kTransducer,       // `transducer`: encoder, decoder, joiner
  kNemoTransducer,   // `transducer` with model_type "nemo_transducer"
  kNemoCtc,          // `nemo_ctc`: model
  kVoice,            // SherpaOnnxOfflineTtsModelConfig::vits: model; it speaks (voice_files.h)
  kSpeakers,         // no text: only the files of stt.speakers (speaker_files.h)
};

// What a file is for. role_name gives the name of the member in sherpa-onnx's structs.
enum class SpeechFileRole : std::uint8_t {
  kEncoder,
  kDecoder,
  kJoiner,
  kMergedDecoder,
  kPreprocessor,
  kUncachedDecoder,
  kCachedDecoder,
  kModel,
  kTokens,
};
std::string_view role_name(SpeechFileRole role);

struct SpeechModelFile {
  SpeechFileRole role = SpeechFileRole::kTokens;
  std::string path;  // absolute, without symbolic links
};

struct SpeechModelFiles {
  SpeechModelLayout layout = SpeechModelLayout::kMoonshineMerged;
  std::vector<SpeechModelFile> files;  // one for each role of the layout

  // Empty if the layout does not have the role.
  std::string_view path(SpeechFileRole role) const;
};

inline constexpr std::size_t kModelFolderEntriesMax = 1000;

// Finds the files of `model` in its folder, in the layout in which sherpa-onnx publishes the family. Of
// several precisions of one file the smallest is used (int8). Does not read the models: a damaged one is
// found when it is loaded. The error is for the operator: it names the folder, the file that is missing,
// and the family that the folder seems to have.
base::Result<SpeechModelFiles> find_model_files(const SpeechModel& model);

// For the functions that find files. The regular files of a folder, sorted by name.
base::Result<std::vector<std::string>> model_folder_names(const std::string& folder);
// The name of the file for a pattern of fnmatch; nullopt if there is none. Two networks that match are an
// error.
base::Result<std::optional<std::string>> model_file_for(const char* pattern,
                                                        const std::vector<std::string>& names,
                                                        const std::string& folder);
// Finds downloads that went wrong, which the engine could not explain.
base::Status check_model_file(const std::string& path);

// The name of a family in settings, such as "sense_voice".
std::string_view family_name(SpeechModelFamily family);
std::optional<SpeechModelFamily> family_named(std::string_view name);

}  // namespace millrace::engines
