#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/batch/batch_command.h"
#include "app/cli/batch/batch_inputs.h"
#include "app/cli/batch/batch_text.h"
#include "app/cli/batch/batch_work.h"
#include "app/cli/batch/resume_file.h"
#include "app/cli/client.h"
#include "app/cli/progress.h"
#include "app/cli/retry_window.h"

namespace millrace::cli {

// The documents of one `ocr` or `transcribe` command, from submission to their output files. `step` does what
// can be done now; the caller waits between steps. One thread. If the job of an earlier run was cancelled,
// has expired or has lost its result, its document is submitted again.
class Batch {
 public:
  Batch(const BatchArguments& request, const BatchWork& work, std::vector<BatchInput> inputs, Client& client,
        ResumeFile* resume, Progress& progress);

  // Submits documents up to the limit, polls the running jobs and fetches finished results. False: an
  // interrupt (`interrupted`), output that cannot be written (`cut_off`), or an error that ends the command
  // (`fault` returns it).
  bool step();
  bool done() const { return waiting_.empty() && active_.empty(); }
  const std::optional<ClientError>& fault() const { return fault_; }
  bool interrupted() const { return interrupted_; }
  const std::optional<CutOff>& cut_off() const { return cut_off_; }
  // True if the gateway has, or may have, jobs that another run can resume.
  bool has_begun() const { return retries_.reached() || !active_.empty(); }
  void show();
  // Cancels the jobs of all submitted documents. Returns the first error, with the jobs that keep running. An
  // interrupt ends it.
  std::optional<ClientError> cancel_all();
  int in_progress() const { return static_cast<int>(active_.size()); }
  int not_submitted() const { return static_cast<int>(waiting_.size()); }
  std::vector<std::string> jobs() const;  // ids of the submitted jobs that have not ended
  // The file whose submission was interrupted: the gateway may have its job. Empty: none.
  const std::string& interrupted_submission() const { return interrupted_submission_; }
  Totals totals() const;
  int failed() const { return ended_.documents_failed; }

 private:
  struct Document {
    BatchInput input;
    std::string stamp, key, job, status = "queued";
    int pages_done = 0, pages_total = 0;
    bool from_before = false;         // an earlier run submitted its job
    std::optional<int> pages_before;  // pages that were done at the first poll of this run
    bool only_lays_out = false;       // its output is there, in another layout
    int attempts_printed = 0;         // failed attempts that were reported to the user
  };
  void place(BatchInput input);
  int in_flight() const;
  std::vector<std::string> jobs_to_poll();
  bool keeps_output(const Document& document);
  void skip(const BatchInput& input, const ResumeEntry& entry);
  bool submit(Document document);
  bool not_accepted(Document document, const Client::Response& answer);
  void submit_again(Document document);
  bool poll();
  bool poll_jobs(std::span<const std::string> jobs);
  static void update(Document& document, const nlohmann::json& row);
  void print_if_paused(const nlohmann::json& paused);
  void print_if_unserved();
  void print_if_repeated(Document& document, const nlohmann::json& row);
  void take(Document document, const std::string& status);
  void write(Document document, const BatchWork::ParsedResult& made);
  void refuse(const Document& document, const std::string& code, const std::string& message);
  ResumeEntry& entry_of(const Document& document);
  void record(const Document& document, const std::string& status);
  bool retry_transient(const ClientError& error);
  void report(const DocumentEnd& end);
  bool is_over() const { return fault_ || interrupted_ || cut_off_; }
  ReportStyle style() const { return {work_.nouns(), work_.text_member(), client_.options().json}; }

  const BatchArguments request_;
  const BatchWork& work_;
  Client& client_;
  ResumeFile* resume_;
  Progress& progress_;
  RetryWindow retries_;
  std::deque<Document> waiting_;
  std::map<std::string, Document> active_;  // by job
  std::optional<ClientError> fault_;
  std::optional<CutOff> cut_off_;
  bool interrupted_ = false;
  std::string interrupted_submission_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  bool paused_ = false;   // at the last poll, jobs waited because their queue is paused
  std::string unserved_;  // why jobs wait for a worker, as of this poll; empty: none waits
  std::optional<std::chrono::steady_clock::time_point> unserved_since_;
  std::chrono::steady_clock::time_point scheduled_polled_at_{};
  bool unserved_printed_ = false;
  EarlierResults before_;
  Totals ended_;  // sums over ended documents; `documents` counts all documents
};

}  // namespace millrace::cli
