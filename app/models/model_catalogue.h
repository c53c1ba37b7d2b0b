#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/speech/speaker_files.h"
#include "ai/engines/speech/speech_model.h"
#include "platform/base/result.h"

namespace millrace::app {

// A file that `models pull` downloads. Its size and its digest are fixed, so its server need not be trusted.
struct CatalogueFile {
  std::string name;  // in the model's folder
  std::string url;
  std::int64_t bytes = 0;
  std::string sha256;  // 64 digits, lower case
};

// A model that `models pull` downloads.
struct CatalogueModel {
  std::string name;
  engines::SpeechModelFamily family = engines::SpeechModelFamily::kMoonshine;
  std::vector<std::string> languages;  // ISO 639-1; empty: kSpeakers
  std::string licence;
  std::vector<CatalogueFile> files;

  std::int64_t bytes() const;
};

// Limits of a catalogue.
inline constexpr std::size_t kCatalogueBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kModelFilesMax = 32;
inline constexpr std::int64_t kModelFileBytesMax = std::int64_t{16} << 30;

// The models that this program knows.
std::vector<CatalogueModel> built_in_catalogue();

// The files of the family kSpeakers, in the model's folder.
inline constexpr std::string_view kSegmentationFile = "segmentation.onnx", kEmbeddingFile = "embedding.onnx";

// Reads a catalogue of the operator's: YAML (or JSON) with a list `models` of {name, family, languages,
// licence, files: [{name, url, size, sha256}]}. The family may be `speakers`, which has no languages and
// these two files. kInvalidField: lists every mistake with its place.
base::Result<std::vector<CatalogueModel>> read_catalogue(const std::string& file_name,
                                                         const std::string& text);

// True for an https URL, and for http on this machine. False for a URL with credentials.
bool is_download_url(std::string_view url);

// The files of the family kSpeakers in that folder.
engines::SpeakerFiles speaker_files_in(const std::string& folder);

// The lines for millrace.yaml that add the model, whose files are in `folder`.
std::string stt_models_row(const CatalogueModel& model, const std::string& folder);

}  // namespace millrace::app
