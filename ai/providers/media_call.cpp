#include "ai/providers/media_call.h"

#include <utility>

#include "ai/providers/call.h"
#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"

namespace millrace::providers {
namespace {

constexpr std::size_t kTypeShownMax = 100;  // bytes of a Content-Type in a message

bool is_text_type(std::string_view content_type) {
  return content_type.starts_with("text/") || content_type.starts_with("application/json");
}

class MediaCall final : public Call, public std::enable_shared_from_this<MediaCall> {
 public:
  MediaCall(net::HttpClient& client, const Target& target, const CallLimits& limits, MediaHandlers handlers)
      : client_(client),
        target_(target),
        limits_(limits),
        handlers_(std::move(handlers)),
        stream_(static_cast<bool>(handlers_.on_event)),
        sound_(static_cast<bool>(handlers_.on_bytes)),
        sse_([this](const net::SseEvent& event) { on_event(event); }, limits.event_bytes_max) {}

  void start(WireRequest wire) {
    net::HttpRequest request = http_request(target_, std::move(wire));
    request.body_bytes_max = bytes_max();
    request.reports_unanswered = true;
    net::HttpClient::Handlers callbacks;
    callbacks.on_head = [self = shared_from_this()](const net::HttpReply& head) { self->on_head(head); };
    callbacks.on_data = [self = shared_from_this()](std::string_view bytes) { return self->on_data(bytes); };
    callbacks.on_done = [self = shared_from_this()](const base::Result<net::HttpReply>& reply) {
      self->transfer_.reset();
      self->finish(reply);
    };
    if ((stream_ || sound_) && handlers_.is_ready)
      callbacks.is_ready = [self = shared_from_this()] {
        return self->cancelled_ || self->handlers_.is_ready();
      };
    transfer_ = client_.start(std::move(request), std::move(callbacks));
  }

  void cancel() override {
    cancelled_ = true;
    if (transfer_) client_.cancel(std::exchange(transfer_, nullptr));
  }
  void resume() override {
    if (transfer_) net::HttpClient::resume(*transfer_);
  }

 private:
  std::size_t bytes_max() const {
    return stream_ || sound_ ? 4 * limits_.reply_bytes_max : limits_.reply_bytes_max;
  }

  void on_head(const net::HttpReply& head) {
    content_type_ = std::string(cut_text(head.header("content-type"), kTypeShownMax));
    form_ = body_form(head.status, content_type_, stream_);
    if (sound_ && form_ == BodyForm::kWhole && is_text_type(content_type_)) form_ = BodyForm::kForeign;
  }

  bool on_data(std::string_view bytes) {
    switch (form_) {
      case BodyForm::kForeign:
        return false;
      case BodyForm::kWhole:
        if (sound_) return pass_on(bytes);
        body_.append(bytes);
        return true;
      case BodyForm::kError:
        body_.append(bytes.substr(0, limits_.error_bytes_max - body_.size()));
        return body_.size() < limits_.error_bytes_max;
      case BodyForm::kEvents:
        break;
    }
    if (!sse_.feed(bytes) && !failed_) failed_ = event_too_long(target_, limits_.event_bytes_max);
    return !failed_ && !cancelled_;
  }

  bool pass_on(std::string_view bytes) {
    if (cancelled_) return false;
    if (base::Status status = handlers_.on_bytes(bytes); !status) failed_ = status.error();
    return !failed_ && !cancelled_;
  }

  void on_event(const net::SseEvent& event) {
    if (failed_ || cancelled_) return;
    const auto read = [&] { return handlers_.on_event(event); };
    if (base::Status status = read_safely(target_, read); !status) failed_ = status.error();
  }

  base::Result<std::string> outcome(const base::Result<net::HttpReply>& reply) {
    if (failed_) return *std::move(failed_);
    const std::string words = translation(target_.preset->family).error_message(sse_.stray());
    if (!words.empty()) return stream_error(target_, 0, words);
    if (!reply) return transport_error(target_, reply.error(), form_, bytes_max());
    switch (form_) {
      case BodyForm::kError:
        return upstream_error(target_, reply->status, reply->headers, body_);
      case BodyForm::kForeign:
        return fault(target_, "answered with " + content_type_ + " instead of a reply of its API");
      case BodyForm::kWhole:
      case BodyForm::kEvents:
        break;
    }
    return std::move(body_);
  }

  void finish(const base::Result<net::HttpReply>& reply) {
    if (cancelled_) return;
    const auto done = std::exchange(handlers_, {}).on_done;
    done(outcome(reply));
  }

  net::HttpClient& client_;
  const Target target_;
  const CallLimits limits_;
  MediaHandlers handlers_;
  const bool stream_, sound_;
  net::SseReader sse_;
  std::shared_ptr<net::HttpClient::Transfer> transfer_;
  std::optional<base::Error> failed_;
  std::string content_type_, body_;
  BodyForm form_ = BodyForm::kWhole;
  bool cancelled_ = false;
};

}  // namespace

std::shared_ptr<Call> start_media(net::HttpClient& client, const Target& target, WireRequest request,
                                  const CallLimits& limits, MediaHandlers handlers) {
  auto call = std::make_shared<MediaCall>(client, target, limits, std::move(handlers));
  call->start(std::move(request));
  return call;
}

}  // namespace millrace::providers
