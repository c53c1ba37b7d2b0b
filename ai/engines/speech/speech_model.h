#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::engines {

// The families of models that the speech engine (sherpa-onnx) reads. Each has its own set of files.
enum class SpeechModelFamily : std::uint8_t { kMoonshine, kWhisper, kSenseVoice, kTransducer, kNemo };

// A local model for transcription: its files are in one folder, in sherpa-onnx's layout of the family.
struct SpeechModel {
  std::string name;  // as clients request it
  SpeechModelFamily family = SpeechModelFamily::kMoonshine;
  std::string path;                    // the folder
  std::vector<std::string> languages;  // ISO 639-1, such as "en"; the model knows no others
};

// A file that an engine child loads. `role`: what for: the name of sherpa-onnx's setting ("encoder",
// "merged_decoder", "tokens" …), or kLibraryRole or kRuntimeRole.
struct SpeechFile {
  std::string role;
  std::string path;
};
inline constexpr std::string_view kLibraryRole = "library";  // of sherpa-onnx
inline constexpr std::string_view kRuntimeRole = "runtime";  // of ONNX Runtime, which the library needs

// A model that can be loaded: its files and those of the library. Shared: a child that has loaded it does not
// load it again. Immutable; thread-safe.
class LoadableModel {
 public:
  LoadableModel(SpeechModelFamily family, std::vector<SpeechFile> files)
      : family_(family), files_(std::move(files)) {}
  LoadableModel(const LoadableModel&) = delete;
  LoadableModel& operator=(const LoadableModel&) = delete;

  SpeechModelFamily family() const { return family_; }
  const std::vector<SpeechFile>& files() const { return files_; }

  // Sealed copies in memory, in the order of files(): the form in which files enter a jail whose user cannot
  // reach their folder. All children share them; they are freed when the last child is gone. Blocks while it
  // copies (100 MB: 50 ms). kOverloaded: no memory or descriptor is left. kInternal: a file cannot be read.
  using Copies = std::vector<base::Fd>;
  base::Result<std::shared_ptr<const Copies>> copies() const;

 private:
  const SpeechModelFamily family_;
  const std::vector<SpeechFile> files_;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const Copies> copies_;
};
using LoadableModelPtr = std::shared_ptr<const LoadableModel>;

// How to transcribe with a model. Families that know one language, or find it out, ignore both.
struct SpeechTaskOptions {
  std::string language;    // ISO 639-1; empty: the model finds it out
  bool translate = false;  // into English
};

}  // namespace millrace::engines
