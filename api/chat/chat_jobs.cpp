#include "api/chat/chat_jobs.h"

#include <algorithm>
#include <utility>

#include "api/chat/chat_responder.h"
#include "api/headers.h"
#include "api/jobs/job_handlers.h"
#include "api/jobs/job_responder.h"
#include "api/jobs/job_result.h"
#include "api/jobs/job_text.h"
#include "api/model_request.h"
#include "api/webhooks/request_webhook.h"
#include "schemas/chat/chat_job.h"
#include "schemas/jobs/sealed_spec.h"
#include "schemas/json/json_text.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::JsonObject;

// A deferred request that is being turned into a job.
struct Deferral {
  Context& context;
  CallPtr call;
  storage::Submission submission;
  schemas::DroppedParams dropped;
  bool is_on_pool;
};
using DeferralPtr = std::shared_ptr<Deferral>;

void reply_made(const Deferral& deferral, const storage::Submitted& made) {
  const std::string id = made.job.str();
  deferral.call->set_job_id(id);
  JsonObject out;
  out.member("id", id).member("request_id", id);
  if (made.run_at) out.member("run_at", base::rfc3339(*made.run_at));
  front::Reply reply = json_reply(200, out.finish());
  if (made.replayed) add_header(reply, "idempotent-replayed", "true");
  add_chat_headers(reply, {}, 0, schemas::dropped_text(deferral.dropped), std::nullopt);
  deferral.call->reply(std::move(reply));
}

void submit(const DeferralPtr& deferral) {
  Context& context = deferral->context;
  context.submit.submit(std::move(deferral->submission),
                        [deferral](const base::Result<storage::Submitted>& made) {
                          Call& call = *deferral->call;
                          if (!made) return call.fail(made.error());
                          reply_made(*deferral, *made);
                        });
}

// Stores data that is too long for the job's row in a blob. Blocks on the disk.
void stage_and_submit(const DeferralPtr& deferral, const std::string& whole) {
  storage::Blobs& blobs = deferral->context.store.blobs();
  storage::Submission& submission = deferral->submission;
  if (!whole.empty()) {
    auto input = storage::stage(blobs, whole);
    if (!input) return deferral->call->fail(input.error());
    submission.input = *std::move(input);
  }
  if (auto staged = stage_large_spec(blobs, submission); !staged) return deferral->call->fail(staged.error());
  submit(deferral);
}

void seal(const Deferral& deferral, std::string& spec) {
  spec = schemas::seal_spec(deferral.context.secret_key, deferral.submission.tenant, schemas::Kind::kChat,
                            std::move(spec));
}

// The spec is kept as long as the job's row. Large images, of which the contract allows no lasting copy, are
// only in the complete request. That is sent to the model and deleted with the result.
void store_and_submit(const DeferralPtr& deferral, schemas::ChatRequest& request) {
  std::string spec = schemas::chat_spec(request), whole;
  if (spec.size() > schemas::kStoredImageMax && schemas::drop_large_images(request)) {
    if (request.body.contains("store") && request.body["store"] == true)
      deferral->dropped.push_back({"store", schemas::DroppedParam::How::kClamped});
    whole = std::exchange(spec, schemas::chat_spec(request));
  }
  const bool on_pool_already = deferral->is_on_pool || deferral->call->body().size() > kFrontBodyMax;
  if (on_pool_already) deferral->call->drop_body();
  if (schemas::may_hold_secrets(request, whole.empty() ? spec : whole)) {
    request.body = nullptr;
    seal(*deferral, spec);
    if (!whole.empty()) seal(*deferral, whole);
  }
  deferral->submission.spec = std::move(spec);
  const bool fits = whole.empty() && deferral->submission.spec.size() <= storage::kInlineMax;
  if (fits) return submit(deferral);
  deferral->call->drop_body();
  if (on_pool_already) return stage_and_submit(deferral, whole);
  on_pool(deferral->context, base::Pool::Queue::kLarge, deferral->call,
          [deferral, whole = std::move(whole)] { stage_and_submit(deferral, whole); });
}

}  // namespace

void defer_chat(ChatIntake intake) {
  auto& [context, call, request, key, bytes, is_on_pool, missing_file] = intake;
  auto deferral = std::make_shared<Deferral>(Deferral{context, call, {}, request.dropped, is_on_pool});
  storage::Submission& submission = deferral->submission;
  submission.id = context.submit.new_id(schemas::Kind::kChat);
  submission.tenant = call->tenant();
  submission.key_id = call->principal->key_id;
  submission.model = context.chat.first_choice(request);
  submission.priority = request.priority;
  submission.metadata = std::move(request.metadata);
  submission.start = request.start;
  submission.run_at_max = context.options.run_at_max;
  request.cap_output = true;  // as the worker sends it if the owner has a budget
  submission.cost_max = amount(context.chat.max_cost(request));
  submission.traceparent = traceparent(call->head());
  submission.idempotency = std::move(key);
  submission.input_file = missing_file;
  mark_batch_line(context, *call, submission);
  if (const auto good = add_request_webhook(context, *call, submission); !good)
    return call->fail(good.error());
  store_and_submit(deferral, request);
}

front::Reply chat_reply_of(std::string stored) {
  auto outcome = schemas::chat_outcome_from(std::move(stored));
  if (!outcome) return json_reply(200, "{}");
  front::Reply reply = json_reply(200, std::move(outcome->completion));
  add_chat_headers(reply, outcome->model, outcome->attempts, outcome->dropped, outcome->cost_usd);
  return reply;
}

front::Reply chat_failure(std::string_view path, base::Error error, const std::string& stored) {
  const auto outcome = schemas::chat_outcome_from(stored);
  if (!outcome) return permanent_failure(path, error);
  if (error.param.empty()) error.param = outcome->param;
  front::Reply reply = permanent_failure(path, error);
  add_chat_headers(reply, outcome->model, outcome->attempts, outcome->dropped, outcome->cost_usd);
  return reply;
}

std::string chat_job_json(Context& context, const std::string& tenant, const schemas::JobView& job) {
  std::string text = job_json(job, context.options.public_url, BlockedJobs(context.store).of(job));
  if (!schemas::is_terminal(job.status) || !job.has_result) return text;
  auto stored = storage::JobQueries(context.store).result(tenant, job.id);
  if (!stored || !stored->payload) return text;
  auto bytes = read_payload(context.store, *std::move(stored->payload));
  const auto outcome = bytes ? schemas::chat_outcome_from(*std::move(bytes)) : std::nullopt;
  if (!outcome) return text;
  JsonObject more;
  more.member("answered_by", outcome->model).number("upstream_attempts", outcome->attempts);
  if (!outcome->dropped.empty()) more.member("dropped_params", outcome->dropped);
  if (!outcome->usage.empty()) more.raw("usage", outcome->usage);
  if (outcome->cost_usd) more.raw("cost_usd", schemas::dollars(*outcome->cost_usd));
  text.back() = ',';
  return text.append(std::string_view(more.finish()).substr(1));
}

}  // namespace millrace::api
