#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ai/inference/media/media.h"
#include "ai/inference/media/media_request.h"

namespace millrace::inference {

// Generates the images of a request at one target, in as many calls as the target needs, or as one stream.
class ImageMediaRequest final : public MediaRequest {
 public:
  using RequestPtr = std::shared_ptr<const schemas::ImageRequest>;
  // `sink` may be null if the request is only checked.
  ImageMediaRequest(RequestPtr request, ImageSink* sink) : request_(std::move(request)), sink_(sink) {}

  Work work() const override { return Work::kImages; }
  const std::string& model() const override { return request_->model; }
  bool strict() const override { return request_->strict; }
  const schemas::AllowList& allowed_models() const override { return request_->allowed_models; }
  bool is_large() const override { return !request_->stream; }
  std::optional<schemas::Refusal> refusal(const ModelRow& row) const override;

  std::size_t begin(const providers::Target& target) override;
  std::int64_t tokens(std::size_t part) const override;
  base::Result<providers::WireRequest> write(const providers::Target& target, std::size_t part) override;
  base::Status read(const providers::Target& target, std::size_t part, const std::string& body) override;
  base::Status mock(const providers::Target& target, std::size_t part) override;
  Use used(std::size_t part) const override;
  std::optional<schemas::ChatUsage> reported(std::size_t part) const override;
  Use most(const providers::Target& target, std::size_t part) const override;

  bool streams() const override { return request_->stream; }
  void on_sending(const ChatHead& head) override { head_ = head; }
  base::Status on_event(const providers::Target& target, const net::SseEvent& event) override;
  bool has_begun() const override { return begun_; }
  bool is_ready() override { return sink_ == nullptr || sink_->is_ready(); }
  void drop_sink() override { sink_ = nullptr; }
  void on_end(base::Result<MediaResult> end) override;

 private:
  void deliver(schemas::ImageEvent event);
  void send_whole(schemas::ImageReply& reply);
  int images_of_call() const;

  const RequestPtr request_;
  ImageSink* sink_;                           // null after a cancel
  std::vector<schemas::ImageReply> replies_;  // by part; for a stream, only the usage
  ChatHead head_;                             // of the newest call
  bool begun_ = false, completed_ = false, by_url_ = false;
};

}  // namespace millrace::inference
