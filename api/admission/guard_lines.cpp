#include <utility>

#include "api/admission/guard.h"
#include "api/front/reply_collector.h"
#include "api/jobs/job_result.h"
#include "api/machines/execution.h"

// Requests that the gateway makes itself, for the lines of batches.
namespace millrace::api {

// A call that no client makes; its route is that of the path.
Guard::OwnCall Guard::own_call(std::string path, std::string body, std::string key, PrincipalPtr principal,
                               std::size_t bytes_max, std::function<void(LineReply)> done) {
  front::Request sent;
  front::Head& head = sent.head;
  head.method = "POST";
  head.path = std::move(path);
  head.content_length = body.size();
  head.arrived = std::chrono::steady_clock::now();
  head.headers = {{"content-type", "application/json"}, {"prefer", "respond-async"}};
  if (!key.empty()) head.headers.push_back({"idempotency-key", std::move(key)});
  sent.body = std::move(body);
  sent.body.reserve(sent.body.size() + front::kBodyPadding);
  OwnCall own{.call = std::make_shared<Call>(head, dependencies_.metrics), .refusal = {}};
  Call& call = *own.call;
  call.principal = std::move(principal);
  own.refusal = route(head, call);
  if (!own.refusal) own.refusal = scope(call);
  if (!own.refusal) own.refusal = encoding(head, call);
  if (!own.refusal) own.refusal = size(head, call);
  auto collector = std::make_shared<front::ReplyCollector>(
      bytes_max, [request_id = call.request_id(), weak = std::weak_ptr(own.call),
                  done = std::move(done)](std::optional<front::Reply> reply) {
        LineReply out{.reply = std::move(reply), .request_id = request_id, .job = {}};
        if (const auto sender = weak.lock()) out.job = schemas::JobId::parse(sender->job_id());
        done(std::move(out));
      });
  call.begin(std::move(sent), front::Responder(std::move(collector)));
  return own;
}

void Guard::send_line(LineRequest request, std::size_t bytes_max, std::function<void(LineReply)> done) {
  const OwnCall own =
      own_call(std::move(request.path), std::move(request.body), std::move(request.idempotency_key),
               std::move(request.principal), bytes_max, std::move(done));
  own.call->batch_line = request.line;
  if (own.refusal) return own.call->fail(*own.refusal);
  dispatch(own.call);
}

void Guard::send_result(const PrincipalPtr& owner, std::string path, const schemas::JobId& job,
                        std::size_t bytes_max, std::function<void(LineReply)> done) {
  const OwnCall own = own_call(std::move(path), {}, {}, owner, bytes_max, std::move(done));
  if (job.kind == schemas::Kind::kExec) return send_execution_with_output(context_, *own.call, job);
  api::send_result(context_, *own.call, job, ReplayState::kFirst);
}

}  // namespace millrace::api
