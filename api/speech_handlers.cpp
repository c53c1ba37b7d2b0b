#include <utility>

#include "api/handlers.h"
#include "api/speech_answer.h"
#include "api/wrong_model.h"

namespace millrace::api {

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
