#include "app/cli/batch/batch.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/interrupt.h"
#include "app/cli/jobs/job_text.h"
#include "app/cli/jobs/jobs_command.h"
#include "app/cli/whole_file.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr std::size_t kIdsPerLook = 100;
// A wait shorter than this is not reported: the gateway may be starting, or a worker may be being replaced.
constexpr std::chrono::seconds kUnservedWait{3};
constexpr const char* kCancelling = "cancelling";
constexpr const char* kScheduled = "scheduled";
// Between two polls of the scheduled jobs, which may be many.
constexpr std::chrono::seconds kScheduledPollPeriod{1};

bool is_replay(const Client::Response& answer) {
  return answer.reply.header("idempotent-replayed") == std::string_view("true");
}

// Job errors that say nothing about the document.
bool is_lost_job(const std::string& code) {
  return code == base::name(base::Code::kJobCancelled) || code == base::name(base::Code::kJobExpired) ||
         code == base::name(base::Code::kResultExpired);
}

// The status recorded for a job whose cancellation was requested. A running job ends within a heartbeat: the
// next run checks how it ended. A job that had ended before has a result to fetch.
std::string remembered(const std::string& status) {
  if (status == "cancelled") return status;
  return status == "succeeded" || status == "failed" || status == "expired" ? "" : kCancelling;
}

}  // namespace

Batch::Batch(const BatchArguments& request, const BatchWork& work, std::vector<BatchInput> inputs,
             Client& client, ResumeFile* resume, Progress& progress)
    : request_(request),
      work_(work),
      client_(client),
      resume_(resume),
      progress_(progress),
      retries_(progress) {
  ended_.nouns = work.nouns();
  ended_.documents = static_cast<int>(inputs.size());
  before_.documents = ended_.documents;
  before_.folder = request_.output_folder;
  for (BatchInput& input : inputs) place(std::move(input));
  if (const std::string text = before_text(before_, work_.nouns()); !text.empty()) progress_.line(text);
}

void Batch::place(BatchInput input) {
  Document document;
  document.stamp = file_stamp(input.file) + "-" + work_.stamp();
  document.input = std::move(input);
  document.key = fresh_key(work_.command());
  if (resume_ != nullptr) {
    ResumeEntry& entry = entry_of(document);
    std::error_code unknown;
    const bool is_done = entry.status == "succeeded" && fs::exists(document.input.output, unknown);
    if (is_done && entry.layout == work_.layout()) return skip(document.input, entry);
    document.only_lays_out = is_done;
    before_.failed += entry.status == "failed" ? 1 : 0;
    const bool in_progress = entry.status.empty();
    if (!in_progress && entry.status != kCancelling && !is_done)  // ended: try again
      entry = {document.stamp, document.key, {}, {}, 0};
    document.key = entry.key;
    document.job = entry.job;
    document.from_before = !entry.job.empty();
    before_.going_on += document.from_before && in_progress ? 1 : 0;
  }
  if (document.job.empty()) {
    waiting_.push_back(std::move(document));
  } else {
    active_[document.job] = std::move(document);
  }
}

// With --json a skipped document has a row, too.
void Batch::skip(const BatchInput& input, const ResumeEntry& entry) {
  ++before_.done, ++ended_.documents_done, ++ended_.documents_before;
  ended_.documents_counted += entry.pages > 0 ? 1 : 0;
  ended_.pages_done += entry.pages;
  ended_.pages_before += entry.pages;
  if (!client_.options().json) return;
  DocumentEnd end;
  end.file = input.file.string();
  end.job = entry.job;
  end.output = input.output.string();
  end.status = "succeeded";
  end.before = true;
  end.pages = entry.pages;
  report(end);
}

void Batch::report(const DocumentEnd& end) {
  if (auto cut_off = cli::report(end, style(), progress_); cut_off && !cut_off_)
    cut_off_ = std::move(cut_off);
}

// Scheduled jobs use no worker: all of them are to be accepted before their time.
int Batch::in_flight() const {
  return static_cast<int>(
      std::ranges::count_if(active_, [](const auto& entry) { return entry.second.status != kScheduled; }));
}

