#include "app/cli/jobs/job_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/cli/jobs/job_history.h"
#include "app/cli/json_cells.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::array<std::string_view, 14> kJobFields = {
    "id",         "kind",         "name",       "status",  "waiting",  "model", "created_at",
    "started_at", "completed_at", "expires_at", "attempt", "progress", "error", "retry_of"};
constexpr std::size_t kNameBytes = 60;
constexpr std::size_t kFieldColumns = 16;  // more where a name is longer
constexpr std::string_view kLinkPrefix = "link ";

std::string share_text(const json& share) {
  if (!share.is_object() || !share.contains("done") || !share.contains("total")) return plain(share);
  return plain(share["done"]) + "/" + plain(share["total"]);
}

std::string field_text(std::string_view name, const json& value) {
  if (name == "error") return error_text(value);
  return name == "progress" ? share_text(value) : plain(value);
}

struct Row {
  std::string name, value;
};

void add_links(std::vector<Row>& rows, const json& links) {
  if (!links.is_object()) return rows.push_back({"links", plain(links)});
  for (const auto& [name, url] : links.items()) rows.push_back({std::string(kLinkPrefix) + name, plain(url)});
}

// Rows with all values aligned in one column.
std::string table_text(const std::vector<Row>& rows) {
  std::size_t width = kFieldColumns;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  std::string out;
  for (const Row& row : rows) out += padded(row.name, width) + " " + one_line(row.value) + "\n";
  return out;
}

std::string cells_text(std::string id, std::string status, std::string progress, std::string created,
                       std::string model, std::string name, const std::string& error) {
  return padded(std::move(id), 41) + "  " + padded(std::move(status), 10) + "  " +
         padded(std::move(progress), 8) + "  " + padded(std::move(created), 20) + "  " +
         padded(std::move(model), 18) + "  " + padded(std::move(name), 14) + "  " + error;
}

// Removes the fraction of a second: "…T14:16:34.888Z".
std::string to_the_second(std::string time) {
  const auto point = time.find('.');
  return point == std::string::npos ? time : time.substr(0, point) + "Z";
}

}  // namespace

std::string error_text(const json& error) {
  if (!error.is_object() || !error.contains("message")) return plain(error);
  const std::string code = error.contains("code") ? plain(error["code"]) : "";
  return plain(error["message"]) + (code.empty() ? "" : " (" + code + ")");
}

std::string job_header() {
  return cells_text("ID", "STATUS", "PROGRESS", "CREATED", "MODEL", "NAME", "ERROR");
}

std::string job_row(const json& job) {
  const std::string name = one_line(text_at(job, "name"), kNameBytes);
  const std::string error = job.contains("error") ? text_at(job["error"], "code") : "";
  return cells_text(text_at(job, "id"), text_at(job, "status"), progress_text(job),
                    to_the_second(text_at(job, "created_at")), or_dash(text_at(job, "model")), or_dash(name),
                    or_dash(error));
}

std::string progress_text(const json& job) {
  const auto progress = job.find("progress");
  return progress == job.end() ? "-" : share_text(*progress);
}

std::string job_text(const json& job) {
  std::vector<Row> rows;
  json rest = job;
  for (const std::string_view name : kJobFields) {
    const auto found = rest.find(name);
    if (found == rest.end()) continue;
    rows.push_back({std::string(name), field_text(name, *found)});
    rest.erase(found);
  }
  const json links = rest.value("links", json::object());
  rest.erase("links");
  for (const auto& [name, value] : rest.items()) rows.push_back({name, field_text(name, value)});
  add_links(rows, links);
  return table_text(rows);
}

std::string waiting_text(const json& job, const json& last_event, std::string_view now) {
  if (text_at(job, "status") != "queued") return {};
  if (is_paused(job)) return paused_text(job);
  const bool is_retry = last_event.is_object() && text_at(last_event, "type") == "retry";
  const json data = is_retry ? last_event.value("data", json()) : json();
  if (data.is_object() && data.contains("message")) {
    const std::string at = text_at(data, "run_at");
    if (at.empty()) return error_text(data);
    return error_text(data) + (at > now ? ", next at " : ", due since ") + at;
  }
  if (is_unserved(job)) return unserved_text(job);
  if (std::string reason = queued_reason(last_event); !reason.empty()) return reason;
  return job.value("attempt", json()) > 0 ? "for its next attempt" : "no worker has started it yet";
}

bool is_paused(const json& job) { return job.value("paused", json()) == true; }

bool is_unserved(const json& job) { return job.value("unserved", json()) == true; }

std::string unserved_text(const json& job) {
  const std::string kind = text_at(job, "kind");
  return "no worker serves the kind " + kind + " at present (`millrace worker --kinds " + kind +
         "` starts one); the job is kept";
}

std::string paused_text(const json& job) {
  const std::string kind = text_at(job, "kind");
  return "the queue of kind " + kind + " is paused until `millrace queues resume " + kind + "`";
}

}  // namespace millrace::cli
