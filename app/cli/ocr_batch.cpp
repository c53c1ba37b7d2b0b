#include "app/cli/ocr_batch.h"

#include <algorithm>
#include <iostream>

#include <nlohmann/json.hpp>

#include "app/cli/ocr_output.h"
#include "app/cli/ocr_report.h"
#include "app/cli/ocr_upload.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

// A gateway that restarts, or a network that comes back, within this is ridden out.
constexpr std::chrono::seconds kTroubleMax{120};
constexpr std::chrono::seconds kFirstAnswerMax{5};  // of a gateway that has never answered this command
constexpr std::size_t kIdsPerLook = 100;

std::string fresh_key() { return "ocr-" + base::hex(base::random_bytes(16)); }

bool is_replay(const Client::Answer& answer) {
  return answer.reply.header("idempotent-replayed") == std::string_view("true");
}

// Ends of a job that say nothing about its document.
bool is_lost_job(const std::string& code) {
  return code == base::name(base::Code::kJobCancelled) || code == base::name(base::Code::kJobExpired) ||
         code == base::name(base::Code::kResultExpired);
}

}  // namespace

OcrBatch::OcrBatch(const OcrRequest& request, std::vector<OcrInput> inputs, Client& client,
                   ResumeFile* resume, Progress& progress)
    : request_(request), client_(client), resume_(resume), progress_(progress) {
  ended_.documents = static_cast<int>(inputs.size());
  for (OcrInput& input : inputs) place(std::move(input));
  if (skipped_ > 0) {
    progress_.line(std::to_string(skipped_) + " of " + std::to_string(ended_.documents) +
                   " done before: skipped");
  }
}

void OcrBatch::place(OcrInput input) {
  Document document;
  document.stamp = stamp_of(input, request_);
  document.input = std::move(input);
  document.key = fresh_key();
  if (resume_ != nullptr) {
    ResumeEntry& entry = resume_->entry(document.input.file.string(), document.stamp);
    std::error_code unknown;
    if (entry.status == "succeeded" && fs::exists(document.input.output, unknown)) return skip(entry);
    if (!entry.status.empty()) entry = {document.stamp, document.key, {}, {}, 0};  // ended: a new try
    document.key = entry.key;
    document.job = entry.job;
    document.from_before = !entry.job.empty();
  }
  if (document.job.empty()) {
    waiting_.push_back(std::move(document));
  } else {
    active_[document.job] = std::move(document);
  }
}

void OcrBatch::skip(const ResumeEntry& entry) {
  ++skipped_, ++ended_.documents_done;
  ended_.documents_counted += entry.pages > 0 ? 1 : 0;
  ended_.pages_done += entry.pages;
  ended_.pages_before += entry.pages;
}

bool OcrBatch::step() {
  while (!waiting_.empty() && under_way() < request_.in_flight && !fault_) {
    Document next = std::move(waiting_.front());
    waiting_.pop_front();
    if (!hand_in(std::move(next))) break;
  }
  return !fault_ && !interrupted_ && look();
}

// Transient trouble is waited out for a while; anything else ends the command.
bool OcrBatch::ride_out(const ClientError& error) {
  const auto now = std::chrono::steady_clock::now();
  if (error.exit_code == kInterrupted) {
    interrupted_ = true;
    return false;
  }
  if (!error.transient) {
    fault_ = error;
    return false;
  }
  const auto patience = reached_ || error.exit_code != kNoConnection ? kTroubleMax : kFirstAnswerMax;
  if (!trouble_since_) {
    trouble_since_ = now;
    progress_.line("Waiting up to " + std::to_string(patience.count()) + " s: " + error.message);
  }
  if (now - *trouble_since_ > patience) fault_ = error;
  return !fault_;
}

void OcrBatch::answered() {
  reached_ = true;
  trouble_since_.reset();
}

