#include "app/cli/batches/batch_results.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/partial_file.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::string_view kToStdout = "-";
constexpr std::size_t kFailureMessageBytes = 300;

// Why a request failed, by a line of the error file.
struct LineFailure {
  std::string code, message;
};

// `body`: of a reply with an error, in any of the API's shapes.
LineFailure failure_in(const json& body, int status) {
  ClientError error;
  read_refusal(body.dump(), error);
  if (error.code.empty()) error.code = text_at(body, "code");
  if (error.message.empty()) error.message = text_at(body, "message");
  if (error.code.empty()) error.code = "status_" + std::to_string(status);
  return {std::move(error.code), std::move(error.message)};
}

LineFailure failure_of(const json& line) {
  const json error = line.value("error", json()), response = line.value("response", json());
  if (error.is_object()) return {text_at(error, "code"), text_at(error, "message")};
  if (!response.is_object()) return {"unknown", {}};
  const json body = response.value("body", json());
  const json status = response.value("status_code", json());
  return failure_in(body.is_object() ? body : json::object(),
                    status.is_number_integer() ? status.get<int>() : 0);
}

// Counts the lines of an error file by their codes.
class FailureCounter {
 public:
  void add(std::string_view bytes) {
    for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;) {
      rest_ += bytes.substr(0, end);
      count_line();
      rest_.clear();
      bytes.remove_prefix(end + 1);
    }
    rest_ += bytes;
  }
  std::map<std::string, FailedRequests> take() { return std::move(failures_); }

 private:
  void count_line() {
    const json line = json::parse(rest_, nullptr, false);
    if (!line.is_object()) return;
    LineFailure why = failure_of(line);
    const bool is_known = failures_.contains(why.code);
    FailedRequests& same =
        failures_[is_known || failures_.size() < kFailureCodesMax ? std::move(why.code) : "other"];
    if (++same.count > 1) return;
    same.first = text_at(line, "custom_id");
    same.message = std::move(why.message);
  }

  std::string rest_;
  std::map<std::string, FailedRequests> failures_;
};

// A file that is being written, or standard output.
class ResultSink {
 public:
  // An empty path: no sink; nothing is written to it.
  explicit ResultSink(const std::string& path) {
    if (path == kToStdout || path.empty()) return;
    auto file = PartialFile::at(path);
    if (file) {
      file_.emplace(*std::move(file));
    } else {
      status_ = file.error();
    }
  }
  bool write(std::string_view bytes) {
    if (!status_ || cut_off_) return false;
    if (file_) return file_->write(bytes);
    has_printed_ = true;
    cut_off_ = print_whole(bytes);
    return !cut_off_;
  }
  base::Status finish() { return !status_ || !file_ ? status_ : file_->finish(); }
  const base::Status& status() const { return status_; }
  bool has_printed() const { return has_printed_; }
  std::optional<CutOff> cut_off() const { return cut_off_; }

 private:
  std::optional<PartialFile> file_;
  base::Status status_;
  std::optional<CutOff> cut_off_;
  bool has_printed_ = false;
};

Client::Response local_failure(const base::Error& error) {
  Client::Response answer;
  answer.error = {kFailed, 0, {}, error.message, {}, false};
  return answer;
}

// One try to write both files.
class ResultCopy {
 public:
  ResultCopy(Client& client, const json& batch, const ResultPaths& paths)
      : client_(client),
        batch_(batch),
        output_(paths.output),
        errors_(paths.errors),
        has_errors_file_(!paths.errors.empty()) {}

  Client::Response run() {
    for (const ResultSink* sink : {&output_, &errors_})
      if (!sink->status()) return local_failure(sink->status().error());
    Client::Response answer = copy("output_file_id", output_, [](std::string_view) {});
    if (answer.ok)
      answer = copy("error_file_id", has_errors_file_ ? errors_ : output_,
                    [&](std::string_view bytes) { counter_.add(bytes); });
    if (!answer.ok) return answer;
    for (ResultSink* sink : {&output_, &errors_})
      if (const base::Status done = sink->finish(); !done) return local_failure(done.error());
    return answer;
  }
  std::optional<CutOff> cut_off() const { return output_.cut_off() ? output_.cut_off() : errors_.cut_off(); }
  std::map<std::string, FailedRequests> failures() { return counter_.take(); }

 private:
  template <class Also>
  Client::Response copy(const char* member, ResultSink& to, const Also& also) {
    const std::string file = text_at(batch_, member);
    Client::Response answer;
    answer.ok = true;
    if (file.empty()) return answer;
    bool is_written = true;
    answer = client_.download("/v1/files/" + percent_encoded(file) + "/content", [&](std::string_view bytes) {
      is_written = to.write(bytes);
      also(bytes);
      return is_written;
    });
    if (!is_written && !to.cut_off()) return local_failure(to.finish().error());
    if (!is_written || to.has_printed()) answer.error.transient = false;
    return answer;
  }

  Client& client_;
  const json& batch_;
  ResultSink output_, errors_;
  bool has_errors_file_;
  FailureCounter counter_;
};

}  // namespace

BatchResults write_results(Client& client, Interrupt& interrupt, RetryWindow& retries, const json& batch,
                           const ResultPaths& paths) {
  BatchResults results;
  const auto answer = retries.send(interrupt, [&] {
    ResultCopy copy(client, batch, paths);
    Client::Response done = copy.run();
    results.cut_off = copy.cut_off();
    results.failures = copy.failures();
    return done;
  });
  if (!answer.ok && !results.cut_off) results.error = answer.error;
  return results;
}

std::vector<std::string> failures_text(const std::map<std::string, FailedRequests>& failures) {
  std::vector<std::pair<std::string, FailedRequests>> sorted(failures.begin(), failures.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  std::vector<std::string> lines;
  for (const auto& [code, requests] : sorted) {
    std::string line = std::to_string(requests.count) + " × " + code;
    if (!requests.message.empty()) line += ": " + one_line(requests.message, kFailureMessageBytes);
    lines.push_back(line + " (" + (requests.count > 1 ? "first: " : "") + requests.first + ")");
  }
  return lines;
}

}  // namespace millrace::cli
