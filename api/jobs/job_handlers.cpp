#include "api/jobs/job_handlers.h"

#include <algorithm>
#include <array>

#include "api/call_key.h"
#include "api/chat/chat_jobs.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/jobs/job_result.h"
#include "api/jobs/job_scope.h"
#include "api/jobs/job_text.h"
#include "api/machines/execution.h"
#include "api/machines/machine_calls.h"
#include "api/routing/list_query.h"
#include "api/tenants/job_cost.h"
#include "schemas/media/page_list.h"
#include "storage/jobs/job_queries.h"
#include "storage/workers/workers.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::Field;
using schemas::FieldType;
using schemas::JobId;
using schemas::JobView;

constexpr std::int64_t kPagesTextMax = 8192;

struct ResultQuery {
  bool partial = false;
  std::string pages, format;
};
constexpr std::array kResultFields{
    Field{.name = "partial",
          .type = FieldType::kBool,
          .text = "Return the result so far, with status 200",
          .default_json = "false",
          .store = &schemas::store_in<ResultQuery, &ResultQuery::partial>},
    Field{.name = "pages",
          .text = "Only these of the pages finished so far, such as `0-5,7`. Use it to read a result that is "
                  "too large for one response. With `partial` of a recording: these of its pieces",
          .max = kPagesTextMax,
          .store = &schemas::store_in<ResultQuery, &ResultQuery::pages>},
    Field{.name = "format",
          .text = "Transcripts only: return this format instead of the requested one; verbose_json, "
                  "srt and vtt contain times, diarized_json the speakers",
          .choices = schemas::kTranscriptFormats,
          .store = &schemas::store_in<ResultQuery, &ResultQuery::format>},
};

// The job id in the path. If it is not valid, sends 404 with the same message as for an unknown job.
std::optional<JobId> path_job(Call& call) {
  auto id = shown_job_id(call.params.front());
  if (id) {
    call.set_job_id(id->str());
  } else {
    call.fail(base::error(Code::kNotFound, "There is no such job"));
  }
  return id;
}

// The current state of a job.
void send_job(Context& context, Call& call, const JobId& id) {
  const auto job = storage::JobQueries(context.store).job(call.tenant(), id);
  if (!job) return call.fail(job.error());
  const bool is_shown_chat = id.kind == schemas::Kind::kChat && check_scope(*call.principal, id.kind);
  if (is_shown_chat) return call.reply(json_reply(200, chat_job_json(context, call.tenant(), *job)));
  const BlockReason block_reason = BlockedJobs(context.store).of(*job);
  call.reply(
      json_reply(200, job_json(shown_to(*call.principal, *job), context.options.public_url, block_reason)));
}

}  // namespace

std::span<const Field> job_result_fields() { return kResultFields; }

void wait_as_preferred(Context& context, const CallPtr& call, const JobId& id, std::function<void()> then) {
  const Prefer preference = prefer(call->head());
  if (!preference.wait || preference.wait->count() == 0) return then();
  const auto limit = std::min<std::chrono::milliseconds>(*preference.wait, context.options.prefer_wait_max);
  const auto wait = context.waits.wait(id, 0, limit, [&context, call, then = std::move(then)](JobWait::End) {
    reply_on_pool(context, call, then);
  });
  call->on_gone([weak = std::weak_ptr(wait)] {
    if (const auto locked_wait = weak.lock()) locked_wait->cancel();
  });
  const auto job = storage::JobQueries(context.store).job(call->tenant(), id);
  if (!job) {
    wait->cancel();
    return call->fail(job.error());
  }
  if (schemas::is_terminal(job->status)) wait->on_job_terminal();
}

void get_job(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  wait_as_preferred(context, call, *id, [&context, call, id = *id] { send_job(context, *call, id); });
}

void cancel_job(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  storage::Caller by{call->tenant(), call->principal->key_id};
  context.intake.cancel(std::move(by), *id, [&context, call, id = *id](const base::Result<JobView>& job) {
    if (!job) return call->fail(job.error());
    reply_on_pool(context, call, [&context, call, id] { send_job(context, *call, id); });
  });
}