bool Batch::step() {
  while (!waiting_.empty() && in_flight() < request_.in_flight && !is_over()) {
    Document next = std::move(waiting_.front());
    waiting_.pop_front();
    if (!submit(std::move(next))) break;
  }
  return !is_over() && poll();
}

// Any error that must not be retried ends the command.
bool Batch::retry_transient(const ClientError& error) {
  if (error.exit_code == kInterrupted) {
    interrupted_ = true;
    return false;
  }
  if (!retries_.allows(error)) fault_ = error;
  return !fault_;
}

// Submits one document. False: nothing more can be submitted now.
bool Batch::submit(Document document) {
  if (const auto error = work_.prepare(client_)) {
    waiting_.push_front(std::move(document));
    retry_transient(*error);
    return false;
  }
  auto upload = work_.upload(document.input.file);
  if (!upload && interrupt_waits()) {  // the interrupt ended the reading of a pipe
    waiting_.push_front(std::move(document));
    return false;
  }
  if (!upload) {
    const bool unread = upload.error().code == base::Code::kNotFound;
    refuse(document, unread ? "unreadable" : std::string(base::name(upload.error().code)),
           upload.error().message);
    return true;
  }
  if (resume_ != nullptr && !resume_->save()) {
    fault_ =
        ClientError{kFailed, 0, {}, "cannot write the resume file in " + request_.output_folder, {}, false};
    return false;
  }
  const auto answer = client_.request("POST", upload->path, std::move(upload->body),
                                      {{"Content-Type", upload->content_type},
                                       {"Prefer", "respond-async"},
                                       {"Idempotency-Key", document.key}});
  document.job = answer.reply.header("x-millrace-job");
  if (!answer.ok) return not_accepted(std::move(document), answer);
  if (document.job.empty())
    return retry_transient(client_.no_gateway("it accepted a document without a job"));
  retries_.note_response();
  document.from_before = is_replay(answer);
  record(document, {});
  active_[document.job] = std::move(document);
  return true;
}

// Handles a rejected submission. A replayed response is the outcome of an earlier job with the same key. If
// that job has been deleted, the document is submitted with a new key.
bool Batch::not_accepted(Document document, const Client::Response& answer) {
  const ClientError& error = answer.error;
  const bool replay = is_replay(answer);
  if (!replay && work_.has_other_request(error)) {
    document.job.clear();
    waiting_.push_front(std::move(document));
    return true;
  }
  if (is_lost_job(error.code)) {
    submit_again(std::move(document));
    return true;
  }
  if (replay || error.exit_code == kRefused) {
    refuse(document, error.code, error.message);
    return true;
  }
  document.job.clear();
  if (error.exit_code == kInterrupted) interrupted_submission_ = document.input.file.string();
  waiting_.push_front(std::move(document));
  retry_transient(error);
  return false;
}

// The output of an earlier version of the program is as good as it can be without its result.
bool Batch::keeps_output(const Document& document) {
  return document.only_lays_out && entry_of(document).layout.options == work_.layout().options;
}

void Batch::submit_again(Document document) {
  if (keeps_output(document)) return skip(document.input, entry_of(document));
  Document fresh;
  fresh.input = std::move(document.input);
  fresh.stamp = std::move(document.stamp);
  fresh.key = fresh_key(work_.command());
  record(fresh, {});
  waiting_.push_back(std::move(fresh));
}

bool Batch::poll() {
  const std::vector<std::string> jobs = jobs_to_poll();
  const std::span<const std::string> all(jobs);
  unserved_.clear();
  for (std::size_t begin = 0; begin < all.size(); begin += kIdsPerLook) {
    if (!poll_jobs(all.subspan(begin, std::min(kIdsPerLook, all.size() - begin)))) return false;
  }
  print_if_unserved();
  return !fault_;
}

