#pragma once
#include "api/media/media_stream.h"

namespace millrace::api {

// The answer to one request for speech, as it is made: the bytes of a file, or named events with base64. What
// goes wrong before the first byte is a plain error; after it a file is cut without its end, and events end
// with one called `error`.
class SpeechAnswer final : public MediaStream, public inference::SpeechSink {
 public:
  SpeechAnswer(Context& context, CallPtr call, schemas::SpeechRequest request);

  void on_audio(const inference::ChatHead& head, std::string bytes) override;
  bool is_ready() override { return may_send(); }
  void on_end(base::Result<inference::SpeechEnd> end) override;

 private:
  std::shared_ptr<inference::ChatRun> start_run(const inference::Media& media) override;
  void send_error(const base::Error& error) override;

  const bool events_;
  const schemas::SpeechEncoding encoding_;
  schemas::SpeechRequest request_;  // moved away by `start_run`
  bool sounded_ = false;
};

}  // namespace millrace::api
