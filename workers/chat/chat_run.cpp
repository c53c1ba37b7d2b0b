#include "workers/chat/chat_run.h"

#include <utility>

#include "jobs/policy.h"
#include "schemas/dropped.h"
#include "schemas/jobs/sealed_spec.h"
#include "schemas/json/json_text.h"
#include "workers/payload.h"
#include "workers/runner.h"

namespace millrace::workers {
namespace {

using base::Code;
using Queue = base::Pool::Queue;

bool is_inline(const storage::ClaimedJob& job) { return !job.input && !job.spec_blob; }

base::Result<schemas::ChatRequest> read_request(storage::Blobs& blobs, const storage::ClaimedJob& job,
                                                const std::string& secret_key) {
  auto text = is_inline(job) ? job.spec : blobs.read(job.input ? *job.input : *job.spec_blob);
  if (text) text = schemas::open_spec(secret_key, job.tenant, *std::move(text));
  if (!text) return text.error();
  return schemas::chat_request_from_spec(*text);
}

}  // namespace

ChatJobRun::ChatJobRun(storage::ClaimedJob job, AttemptContext& context, ChatSource source,
                       const std::string& secret_key, Runner::Ended ended)
    : job_(std::move(job)),
      context_(context),
      source_(source),
      secret_key_(secret_key),
      ended_(std::move(ended)),
      weak_loop_(context.weak_loop()) {}

ChatJobRun::~ChatJobRun() {
  if (chat_) chat_->cancel();
}

template <class Work, class Then>
void ChatJobRun::on_pool(Queue queue, Work work, Then then) {
  const bool posted = context_.pool().post(queue, [self = shared_from_this(), work, then] {
    auto result = std::make_shared<decltype(work())>(guarded("chat", work));
    self->weak_loop_.post([self, then, result] {
      if (!self->over_) then(std::move(*result));
    });
  });
  if (!posted) retry_later([this, queue, work, then] { on_pool(queue, work, then); });
}

void ChatJobRun::retry_later(std::function<void()> step) {
  timer_ = context_.loop().after(kStepRetryDelay, [weak = weak_from_this(), step = std::move(step)] {
    const auto self = weak.lock();
    if (self && !self->over_) step();
  });
}

void ChatJobRun::begin() { read(); }

void ChatJobRun::read() {
  storage::Blobs& blobs = context_.store().blobs();
  if (is_inline(job_)) return send(read_request(blobs, job_, secret_key_));
  on_pool(
      Queue::kLarge, [&blobs, job = job_, key = secret_key_] { return read_request(blobs, job, key); },
      [this](base::Result<schemas::ChatRequest> request) { send(std::move(request)); });
}

void ChatJobRun::send(base::Result<schemas::ChatRequest> request) {
  if (!request && jobs::is_local_limit(request.error())) {
    if (!input_retries_.may_retry()) return end(Retry{request.error()});
    return retry_later([this] { read(); });
  }
  if (!request) {
    const bool is_known = request.error().code == Code::kStoredDamaged || request.error().is_permanent;
    return end(Fail{
        is_known ? request.error() : base::error(Code::kInternal, "the job's stored spec cannot be read"),
        {}});
  }
  if (!context_.may_start()) return end(Abandoned{});
  request->stream = false;
  request->tenant = job_.tenant;
  request->cap_output = job_.has_budget;
  old_functions_ = request->old_functions;
  outcome_.dropped = schemas::dropped_text(request->dropped);
  chat_ = std::make_shared<ProviderChat>(source_, weak_loop_, weak_from_this());
  chat_->start(*std::move(request));
}

void ChatJobRun::on_head(const inference::ChatHead& head) {
  if (over_) return;
  outcome_.model = head.model;
  outcome_.attempts = head.attempts;
  outcome_.dropped = schemas::dropped_text(head.dropped);
}

// docs/design/delivery.md §2 rule 6: nothing is sent under a lost lease. A refusal ends the run at once,
// before the Chat reports its end.
void ChatJobRun::before_sending(const inference::CallCost& cost, std::function<void(bool go)> go) {
  if (job_.permit) job_.permit->leave();
  if (!may_send()) return go(false);
  if (job_.has_budget) return record_call(cost, std::move(go));
  if (sending_recorded_) return go(true);
  waiting_.push_back(std::move(go));
  if (waiting_.size() > 1) return;
  record_call(cost, [self = shared_from_this()](bool may) {
    for (const auto& go_on : std::exchange(self->waiting_, {})) go_on(may);
  });
}

void ChatJobRun::record_call(const inference::CallCost& cost, std::function<void(bool go)> go) {
  storage::JobOutcomes::ModelCall call = model_call(cost, 0);
  if (!sending_recorded_)
    call.event_data = schemas::JsonObject().number("attempt", job_.lease.attempt).finish();
  context_.write_call(std::move(call), [self = shared_from_this(), go = std::move(go)](bool lease_held) {
    if (!lease_held) self->end(Abandoned{});
    self->sending_recorded_ = self->sending_recorded_ || lease_held;
    go(self->may_send());
  });
}

void ChatJobRun::on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd,
                                 const schemas::Charge& /*charged: see on_charged*/) {
  on_head(head);
  outcome_.cost_usd = cost_usd;
}