std::vector<std::string> Batch::jobs_to_poll() {
  const auto now = std::chrono::steady_clock::now();
  const bool with_scheduled = now - scheduled_polled_at_ >= kScheduledPollPeriod;
  if (with_scheduled) scheduled_polled_at_ = now;
  std::vector<std::string> out;
  for (const auto& [job, document] : active_) {
    if (with_scheduled || document.status != kScheduled) out.push_back(job);
  }
  return out;
}

// Polls up to a hundred submitted documents with one request.
bool Batch::poll_jobs(std::span<const std::string> jobs) {
  std::string ids;
  for (const std::string& job : jobs) ids += (ids.empty() ? "" : ",") + job;
  const auto answer = client_.request("GET", "/v1/jobs?limit=" + std::to_string(kIdsPerLook) + "&ids=" + ids);
  if (!answer.ok) return retry_transient(answer.error);
  std::map<std::string, json> rows;
  if (!answer.json->contains("items"))
    return retry_transient(client_.no_gateway("its job list has no `items`"));
  for (const json& row : (*answer.json)["items"]) rows[row.value("id", "")] = row;
  retries_.note_response();
  const auto paused = std::ranges::find_if(rows, [](const auto& row) { return is_paused(row.second); });
  print_if_paused(paused == rows.end() ? json() : paused->second);
  const auto unserved = std::ranges::find_if(rows, [](const auto& row) { return is_unserved(row.second); });
  if (unserved != rows.end()) unserved_ = unserved_text(unserved->second);
  for (const std::string& job : jobs) {
    Document& document = active_[job];
    const auto row = rows.find(job);
    if (row != rows.end()) {
      update(document, row->second);
      print_if_repeated(document, row->second);
    }
    const std::string status = row == rows.end() ? "gone" : document.status;
    if (status == kScheduled || status == "queued" || status == "running") continue;
    Document ended = std::move(document);
    active_.erase(job);
    take(std::move(ended), status);
    if (is_over()) return false;
  }
  return true;
}

// Prints once each time that the queue is paused.
void Batch::print_if_paused(const json& paused) {
  const bool was_paused = std::exchange(paused_, paused.is_object());
  if (paused_ && !was_paused) progress_.line("Waiting: " + paused_text(paused));
}

// Prints once each time that jobs stay without a worker.
void Batch::print_if_unserved() {
  const auto now = std::chrono::steady_clock::now();
  if (unserved_.empty()) {
    unserved_since_.reset();
    unserved_printed_ = false;
    return;
  }
  if (!unserved_since_) unserved_since_ = now;
  if (unserved_printed_ || now - *unserved_since_ < kUnservedWait) return;
  unserved_printed_ = true;
  progress_.line("Waiting: " + unserved_);
}

// Prints once after each failed attempt, for example when a provider is unreachable.
void Batch::print_if_repeated(Document& document, const json& row) {
  const int attempts = row.value("attempt", 0);
  if (document.status != "queued" || is_paused(row) || attempts <= document.attempts_printed) return;
  const bool is_all_read = document.pages_total > 0 && document.pages_done == document.pages_total;
  if (is_all_read) return;  // the parts are only being merged
  document.attempts_printed = attempts;
  progress_.line("Waiting: " + document.input.file.string() + ": " + waiting_reason(client_, row));
}

void Batch::update(Document& document, const json& row) {
  const json progress = row.value("progress", json::object());
  document.status = row.value("status", "");
  document.pages_done = progress.value("done", 0);
  document.pages_total = progress.value("total", 0);
  if (!document.pages_before) document.pages_before = document.from_before ? document.pages_done : 0;
}

// Handles a document whose job has ended. "gone": retention has removed the job since the last run.
void Batch::take(Document document, const std::string& status) {
  const bool was_ended = document.from_before && (status == "cancelled" || status == "expired");
  if (status == "gone" || was_ended) return submit_again(std::move(document));
  auto answer = client_.fetch_raw("/v1/jobs/" + document.job + "/result");
  if (answer.ok) {
    const auto made = work_.read(std::move(answer.reply.body));
    if (made) return write(std::move(document), *made);
    answer.ok = false;
    answer.error = client_.no_gateway(made.error().message);
  }
  if (document.from_before && is_lost_job(answer.error.code)) return submit_again(std::move(document));
  const bool no_answer = answer.error.exit_code == kInterrupted || answer.error.exit_code == kNoConnection;
  const bool again = answer.error.transient && status == "succeeded";
  if (!again && !no_answer)
    return refuse(document, answer.error.code.empty() ? status : answer.error.code, answer.error.message);
  retry_transient(answer.error);
  active_[document.job] = std::move(document);
}

