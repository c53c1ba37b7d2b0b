#include "api/media/media_responder.h"

#include <array>
#include <utility>

#include "ai/inference/routing/routing.h"
#include "api/handlers.h"
#include "api/media/image_files.h"
#include "api/media/image_responder.h"
#include "api/media/signed_url.h"
#include "api/model_request.h"
#include "api/routing/list_query.h"
#include "schemas/dropped.h"
#include "storage/tenants/tenants.h"

namespace millrace::api {
namespace {

using inference::EmbeddingResult;

constexpr std::size_t kSmallNumbers = 4096;  // at most this many are serialized on the loop's thread
constexpr std::size_t kNumberText = 12;      // bytes that most numbers need

std::size_t numbers_of(const schemas::EmbeddingReply& reply) {
  std::size_t numbers = 0;
  for (const schemas::Vector& each : reply.vectors) numbers += each.size();
  return numbers;
}

void send(Context& context, Call& call, const EmbeddingResult& end, bool base64) {
  const std::size_t expected = numbers_of(end.reply) * kNumberText;
  auto reservation = reserve_reply(context, expected);
  if (!reservation) return call.fail(reservation.error());
  front::Reply reply = json_reply(200, schemas::embedding_reply_json(end.reply, base64));
  reply.reservation = *std::move(reservation);
  add_chat_headers(reply, end.head.model, end.head.attempts, schemas::dropped_text(end.head.dropped),
                   end.cost_usd);
  call.reply(std::move(reply));
}

}  // namespace

void MediaResponder::begin() {
  call_->on_gone([&loop = context_.loop, weak = weak_from_this()] {
    loop.post([weak] {
      if (const auto self = weak.lock()) self->on_disconnect();
    });
  });
  context_.loop.post([self = shared_from_this()] { self->start(); });
}

void MediaResponder::start() {
  if (over_) return;
  if (!context_.active_responders.add(shared_from_this())) return call_->fail(shutting_down());
  if (!budget_->is_limited()) return start_now();
  const inference::MediaClient media(context_.chat, context_.pool, call_->tenant());
  budget_->reserve(max_cost(media), [weak = weak_from_this()](const base::Status& reserved) {
    const auto self = weak.lock();
    if (!self || self->over_) return;
    if (!reserved) return self->cancel_with_error(reserved.error());
    self->start_now();
  });
}

void MediaResponder::start_now() {
  inference::BeforeSending ask;
  if (budget_->is_limited()) {
    ask = [weak = weak_from_this()](const inference::CallCost& cost, std::function<void(bool)> go) {
      const auto self = weak.lock();
      if (!self) return go(false);
      self->before_sending(cost, std::move(go));
    };
  }
  run_ = start_run(inference::MediaClient(context_.chat, context_.pool, call_->tenant(), std::move(ask)));
}

void MediaResponder::before_sending(const inference::CallCost& cost, std::function<void(bool go)> go) {
  budget_->allow(cost, [weak = weak_from_this(), go = std::move(go)](const base::Status& allowed) {
    const auto self = weak.lock();
    if (!allowed && self) self->cancel_with_error(allowed.error());
    go(allowed && self);
  });
}

void MediaResponder::cancel_with_error(const base::Error& why) {
  if (over_) return;
  if (run_) run_->cancel();
  over();
  send_error(why);
}

void MediaResponder::fail(const base::Error& error) {
  front::Reply reply = error_reply(call_->head().path, error);
  if (calls_) {
    const inference::ChatHead& head = calls_->head;
    call_->set_model(head.model);
    add_chat_headers(reply, head.model, head.attempts, schemas::dropped_text(head.dropped), calls_->cost_usd);
  }
  call_->fail(error, std::move(reply));
}

void MediaResponder::on_disconnect() {
  if (over_) return;
  if (run_) run_->cancel();
  over();
}

// The run may be on the stack, so the next turn of the loop destroys it.
void MediaResponder::over() {
  const auto self = shared_from_this();
  over_ = true;
  if (run_) {
    calls_ = run_->calls();
    used_ = run_->charged();
  }
  budget_->settle(used_);
  context_.active_responders.remove(self);
  context_.loop.post([run = std::exchange(run_, nullptr)] {});
}

std::shared_ptr<inference::ChatRun> EmbeddingResponder::start_run(const inference::MediaClient& media) {
  return media.embed(std::move(request_), [weak = weak_from_this()](base::Result<EmbeddingResult> end) {
    const auto self = weak.lock();
    if (self) static_cast<EmbeddingResponder&>(*self).on_end(std::move(end));
  });
}

void EmbeddingResponder::on_end(base::Result<EmbeddingResult> end) {
  if (is_over()) return;
  over();
  if (!end) return send_error(end.error());
  if (numbers_of(end->reply) <= kSmallNumbers) return send(context_, *call_, *end, base64_);
  const auto kept = std::make_shared<const EmbeddingResult>(*std::move(end));
  reply_on_pool(context_, call_, [&context = context_, call = call_, kept, base64 = base64_] {
    send(context, *call, *kept, base64);
  });
}

namespace {

// Sets the models that the request may use. False: the key may not use the one it names; an error was sent.
template <class Request>
bool allow_model(const Context& context, Call& call, Request& request) {
  request.allowed_models = call.principal->access.models;
  const auto model = context.chat.registry()->find(request.model);
  const auto may = check_model(call, request.model, model ? (*model)->name : request.model);
  if (!may) call.fail(may.error());
  return may.has_value();
}

}  // namespace

void create_embeddings(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto request = schemas::parse_embedding_request(call->body());
  if (!request) return call->refuse(request.error());
  request->strict = *strict;
  if (!allow_model(context, *call, *request)) return;
  if (const auto wrong = inference::MediaClient(context.chat, context.pool).check(*request))
    return call->refuse(wrong_model_error(context, request->model, "make embeddings", *wrong));
  std::string().swap(call->body());  // its budget stays reserved: the request holds as many bytes
  std::make_shared<EmbeddingResponder>(context, std::move(call), *std::move(request))->begin();
}

namespace {

// Images that are returned by URL count as stored bytes of the tenant.
bool may_be_stored(const inference::Registry& registry, const schemas::ImageRequest& request) {
  const auto model = registry.look_up(request.model);
  const std::string& name = model ? model->rows.front().target.model : request.model;
  return schemas::images_by_url(request, schemas::bare_model_name(name));
}

}  // namespace

void create_images(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  auto request = schemas::parse_image_request(call->body());
  if (!request) return call->refuse(request.error());
  request->strict = *strict;
  if (request->model.empty()) {
    base::Result<std::string> model = inference::default_image_model(
        *context.chat.registry(), schemas::needs_gpt_image(*request), call->principal->access.models);
    if (!model) return call->fail(model.error());
    request->model = *std::move(model);
  }
  if (!allow_model(context, *call, *request)) return;
  if (const auto wrong = inference::MediaClient(context.chat, context.pool).check(*request))
    return call->refuse(wrong_model_error(context, request->model, "make images", *wrong));
  const bool is_stored = may_be_stored(*context.chat.registry(), *request);
  const auto responder = std::make_shared<ImageResponder>(context, call, *std::move(request));
  if (!is_stored) return responder->begin();
  on_pool(context, base::Pool::Queue::kQuick, call, [&context, call, responder] {
    const base::Status may = storage::Tenants(context.store).check_stored_bytes(call->tenant());
    may ? responder->begin() : call->fail(may.error());
  });
}

// Every invalid URL gets the same 404.
void image_file(Context& context, CallPtr call) {
  SignedUrl url{.id = call->params.front(), .expires = {}, .signature = {}};
  if (!read_query(*call, signed_url_fields(), &url)) return;
  const auto id = checked_id(SignedThing::kImage, url, context.secret_key, context.clock.wall());
  if (!id)
    return call->fail(base::error(base::Code::kNotFound, "There is no such image, or its URL has expired"));
  send_image(context, call, *id);
}

}  // namespace millrace::api
