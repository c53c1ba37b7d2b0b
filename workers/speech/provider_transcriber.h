#pragma once
#include <functional>
#include <memory>

#include "ai/engines/speech/recording.h"
#include "schemas/media/transcription.h"
#include "workers/chat/provider_chat.h"

namespace millrace::workers {

// Recordings as models of providers hear them: each whole, in one call, with the limits, the retries and the
// fallbacks of chats. Thread-safe; `done` comes on the source's loop.
class ProviderTranscriber {
 public:
  using Cancel = std::function<void()>;

  // Both outlive all that is asked. Recordings are read and written on `pool`.
  ProviderTranscriber(ChatSource source, base::Pool& pool) : source_(source), pool_(pool) {}

  // `done` once: the transcript, what the provider said, kModelNotFound, or kJobCancelled. Past it the
  // recording is not held.
  Cancel transcribe(const schemas::TranscriptionSpec& spec,
                    std::shared_ptr<const engines::Recording> recording,
                    std::function<void(base::Result<schemas::Transcript>)> done) const;

 private:
  const ChatSource source_;
  base::Pool& pool_;
};

}  // namespace millrace::workers
