#include "api/speech_answer.h"

#include <utility>

#include "schemas/dropped.h"

namespace millrace::api {
namespace {

front::Reply sound_head(schemas::SpeechEncoding encoding) {
  front::Reply head{
      .status = 200, .content_type = std::string(schemas::mime(encoding)), .headers = {}, .body = {}};
  add_header(head, "cache-control", "no-cache");
  add_header(head, "x-accel-buffering", "no");
  return head;
}

}  // namespace

SpeechAnswer::SpeechAnswer(Context& context, CallPtr call, schemas::SpeechRequest request)
    : MediaAnswer(context, std::move(call)),
      events_(request.events),
      encoding_(request.encoding),
      request_(std::move(request)) {}

std::shared_ptr<inference::ChatRun> SpeechAnswer::start_run(const inference::Media& media) {
  return media.speak(std::move(request_), *this);
}

void SpeechAnswer::begin_stream(const inference::ChatHead& head) {
  streaming_ = true;
  front::Reply reply = events_ ? model_stream_head() : sound_head(encoding_);
  add_chat_headers(reply, head.model, head.attempts, schemas::dropped_text(head.dropped), std::nullopt);
  if (call_->start_stream(std::move(reply)) && events_) schedule_heartbeat();
}

void SpeechAnswer::on_audio(const inference::ChatHead& head, std::string bytes) {
  if (is_over()) return;
  if (!streaming_) begin_stream(head);
  call_->responder().write(events_ ? schemas::speech_delta_text(bytes) : std::move(bytes));
}

bool SpeechAnswer::is_ready() {
  const front::Responder& client = call_->responder();
  if (!streaming_ || client.backlog() <= kBacklogPause) return true;
  client.on_drained(kBacklogResume, [&loop = context_.loop, weak = weak_from_this()] {
    loop.post([weak] {
      const auto self = weak.lock();
      if (self) static_cast<SpeechAnswer&>(*self).resume();
    });
  });
  return false;
}

void SpeechAnswer::schedule_heartbeat() {
  heartbeat_ = context_.loop.after(context_.options.chat_heartbeat, [weak = weak_from_this()] {
    const auto self = std::static_pointer_cast<SpeechAnswer>(weak.lock());
    if (!self || self->is_over()) return;
    self->call_->responder().write(schemas::ChatChunks::kHeartbeat);
    self->schedule_heartbeat();
  });
}

void SpeechAnswer::on_end(base::Result<inference::SpeechEnd> end) {
  if (is_over()) return;
  const auto self = shared_from_this();
  over();
  heartbeat_.cancel();
  if (!end) return say_error(end.error());
  if (!streaming_) return say_error(base::error(base::Code::kInternal, "no sound was made"));
  if (events_) call_->responder().write(schemas::speech_done_text(end->input_tokens));
  call_->responder().end();
}

void SpeechAnswer::say_error(const base::Error& error) {
  if (!streaming_) return fail(error);
  const front::Responder& client = call_->responder();
  if (!events_) {
    client.abort();
    return;
  }
  const auto body = schemas::error_body(call_->head().path, error).body;
  if (client.write(schemas::ChatChunks::error(body))) {
    client.end();
  } else {
    client.abort();
  }
}

}  // namespace millrace::api
