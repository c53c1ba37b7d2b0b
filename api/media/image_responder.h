#pragma once
#include "api/media/media_stream.h"

namespace millrace::api {

// The response to one request for images. It is either complete, with signed URLs or base64, or a stream of
// named events. The stream ends without [DONE]; an error ends it early with an event `error`.
class ImageResponder final : public MediaStream, public inference::ImageSink {
 public:
  ImageResponder(Context& context, CallPtr call, schemas::ImageRequest request)
      : MediaStream(context, std::move(call)), request_(std::move(request)) {}

  void on_image(const inference::ChatHead& head, schemas::ImageEvent&& event) override;
  bool is_ready() override { return may_send(); }
  void on_end(base::Result<inference::ImageResult> end) override;

 private:
  std::shared_ptr<inference::ChatRun> start_run(const inference::MediaClient& media) override;
  inference::CostBound max_cost(const inference::MediaClient& media) const override {
    return media.max_cost(request_);
  }
  std::int64_t now_seconds() const;

  const schemas::ImageRequest request_;
};

}  // namespace millrace::api
