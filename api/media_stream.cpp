#include "api/media_stream.h"

#include <utility>

#include "schemas/dropped.h"

namespace millrace::api {

void MediaStream::beat() {
  if (!is_over()) call_->responder().write(schemas::ChatChunks::kHeartbeat);
}

void MediaStream::begin_stream(const inference::ChatHead& asked, front::Reply head, bool beats) {
  streaming_ = true;
  add_chat_headers(head, asked.model, asked.attempts, schemas::dropped_text(asked.dropped), std::nullopt);
  if (call_->start_stream(std::move(head)) && beats) {
    context_.chat_answers.keep_beating(*this, context_.options.chat_heartbeat);
  }
}

bool MediaStream::has_room() {
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

void MediaStream::say_error(const base::Error& error) {
  if (!streaming_) return fail(error);
  const front::Responder& client = call_->responder();
  const auto body = schemas::error_body(call_->head().path, error).body;
  if (client.write(schemas::ChatChunks::error(body))) {
    client.end();
  } else {
    client.abort();
  }
}

}  // namespace millrace::api