void delete_job(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  const auto reply = [principal = call->principal, url = context.options.public_url](const JobView& job) {
    return job_json(shown_to(*principal, job), url);
  };
  context.intake.remove(*id, idempotent_call(context, *call, *std::move(key)), reply,
                        [&context, call](base::Result<storage::Removed> removed) {
                          if (!removed) return call->fail(removed.error());
                          reply_on_pool(context, call, [&context, call, removed = *std::move(removed)] {
                            for (const std::string& path : removed.files) context.store.blobs().unlink(path);
                            call->reply(http_reply_of(removed.reply));
                          });
                        });
}

void retry_job(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  // The stored request names models and servers that the creating key was allowed to use.
  const schemas::KeyAccess& access = call->principal->access;
  const bool is_restricted = access.models || access.mcp_servers;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  storage::Retry retry{.by = {call->tenant(), call->principal->key_id, is_restricted},
                       .old = *id,
                       .idempotency = *std::move(key),
                       .traceparent = traceparent(call->head()),
                       .cost_max = retry_cost_max(context, {call->tenant(), call->principal->key_id}, *id)};
  context.submit.retry(std::move(retry), [&context, call](const base::Result<storage::Submitted>& made) {
    if (!made) return call->fail(made.error());
    reply_on_pool(context, call, [&context, call, new_job = made->job, replayed = made->replayed] {
      call->set_job_id(new_job.str());
      const auto job = storage::JobQueries(context.store).job(call->tenant(), new_job);
      if (!job) return call->fail(job.error());
      front::Reply reply = json_reply(202, job_json(*job, context.options.public_url));
      add_header(reply, "location", job_url(new_job, context.options.public_url));
      if (replayed) add_header(reply, "idempotent-replayed", "true");
      call->reply(std::move(reply));
    });
  });
}

void job_result(Context& context, CallPtr call) {
  const auto id = path_job(*call);
  if (!id) return;
  ResultQuery query;
  if (!read_query(*call, kResultFields, &query)) return;
  const auto pages = query.pages.empty() ? schemas::PageList() : schemas::parse_pages(query.pages);
  if (!pages) return refuse_query(*call, "pages", "Input should be page numbers such as \"0-5,7\"");
  if (id->kind == schemas::Kind::kExec) return send_execution_result(context, *call, *id, query.partial);
  const bool is_speech = id->kind == schemas::Kind::kStt, is_paged = id->kind == schemas::Kind::kOcr;
  const bool in_parts = (is_speech && query.partial) || (is_paged && (query.partial || !pages->empty()));
  const FormatOverride form = schemas::transcript_format_named(query.format);
  if (in_parts) return send_partial_result(context, *call, *id, *pages, form);
  send_result(context, *call, *id, ReplayState::kFirst, {}, form);
}

BlockReason BlockedJobs::of(const schemas::JobView& job) {
  if (job.status != schemas::JobStatus::kQueued || job.scheduled) return BlockReason::kNot;
  if (is_paused(job.id.kind)) return BlockReason::kPaused;
  return is_served(job.id.kind) ? BlockReason::kNot : BlockReason::kUnserved;
}

bool BlockedJobs::is_paused(schemas::Kind kind) {
  if (!paused_) {
    auto listed = storage::KindPauses(store_).list();
    paused_ = listed ? *std::move(listed) : std::vector<storage::PausedKind>();
  }
  return std::ranges::find(*paused_, kind, &storage::PausedKind::kind) != paused_->end();
}

bool BlockedJobs::is_served(schemas::Kind kind) {
  if (!served_) served_ = storage::served_kinds(store_);
  const base::Result<std::vector<schemas::Kind>>& kinds = *served_;
  return !kinds || std::ranges::find(*kinds, kind) != kinds->end();
}

}  // namespace millrace::api
