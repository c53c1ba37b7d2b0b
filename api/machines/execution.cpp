#include "api/machines/execution.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/call.h"
#include "api/handlers.h"
#include "api/jobs/job_result.h"
#include "api/machines/execution_history.h"
#include "api/machines/machine_calls.h"
#include "platform/base/base64.h"
#include "platform/base/log.h"
#include "schemas/json/json_text.h"
#include "schemas/machines/machine.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::JobId;
using schemas::JsonObject;

base::Error no_execution() { return base::error(Code::kNotFound, "There is no such execution"); }

base::Error unreadable(const JobId& job, const base::Error& why) {
  base::log_error("execution_read_failed", {{"job_id", job.str()}, {"error", why.message}});
  return read_error(why, "The stored data of this execution cannot be read");
}

// The status in a lifecycle event; empty: none.
std::string_view status_of(std::string_view event_type) {
  if (event_type == "retry" || event_type == "scheduled") return "queued";
  if (event_type == "waiting") return "running";
  return schemas::known_status(event_type).value_or("");
}

bool is_ending(std::string_view status) {
  return status == "succeeded" || status == "failed" || status == "cancelled" || status == "expired";
}

// Adds the fields of a job's final event; none if the job has been deleted meanwhile.
void add_ending(JsonObject& out, storage::Store& store, const std::string& tenant, const JobId& job) {
  auto record = storage::JobQueries(store).record(tenant, job);
  if (!record || !schemas::is_terminal(record->job.status)) return;
  std::optional<schemas::ExecutionResult> result;
  if (record->result) {
    const auto bytes = read_payload(store, std::move(*record->result));
    const auto read = bytes ? schemas::execution_result_from_json(*bytes) : bytes.error();
    if (read) result = *read;
  }
  const auto ending = schemas::execution_ending(record->job.status, record->job.error, result);
  if (ending.exit_code) out.number("exit_code", *ending.exit_code);
  if (ending.signal) out.number("signal", *ending.signal);
  if (!ending.error_code.empty()) out.member("error_code", ending.error_code);
  if (!ending.error_message.empty()) out.member("error_message", ending.error_message);
}

// `object` with the members of `more`, another object.
std::string joined(std::string object, std::string_view more) {
  constexpr std::string_view kNone = "{}";
  if (more.size() <= kNone.size()) return object;
  object.back() = ',';
  return object.append(more.substr(1));
}

}  // namespace

base::Result<Execution> execution_of(storage::Store& store, storage::JobRecord record) {
  Execution out;
  out.job = std::move(record.job);
  out.artifacts = std::move(record.artifacts);
  const auto spec_text = read_payload(store, std::move(record.spec));
  if (!spec_text) return unreadable(out.job.id, spec_text.error());
  auto spec = schemas::execution_spec_from_json(*spec_text);
  if (!spec) return unreadable(out.job.id, spec.error());
  out.spec = std::move(*spec);
  if (!record.result && !(schemas::is_terminal(out.job.status) && out.job.started_at)) return out;
  if (!record.result) {
    const auto sizes = kept_sizes(store, out.job);
    if (!sizes) return unreadable(out.job.id, sizes.error());
    out.result = *sizes;
    return out;
  }
  const auto result_text = read_payload(store, std::move(*record.result));
  if (!result_text) return unreadable(out.job.id, result_text.error());
  const auto result = schemas::execution_result_from_json(*result_text);
  if (!result) return unreadable(out.job.id, result.error());
  out.result = *result;
  return out;
}

base::Result<Execution> find_execution(storage::Store& store, const std::string& tenant, const JobId& job) {
  auto record = storage::JobQueries(store).record(tenant, job);
  if (!record) return record.error().code == Code::kNotFound ? no_execution() : record.error();
  return execution_of(store, std::move(*record));
}

std::optional<JobId> path_execution(Call& call) {
  if (!path_machine(call)) return std::nullopt;
  const auto id = JobId::parse(call.params.at(1));
  if (id && id->kind == schemas::Kind::kExec) {
    call.set_job_id(id->str());
    return id;
  }
  call.fail(no_execution());
  return std::nullopt;
}

std::optional<Execution> find_path_execution(Context& context, Call& call) {
  const auto id = path_execution(call);
  if (!id) return std::nullopt;
  auto found = find_execution(context.store, call.tenant(), *id);
  if (found && schemas::machine_id(found->spec.machine) == call.params.front()) return std::move(*found);
  call.fail(found ? no_execution() : found.error());
  return std::nullopt;
}

front::Reply execution_reply(const Execution& execution) {
  front::Reply reply = json_reply(200, execution.json());
  if (execution.job.waking) add_retry_after_header(reply);
  return reply;
}

