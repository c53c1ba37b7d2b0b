#include "api/media/speech_handlers.h"

#include <utility>

#include "api/chat/chat_handlers.h"
#include "api/handlers.h"

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
    : MediaStream(context, std::move(call)),
      events_(request.events),
      encoding_(request.encoding),
      request_(std::move(request)) {}

std::shared_ptr<inference::ChatRun> SpeechAnswer::start_run(const inference::Media& media) {
  if (events_) keep_beating();
  return media.speak(std::move(request_), *this);
}

void SpeechAnswer::on_audio(const inference::ChatHead& head, std::string bytes) {
  if (is_over()) return;
  sounded_ = true;
  if (!streaming()) begin_stream(head, events_ ? model_stream_head() : sound_head(encoding_));
  call_->responder().write(events_ ? schemas::speech_delta_text(bytes) : std::move(bytes));
}

void SpeechAnswer::on_end(base::Result<inference::SpeechEnd> end) {
  if (is_over()) return;
  const auto self = shared_from_this();
  over();
  if (!end) return send_error(end.error());
  if (!sounded_)
    return send_error(
        base::error(base::Code::kInternal, "The model returned no audio; retry, or use another model"));
  if (events_)
    call_->responder().write(schemas::speech_done_text(end->input_tokens, unsaid_dropped(end->head)));
  call_->responder().end();
}

void SpeechAnswer::send_error(const base::Error& error) {
  if (events_ || !streaming()) return MediaStream::send_error(error);
  call_->responder().abort();
}

void create_speech(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto request = schemas::parse_speech_request(call->body());
  if (!request) return call->refuse(request.error());
  request->strict = *strict;
  if (const auto wrong = inference::Media(context.chat, context.pool).check(*request))
    return call->refuse(of_wrong_model(*context.chat.registry(), request->model, "speak", *wrong));
  call->name_model(request->model);
  call->drop_body();
  std::make_shared<SpeechAnswer>(context, std::move(call), *std::move(request))->begin();
}

}  // namespace millrace::api
