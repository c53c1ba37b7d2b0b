#include "schemas/batches/batch.h"

#include <algorithm>

#include "schemas/files/stored_file.h"
#include "schemas/json/json.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"
#include "schemas/prefixed_id.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kBatchPrefix = "batch_";

struct BatchStatusNames {
  std::string_view open_ai, mistral;
};
constexpr std::array<BatchStatusNames, 8> kBatchStatusNames{{{"validating", "QUEUED"},
                                                             {"in_progress", "RUNNING"},
                                                             {"finalizing", "RUNNING"},
                                                             {"cancelling", "CANCELLATION_REQUESTED"},
                                                             {"completed", "SUCCESS"},
                                                             {"failed", "FAILED"},
                                                             {"expired", "TIMEOUT_EXCEEDED"},
                                                             {"cancelled", "CANCELLED"}}};

std::int64_t unix_time(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

void add_time(JsonObject& out, std::string_view name, const std::optional<base::WallTime>& time) {
  time ? out.number(name, unix_time(*time)) : out.raw(name, "null");
}

void add_file(JsonObject& out, std::string_view name, const std::optional<base::Uuid>& file) {
  file ? out.member(name, stored_file_id(*file)) : out.raw(name, "null");
}

void add_text(JsonObject& out, std::string_view name, std::string_view text) {
  text.empty() ? out.raw(name, "null") : out.member(name, text);
}

// The time at which the batch got this final state; absent: it did not.
std::optional<base::WallTime> ended_as(const Batch& batch, BatchStatus status) {
  return batch.status == status ? batch.ended_at : std::nullopt;
}

std::string error_json(const BatchError& error) {
  JsonObject out;
  out.member("code", error.code).member("message", error.message);
  add_text(out, "param", error.param);
  error.line ? out.number("line", *error.line) : out.raw("line", "null");
  return out.finish();
}

std::string usage_json(const BatchUsage& usage) {
  return JsonObject()
      .number("input_tokens", usage.input_tokens)
      .raw("input_tokens_details", JsonObject().number("cached_tokens", usage.cached_tokens).finish())
      .number("output_tokens", usage.output_tokens)
      .raw("output_tokens_details", JsonObject().number("reasoning_tokens", usage.reasoning_tokens).finish())
      .number("total_tokens", usage.input_tokens + usage.output_tokens)
      .finish();
}

// In US dollars.
void add_money(JsonObject& out, std::string_view name, NanoUsd nano) { out.raw(name, dump(Json(usd(nano)))); }

}  // namespace

std::string_view name(BatchStatus status) {
  return kBatchStatusNames.at(static_cast<std::size_t>(status)).open_ai;
}

std::string_view mistral_name(BatchStatus status) {
  return kBatchStatusNames.at(static_cast<std::size_t>(status)).mistral;
}

void BatchUsage::add(const BatchUsage& more) {
  input_tokens += more.input_tokens;
  cached_tokens += more.cached_tokens;
  output_tokens += more.output_tokens;
  reasoning_tokens += more.reasoning_tokens;
}

std::optional<base::Uuid> batch_id_from(std::string_view text) { return uuid_after(kBatchPrefix, text); }

std::string batch_id(const base::Uuid& id) { return prefixed_id(kBatchPrefix, id); }

std::string batch_errors_json(const std::vector<BatchError>& errors) {
  std::string out = "[";
  for (const BatchError& error : errors) {
    if (out.size() > 1) out += ',';
    out += error_json(error);
  }
  return out += ']';
}

std::vector<BatchError> batch_errors_from(std::string_view stored) {
  std::vector<BatchError> errors;
  const Json list = Json::parse(stored, nullptr, false);
  if (!list.is_array()) return errors;
  for (const Json& each : list) {
    BatchError error{.code = each.value("code", ""), .message = each.value("message", "")};
    if (each.contains("param") && each["param"].is_string()) error.param = each["param"];
    if (each.contains("line") && each["line"].is_number_integer()) error.line = each["line"];
    errors.push_back(std::move(error));
  }
  return errors;
}

std::string batch_json(const Batch& batch) {
  JsonObject out(1024);
  out.member("id", batch_id(batch.id)).member("object", "batch").member("endpoint", batch.endpoint);
  add_text(out, "model", batch.model);
  if (batch.errors.empty()) {
    out.raw("errors", "null");
  } else {
    out.raw("errors",
            JsonObject().member("object", "list").raw("data", batch_errors_json(batch.errors)).finish());
  }
  add_file(out, "input_file_id", batch.input_file);
  out.member("completion_window", batch.window).member("status", name(batch.status));
  add_file(out, "output_file_id", batch.output_file);
  add_file(out, "error_file_id", batch.error_file);
  out.number("created_at", unix_time(batch.created_at));
  add_time(out, "in_progress_at", batch.started_at);
  out.number("expires_at", unix_time(batch.expires_at));
  add_time(out, "finalizing_at", batch.finalizing_at);
  add_time(out, "completed_at", ended_as(batch, BatchStatus::kCompleted));
  add_time(out, "failed_at", ended_as(batch, BatchStatus::kFailed));
  add_time(out, "expired_at", ended_as(batch, BatchStatus::kExpired));
  add_time(out, "cancelling_at", batch.cancelling_at);
  add_time(out, "cancelled_at", ended_as(batch, BatchStatus::kCancelled));
  out.raw("request_counts", JsonObject()
                                .number("total", batch.total)
                                .number("completed", batch.completed)
                                .number("failed", batch.failed)
                                .finish());
  out.raw("usage", usage_json(batch.usage));
  out.raw("metadata", batch.metadata.empty() ? "null" : batch.metadata);
  add_money(out, "cost_usd", batch.cost);
  if (batch.cost_max) add_money(out, "max_cost_usd", *batch.cost_max);
  return out.finish();
}

std::string mistral_batch_json(const Batch& batch) {
  JsonObject out(1024);
  out.member("id", batch_id(batch.id)).member("object", "batch");
  out.raw("input_files", batch.input_file ? "[\"" + stored_file_id(*batch.input_file) + "\"]" : "[]");
  out.raw("metadata", batch.metadata.empty() ? "{}" : batch.metadata).member("endpoint", batch.endpoint);
  add_text(out, "model", batch.model);
  add_file(out, "output_file", batch.output_file);
  add_file(out, "error_file", batch.error_file);
  std::string& errors = out.value("errors");
  errors += '[';
  for (const BatchError& error : batch.errors) {
    if (errors.back() != '[') errors += ',';
    const std::string place = error.line ? " (line " + std::to_string(*error.line) + ")" : "";
    errors += JsonObject().member("message", error.message + place).number("count", 1).finish();
  }
  errors += ']';
  out.member("status", mistral_name(batch.status)).number("created_at", unix_time(batch.created_at));
  out.number("total_requests", batch.total)
      .number("completed_requests", batch.completed + batch.failed)
      .number("succeeded_requests", batch.completed)
      .number("failed_requests", batch.failed);
  add_time(out, "started_at", batch.started_at);
  add_time(out, "completed_at", batch.ended_at);
  add_money(out, "cost_usd", batch.cost);
  return out.finish();
}

std::string own_batch_json(const Batch& batch) {
  return batch.shape == BatchShape::kMistral ? mistral_batch_json(batch) : batch_json(batch);
}

}  // namespace millrace::schemas
