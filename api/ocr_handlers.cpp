#include <atomic>

#include "api/call.h"
#include "api/document.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/job_result.h"
#include "api/job_text.h"
#include "jobs/policy.h"
#include "platform/base/crypto.h"
#include "schemas/ocr_request.h"
#include "storage/job_queries.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::JobId;
using storage::Submitted;

// An OCR request on its way to a job.
struct Intake {
  Intake(Context& the_context, CallPtr the_call) : context(the_context), call(std::move(the_call)) {}
  Context& context;
  CallPtr call;
  jobs::Order order;  // moved away by `submit`
  std::string model;
  bool respond_async = false;
  std::string dropped;                // x-millrace-dropped-params
  std::optional<JobId> job;           // set before kCommitted is
  std::atomic<bool> replayed{false};  // the key had made the job before
  std::atomic<unsigned> marks{0};
};

// A wait may end before the job is committed (drain, a slow disk): then the commit answers for it, so that no
// reply names a job that is not on disk.
constexpr unsigned kCommitted = 1, kWaitEnded = 2;

using IntakePtr = std::shared_ptr<Intake>;

void reply_with(const Intake& intake, front::Reply reply) {
  if (intake.replayed) add_header(reply, "idempotent-replayed", "true");
  if (!intake.dropped.empty()) add_header(reply, "x-millrace-dropped-params", intake.dropped);
  intake.call->reply(std::move(reply));
}

void reply_accepted(const Intake& intake, const schemas::JobView& job) {
  const std::string& url = intake.context.options.public_url;
  front::Reply reply = json_reply(202, job_json(job, url));
  add_header(reply, "location", job_url(job.id, url));
  reply_with(intake, std::move(reply));
}

// The job as the commit has left it, without a look at the store.
schemas::JobView fresh_view(const Intake& intake, const JobId& id) {
  schemas::JobView job;
  job.id = id;
  job.model = intake.model;
  job.created_at = id.uuid.time();
  job.deadline = job.created_at + jobs::policy(id.kind).deadline;
  return job;
}

// REQUIRES: the job is on disk.
void reply_timeout(const Intake& intake) {
  const JobId& job = *intake.job;
  const std::string id = job.str();
  intake.call->name_job(id);
  front::Reply reply = lasting_failure(
      intake.call->head().path,
      base::error(Code::kUpstreamTimeout, "The document takes longer than this request may wait. Job " + id +
                                              " goes on: read GET /v1/jobs/" + id + "/result"));
  add_header(reply, "location", job_url(job, intake.context.options.public_url));
  reply_with(intake, std::move(reply));
}

std::shared_ptr<JobWait> wait_for_result(const IntakePtr& intake, const JobId& job) {
  auto done = [intake, job](JobWait::End end) {
    if (end != JobWait::End::kTerminal) {
      const bool on_disk = (intake->marks.fetch_or(kWaitEnded) & kCommitted) != 0;
      if (on_disk) reply_timeout(*intake);
      return;
    }
    owed_on_pool(intake->context, intake->call, [intake, job] {
      const Freshness freshness = intake->replayed ? Freshness::kReplayed : Freshness::kFirst;
      send_result(intake->context, *intake->call, job, freshness, intake->dropped);
    });
  };
  auto wait = intake->context.waits.wait(job, 0, intake->context.options.sync_wait, std::move(done));
  intake->call->on_gone([weak = std::weak_ptr(wait)] {
    if (const auto held = weak.lock()) held->cancel();
  });
  return wait;
}

// The key has made `job` before: its result, or, while it runs, its state or a wait of one's own. Pool.
void join(const IntakePtr& intake, const JobId& job) {
  const auto wait = intake->respond_async ? nullptr : wait_for_result(intake, job);
  const auto row = storage::JobQueries(intake->context.store).job(intake->call->tenant(), job);
  const bool over = row && schemas::is_terminal(row->status);
  if (wait && (!row || over)) wait->cancel();
  if (!row) return intake->call->fail(row.error());
  if (over) return send_result(intake->context, *intake->call, job, Freshness::kReplayed, intake->dropped);
  if (!wait) reply_accepted(*intake, *row);
}

