#pragma once
#include "api/media_answer.h"

namespace millrace::api {

// The answer to one request for images: whole, with URLs of ours or base64; or a stream of named events,
// which ends without [DONE], and early with an event `error`.
class ImageAnswer final : public MediaAnswer, public inference::ImageSink {
 public:
  ImageAnswer(Context& context, CallPtr call, schemas::ImageRequest request)
      : MediaAnswer(context, std::move(call)), request_(std::move(request)) {}

  void on_image(const inference::ChatHead& head, schemas::ImageEvent&& event) override;
  bool is_ready() override;
  void on_end(base::Result<inference::ImageEnd> end) override;

 private:
  std::shared_ptr<inference::ChatRun> start_run(const inference::Media& media) override;
  void say_error(const base::Error& error) override;
  void begin_stream(const inference::ChatHead& head);
  void schedule_heartbeat();
  std::int64_t now_seconds() const;

  const schemas::ImageRequest request_;
  bool streaming_ = false;
  net::Loop::Timer heartbeat_;
};

}  // namespace millrace::api
