#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "ai/engines/speech/loadable_model.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// What a model recognised in a piece.
struct RecognisedText {
  std::string text;      // UTF-8, as the model writes it
  std::string language;  // as the model names it; empty: it does not
};

// The model that transcribes or speaks (ModelVoice), in sherpa-onnx. The library is loaded for the first
// piece and kept. The model that transcribes is loaded for each piece (0.4 s) and freed after it: otherwise
// the runtime keeps twice the memory of the longest piece. One thread. Not thread-safe.
class SpeechLibrary {
 public:
  SpeechLibrary();
  ~SpeechLibrary();
  SpeechLibrary(const SpeechLibrary&) = delete;
  SpeechLibrary& operator=(const SpeechLibrary&) = delete;

  // Forgets the current model. The files of the next one follow.
  void open(SpeechModelLayout layout);
  // `role`: as in SpeechFile. The file at `path`; it must have the ending that its format demands.
  void add_file(const std::string& role, std::string path);

  // How often `open` was called: changes with the model.
  std::uint64_t generation() const { return generation_; }
  // Empty: the current model has no such file.
  const char* file(const char* role) const;
  // The loaded library, for dlsym. kInternal: as for `recognise`.
  base::Result<void*> handle();

  // `samples`: 16 kHz, mono. kInternal: the library or the model cannot be loaded, or the library is not of
  // kSpeechEngineVersion; the message says which. kPieceFailed: the library could not decode the piece.
  base::Result<RecognisedText> recognise(std::span<const std::int16_t> samples,
                                         const SpeechTaskOptions& options);

 private:
  struct Functions;
  struct Model;
  base::Status load_library();
  base::Result<Model> load_model(const SpeechTaskOptions& options) const;

  SpeechModelLayout layout_ = SpeechModelLayout::kMoonshineMerged;
  std::uint64_t generation_ = 0;
  std::map<std::string, std::string, std::less<>> files_;  // by role
  std::unique_ptr<Functions> functions_;                   // after the library is loaded
  void* handle_ = nullptr;                                 // the same
};

}  // namespace millrace::engines::host