// A key without a place for another job could still have joined one of its own.
base::Error refusal(const Intake& intake, const base::Error& error) {
  const bool nothing_to_join = intake.call->join_only && error.code == Code::kNotFound;
  return nothing_to_join ? intake.context.places.refusal() : error;
}

void submit(const IntakePtr& intake) {
  Context& context = intake->context;
  const JobId id = context.submit.new_id(schemas::Kind::kOcr);
  intake->order.id = id;
  const auto wait = intake->respond_async ? nullptr : wait_for_result(intake, id);
  context.submit.submit(
      std::move(intake->order), [&context, intake, id, wait](const base::Result<Submitted>& made) {
        if (wait && (!made || made->job != id)) wait->cancel();
        if (!made) return intake->call->fail(refusal(*intake, made.error()));
        intake->call->name_job(made->job.str());
        intake->job = made->job;
        intake->replayed = made->replayed;
        if (auto place = intake->call->take_place(); !made->replayed)
          context.places.keep(std::move(place), id);
        if ((intake->marks.fetch_or(kCommitted) & kWaitEnded) != 0) return reply_timeout(*intake);
        if (!made->replayed) {
          if (!wait) reply_accepted(*intake, fresh_view(*intake, id));
          return;
        }
        owed_on_pool(context, intake->call, [intake, job = made->job] { join(intake, job); });
      });
}

// Large documents go to a blob, decoded as they stand in the body. Pool.
void stage_and_submit(const IntakePtr& intake, std::string_view base64) {
  auto staged = stage_document(intake->context.store.blobs(), base64);
  if (!staged) return intake->call->fail(staged.error());
  intake->order.input = std::move(*staged);
  intake->call->drop_body();
  submit(intake);
}

void place_document(const IntakePtr& intake, std::shared_ptr<schemas::OcrRequest> request) {
  Call& call = *intake->call;
  const bool small = decoded_size(request->base64) <= schemas::kInlineDocumentMax;
  if (request->is_data_uri && small) {
    if (auto good = check_small_document(request->base64); !good) return call.fail(good.error());
    request->spec.inline_document = request->base64;
  }
  intake->order.spec = schemas::to_json(request->spec);
  if (!request->is_data_uri || small) {
    call.drop_body();
    return submit(intake);
  }
  if (call.body().size() > kFrontBodyMax)
    return stage_and_submit(intake, request->base64);  // on the pool already
  on_pool(intake->context, base::Pool::Lane::kLarge, intake->call,
          [intake, request] { stage_and_submit(intake, request->base64); });
}

}  // namespace

void create_ocr(Context& context, CallPtr call) {
  auto key = idempotency_key(call->head());
  if (!key) return call->fail(key.error());
  std::optional<storage::IdempotencyKey> idempotency;
  if (*key) {
    idempotency = storage::IdempotencyKey{.method = "POST",
                                          .path = call->head().path,
                                          .key = std::move(**key),
                                          .fingerprint = base::sha256(call->body())};
  }
  auto request = schemas::parse_ocr_request(call->body());
  if (!request) return call->refuse(request.error());
  auto intake = std::make_shared<Intake>(context, call);
  intake->respond_async = request->deferred || prefer(call->head()).respond_async;
  intake->dropped = dropped_params(request->dropped);
  intake->order.tenant = call->tenant();
  intake->model = request->spec.model;
  intake->order.model = intake->model;
  intake->order.traceparent = traceparent(call->head());
  intake->order.idempotency = std::move(idempotency);
  intake->order.join_only = call->join_only;
  place_document(intake, std::make_shared<schemas::OcrRequest>(std::move(*request)));
}

}  // namespace millrace::api
