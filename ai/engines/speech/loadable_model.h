#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/engines/speech/model_content.h"
#include "ai/engines/speech/model_files.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::engines {

// A file that an engine child loads. `role`: what for: the name of sherpa-onnx's setting ("encoder",
// "merged_decoder", "tokens" …; model_files.h), or kLibraryRole, kRuntimeRole or kLexiconRole.
struct SpeechFile {
  std::string role;
  std::string path;
  std::optional<KnownContent> known = std::nullopt;  // what it must contain
};
inline constexpr std::string_view kLibraryRole = "library";  // of sherpa-onnx
inline constexpr std::string_view kRuntimeRole = "runtime";  // of ONNX Runtime, which the library needs
inline constexpr std::string_view kLexiconRole = "lexicon";  // of a voice
// Of the models that tell speakers apart.
inline constexpr std::string_view kSegmentationRole = "segmentation", kEmbeddingRole = "embedding";
// The setting that names their files; errors that they cause while they run name it.
inline constexpr std::string_view kSpeakersSetting = "stt.speakers";

// A model that can be loaded: its files and those of the library. Shared: a child that has loaded it does not
// load it again. Immutable; thread-safe.
class LoadableModel {
 public:
  LoadableModel(SpeechModelLayout layout, std::vector<SpeechFile> files)
      : layout_(layout), files_(std::move(files)) {}
  // `base` with further files. Both share the copies of the files of `base`.
  LoadableModel(std::shared_ptr<const LoadableModel> base, const std::vector<SpeechFile>& further);
  LoadableModel(const LoadableModel&) = delete;
  LoadableModel& operator=(const LoadableModel&) = delete;

  SpeechModelLayout layout() const { return layout_; }
  const std::vector<SpeechFile>& files() const { return files_; }

  // Whether the files have the sizes or the form that they must have (model_content.h). kInternal: what is
  // wrong with which file, and what to do. Does not read the networks.
  base::Status check() const;
  // The same, and reads the files whose content is known. Blocks for up to 0.3 s.
  base::Status check_contents() const;

  // Sealed copies in memory, in the order of files(): the form in which files enter a jail whose user cannot
  // reach their folder. All children share them; they are freed when the last child is gone. Blocks while it
  // copies and checks (100 MB: 0.3 s). kOverloaded: no memory or descriptor is left. kInternal: as for
  // `check`.
  using Copies = std::vector<base::Fd>;
  base::Result<std::shared_ptr<const Copies>> copies() const;

 private:
  static base::Status verify(int fd, const SpeechFile& file);
  base::Status copy_files(Copies& copies) const;

  const SpeechModelLayout layout_;
  const std::vector<SpeechFile> files_;
  const std::shared_ptr<const LoadableModel> base_ = nullptr;  // its files are the first ones
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const Copies> copies_;
};
using LoadableModelPtr = std::shared_ptr<const LoadableModel>;

}  // namespace millrace::engines
