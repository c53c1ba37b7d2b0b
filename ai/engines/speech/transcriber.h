#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/pool/engine_pool.h"
#include "ai/engines/speech/loadable_model.h"
#include "ai/engines/speech/recording.h"

namespace millrace::engines {

// Which recogniser transcribes a recording, and how.
struct Recognition {
  LoadableModelPtr model;  // null, or of layout kSpeakers: PocketSphinx, US English
  SpeechTaskOptions options;

  bool has_text_model() const { return model && model->layout() != SpeechModelLayout::kSpeakers; }
  // The recording is cut into pieces of at most this length.
  std::int64_t piece_ms_max() const { return has_text_model() ? kModelPieceMsMax : kPieceMsMax; }
};

// Whether the fault is in the files that tell speakers apart, not in those of the text model.
bool is_fault_of_speaker_files(const base::Error& error, const Recognition& how);
// An error of Transcriber for the operator: with the folder or the files at fault and what the engine has
// reported, which clients need not know.
std::string explained(const base::Error& error, const Recognition& how);

// The message of `inspect` if the engine process crashed (kInternal).
inline constexpr std::string_view kDecoderCrashed = "the program that decodes the recording crashed";

// The local speech recognisers, as used by the workers. Thread-safe; neither call blocks. Callbacks run on a
// pump thread, must not throw and should be short. kOverloaded (without a callback): too many calls are
// already queued.
class Transcriber {
 public:
  // The pool must outlive it.
  explicit Transcriber(EnginePool& pool) : pool_(&pool) {}
  virtual ~Transcriber() = default;
  Transcriber(const Transcriber&) = delete;
  Transcriber& operator=(const Transcriber&) = delete;

  // Errors of the recording: kAudioDamaged (also when it has no audio track), kAudioTooLong,
  // kAudioUnsupported (sample rate or channels). `piece_ms_max`: Recognition::piece_ms_max. A cancelled call
  // ends with kJobCancelled.
  virtual base::Result<EngineCallHandle> inspect(std::shared_ptr<const Recording> recording,
                                                 std::int64_t piece_ms_max,
                                                 std::function<void(base::Result<RecordingInfo>)> done);

  // Recognises `pieces` (each at most once). `on_piece` is called once per piece, in no fixed order; `done`
  // once, last. A piece that takes too long or cannot be read is reported with an error; the other pieces are
  // not affected. kInternal at the end: the model cannot be used. kOverloaded for the piece of
  // SpeakerTask::kOneVoice: the machine is too busy for it.
  virtual base::Result<EngineCallHandle> transcribe(std::shared_ptr<const Recording> recording,
                                                    Recognition how, std::vector<schemas::AudioPiece> pieces,
                                                    std::function<void(PieceOutcome)> on_piece,
                                                    std::function<void(EngineResult)> done);

 protected:
  Transcriber() = default;  // for tests, which override the virtual functions

 private:
  EnginePool* pool_ = nullptr;
};

}  // namespace millrace::engines
