#pragma once
#include <functional>
#include <string>

#include "ai/engines/pool/engine_pool.h"
#include "schemas/media/speech.h"

namespace millrace::engines {

// What a child is to say, and how.
struct SpeechTask {
  std::string text;
  std::string voice;  // of flite: "slt", "rms", "awb", "kal16"
  schemas::SpeechEncoding encoding = schemas::SpeechEncoding::kMp3;
  double speed = 1;
};

// The local voice (flite). Thread-safe; does not block. Callbacks run on a pump thread, must not throw and
// should be short.
class Speaker {
 public:
  // The pool must outlive it.
  explicit Speaker(EnginePool& pool) : pool_(pool) {}

  // `request.voice` is a local one (kInvalidField, and no callback, when it is not).
  // `on_audio`: encoded bytes as they are made, sentence by sentence; together they are one file of the
  // wished encoding (pcm: 24 kHz, 16 bit, mono, little-endian). `done` once, last. kOverloaded (and no
  // callback): too many calls wait already.
  base::Result<Ticket> speak(schemas::SpeechRequest request, std::function<void(std::string)> on_audio,
                             std::function<void(EngineEnd)> done);

 private:
  EnginePool& pool_;
};

}  // namespace millrace::engines
