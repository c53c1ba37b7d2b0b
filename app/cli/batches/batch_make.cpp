#include "app/cli/batches/batch_make.h"

#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/cli/batch/batch_inputs.h"
#include "app/cli/batch/batch_text.h"
#include "app/cli/batch/ocr_command.h"
#include "app/cli/cut_off.h"
#include "app/cli/files/concurrent_uploads.h"
#include "app/cli/files/file_upload.h"
#include "app/cli/interrupt.h"
#include "app/cli/journal.h"
#include "app/cli/json_cells.h"
#include "app/cli/partial_file.h"
#include "app/cli/program.h"
#include "app/cli/retry_window.h"
#include "app/cli/whole_file.h"
#include "platform/base/bytes.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "schemas/batches/batch.h"
#include "schemas/media/ocr.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

constexpr const char* kBatchMake = "batch-make";
constexpr int kMakeJournalVersion = 1;
constexpr const char* kOcrEndpoint = "/v1/ocr";
constexpr std::chrono::seconds kMakeLineEvery{10};  // without a terminal
constexpr std::size_t kUploadsAtOnce = 8;

// One document of the folder.
struct MadeRequest {
  std::string custom_id, stamp;
  std::string file = {};  // its id in the gateway; empty: it is not uploaded
  UploadForm form = {};   // while it is sent
};

class BatchMake {
 public:
  BatchMake(const BatchMakeRequest& request, const ClientOptions& options, Interrupt& interrupt,
            Journal* journal)
      : request_(request),
        interrupt_(interrupt),
        journal_(journal),
        client_(options, &interrupt),
        progress_(options.quiet, options.no_color) {}

  int run(const BatchInputs& inputs) {
    for (const std::string& skipped : inputs.skipped) leave_out(skipped + " (skipped)");
    if (!inputs.left_out.empty()) progress_.line(left_out_text(inputs.left_out, document_kinds().shown));
    if (const auto ended = read_journal()) return *ended;
    tally_.total = static_cast<std::int64_t>(inputs.documents.size());
    for (const BatchInput& input : inputs.documents) {
      if (const auto ended = add(input)) return *ended;
    }
    while (uploads_.running() > 0) {
      if (const auto ended = take_upload()) return *ended;
    }
    return finish();
  }

 private:
  // Each returns an exit code if the command ends there.
  std::optional<int> read_journal();
  std::optional<int> add(const BatchInput& input);
  std::optional<int> upload(const BatchInput& input, MadeRequest request);
  std::optional<int> take_upload();
  int finish();
  int stop(const ClientError& error);
  int print_written();

  std::string key_of(const MadeRequest& request) const {
    constexpr std::size_t kStampPart = 32;
    return key_ + "-" + request.stamp.substr(0, kStampPart);
  }
  void leave_out(const std::string& why) {
    progress_.failure("✗ " + why);
    ++left_out_;
  }
  std::string id_for(const BatchInput& input);
  std::string upload_stamp(const BatchInput& input) const;
  std::string line_of(const MadeRequest& request) const;
  void print_progress();

  const BatchMakeRequest& request_;
  Interrupt& interrupt_;
  Journal* journal_;  // null: the output is no file
  Client client_;
  Progress progress_;
  RetryWindow retries_{progress_};
  std::string key_;                           // the Idempotency-Keys begin with it
  std::map<std::string, std::string> known_;  // uploaded files, by stamp
  std::set<std::string> ids_;
  std::vector<MadeRequest> requests_;  // in the order of their lines
  std::int64_t uploaded_ = 0, left_out_ = 0;
  Tally tally_{.units = "documents"};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now(), printed_ = started_;
  ConcurrentUploads uploads_{client_};  // ends before what it reads
};

