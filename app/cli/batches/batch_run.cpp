#include "app/cli/batches/batch_run.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/backoff.h"
#include "app/cli/batch/resume_file.h"
#include "app/cli/batches/batch_object.h"
#include "app/cli/batches/request_file.h"
#include "app/cli/cut_off.h"
#include "app/cli/files/file_upload.h"
#include "app/cli/interrupt.h"
#include "app/cli/journal.h"
#include "app/cli/json_cells.h"
#include "app/cli/program.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr const char* kBatchRun = "batch-run";
constexpr int kBatchJournalVersion = 1;
constexpr std::chrono::milliseconds kBatchPollMax{1'000};
constexpr std::chrono::seconds kLineEvery{10};  // without a terminal
constexpr std::chrono::seconds kCancelWindow{2};

class BatchRun {
 public:
  BatchRun(const BatchRunRequest& request, const RequestFile& input, const ClientOptions& options,
           Interrupt& interrupt, Journal* journal)
      : request_(request),
        input_(input),
        interrupt_(interrupt),
        journal_(journal),
        client_(options, &interrupt),
        progress_(options.quiet, options.no_color) {}

  int run() {
    if (const auto ended = begin()) return *ended;
    if (const auto ended = follow()) return *ended;
    return finish();
  }

 private:
  // Each returns an exit code if the command ends there.
  std::optional<int> begin();
  std::optional<int> begin_anew();
  std::optional<int> find_earlier();
  std::optional<int> upload();
  std::optional<int> create();
  std::optional<int> follow();
  std::optional<int> record(json entry);
  int finish();
  int stop(const ClientError& error);
  int detach();
  int cut_off(const CutOff& why);
  int input_is_wrong();

  Client::Response send(const std::function<Client::Response()>& request) {
    return retries_.send(interrupt_, request);
  }
  bool has_ended() const { return !batch_.empty() && is_batch_end(text_at(state_, "status")); }
  std::string stamp() const;
  void read_journal();
  void print_progress();
  void print_how_to_continue();
  void cancel();
  int print_end();
  std::string results_command() const;
  std::string again() const;
  const std::string& output() const { return request_.results.output; }

  const BatchRunRequest& request_;
  const RequestFile& input_;
  Interrupt& interrupt_;
  Journal* journal_;  // null: the output is no file
  Client client_;
  Progress progress_;
  RetryWindow retries_{progress_};
  std::string key_, file_, batch_;    // empty: not known yet
  bool is_file_from_before_ = false;  // an earlier run has uploaded it
  bool may_exist_ = false;            // the request for the batch was sent
  json state_;                        // of the batch
  Tally tally_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now(), printed_ = started_;
};

// Another file or other options are another batch.
std::string BatchRun::stamp() const {
  return input_.sha256 + " " + request_.endpoint + " " + request_.window + " " + request_.cost_max + " " +
         client_.options().url;
}

void BatchRun::read_journal() {
  if (journal_ == nullptr || journal_->entries().empty()) return;
  std::string file, batch;
  for (const json& entry : journal_->entries()) {
    if (entry.contains("file")) file = text_at(entry, "file");
    if (entry.contains("batch")) batch = text_at(entry, "batch");
  }
  const json& first = journal_->entries().front();
  if (first.value("version", 0) == kBatchJournalVersion && text_at(first, "stamp") == stamp()) {
    key_ = text_at(first, "key");
    file_ = std::move(file);
    is_file_from_before_ = !file_.empty();
    batch_ = std::move(batch);
  } else if (!batch.empty()) {
    progress_.line("An earlier run with other requests or options has begun " + batch + ": `" + program() +
                   " batch show" + gateway_options(client_.options()) + " " + batch + "` shows it");
  }
}

std::optional<int> BatchRun::record(json entry) {
  if (journal_ == nullptr) return std::nullopt;
  const base::Status added =
      entry.contains("version") ? journal_->restart(std::move(entry)) : journal_->add(std::move(entry));
  return added ? std::nullopt : std::optional(fail(added.error().message));
}

std::optional<int> BatchRun::begin() {
  read_journal();
  if (!batch_.empty()) {
    const auto ended = find_earlier();
    if (ended || !batch_.empty()) return ended;
  }
  return begin_anew();
}

// Clears `batch_` if the gateway does not have it any more.
std::optional<int> BatchRun::find_earlier() {
  const auto answer = send([&] { return client_.request("GET", path_of_batch(batch_)); });
  if (answer.error.exit_code == kNotFound && !answer.ok) {
    progress_.line(batch_ + " of an earlier run is gone: a new batch is made");
    for (std::string* known : {&key_, &file_, &batch_}) known->clear();
    return std::nullopt;
  }
  if (!answer.ok) return stop(answer.error);
  state_ = *answer.json;
  tally_.before = tally_of(state_).done;
  progress_.line(batch_ + " was begun by an earlier run");
  return std::nullopt;
}

std::optional<int> BatchRun::begin_anew() {
  if (key_.empty()) {
    key_ = fresh_key(kBatchRun);
    const auto ended = record({{"version", kBatchJournalVersion}, {"stamp", stamp()}, {"key", key_}});
    if (ended) return ended;
  }
  if (file_.empty()) {
    if (const auto ended = upload()) return ended;
  }
  return create();
}

std::optional<int> BatchRun::upload() {
  const auto form = make_upload_form({.path = input_.path, .name = input_.name, .purpose = "batch"});
  if (!form) return fail(form.error().message);
  progress_.show(Tally{.state = "uploading " + one_line(input_.shown)});
  const auto answer = send([&] { return send_upload(client_, *form, key_ + "-file"); });
  if (!answer.ok) return stop(answer.error);
  file_ = text_at(*answer.json, "id");
  return record({{"file", file_}});
}

std::optional<int> BatchRun::create() {
  const json body = {
      {"input_file_id", file_}, {"endpoint", request_.endpoint}, {"completion_window", request_.window}};
  Client::Headers headers = {{"Content-Type", "application/json"}, {"Idempotency-Key", key_}};
  if (!request_.cost_max.empty()) headers.emplace_back("x-millrace-max-cost-usd", request_.cost_max);
  may_exist_ = true;
  const auto answer = send([&] { return client_.request("POST", "/v1/batches", local_json(body), headers); });
  if (!answer.ok) {
    may_exist_ = answer.error.status == 0 || answer.error.exit_code == kServerError;
    const bool is_file_gone =
        answer.error.exit_code == kNotFound && std::exchange(is_file_from_before_, false);
    if (!is_file_gone) return stop(answer.error);
    for (std::string* known : {&key_, &file_}) known->clear();
    return begin_anew();
  }
  state_ = *answer.json;
  batch_ = text_at(state_, "id");
  progress_.line(batch_ + " has begun: " + request_.endpoint + ", within " + request_.window);
  return record({{"batch", batch_}});
}

std::optional<int> BatchRun::follow() {
  started_ = printed_ = std::chrono::steady_clock::now();
  Backoff pauses;
  while (!has_ended()) {
    print_progress();
    if (interrupt_.wait(pauses.next(kBatchPollMax))) return detach();
    const auto answer = send([&] { return client_.request("GET", path_of_batch(batch_)); });
    if (!answer.ok) return stop(answer.error);
    state_ = *answer.json;
  }
  return std::nullopt;
}

void BatchRun::print_progress() {
  const auto now = std::chrono::steady_clock::now();
  const std::int64_t known = tally_.total, before = tally_.before;
  tally_ = tally_of(state_);
  tally_.before = before;
  tally_.elapsed = now - started_;
  if (known == 0 && tally_.total > 0) progress_.line(std::to_string(tally_.total) + " requests are valid");
  progress_.show(tally_);
  if (progress_.on_terminal() || now - printed_ < kLineEvery) return;
  progress_.line(tally_line(tally_));
  printed_ = now;
}

int BatchRun::finish() {
  if (text_at(state_, "status") == "failed") return input_is_wrong();
  const auto results = write_results(client_, interrupt_, retries_, state_, request_.results);
  progress_.settle();
  if (results.cut_off)
    return fail_cut_off(*results.cut_off,
                        batch_ + " has ended: `" + results_command() + "` prints its results");
  if (results.error) return stop(*results.error);
  const int exit_code = print_end();
  for (const std::string& line : failures_text(results.failures)) progress_.failure("✗ " + line);
  if (journal_ != nullptr) journal_->remove();
  if (output() == "-" || !client_.options().json) return exit_code;
  std::cout << state_.dump() << '\n';
  const int printed = finish_output();
  return printed == kOk ? exit_code : printed;
}

// What has become of the batch; the exit code.
int BatchRun::print_end() {
  const std::string status = text_at(state_, "status");
  const std::int64_t before = tally_.before;
  tally_ = tally_of(state_);
  tally_.before = before;
  tally_.elapsed = std::chrono::steady_clock::now() - started_;
  if (status != "completed") progress_.failure("✗ " + batch_ + " is " + status);
  progress_.line(tally_line(tally_));
  const std::string cost = cost_text(state_);
  std::string where = output() == "-" ? "" : "The results are in " + output();
  if (!request_.results.errors.empty() && tally_.failed > 0)
    where += (where.empty() ? "What failed is in " : ", what failed is in ") + request_.results.errors;
  if (!cost.empty()) where += (where.empty() ? "It has cost " : "; cost: ") + cost;
  if (!where.empty()) progress_.line(where);
  return status == "completed" && tally_.failed == 0 ? kOk : kFailed;
}

int BatchRun::input_is_wrong() {
  progress_.settle();
  fail("the requests are not valid, and none was sent (" + batch_ + ")");
  std::cerr << input_errors_text(state_, one_line(input_.shown));
  if (journal_ != nullptr) journal_->remove();
  if (client_.options().json) std::cout << state_.dump() << '\n';
  const int printed = finish_output();
  return printed == kOk ? int{kRefused} : printed;
}

// The command ends after an error. The batch goes on if there is one.
int BatchRun::stop(const ClientError& error) {
  if (error.exit_code == kInterrupted) return detach();
  progress_.settle();
  print_error(error);
  const bool is_worthless = file_.empty() || error.exit_code == kRefused;  // nothing to go on with
  if (batch_.empty() && !may_exist_ && journal_ != nullptr && is_worthless) journal_->remove();
  if (!batch_.empty() || may_exist_) print_how_to_continue();
  return error.exit_code;
}

std::string BatchRun::results_command() const {
  return program() + " batch results" + gateway_options(client_.options()) + " " + batch_;
}

std::string BatchRun::again() const {
  std::string command = program() + " batch run " + shell_word(request_.input);
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) command += flag + shell_word(value);
  };
  if (request_.endpoint != input_.endpoint) add(" --endpoint ", request_.endpoint);
  if (request_.window != BatchRunRequest().window) add(" --window ", request_.window);
  add(" --max-cost ", request_.cost_max);
  add(" --errors ", request_.results.errors);
  return command + client_options(client_.options()) + " -o " + shell_word(output());
}

