#include "api/media/media_stream.h"

#include <utility>

#include "schemas/dropped.h"

namespace millrace::api {

void MediaStream::start_heartbeat() {
  context_.active_responders.start_heartbeat(*this, context_.options.chat_heartbeat);
}

// After an early head, retries are invisible to the client; only the final outcome is sent.
void MediaStream::send_heartbeat() {
  if (is_over()) return;
  if (streaming_) {
    call_->responder().write(schemas::ChatChunks::kHeartbeat);
    return;
  }
  streaming_ = begun_early_ = true;
  call_->start_stream(model_stream_head(), schemas::ChatChunks::kHeartbeat);
}

void MediaStream::begin_stream(const inference::ChatHead& requested, front::Reply head) {
  streaming_ = true;
  add_chat_headers(head, requested.model, requested.attempts, schemas::dropped_text(requested.dropped),
                   std::nullopt);
  call_->start_stream(std::move(head));
}

std::string MediaStream::late_dropped_params(const inference::ChatHead& requested) const {
  return begun_early_ ? schemas::dropped_text(requested.dropped) : std::string();
}

bool MediaStream::may_send() {
  const front::Responder& client = call_->responder();
  if (!streaming_ || client.backlog() <= kBacklogPause) return true;
  client.on_drained(kBacklogResume, [&loop = context_.loop, weak = weak_from_this()] {
    loop.post([weak] {
      const auto self = weak.lock();
      if (self) static_cast<MediaStream&>(*self).resume();
    });
  });
  return false;
}

void MediaStream::send_error(const base::Error& error) {
  if (!streaming_) return fail(error);
  fail_stream(*call_, error, requested_model());
}

}  // namespace millrace::api
