#include "api/media/image_responder.h"

#include <utility>

#include "api/media/image_files.h"
#include "schemas/dropped.h"

namespace millrace::api {
namespace {

using inference::ImageResult;

constexpr std::size_t kReplyOverhead = 1024;  // bytes of an image in a reply in addition to its base64

std::size_t reply_bytes(const schemas::ImageReply& reply) {
  std::size_t bytes = 0;
  for (const schemas::Image& image : reply.images) bytes += image.b64_json.size() + kReplyOverhead;
  return bytes;
}

void send(Context& context, Call& call, const ImageResult& end) {
  const std::size_t bytes = reply_bytes(end.reply);
  auto reservation = reserve_reply(context, bytes);
  if (!reservation) return call.fail(reservation.error());
  front::Reply reply = json_reply(200, schemas::image_reply_json(end.reply));
  reply.reservation = *std::move(reservation);
  add_chat_headers(reply, end.head.model, end.head.attempts, schemas::dropped_text(end.head.dropped),
                   end.cost_usd);
  call.reply(std::move(reply));
}

// Runs on the pool.
void keep_and_send(Context& context, const CallPtr& call, const std::shared_ptr<ImageResult>& end) {
  if (!end->by_url) return send(context, *call, *end);
  const std::shared_ptr<schemas::ImageReply> reply(end, &end->reply);
  keep_images(context, *call, reply, [&context, call, end](const base::Status& kept) {
    if (!kept) return call->fail(kept.error());
    send(context, *call, *end);
  });
}

}  // namespace

std::int64_t ImageResponder::now_seconds() const {
  return std::chrono::duration_cast<std::chrono::seconds>(context_.clock.wall().time_since_epoch()).count();
}

std::shared_ptr<inference::ChatRun> ImageResponder::start_run(const inference::MediaClient& media) {
  if (request_.stream) start_heartbeat();
  return media.draw(request_, *this);
}

void ImageResponder::on_image(const inference::ChatHead& head, schemas::ImageEvent&& event) {
  if (is_over()) return;
  if (!streaming()) begin_stream(head, model_stream_head());
  if (event.completed) event.dropped_params = late_dropped_params(head);
  call_->responder().write(schemas::image_event_text(event, request_, now_seconds()));
}

void ImageResponder::on_end(base::Result<ImageResult> end) {
  if (is_over()) return;
  const auto self = shared_from_this();
  over();
  if (!end) return send_error(end.error());
  if (streaming()) {
    call_->responder().end();
    return;
  }
  if (end->reply.created == 0) end->reply.created = now_seconds();
  const auto kept = std::make_shared<ImageResult>(*std::move(end));
  reply_on_pool(context_, call_,
                [&context = context_, call = call_, kept] { keep_and_send(context, call, kept); });
}

}  // namespace millrace::api