void BatchRun::print_how_to_continue() {
  if (journal_ != nullptr && input_.copy)
    progress_.line("To continue, run the same command again with the same requests: " + again());
  else if (journal_ != nullptr)
    progress_.line("To continue, run the same command again: " + again());
  else if (!batch_.empty())
    progress_.line("Its results, when it has ended: " + results_command());
}

void BatchRun::cancel() {
  const auto answer = client_.request("POST", path_of_batch(batch_) + "/cancel");
  progress_.line(answer.ok ? batch_ + " is cancelled; what has ended by now is in its results"
                           : batch_ + " was not cancelled: " + answer.error.message);
}

int BatchRun::cut_off(const CutOff& why) {
  progress_.settle();
  const std::string what = has_ended()      ? batch_ + " has ended"
                           : batch_.empty() ? std::string()
                                            : batch_goes_on_text(batch_, client_.options());
  fail_cut_off(why, what);
  print_how_to_continue();
  return why.exit_code;
}

int BatchRun::detach() {
  if (const auto why = cut_off_by(interrupt_)) return cut_off(*why);
  if (batch_.empty()) {
    progress_.line(may_exist_ ? "Interrupted: the gateway may have made the batch."
                              : "Interrupted: no batch was made.");
  } else if (has_ended()) {
    progress_.line("Interrupted: " + batch_ + " has ended, and its results are not written.");
  } else {
    const std::string done = tally_.total == 0 ? ""
                                               : "; " + std::to_string(tally_.done) + " of " +
                                                     std::to_string(tally_.total) + " requests have ended";
    progress_.line("Detached: " + batch_ + " continues in the gateway" + done +
                   ". Press Ctrl-C again within 2 s to cancel it.");
  }
  print_how_to_continue();
  if (!batch_.empty() && !has_ended() && interrupt_.wait(kCancelWindow)) cancel();
  return kInterrupted;
}