// False: nothing more can be handed in now.
bool OcrBatch::hand_in(Document document) {
  const auto bytes = read_document(document.input.file);
  if (!bytes) {
    const bool too_large = bytes.error().code == base::Code::kDocumentTooLarge;
    refuse(document, too_large ? std::string(base::name(bytes.error().code)) : "unreadable",
           bytes.error().message);
    return true;
  }
  if (resume_ != nullptr && !resume_->save()) {
    fault_ = ClientError{kFailed, 0,    {}, "the resume file cannot be written in " + request_.output_folder,
                         {},      false};
    return false;
  }
  const auto answer = client_.request("POST", "/v1/ocr", request_body(request_, document.input.file, *bytes),
                                      {{"Prefer", "respond-async"}, {"Idempotency-Key", document.key}});
  document.job = answer.reply.header("x-millrace-job");
  if (!answer.ok) return not_accepted(std::move(document), answer);
  if (document.job.empty()) return ride_out(client_.no_gateway("a document it took has no job"));
  answered();
  document.from_before = is_replay(answer);
  record(document, {});
  active_[document.job] = std::move(document);
  return true;
}

// A replay is the end of the job that its key has made before.
bool OcrBatch::not_accepted(Document document, const Client::Answer& answer) {
  const ClientError& error = answer.error;
  const bool replay = is_replay(answer);
  if (replay && is_lost_job(error.code)) {
    hand_in_anew(std::move(document));
    return true;
  }
  if (replay || error.exit_code == kRefused) {
    refuse(document, error.code, error.message);
    return true;
  }
  document.job.clear();
  if (error.exit_code == kInterrupted) cut_short_ = document.input.file.string();
  waiting_.push_front(std::move(document));
  ride_out(error);
  return false;
}

void OcrBatch::hand_in_anew(Document document) {
  Document fresh;
  fresh.input = std::move(document.input);
  fresh.stamp = std::move(document.stamp);
  fresh.key = fresh_key();
  record(fresh, {});
  waiting_.push_back(std::move(fresh));
}

bool OcrBatch::look() {
  const std::vector<std::string> jobs = this->jobs();
  const std::span<const std::string> all(jobs);
  for (std::size_t begin = 0; begin < all.size(); begin += kIdsPerLook) {
    if (!look_at(all.subspan(begin, std::min(kIdsPerLook, all.size() - begin)))) return false;
  }
  return !fault_;
}

// One request for up to a hundred documents under way.
bool OcrBatch::look_at(std::span<const std::string> jobs) {
  std::string ids;
  for (const std::string& job : jobs) ids += (ids.empty() ? "" : ",") + job;
  const auto answer = client_.request("GET", "/v1/jobs?limit=" + std::to_string(kIdsPerLook) + "&ids=" + ids);
  if (!answer.ok) return ride_out(answer.error);
  std::map<std::string, json> rows;
  if (!answer.json->contains("items")) return ride_out(client_.no_gateway("its list of jobs has no `items`"));
  for (const json& row : (*answer.json)["items"]) rows[row.value("id", "")] = row;
  answered();
  for (const std::string& job : jobs) {
    Document& document = active_[job];
    const auto row = rows.find(job);
    if (row != rows.end()) update(document, row->second);
    const std::string status = row == rows.end() ? "gone" : document.status;
    if (status == "queued" || status == "running") continue;
    Document ended = std::move(document);
    active_.erase(job);
    take(std::move(ended), status);
    if (interrupted_ || fault_) return false;
  }
  return true;
}

void OcrBatch::update(Document& document, const json& row) {
  const json progress = row.value("progress", json::object());
  document.status = row.value("status", "");
  document.pages_done = progress.value("done", 0);
  document.pages_total = progress.value("total", 0);
  if (!document.pages_before) document.pages_before = document.from_before ? document.pages_done : 0;
}

