#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "ai/engines/host/tool.h"
#include "ai/engines/speech/loadable_model.h"
#include "platform/base/result.h"

namespace millrace::engines::host {

// What a model recognised in a piece.
struct RecognisedText {
  std::string text;      // UTF-8, as the model writes it
  std::string language;  // as the model names it; empty: it does not
};

// The model that transcribes or speaks (ModelVoice), in sherpa-onnx. The library is loaded when it is first
// used, and kept. Each piece is recognised in a copy of this process, which loads the model (0.4 s): it gives
// all memory back, and a damaged model, for which the library exits or crashes, does not end this process.
// One thread. Not thread-safe.
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
  // Runs `work` in a copy of this process, which gives its memory back at the end and may crash. The
  // processor time counts against RLIMIT_CPU of this process. kOverloaded: as for `recognise`. Load the
  // library before.
  base::Result<CopyRun> in_copy(const std::function<void(int to)>& work);

  // `samples`: 16 kHz, mono. kInternal: the library or the model cannot be loaded, or the library is not of
  // kSpeechEngineVersion; the message says which. kPieceFailed: the library could not decode the piece.
  // kOverloaded: the kernel has killed the copy, because the machine is short of memory. kOutOfMemory: it
  // needs more memory than RLIMIT_DATA allows. `details` of an error: the library's own messages. The
  // processor time counts against RLIMIT_CPU of this process.
  base::Result<RecognisedText> recognise(std::span<const std::int16_t> samples,
                                         const SpeechTaskOptions& options);

 private:
  struct Functions;
  struct Model;
  base::Status load_library();
  base::Status load_library_safely();
  Model load_model(const SpeechTaskOptions& options) const;
  void recognise_into(int to, std::span<const std::int16_t> samples, const SpeechTaskOptions& options) const;

  SpeechModelLayout layout_ = SpeechModelLayout::kMoonshineMerged;
  std::uint64_t generation_ = 0;
  std::map<std::string, std::string, std::less<>> files_;  // by role
  std::unique_ptr<Functions> functions_;                   // after the library is loaded
  void* handle_ = nullptr;                                 // the same
};

}  // namespace millrace::engines::host