ShowEvent show_execution_events(Context& context, std::string tenant, const JobId& job, std::int64_t run) {
  return [&context, tenant = std::move(tenant), job,
          run](const schemas::JobEvent& event) -> std::optional<ShownEvent> {
    JsonObject out;
    out.number("sequence", event.version).member("at", base::rfc3339(event.at));
    const bool is_output = event.type == name(schemas::OutputStream::kStdout) ||
                           event.type == name(schemas::OutputStream::kStderr);
    if (is_output && event.version < run) return std::nullopt;
    if (is_output) return ShownEvent{event.type, joined(out.member("type", event.type).finish(), event.data)};
    out.member("type", "lifecycle");
    const std::string_view status = status_of(event.type);
    if (!status.empty()) out.member("status", status);
    if (event.type == schemas::kWarning) out.member("message", schemas::warning_message(event.data));
    if (is_ending(status)) add_ending(out, context.store, tenant, job);
    return ShownEvent{"lifecycle", out.finish()};
  };
}

void send_execution_result(Context& context, Call& call, const JobId& job, bool partial) {
  const auto found = find_execution(context.store, call.tenant(), job);
  if (!found) return call.fail(found.error());
  if (!partial && !schemas::is_terminal(found->job.status)) return call.reply(empty_reply(202));
  call.reply(execution_reply(*found));
}

namespace {

using schemas::JsonObject;
using schemas::OutputStream;

// The stored output of a command.
struct Kept {
  std::string out, err;
};

base::Result<Kept> kept_output(storage::Store& store, const schemas::JobView& job) {
  Kept kept;
  const auto read = each_output(store, job, [&kept](OutputStream stream, std::string_view bytes) {
    (stream == OutputStream::kStdout ? kept.out : kept.err).append(bytes);
  });
  if (!read) return read.error();
  return kept;
}

void add_stream(JsonObject& out, OutputStream stream, const std::string& bytes) {
  const std::string member(name(stream));
  const bool text = schemas::is_text(bytes);
  out.member(member, text ? bytes : base::base64_encode(bytes));
  if (!text) out.member(member + "_encoding", "base64");
}

std::string output_json(const Execution& execution, const Kept& kept) {
  constexpr std::size_t kAround = 512;
  JsonObject out((kept.out.size() + kept.err.size()) * 3 / 2 + kAround);
  out.member("execution_id", execution.job.id.str());
  add_stream(out, OutputStream::kStdout, kept.out);
  add_stream(out, OutputStream::kStderr, kept.err);
  if (!schemas::is_terminal(execution.job.status)) return out.finish();
  const auto result = execution.result.value_or(schemas::ExecutionResult());
  const auto at_least = [](std::int64_t reported, const std::string& bytes) {
    return std::max(reported, static_cast<std::int64_t>(bytes.size()));
  };
  return out.number("stdout_bytes", at_least(result.stdout_bytes, kept.out))
      .number("stderr_bytes", at_least(result.stderr_bytes, kept.err))
      .flag("stdout_truncated", result.stdout_truncated)
      .flag("stderr_truncated", result.stderr_truncated)
      .finish();
}

}  // namespace

void execution_output(Context& context, CallPtr call) {
  const auto execution = find_path_execution(context, *call);
  if (!execution) return;
  const auto kept = kept_output(context.store, execution->job);
  if (!kept) return call->fail(kept.error());
  front::Reply reply = json_reply(200, output_json(*execution, *kept));
  if (reply.body.size() > kSmallReply) {
    auto reservation = context.replies.take(reply.body.size());
    if (!reservation) return call->fail(reply_budget_exhausted());
    reply.reservation = std::make_shared<ByteBudget::Reservation>(std::move(*reservation));
  }
  call->reply(std::move(reply));
}

void send_execution_with_output(Context& context, Call& call, const JobId& job) {
  const auto found = find_execution(context.store, call.tenant(), job);
  if (!found) return call.fail(found.error());
  if (!schemas::is_terminal(found->job.status)) return call.reply(empty_reply(202));
  const auto kept = kept_output(context.store, found->job);
  if (!kept) return call.fail(kept.error());
  std::string body = found->json();
  body.back() = ',';
  call.reply(json_reply(200, body.append(R"("output":)").append(output_json(*found, *kept)).append("}")));
}

void execution_events(Context& context, CallPtr call) {
  EventQuery query;
  if (!read_event_query(*call, query)) return;
  const auto execution = find_path_execution(context, *call);
  if (!execution) return;
  const auto run = last_run(context.store, execution->job);
  if (!run) return call->fail(run.error());
  send_events(context, call, execution->job, query,
              show_execution_events(context, call->tenant(), execution->job.id, *run));
}

}  // namespace millrace::api