// A document whose job has ended; "gone": removed by retention since the last run.
void OcrBatch::take(Document document, const std::string& status) {
  const bool was_ended = document.from_before && (status == "cancelled" || status == "expired");
  if (status == "gone" || was_ended) return hand_in_anew(std::move(document));
  const auto answer = client_.request("GET", "/v1/jobs/" + document.job + "/result");
  if (answer.ok) return write(std::move(document), *answer.json);
  if (document.from_before && is_lost_job(answer.error.code)) return hand_in_anew(std::move(document));
  const bool no_answer = answer.error.exit_code == kInterrupted || answer.error.exit_code == kNoConnection;
  const bool again = answer.error.transient && status == "succeeded";
  if (!again && !no_answer)
    return refuse(document, answer.error.code.empty() ? status : answer.error.code, answer.error.message);
  ride_out(answer.error);
  active_[document.job] = std::move(document);
}

void OcrBatch::write(Document document, const json& result) {
  const bool to_file = !document.input.output.empty(), as_json = client_.options().json;
  DocumentEnd end;
  if (to_file) {
    const base::Status written = write_output(result, document.input.output, request_.images);
    if (!written) return refuse(document, "unwritable", written.error().message);
  } else if (as_json) {
    end.markdown = markdown_of(result);
  } else {
    std::cout << markdown_of(result) << std::flush;
  }
  document.pages_done = result.value("usage_info", json::object()).value("pages_processed", 0);
  ++ended_.documents_done, ++ended_.documents_counted;
  ended_.pages_done += document.pages_done;
  ended_.pages_before += std::min(document.pages_before.value_or(0), document.pages_done);
  record(document, "succeeded");
  const int bad = failed_pages(result);
  end.file = document.input.file.string();
  end.job = document.job;
  end.output = document.input.output.string();
  end.status = "succeeded";
  end.pages = document.pages_done;
  if (bad > 0) end.message = std::to_string(bad) + " pages could not be read";
  report(end, as_json, progress_);
}

void OcrBatch::refuse(const Document& document, const std::string& code, const std::string& message) {
  ++ended_.documents_done, ++ended_.documents_failed;
  record(document, "failed");
  report({document.input.file.string(), document.job, document.input.output.string(), "failed",
          document.pages_done, code, message, std::nullopt},
         client_.options().json, progress_);
}

void OcrBatch::record(const Document& document, const std::string& status) {
  if (resume_ == nullptr) return;
  resume_->entry(document.input.file.string(), document.stamp) = {document.stamp, document.key, document.job,
                                                                  status, document.pages_done};
  if (const base::Status saved = resume_->save(); !saved) {
    fault_ = ClientError{kFailed, 0, {}, saved.error().message, {}, false};
  }
}

Totals OcrBatch::totals() const {
  Totals totals = ended_;
  totals.pages_total = totals.pages_done;
  totals.documents_open = not_handed_in();
  for (const auto& [job, document] : active_) {
    ++(document.pages_total > 0 ? totals.documents_counted : totals.documents_open);
    totals.pages_done += document.pages_done;
    totals.pages_before += document.pages_before.value_or(0);
    totals.pages_total += std::max(document.pages_total, document.pages_done);
  }
  totals.elapsed = std::chrono::steady_clock::now() - started_;
  return totals;
}

void OcrBatch::show() {
  std::vector<Bar> bars;
  bars.reserve(active_.size());
  for (const auto& [job, d] : active_) {
    bars.push_back({d.input.file.filename().string(), d.status, d.pages_done, d.pages_total});
  }
  progress_.show(bars, totals());
}

std::vector<std::string> OcrBatch::jobs() const {
  std::vector<std::string> out;
  out.reserve(active_.size());
  for (const auto& [job, document] : active_) out.push_back(job);
  return out;
}

// What runs ends within a heartbeat: the next run looks at it and sees how it ended.
std::optional<ClientError> OcrBatch::cancel_all() {
  std::optional<ClientError> first;
  for (const std::string& job : jobs()) {
    const auto answer = client_.request("POST", "/v1/jobs/" + job + "/cancel");
    if (answer.ok) {
      if (answer.json->value("status", "") == "cancelled") record(active_[job], "cancelled");
      active_.erase(job);
      continue;
    }
    if (!first) first = answer.error;
    if (answer.error.exit_code == kInterrupted) break;
  }
  return first;
}

}  // namespace millrace::cli