std::optional<int> BatchMake::read_journal() {
  key_ = base::hex(base::random_bytes(16));
  if (journal_ == nullptr) return std::nullopt;
  const json first = {{"version", kMakeJournalVersion},
                      {"url", client_.options().url},
                      {"expire_hours", request_.expire_hours.value_or(0)}};
  const auto& entries = journal_->entries();
  json begun = entries.empty() ? json() : entries.front();
  if (begun.is_object()) {
    key_ = text_at(begun, "key");
    begun.erase("key");
  }
  if (begun == first) {
    for (const json& entry : entries) known_[text_at(entry, "stamp")] = text_at(entry, "file");
    return std::nullopt;
  }
  key_ = base::hex(base::random_bytes(16));
  json entry = first;
  entry["key"] = key_;
  const base::Status begun_anew = journal_->restart(std::move(entry));
  return begun_anew ? std::nullopt : std::optional(fail(begun_anew.error().message));
}

// The path below the folder; with a number if another document has the same after repair to UTF-8.
std::string BatchMake::id_for(const BatchInput& input) {
  const std::string plain_id = json::parse(local_json(input.relative.string())).get<std::string>();
  std::string id = plain_id;
  for (int number = 2; !ids_.insert(id).second; ++number) id = plain_id + " (" + std::to_string(number) + ")";
  return id;
}

// Also of a path that is not UTF-8.
std::string BatchMake::upload_stamp(const BatchInput& input) const {
  std::error_code unknown;
  const std::string path = fs::weakly_canonical(input.file, unknown).string();
  return base::hex(base::sha256(path + '\0' + file_stamp(input.file)));
}

std::optional<int> BatchMake::add(const BatchInput& input) {
  MadeRequest request{.custom_id = id_for(input), .stamp = upload_stamp(input)};
  std::error_code unknown;
  const auto bytes = fs::file_size(input.file, unknown);
  const auto known = known_.find(request.stamp);
  if (request.custom_id.size() > schemas::kBatchCustomIdMax) {
    leave_out(input.file.string() + ": its path has more than " + std::to_string(schemas::kBatchCustomIdMax) +
              " bytes");
  } else if (!unknown && bytes > static_cast<std::uintmax_t>(schemas::kDocumentBytesMax)) {
    leave_out(input.file.string() + ": larger than " + base::format_bytes(schemas::kDocumentBytesMax));
  } else if (known != known_.end()) {
    request.file = known->second;
    requests_.push_back(std::move(request));
    ++uploaded_, ++tally_.before;
  } else {
    return upload(input, std::move(request));
  }
  print_progress();
  return std::nullopt;
}

std::optional<int> BatchMake::upload(const BatchInput& input, MadeRequest request) {
  while (uploads_.running() >= kUploadsAtOnce) {
    if (const auto ended = take_upload()) return ended;
  }
  auto form = make_upload_form({.path = input.file.string(),
                                .name = input.file.filename().string(),
                                .purpose = "ocr",
                                .expire_hours = request_.expire_hours});
  if (!form && form.error().code == base::Code::kNotFound) {
    leave_out(form.error().message);
    return std::nullopt;
  }
  if (!form) return fail(form.error().message);
  request.form = *std::move(form);
  requests_.push_back(std::move(request));
  uploads_.start(requests_.size() - 1, requests_.back().form, key_of(requests_.back()));
  return std::nullopt;
}

// Waits for one upload; sends it again if its error may pass.
std::optional<int> BatchMake::take_upload() {
  auto ended = uploads_.next();
  if (!ended) return stop({kInterrupted, 0, {}, "interrupted", {}, false});
  auto& [number, answer] = *ended;
  MadeRequest& request = requests_[number];
  if (!answer.ok) {
    if (!retries_.allows(answer.error)) return stop(answer.error);
    if (interrupt_.wait(retry_after(answer.reply)))
      return stop({kInterrupted, 0, {}, "interrupted", {}, false});
    uploads_.start(number, request.form, key_of(request));
    return std::nullopt;
  }
  retries_.note_response();
  request.file = text_at(*answer.json, "id");
  request.form = {};
  ++uploaded_;
  print_progress();
  if (journal_ == nullptr) return std::nullopt;
  const base::Status added = journal_->add({{"stamp", request.stamp}, {"file", request.file}});
  return added ? std::nullopt : std::optional(fail(added.error().message));
}

