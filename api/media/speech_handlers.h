#pragma once
#include "api/media/media_stream.h"

namespace millrace::api {

// The response to one request for speech, sent while it is generated: the bytes of a file, or named events
// with base64. An error before the first byte is a plain error response. After that a file is truncated by
// cutting the connection, and an event stream ends with an event `error`.
class SpeechResponder final : public MediaStream, public inference::SpeechSink {
 public:
  SpeechResponder(Context& context, CallPtr call, schemas::SpeechRequest request);

  void on_audio(const inference::ChatHead& head, std::string bytes) override;
  bool is_ready() override { return may_send(); }
  void on_end(base::Result<inference::SpeechResult> end) override;

 private:
  std::shared_ptr<inference::ChatRun> start_run(const inference::MediaClient& media) override;
  inference::CostBound max_cost(const inference::MediaClient& media) const override {
    return media.max_cost(request_);
  }
  void send_error(const base::Error& error) override;

  const bool events_;
  const schemas::SpeechEncoding encoding_;
  schemas::SpeechRequest request_;  // moved from by `start_run`
  bool audio_begun_ = false;
};

}  // namespace millrace::api
