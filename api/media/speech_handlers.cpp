#include "api/media/speech_handlers.h"

#include <utility>

#include "ai/inference/routing/routing.h"
#include "api/handlers.h"
#include "api/model_request.h"

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

SpeechResponder::SpeechResponder(Context& context, CallPtr call, schemas::SpeechRequest request)
    : MediaStream(context, std::move(call)),
      events_(request.events),
      encoding_(request.encoding),
      request_(std::move(request)) {}

std::shared_ptr<inference::ChatRun> SpeechResponder::start_run(const inference::MediaClient& media) {
  if (events_) start_heartbeat();
  return media.speak(std::move(request_), *this);
}

void SpeechResponder::on_audio(const inference::ChatHead& head, std::string bytes) {
  if (is_over()) return;
  audio_begun_ = true;
  if (!streaming()) begin_stream(head, events_ ? model_stream_head() : sound_head(encoding_));
  call_->responder().write(events_ ? schemas::speech_delta_text(bytes) : std::move(bytes));
}

void SpeechResponder::on_end(base::Result<inference::SpeechResult> end) {
  if (is_over()) return;
  const auto self = shared_from_this();
  over();
  if (!end) return send_error(end.error());
  if (!audio_begun_)
    return send_error(
        base::error(base::Code::kInternal, "The model returned no audio; retry, or use another model"));
  if (events_)
    call_->responder().write(schemas::speech_done_text(end->input_tokens, late_dropped_params(end->head)));
  call_->responder().end();
}

void SpeechResponder::send_error(const base::Error& error) {
  if (events_ || !streaming()) return MediaStream::send_error(error);
  call_->responder().abort();
}

void create_speech(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto request = schemas::parse_speech_request(call->body());
  if (!request) return call->refuse(request.error());
  request->strict = *strict;
  request->tenant = call->tenant();
  request->allowed_models = call->principal->access.models;
  const auto provided = inference::speech_model(*context.chat.registry(), request->model);
  const schemas::LocalVoiceModel* voice = context.options.voice_models.find(request->model);
  const std::string own = voice == nullptr ? std::string(schemas::kSpeechModel) : voice->name;
  const std::string name = provided.value_or(own);
  if (const auto may = check_model(*call, request->model, name); !may) return call->fail(may.error());
  if (const auto wrong = inference::MediaClient(context.chat, context.pool).check(*request))
    return call->refuse(wrong_model_error(context, request->model, "speak", *wrong));
  call->set_model(request->model);
  call->drop_body();
  std::make_shared<SpeechResponder>(context, std::move(call), *std::move(request))->begin();
}

}  // namespace millrace::api