void ChatJobRun::on_charged(const schemas::Charge& charged) {
  if (!over_) context_.set_used(charged);
}

bool ChatJobRun::may_send() {
  if (!over_ && !context_.may_start()) end(Abandoned{});
  return !over_;
}

void ChatJobRun::on_end(base::Result<inference::ChatResult> answer) {
  if (over_) return;
  if (chat_) std::exchange(chat_, nullptr)->cancel();  // frees the run on its loop
  if (!answer) return fail(answer.error());
  context_.set_used(answer->charged);
  outcome_.usage = schemas::chat_usage_json(answer->reply.usage);
  outcome_.cost_usd = answer->cost_usd;
  outcome_.completion = schemas::chat_completion_json(answer->reply, old_functions_);
  keep(schemas::chat_outcome_text(std::exchange(outcome_, {})));
}

void ChatJobRun::fail(const base::Error& error) {
  // Only the run ends; the job goes to another worker.
  if (error.code == Code::kJobCancelled) return end(Abandoned{});
  const bool permanent = jobs::job_retry_class(error) == base::RetryClass::kPermanent;
  std::string outcome = schemas::chat_outcome_text(outcome_);
  if (!permanent) return end(Retry{error, false, std::move(outcome)});
  end(Fail{error, {std::move(outcome), nullptr}});
}

void ChatJobRun::keep(std::string result) {
  if (result.size() <= storage::kInlineMax) return end(Succeeded{{std::move(result), nullptr}});
  auto bytes = std::make_shared<const std::string>(std::move(result));
  on_pool(
      Queue::kLarge, [&blobs = context_.store().blobs(), bytes] { return stage_reserved(blobs, *bytes); },
      [this, bytes](base::Result<storage::Staged> staged) {
        if (staged) return end(Succeeded{{{}, *std::move(staged)}});
        if (staged.error().code != Code::kOverloaded) return end(Retry{staged.error()});
        retry_later([this, bytes] { keep(*bytes); });
      });
}

void ChatJobRun::stop(StopReason /*why*/) { end(Cancelled{}); }

void ChatJobRun::end(Outcome outcome) {
  if (std::exchange(over_, true)) return;
  timer_.cancel();
  if (job_.permit) job_.permit->leave();
  if (!chat_) return ended_(std::move(outcome));
  std::exchange(chat_, nullptr)
      ->cancel([self = shared_from_this(),
                kept = std::make_shared<Outcome>(std::move(outcome))](const schemas::Charge& charged) {
        self->context_.set_used(charged);
        self->ended_(std::move(*kept));
      });
}

namespace {

class ChatPermit final : public storage::ClaimLanes::Permit {
 public:
  explicit ChatPermit(std::shared_ptr<inference::Lanes::CallPermit> place) : place_(std::move(place)) {}
  void leave() override { place_->leave(); }

 private:
  const std::shared_ptr<inference::Lanes::CallPermit> place_;
};

}  // namespace

storage::ClaimLanes::PermitPtr ChatLanes::take(const std::string& lane, const std::string& tenant) {
  auto place = lanes_->take(lane, tenant);
  return place ? std::make_shared<ChatPermit>(std::move(place)) : nullptr;
}

std::shared_ptr<Run> ChatRunner::start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<ChatJobRun>(job, context, source_, secret_key_, std::move(ended));
  run->begin();
  return run;
}

std::shared_ptr<JobLanes> ChatRunner::lanes() { return std::make_shared<ChatLanes>(source_.chat.lanes()); }

}  // namespace millrace::workers
