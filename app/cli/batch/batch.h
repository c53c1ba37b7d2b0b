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

namespace millrace::cli {

// The documents of one command of many files, from hand-in to their texts. `step` does what can be done now;
// the caller waits between steps. One thread. A job of an earlier run that was cancelled, has expired or has
// lost its result is no end: its document is handed in anew.
class Batch {
 public:
  Batch(const BatchRequest& request, const BatchWork& work, std::vector<BatchInput> inputs, Client& client,
        ResumeFile* resume, Progress& progress);

  // Hands in while there is room, looks at what is under way, fetches what is done. False: an interrupt
  // (`interrupted`), or a fault that ends the command (`fault` says which).
  bool step();
  bool done() const { return waiting_.empty() && active_.empty(); }
  const std::optional<ClientError>& fault() const { return fault_; }
  bool interrupted() const { return interrupted_; }
  // Something is at the gateway, or may be, that another run can go on with.
  bool has_begun() const { return reached_ || !active_.empty(); }
  void show();
  // Cancels what is under way; the first error, with the jobs that go on. An interrupt ends it.
  std::optional<ClientError> cancel_all();
  int under_way() const { return static_cast<int>(active_.size()); }
  int not_handed_in() const { return static_cast<int>(waiting_.size()); }
  std::vector<std::string> jobs() const;  // under way
  // The file whose hand-in was cut short: the gateway may have it. Empty: none.
  const std::string& cut_short() const { return cut_short_; }
  Totals totals() const;
  int failed() const { return ended_.documents_failed; }

 private:
  struct Document {
    BatchInput input;
    std::string stamp, key, job, status = "queued";
    int pages_done = 0, pages_total = 0;
    bool from_before = false;         // an earlier run made its job
    std::optional<int> pages_before;  // done when this run first looked
    int attempts_printed = 0;         // whose end was said, and what it waits for
  };
  void place(BatchInput input);
  void skip(const BatchInput& input, const ResumeEntry& entry);
  bool hand_in(Document document);
  bool not_accepted(Document document, const Client::Answer& answer);
  void hand_in_anew(Document document);
  bool look();
  bool look_at(std::span<const std::string> jobs);
  static void update(Document& document, const nlohmann::json& row);
  void print_if_held(const nlohmann::json& held);
  void print_if_unserved();
  void print_if_repeated(Document& document, const nlohmann::json& row);
  void take(Document document, const std::string& status);
  void write(Document document, const BatchWork::Made& made);
  void refuse(const Document& document, const std::string& code, const std::string& message);
  ResumeEntry& noted(const Document& document);
  void record(const Document& document, const std::string& status);
  bool ride_out(const ClientError& error);
  void answered();
  ReportStyle style() const { return {work_.words(), work_.text_member(), client_.options().json}; }

  const BatchRequest request_;
  const BatchWork& work_;
  Client& client_;
  ResumeFile* resume_;
  Progress& progress_;
  std::deque<Document> waiting_;
  std::map<std::string, Document> active_;  // by job
  std::optional<ClientError> fault_;
  bool interrupted_ = false;
  std::string cut_short_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> trouble_since_;
  bool reached_ = false;  // the gateway has answered once
  bool held_ = false;     // jobs waited for a paused queue at the last look
  std::string unserved_;  // why some wait for a worker, by this look; empty: none does
  std::optional<std::chrono::steady_clock::time_point> unserved_since_;
  bool unserved_printed_ = false;
  Before before_;
  Totals ended_;  // of what has ended; `documents` is all of them
};

}  // namespace millrace::cli