void Batch::write(Document document, const BatchWork::ParsedResult& made) {
  const bool to_file = !document.input.output.empty();
  DocumentEnd end;
  if (to_file) {
    const base::Status written = made.write(document.input.output);
    if (!written) return refuse(document, "unwritable", written.error().message);
  } else if (client_.options().json) {
    end.text = made.text;
  } else {
    const bool is_first = ended_.documents_done == ended_.documents_failed;
    cut_off_ = print_whole((is_first ? "" : "\n") + made.text);
  }
  document.pages_done = made.parts.value_or(document.pages_done);
  ++ended_.documents_done, ++ended_.documents_counted;
  ended_.pages_done += document.pages_done;
  ended_.pages_before += std::min(document.pages_before.value_or(0), document.pages_done);
  record(document, "succeeded");
  end.file = document.input.file.string();
  end.job = document.job;
  end.output = document.input.output.string();
  end.status = "succeeded";
  end.pages = document.pages_done;
  end.message = made.partial_error;
  end.warnings = made.warnings;
  report(end);
}

void Batch::refuse(const Document& document, const std::string& code, const std::string& message) {
  ++ended_.documents_done, ++ended_.documents_failed;
  if (!document.only_lays_out) record(document, "failed");
  DocumentEnd end;
  end.file = document.input.file.string();
  end.job = document.job;
  end.status = "failed";
  end.pages = document.pages_done;
  end.code = code;
  end.message = message;
  report(end);
}

ResumeEntry& Batch::entry_of(const Document& document) {
  return resume_->entry(document.input.file, work_.kinds().output_ending, document.stamp);
}

void Batch::record(const Document& document, const std::string& status) {
  if (resume_ == nullptr) return;
  entry_of(document) = {document.stamp, document.key,        document.job,
                        status,         document.pages_done, work_.layout()};
  if (const base::Status saved = resume_->save(); !saved) {
    fault_ = ClientError{kFailed, 0, {}, saved.error().message, {}, false};
  }
}

Totals Batch::totals() const {
  Totals totals = ended_;
  totals.pages_total = totals.pages_done;
  totals.documents_open = not_submitted();
  for (const auto& [job, document] : active_) {
    ++(document.pages_total > 0 ? totals.documents_counted : totals.documents_open);
    totals.pages_done += document.pages_done;
    totals.pages_before += document.pages_before.value_or(0);
    totals.pages_total += std::max(document.pages_total, document.pages_done);
  }
  totals.elapsed = std::chrono::steady_clock::now() - started_;
  return totals;
}

void Batch::show() {
  std::vector<Bar> bars;
  bars.reserve(active_.size());
  for (const auto& [job, d] : active_) {
    bars.push_back({d.input.file.filename().string(), d.status, d.pages_done, d.pages_total});
  }
  progress_.show(bars, totals());
}

std::vector<std::string> Batch::jobs() const {
  std::vector<std::string> out;
  out.reserve(active_.size());
  for (const auto& [job, document] : active_) out.push_back(job);
  return out;
}

std::optional<ClientError> Batch::cancel_all() {
  std::optional<ClientError> first;
  // Their jobs have ended.
  std::erase_if(active_, [](const auto& entry) { return entry.second.only_lays_out; });
  for (const std::string& job : jobs()) {
    const auto answer = client_.request("POST", "/v1/jobs/" + job + "/cancel");
    if (answer.ok) {
      record(active_[job], remembered(answer.json->value("status", "")));
      active_.erase(job);
      continue;
    }
    if (!first) first = answer.error;
    if (answer.error.exit_code == kInterrupted) break;
  }
  return first;
}

}  // namespace millrace::cli
