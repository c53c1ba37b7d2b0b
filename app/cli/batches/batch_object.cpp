#include "app/cli/batches/batch_object.h"

#include <array>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"
#include "app/cli/program.h"
#include "schemas/chat/chat_job.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::array<std::size_t, 6> kBatchColumns{42, 11, 13, 7, 20, 9};
constexpr std::size_t kBatchFieldColumns = 16;

json member_of(const json& of, const char* key) {
  const auto at = of.find(key);
  return at == of.end() ? json() : *at;
}

std::int64_t int_at(const json& of, const char* key) {
  const json value = member_of(of, key);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

std::string dollars_text(const json& value) {
  return value.is_number() ? "$" + schemas::dollars(value.get<double>()) : std::string();
}

std::string batch_line(std::array<std::string, kBatchColumns.size()> cells, const std::string& last) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i)
    out += padded(std::move(cells.at(i)), kBatchColumns.at(i)) + "  ";
  return out + last;
}

std::string requests_text(const Tally& tally) {
  return std::to_string(tally.done) + "/" + std::to_string(tally.total);
}

// The time of its end; "-": it has not ended.
std::string end_of_batch(const json& batch) {
  for (const char* name : {"completed_at", "failed_at", "expired_at", "cancelled_at"}) {
    if (std::string time = time_at(batch, name); time != "-") return time;
  }
  return "-";
}

std::string tokens_text(const json& batch) {
  const json usage = member_of(batch, "usage");
  if (!usage.is_object() || int_at(usage, "total_tokens") == 0) return {};
  return std::to_string(int_at(usage, "input_tokens")) + " input, " +
         std::to_string(int_at(usage, "output_tokens")) + " output";
}

}  // namespace

std::string path_of_batch(const std::string& batch) { return "/v1/batches/" + percent_encoded(batch); }

bool is_batch_end(std::string_view status) {
  return status == "completed" || status == "failed" || status == "expired" || status == "cancelled";
}

Tally tally_of(const json& batch) {
  const json counts = member_of(batch, "request_counts");
  const std::string status = text_at(batch, "status");
  Tally tally;
  if (counts.is_object()) {
    tally.total = int_at(counts, "total");
    tally.failed = int_at(counts, "failed");
    tally.done = int_at(counts, "completed") + tally.failed;
  }
  const bool is_running = status == "in_progress" && tally.done < tally.total;
  if (!is_batch_end(status) && !is_running) tally.state = status == "in_progress" ? "finalizing" : status;
  return tally;
}

std::string cost_text(const json& batch) {
  const json cost = member_of(batch, "cost_usd");
  return cost.is_number() && cost.get<double>() > 0 ? dollars_text(cost) : std::string();
}

std::string batch_head() {
  return batch_line({"ID", "STATUS", "REQUESTS", "FAILED", "CREATED", "COST"}, "ENDPOINT");
}

std::string batch_row(const json& batch) {
  const Tally tally = tally_of(batch);
  return batch_line({or_dash(text_at(batch, "id")), or_dash(text_at(batch, "status")), requests_text(tally),
                     std::to_string(tally.failed), time_at(batch, "created_at"), or_dash(cost_text(batch))},
                    or_dash(text_at(batch, "endpoint")));
}

std::string batch_fields_text(const json& batch) {
  const Tally tally = tally_of(batch);
  const json metadata = member_of(batch, "metadata");
  const std::vector<std::pair<std::string_view, std::string>> rows{
      {"id", text_at(batch, "id")},
      {"status", text_at(batch, "status")},
      {"endpoint", text_at(batch, "endpoint")},
      {"model", text_at(batch, "model")},
      {"requests", requests_text(tally) +
                       (tally.failed > 0 ? ", " + std::to_string(tally.failed) + " failed" : std::string())},
      {"created_at", time_at(batch, "created_at")},
      {"began_at", time_at(batch, "in_progress_at")},
      {"ended_at", end_of_batch(batch)},
      {"expires_at", time_at(batch, "expires_at")},
      {"window", text_at(batch, "completion_window")},
      {"input", text_at(batch, "input_file_id")},
      {"output", text_at(batch, "output_file_id")},
      {"errors", text_at(batch, "error_file_id")},
      {"tokens", tokens_text(batch)},
      {"cost", cost_text(batch)},
      {"max_cost", dollars_text(member_of(batch, "max_cost_usd"))},
      {"metadata", metadata.is_object() ? plain(metadata) : ""}};
  std::string out;
  for (const auto& [name, value] : rows) {
    if (!value.empty() && value != "-")
      out += padded(std::string(name), kBatchFieldColumns) + " " + one_line(value) + "\n";
  }
  return out + input_errors_text(batch, "input");
}

std::string input_errors_text(const json& batch, const std::string& input) {
  const json errors = member_of(batch, "errors");
  if (!errors.is_object()) return {};
  std::string out;
  for (const json& each : member_of(errors, "data")) {
    if (!each.is_object()) continue;
    const json line = member_of(each, "line");
    const std::string place = line.is_number_integer() ? input + ":" + line.dump() : input;
    out += one_line(place + ": " + text_at(each, "message") + " (" + text_at(each, "code") + ")") + "\n";
  }
  return out;
}

std::string batch_goes_on_text(const std::string& batch, const ClientOptions& options) {
  return batch + " goes on; cancel it with `" + program() + " batch cancel" + gateway_options(options) + " " +
         batch + "`";
}

}  // namespace millrace::cli
