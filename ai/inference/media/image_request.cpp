#include "ai/inference/media/image_request.h"

#include <algorithm>
#include <utility>

#include "ai/providers/mock/media.h"
#include "ai/providers/wire_text.h"

namespace millrace::inference {

using providers::Target;
using schemas::DroppedParam;
using schemas::Refusal;

std::optional<Refusal> ImageMediaRequest::refusal(const ModelRow& row) const {
  const Target& target = row.target;
  if (auto none = providers::no_images(target)) return Refusal{*std::move(none), {}};
  schemas::Problems problems = schemas::image_problems(*request_, schemas::bare_model_name(target.model));
  if (problems.empty()) return std::nullopt;
  return schemas::invalid(std::move(problems));
}

std::size_t ImageMediaRequest::begin(const Target& target) {
  const int calls = providers::image_calls(target, *request_);
  replies_.assign(static_cast<std::size_t>(calls), {});
  by_url_ = schemas::images_by_url(*request_, schemas::bare_model_name(target.model));
  return replies_.size();
}

std::int64_t ImageMediaRequest::tokens(std::size_t) const {
  return schemas::estimated_tokens(request_->prompt);
}

base::Result<providers::WireRequest> ImageMediaRequest::write(const Target& target, std::size_t part) {
  return providers::image_request(target, *request_, static_cast<int>(part));
}

base::Status ImageMediaRequest::read(const Target& target, std::size_t part, const std::string& body) {
  if (request_->stream && body.empty()) {
    if (completed_) return {};
    return base::error(base::Code::kUpstream, std::string(providers::shown_name(target)) +
                                                  " ended its stream before an image was complete");
  }
  auto reply = providers::image_reply(target, body);
  if (!reply) return reply.error();
  replies_[part] = *std::move(reply);
  if (request_->stream) send_whole(replies_[part]);
  return {};
}

// For an upstream that ignores the request to stream or cannot stream.
void ImageMediaRequest::send_whole(schemas::ImageReply& reply) {
  const auto format = reply.extra.find("output_format");
  const bool names_format = format != reply.extra.end() && format->is_string();
  for (schemas::Image& image : reply.images) {
    schemas::ImageEvent event;
    event.completed = true;
    event.b64_json = std::move(image.b64_json);
    event.created_at = reply.created;
    event.usage = reply.usage;
    if (names_format) event.output_format = format->get<std::string>();
    deliver(std::move(event));
  }
  reply.images.clear();
}

base::Status ImageMediaRequest::mock(const Target&, std::size_t part) {
  if (!request_->stream) {
    replies_[part] = providers::mock_images(*request_);
    return {};
  }
  for (schemas::ImageEvent& event : providers::mock_image_events(*request_)) {
    if (event.usage) replies_[part].usage = event.usage;
    deliver(std::move(event));
  }
  return {};
}

base::Status ImageMediaRequest::on_event(const Target& target, const net::SseEvent& event) {
  base::Result<std::optional<schemas::ImageEvent>> parsed = providers::image_event(target, event);
  if (!parsed) return parsed.error();
  if (!*parsed) return {};
  schemas::ImageEvent& image = **parsed;
  completed_ = completed_ || image.completed;
  if (image.usage) replies_.front().usage = image.usage;
  deliver(std::move(image));
  return {};
}

void ImageMediaRequest::deliver(schemas::ImageEvent event) {
  begun_ = true;
  if (sink_ != nullptr) sink_->on_image(head_, std::move(event));
}

int ImageMediaRequest::images_of_call() const { return replies_.size() > 1 ? 1 : std::max(request_->n, 1); }

std::optional<schemas::ChatUsage> ImageMediaRequest::reported(std::size_t part) const {
  const std::optional<schemas::ImageUsage>& usage = replies_[part].usage;
  if (!usage) return std::nullopt;
  return schemas::ChatUsage{.prompt = usage->input, .completion = usage->output, .total = usage->total};
}

Use ImageMediaRequest::used(std::size_t part) const {
  Use use;
  use.usage = reported(part).value_or(estimated_usage(tokens(part), 0));
  use.units.images = images_of_call();
  const auto received = static_cast<int>(replies_[part].images.size());  // 0: they were sent at once
  if (received > 0) use.units.images = std::min(received, images_of_call());
  return use;
}

Use ImageMediaRequest::most(const Target& target, std::size_t) const {
  const int images = images_of_call();
  Use most;
  most.usage.prompt = static_cast<std::int64_t>(request_->prompt.size()) + kAddedTokensMax;
  most.usage.completion = output_cap(target, std::nullopt) * images;
  most.units.images = images;
  return most;
}

void ImageMediaRequest::on_end(base::Result<MediaResult> end) {
  if (!end) return sink_->on_end(std::move(end.error()));
  ImageResult result;
  static_cast<MediaResult&>(result) = *std::move(end);
  for (schemas::ImageReply& each : replies_) schemas::add(result.reply, std::move(each));
  result.by_url = by_url_;
  const bool is_short = !request_->stream && std::cmp_less(result.reply.images.size(), request_->n);
  if (is_short)
    result.head.dropped.insert(result.head.dropped.begin(),
                               DroppedParam{.name = "n", .how = DroppedParam::How::kClamped});
  sink_->on_end(std::move(result));
}

}  // namespace millrace::inference
