#pragma once
#include <functional>
#include <memory>

#include "ai/engines/speech/recording.h"
#include "schemas/media/transcription.h"
#include "workers/chat/provider_chat.h"

namespace millrace::workers {

// Transcribes recordings with models of providers. Each recording is sent whole, in one call, with the
// limits, retries and fallbacks of chats. Thread-safe; `done` runs on the source's loop.
class ProviderTranscriber {
 public:
  using Cancel = std::function<void()>;

  // Both must outlive all calls. Recordings are read and written on `pool`.
  ProviderTranscriber(ChatSource source, base::Pool& pool) : source_(source), pool_(pool) {}

  // `done` is called once with the transcript, the provider's error, kModelNotFound, or kJobCancelled. The
  // recording is released before.
  // `seconds_max`: the length of the recording, or a limit of it.
  Cancel transcribe(const schemas::TranscriptionSpec& spec, const std::string& tenant,
                    std::shared_ptr<const engines::Recording> recording, double seconds_max,
                    ModelBilling billing, std::function<void(base::Result<schemas::Transcript>)> done) const;

 private:
  const ChatSource source_;
  base::Pool& pool_;
};

}  // namespace millrace::workers