std::string BatchMake::line_of(const MadeRequest& request) const {
  nlohmann::ordered_json body = nlohmann::ordered_json::object();
  if (!request_.model.empty()) body["model"] = request_.model;
  body["document"] = {{"type", "file"}, {"file_id", request.file}};
  const nlohmann::ordered_json line = {
      {"custom_id", request.custom_id}, {"method", "POST"}, {"url", kOcrEndpoint}, {"body", std::move(body)}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

void BatchMake::print_progress() {
  const auto now = std::chrono::steady_clock::now();
  tally_.elapsed = now - started_;
  tally_.done = uploaded_ + left_out_;
  tally_.failed = left_out_;
  progress_.show(tally_);
  if (progress_.on_terminal() || now - printed_ < kMakeLineEvery) return;
  progress_.line(tally_line(tally_));
  printed_ = now;
}

int BatchMake::finish() {
  progress_.settle();
  if (requests_.empty()) return fail("no document could be uploaded");
  std::string lines;
  for (const MadeRequest& request : requests_) lines += line_of(request);
  if (request_.output == "-") {
    if (const auto cut_off = print_whole(lines)) return fail_cut_off(*cut_off);
    return left_out_ == 0 ? kOk : kFailed;
  }
  auto file = PartialFile::at(request_.output);
  if (!file) return fail(file.error().message);
  file->write(lines);
  if (const base::Status written = file->finish(); !written) return fail(written.error().message);
  if (journal_ != nullptr && left_out_ == 0) journal_->remove();
  return print_written();
}

int BatchMake::print_written() {
  const std::string output = shell_word(request_.output);
  progress_.line(std::to_string(uploaded_) + (uploaded_ == 1 ? " request is in " : " requests are in ") +
                 request_.output + "; to run them: " + program() + " batch run " + output +
                 gateway_options(client_.options()) + " -o results.jsonl");
  if (left_out_ > 0)
    progress_.line(std::to_string(left_out_) + " failed; the same command tries only them again");
  if (client_.options().json)
    std::cout << local_json({{"path", request_.output}, {"requests", uploaded_}, {"failed", left_out_}})
              << '\n';
  const int printed = finish_output();
  if (printed != kOk) return printed;
  return left_out_ == 0 ? kOk : kFailed;
}

int BatchMake::stop(const ClientError& error) {
  progress_.settle();
  const auto why = error.exit_code == kInterrupted ? cut_off_by(interrupt_) : std::nullopt;
  if (why) fail_cut_off(*why, std::to_string(uploaded_) + " documents are uploaded");
  if (!why) fail(error);
  if (error.exit_code == kInterrupted && !why)
    progress_.line("Interrupted: " + std::to_string(uploaded_) + " documents are uploaded.");
  if (journal_ != nullptr && uploaded_ == 0) journal_->remove();
  if (journal_ != nullptr && uploaded_ > 0)
    progress_.line("Run the same command again to upload the others.");
  return why ? why->exit_code : error.exit_code;
}

}  // namespace

int batch_make(const BatchMakeRequest& request, const ClientOptions& options) {
  if (request.documents == "-") return fail_usage("--ocr takes a folder");
  const auto inputs = collect_inputs({request.documents}, {}, document_kinds());
  if (!inputs) return fail_usage(one_line(inputs.error().message));
  std::optional<Journal> journal;
  if (Journal::is_for(request.output)) {
    auto opened = Journal::beside(request.output, kBatchMake);
    if (!opened) return fail_usage(one_line(opened.error().message));
    journal = *std::move(opened);
  }
  Interrupt interrupt(kCutOff);
  return BatchMake(request, options, interrupt, journal ? &*journal : nullptr).run(*inputs);
}

}  // namespace millrace::cli
