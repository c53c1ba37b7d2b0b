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

constexpr std::array<std::string_view, 16> kJobFields = {
    "id",         "kind",         "name",       "status",  "waiting",  "model", "created_at", "run_at",
    "started_at", "completed_at", "expires_at", "attempt", "progress", "error", "retry_of",   "retried_by"};
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

namespace {

constexpr std::size_t kCellsFixed = 5;  // the name and the error come after them
constexpr std::size_t kNameCell = 5, kNameColumnsMin = 14;
using Cells = std::vector<std::string>;

Cells cells_of(const json& job) {
  const std::string error = job.contains("error") ? text_at(job["error"], "code") : "";
  return {text_at(job, "id"),
          text_at(job, "status"),
          progress_text(job),
          to_the_second(text_at(job, "created_at")),
          or_dash(text_at(job, "model")),
          or_dash(one_line(text_at(job, "name"), kNameBytes)),
          or_dash(error)};
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(utf8, [](char c) { return (c & 0xC0) != 0x80; }));
}

// Cuts a cell to `width` characters. The end of a cut text is "…".
std::string cut(std::string text, std::size_t width) {
  if (characters(text) <= width) return text;
  std::size_t at = 0;
  for (std::size_t left = width; at < text.size(); ++at) {
    const bool begins = (text[at] & 0xC0) != 0x80;
    if (begins && left-- == 1) break;
  }
  return text.substr(0, at) + "…";
}

std::string line_of(const Cells& cells, const std::vector<std::size_t>& widths) {
  std::string out;
  for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
    const std::string cell = i == kNameCell ? cut(cells[i], widths[i]) : cells[i];
    out += cell + std::string(widths[i] - std::min(widths[i], characters(cell)) + 2, ' ');
  }
  return out + cells.back() + "\n";
}

}  // namespace

std::string job_row(const json& job) {
  const Cells cells = cells_of(job);
  std::string out;
  for (const std::string& cell : cells) out += (out.empty() ? "" : "  ") + cell;
  return out;
}

std::string JobTable::lines(const std::vector<json>& jobs) {
  const Cells head{"ID", "STATUS", "PROGRESS", "CREATED", "MODEL", "NAME", "ERROR"};
  const bool is_first = widths_.empty();
  std::vector<Cells> rows;
  if (is_first) rows.push_back(head);
  for (const json& job : jobs) rows.push_back(cells_of(job));
  widths_.resize(head.size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], characters(row[i]));
  }
  if (columns_ > 0) {
    std::size_t others = widths_.back();
    for (std::size_t i = 0; i < kCellsFixed; ++i) others += widths_[i] + 2;
    const std::size_t left = columns_ > others + 2 ? columns_ - others - 2 : 0;
    widths_[kNameCell] = std::min(widths_[kNameCell], std::max(left, kNameColumnsMin));
  }
  std::string out;
  for (const Cells& row : rows) out += line_of(row, widths_);
  return out;
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
