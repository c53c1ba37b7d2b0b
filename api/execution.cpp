#include "api/execution.h"

#include <utility>

#include "platform/base/log.h"
#include "schemas/json_text.h"
#include "schemas/machine.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::JobId;
using schemas::JsonObject;

base::Error no_machine() { return base::error(Code::kNotFound, "There is no such machine"); }
base::Error no_execution() { return base::error(Code::kNotFound, "There is no such execution"); }

base::Error unreadable(const JobId& job, const base::Error& why) {
  base::log_error("execution_not_read", {{"job_id", job.str()}, {"error", why.message}});
  return base::error(Code::kInternal, "What is stored of this execution cannot be read");
}

base::Result<std::string> bytes_of(storage::Store& store, storage::StoredPayload payload) {
  if (payload.blob) return store.blobs().read(*payload.blob);
  return std::move(payload.bytes);
}

// The status that a lifecycle event tells of; empty: none.
std::string_view status_of(std::string_view event_type) {
  if (event_type == "retry") return "queued";
  if (event_type == "waiting") return "running";
  return schemas::known_status(event_type).value_or("");
}

bool is_ending(std::string_view status) {
  return status == "succeeded" || status == "failed" || status == "cancelled" || status == "expired";
}

// What the event of its end says of a job; nothing if it was forgotten meanwhile.
void add_ending(JsonObject& out, storage::Store& store, const std::string& tenant, const JobId& job) {
  auto record = storage::JobQueries(store).record(tenant, job);
  if (!record || !schemas::is_terminal(record->job.status)) return;
  std::optional<schemas::ExecutionResult> result;
  if (record->result) {
    const auto bytes = bytes_of(store, std::move(*record->result));
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
  const auto spec_text = bytes_of(store, std::move(record.spec));
  if (!spec_text) return unreadable(out.job.id, spec_text.error());
  auto spec = schemas::execution_spec_from_json(*spec_text);
  if (!spec) return unreadable(out.job.id, spec.error());
  out.spec = std::move(*spec);
  if (!record.result) return out;
  const auto result_text = bytes_of(store, std::move(*record.result));
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

std::optional<base::Uuid> path_machine(Call& call) {
  const auto id = schemas::machine_id_from(call.params.front());
  if (!id) call.fail(no_machine());
  return id;
}

std::optional<JobId> path_execution(Call& call) {
  if (!path_machine(call)) return std::nullopt;
  const auto id = JobId::parse(call.params.at(1));
  if (id && id->kind == schemas::Kind::kExec) {
    call.name_job(id->str());
    return id;
  }
  call.fail(no_execution());
  return std::nullopt;
}

std::optional<Execution> path_execution_found(Context& context, Call& call) {
  const auto id = path_execution(call);
  if (!id) return std::nullopt;
  auto found = find_execution(context.store, call.tenant(), *id);
  if (found && schemas::machine_id(found->spec.machine) == call.params.front()) return std::move(*found);
  call.fail(found ? no_execution() : found.error());
  return std::nullopt;
}

ShownEvent show_execution_event(Context& context, const Call& call, const JobId& job,
                                const schemas::JobEvent& event) {
  JsonObject out;
  out.number("sequence", event.version).member("at", base::rfc3339(event.at));
  const bool is_output = event.type == name(schemas::OutputStream::kStdout) ||
                         event.type == name(schemas::OutputStream::kStderr);
  if (is_output) return {event.type, joined(out.member("type", event.type).finish(), event.data)};
  out.member("type", "lifecycle");
  const std::string_view status = status_of(event.type);
  if (!status.empty()) out.member("status", status);
  if (is_ending(status)) add_ending(out, context.store, call.tenant(), job);
  return {"lifecycle", out.finish()};
}

void send_execution_result(Context& context, Call& call, const JobId& job, bool partial) {
  const auto found = find_execution(context.store, call.tenant(), job);
  if (!found) return call.fail(found.error());
  if (!partial && !schemas::is_terminal(found->job.status)) return call.reply(empty_reply(202));
  call.reply(json_reply(200, found->json()));
}

}  // namespace millrace::api
