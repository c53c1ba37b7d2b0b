#include "ai/engines/speech/speaker_files.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/engines/speech/model_content.h"
#include "ai/engines/speech/onnx_metadata.h"
#include "ai/engines/speech/speech_engine_folder.h"

namespace millrace::engines {
namespace {

using base::Code;

constexpr std::array<std::string_view, 3> kEmbeddingFrameworks{"wespeaker", "3d-speaker", "nemo"};
constexpr std::string_view kSegmentationRate = "16000";  // as recordings are read for the models

base::Error speaker_file_error(const std::string& path, const std::string& what) {
  return base::error(Code::kInternal, "the file " + path + " " + what);
}

base::Result<OnnxMetadata> metadata_with(std::string_view role, const std::string& path,
                                         std::initializer_list<std::string_view> keys,
                                         const std::string& what) {
  if (!path.ends_with(".onnx")) return speaker_file_error(path, "is not an .onnx file");
  if (base::Status good = check_model_file(role, path); !good) return good.error();
  auto metadata = onnx_metadata(path);
  if (!metadata) return metadata;
  for (const std::string_view key : keys) {
    if (!metadata->contains(key))
      return speaker_file_error(
          path, "is not " + what + " in sherpa-onnx's layout: its metadata has no " + std::string(key));
  }
  return metadata;
}

base::Status check_segmentation(const std::string& path) {
  const auto metadata = metadata_with(kSegmentationRole, path,
                                      {"num_speakers", "powerset_max_classes", "num_classes", "sample_rate",
                                       "window_size", "receptive_field_size", "receptive_field_shift"},
                                      "a model for segmentation");
  if (!metadata) return metadata.error();
  const std::string& rate = metadata->find("sample_rate")->second;
  if (rate == kSegmentationRate) return {};
  return speaker_file_error(
      path, "is for a sample rate of " + rate + " Hz, not of " + std::string(kSegmentationRate) + " Hz");
}

base::Status check_embedding(const std::string& path) {
  const auto metadata =
      metadata_with(kEmbeddingRole, path, {"framework", "output_dim", "sample_rate"}, "a model for voices");
  if (!metadata) return metadata.error();
  const std::string& framework = metadata->find("framework")->second;
  if (std::ranges::find(kEmbeddingFrameworks, framework) != kEmbeddingFrameworks.end()) return {};
  return speaker_file_error(path,
                            "is a model of \"" + framework + "\", not of wespeaker, 3d-speaker or nemo");
}

}  // namespace

base::Status check_speaker_files(const SpeakerFiles& files) {
  if (base::Status good = check_segmentation(files.segmentation); !good) return good;
  return check_embedding(files.embedding);
}

base::Result<LoadableModelPtr> with_speakers(const std::string& folder, const LoadableModelPtr& model,
                                             const SpeakerFiles& files) {
  if (base::Status good = check_speaker_files(files); !good) return good.error();
  LoadableModelPtr base = model;
  if (!base) {
    auto library = speech_library(folder);
    if (!library) return std::move(library.error());
    base = std::make_shared<const LoadableModel>(SpeechModelLayout::kSpeakers, *std::move(library));
  }
  return std::make_shared<const LoadableModel>(
      std::move(base), std::vector<SpeechFile>{{std::string(kSegmentationRole), files.segmentation},
                                               {std::string(kEmbeddingRole), files.embedding}});
}

}  // namespace millrace::engines