// Empty: the files may be used.
std::string paths_problem(const BatchRunRequest& request) {
  const auto same = [](const std::string& a, const std::string& b) {
    std::error_code unknown;
    return a != "-" && !a.empty() && !b.empty() &&
           (fs::weakly_canonical(a, unknown) == fs::weakly_canonical(b, unknown));
  };
  const ResultPaths& results = request.results;
  if (same(results.output, request.input) || same(results.errors, request.input))
    return "the results must not replace the requests: choose another file with -o or --errors";
  if (same(results.output, results.errors) || (results.output == "-" && results.errors == "-"))
    return "-o and --errors name the same file; without --errors, it has all lines";
  for (const std::string& path : {results.output, results.errors}) {
    std::error_code unknown;
    const fs::path parent = fs::path(path).parent_path();
    if (path != "-" && fs::is_directory(path, unknown)) return "cannot write " + path + ": it is a folder";
    if (!parent.empty() && !fs::is_directory(parent, unknown))
      return "cannot write " + path + ": there is no such folder";
  }
  return {};
}

}  // namespace

int batch_run(const BatchRunRequest& request, const ClientOptions& options) {
  if (const std::string problem = paths_problem(request); !problem.empty())
    return fail_usage(one_line(problem));
  const auto input = read_request_file(request.input);  // Ctrl-C ends it as usual
  if (!input) return fail_usage(one_line(input.error().message));
  BatchRunRequest whole = request;
  if (whole.endpoint.empty()) whole.endpoint = input->endpoint;
  if (whole.endpoint.empty())
    return fail_usage(one_line(input->shown) + ":1: no `url`: name the endpoint with --endpoint, such as " +
                      "/v1/chat/completions");
  std::optional<Journal> journal;
  if (Journal::is_for(request.results.output)) {
    auto opened = Journal::beside(request.results.output, kBatchRun);
    if (!opened) return fail_usage(one_line(opened.error().message));
    journal = *std::move(opened);
  }
  Interrupt interrupt(kCutOff);
  return BatchRun(whole, *input, options, interrupt, journal ? &*journal : nullptr).run();
}

}  // namespace millrace::cli
