#include "app/cli/ocr_batch.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::cli {
namespace fs = std::filesystem;
using nlohmann::json;
namespace {

// A gateway that restarts, or a network that comes back, within this is ridden out.
constexpr std::chrono::seconds kTroubleMax{120};
constexpr std::size_t kIdsPerLook = 100;

std::string stamp_of(const OcrInput& input, const OcrRequest& request) {
  std::error_code failed;
  const auto size = fs::file_size(input.file, failed);
  const auto written = fs::last_write_time(input.file, failed).time_since_epoch().count();
  return std::to_string(size) + "-" + std::to_string(written) + "-" + request.pages + "-" + request.model +
         (request.images ? "-images" : "");
}

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return std::nullopt;
  return bytes;
}

// The request; the document is appended as text, so that it is encoded once.
std::string request_body(const OcrRequest& request, const fs::path& file, const std::string& bytes) {
  json rest = {{"include_image_base64", request.images}};
  if (!request.pages.empty()) rest["pages"] = request.pages;
  if (!request.model.empty()) rest["model"] = request.model;
  std::string body = rest.dump();
  body.pop_back();
  body += R"(,"document":{"type":"document_url","document_name":)" +
          json(file.filename().string()).dump(-1, ' ', false, json::error_handler_t::replace) +
          R"(,"document_url":"data:application/octet-stream;base64,)";
  body += base::base64_encode(bytes);
  return body + R"("}})";
}

bool write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  return static_cast<bool>(out.flush());
}

// Pictures of one document, by their ids, in a folder of its own: ids repeat from document to document.
bool write_images(const json& page, const fs::path& folder) {
  bool ok = true;
  for (const json& image : page.value("images", json::array())) {
    const std::string uri = image.value("image_base64", "");
    const std::size_t comma = uri.find(',');
    const auto bytes = comma == std::string::npos ? std::nullopt : base::base64_decode(uri.substr(comma + 1));
    if (!bytes) continue;
    std::error_code failed;
    fs::create_directories(folder, failed);
    ok = write_file(folder / fs::path(image.value("id", "image")).filename(), *bytes) && ok;
  }
  return ok;
}

fs::path image_folder(const fs::path& output) { return output.string() + ".images"; }

// The markdown names its pictures where they were written.
std::string with_image_folder(std::string markdown, const fs::path& folder) {
  const std::string prefix = "](" + folder.filename().string() + "/img-";
  for (std::size_t at = 0; (at = markdown.find("](img-", at)) != std::string::npos; at += prefix.size()) {
    markdown.replace(at, 6, prefix);
  }
  return markdown;
}

std::string markdown_of(const json& result) {
  std::string text;
  for (const json& page : result.value("pages", json::array())) {
    const std::string markdown = page.value("markdown", "");
    if (!text.empty() && !markdown.empty()) text += "\n\n";
    text += markdown;
  }
  return text.empty() || text.back() == '\n' ? text : text + "\n";
}

int failed_pages(const json& result) {
  int count = 0;
  for (const json& page : result.value("pages", json::array())) count += page.contains("error") ? 1 : 0;
  return count;
}

}  // namespace

OcrBatch::OcrBatch(const OcrRequest& request, std::vector<OcrInput> inputs, Client& client,
                   ResumeFile* resume, Progress& progress)
    : request_(request),
      client_(client),
      resume_(resume),
      progress_(progress),
      documents_(static_cast<int>(inputs.size())) {
  for (OcrInput& input : inputs) {
    Document document;
    document.stamp = stamp_of(input, request_);
    document.input = std::move(input);
    document.key = "ocr-" + base::hex(base::random_bytes(16));
    if (resume_ != nullptr) {
      ResumeEntry& entry = resume_->entry(document.input.file.string(), document.stamp);
      const bool is_done = entry.status == "succeeded" && fs::exists(document.input.output);
      if (is_done) {
        ++done_, ++skipped_;
        pages_done_ += entry.pages;
        continue;
      }
      if (!entry.status.empty())
        entry = {document.stamp, document.key, {}, {}, 0};  // failed before: a new try
      document.key = entry.key;
      document.job = entry.job;
    }
    if (!document.job.empty()) {
      active_[document.job] = std::move(document);
    } else {
      waiting_.push_back(std::move(document));
    }
  }
  if (skipped_ > 0)
    progress_.line(std::to_string(skipped_) + " of " + std::to_string(documents_) + " done before: skipped");
}

bool OcrBatch::step() {
  while (!waiting_.empty() && static_cast<int>(active_.size()) < request_.in_flight && !fault_) {
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
  if (!trouble_since_) {
    trouble_since_ = now;
    progress_.line("Waiting: " + error.message);
  }
  if (now - *trouble_since_ > kTroubleMax) fault_ = error;
  return !fault_;
}

// False: nothing more can be handed in now.
bool OcrBatch::hand_in(Document document) {
  const auto bytes = read_file(document.input.file);
  if (!bytes) {
    refuse(document, "unreadable", "the file cannot be read");
    return true;
  }
  if (resume_ != nullptr && !resume_->save()) {
    fault_ = ClientError{kFailed, 0,    {}, "the resume file cannot be written in " + request_.output_folder,
                         {},      false};
    return false;
  }
  const auto answer = client_.request("POST", "/v1/ocr", request_body(request_, document.input.file, *bytes),
                                      {{"Prefer", "respond-async"}, {"Idempotency-Key", document.key}});
  if (!answer.ok) {
    const bool about_document = answer.error.exit_code == kRefused;
    if (about_document) {
      refuse(document, answer.error.code, answer.error.message);
      return true;
    }
    if (answer.error.exit_code == kInterrupted) cut_short_ = document.input.file.string();
    waiting_.push_front(std::move(document));
    ride_out(answer.error);
    return false;
  }
  trouble_since_.reset();
  document.job = answer.reply.header("x-millrace-job");
  record(document, {});
  active_[document.job] = std::move(document);
  return true;
}

// One request for up to a hundred documents under way.
bool OcrBatch::look() {
  const std::vector<std::string> jobs = this->jobs();
  for (std::size_t begin = 0; begin < jobs.size(); begin += kIdsPerLook) {
    std::string ids;
    const std::size_t end = std::min(jobs.size(), begin + kIdsPerLook);
    for (std::size_t i = begin; i < end; ++i) ids += (ids.empty() ? "" : ",") + jobs[i];
    const auto answer =
        client_.request("GET", "/v1/jobs?limit=" + std::to_string(kIdsPerLook) + "&ids=" + ids);
    if (!answer.ok) return ride_out(answer.error);
    trouble_since_.reset();
    std::map<std::string, json> rows;
    for (const json& row : json::parse(answer.reply.body, nullptr, false).value("items", json::array())) {
      rows[row.value("id", "")] = row;
    }
    for (std::size_t i = begin; i < end; ++i) {
      Document& document = active_[jobs[i]];
      const auto row = rows.find(jobs[i]);
      const std::string status = row == rows.end() ? "gone" : row->second.value("status", "");
      if (row != rows.end()) {
        const json progress = row->second.value("progress", json::object());
        document.status = status;
        document.pages_done = progress.value("done", 0);
        document.pages_total = progress.value("total", 0);
      }
      if (status == "queued" || status == "running") continue;
      Document ended = std::move(document);
      active_.erase(jobs[i]);
      take(std::move(ended), status);
      if (interrupted_) return false;
    }
  }
  return !fault_;
}

// A document whose job has ended.
void OcrBatch::take(Document document, const std::string& status) {
  if (status == "gone") {  // removed by retention since the last run: hand it in again
    document.key = "ocr-" + base::hex(base::random_bytes(16));
    document.job.clear();
    record(document, {});
    waiting_.push_back(std::move(document));
    return;
  }
  const auto answer = client_.request("GET", "/v1/jobs/" + document.job + "/result");
  if (answer.ok) return write(document, answer.reply.body);
  const bool again = answer.error.transient && status == "succeeded";
  if (!again && answer.error.exit_code != kInterrupted)
    return refuse(document, answer.error.code.empty() ? status : answer.error.code, answer.error.message);
  ride_out(answer.error);
  active_[document.job] = std::move(document);
}

// Whole or not at all: under another name first, pictures before the text that names them.
base::Status OcrBatch::write_output(const Document& document, const nlohmann::json& result) const {
  const fs::path& output = document.input.output;
  const base::Error failure = base::error(base::Code::kInternal, "cannot write " + output.string());
  std::string markdown = markdown_of(result);
  if (request_.images) {
    for (const json& page : result.value("pages", json::array())) {
      if (!write_images(page, image_folder(output))) return failure;
    }
    markdown = with_image_folder(std::move(markdown), image_folder(output));
  }
  const fs::path fresh = output.string() + ".part";
  if (!write_file(fresh, markdown)) return failure;
  std::error_code failed;
  fs::rename(fresh, output, failed);
  return failed ? base::Status(failure) : base::Status();
}

void OcrBatch::write(const Document& document, const std::string& body) {
  const json result = json::parse(body, nullptr, false);
  Document finished = document;
  const int processed = result.value("usage_info", json::object()).value("pages_processed", 0);
  finished.pages_done = processed;
  if (document.input.output.empty()) {
    if (!client_.options().json) std::cout << markdown_of(result) << std::flush;
  } else {
    std::error_code failed;
    fs::create_directories(document.input.output.parent_path(), failed);
    const base::Status written = write_output(document, result);
    if (!written) return refuse(document, "unwritable", written.error().message);
  }
  ++done_;
  pages_done_ += processed;
  record(finished, "succeeded");
  const int bad = failed_pages(result);
  report(finished, "succeeded", {}, bad == 0 ? "" : std::to_string(bad) + " pages could not be read");
}

void OcrBatch::refuse(const Document& document, const std::string& code, const std::string& message) {
  ++done_, ++failed_;
  record(document, "failed");
  report(document, "failed", code, message);
}

void OcrBatch::record(const Document& document, const std::string& status) {
  if (resume_ == nullptr) return;
  resume_->entry(document.input.file.string(), document.stamp) = {document.stamp, document.key, document.job,
                                                                  status, document.pages_done};
  if (const base::Status saved = resume_->save(); !saved) {
    fault_ = ClientError{kFailed, 0, {}, saved.error().message, {}, false};
  }
}

void OcrBatch::report(const Document& document, const std::string& status, const std::string& code,
                      const std::string& message) {
  const std::string file = document.input.file.string();
  if (client_.options().json) {
    json row = {{"file", file}, {"status", status}, {"pages", document.pages_done}};
    if (!document.job.empty()) row["job"] = document.job;
    if (!document.input.output.empty()) row["output"] = document.input.output.string();
    if (!code.empty() || !message.empty()) row["error"] = {{"code", code}, {"message", message}};
    std::cout << row.dump(-1, ' ', false, json::error_handler_t::replace) << '\n' << std::flush;
  }
  if (status != "succeeded") {
    progress_.line("✗ " + file + ": " + message + (code.empty() ? "" : " (" + code + ")"));
  } else if (!progress_.on_terminal() || !message.empty()) {
    progress_.line("✓ " + file +
                   (document.input.output.empty() ? "" : " → " + document.input.output.string()) + ", " +
                   std::to_string(document.pages_done) + (document.pages_done == 1 ? " page" : " pages") +
                   (message.empty() ? "" : ", " + message));
  }
}

Totals OcrBatch::totals() const {
  Totals totals;
  totals.documents = documents_;
  totals.documents_done = done_;
  totals.documents_failed = failed_;
  totals.pages_done = totals.pages_total = pages_done_;
  for (const auto& [job, document] : active_) {
    totals.pages_done += document.pages_done;
    totals.pages_total += std::max(document.pages_total, document.pages_done);
  }
  totals.elapsed = std::chrono::steady_clock::now() - started_;
  return totals;
}

void OcrBatch::show() {
  std::vector<Bar> bars;
  for (const auto& [job, d] : active_) {
    bars.push_back({d.input.file.filename().string(), d.status, d.pages_done, d.pages_total});
  }
  progress_.show(bars, totals());
}

std::vector<std::string> OcrBatch::jobs() const {
  std::vector<std::string> out;
  for (const auto& [job, document] : active_) out.push_back(job);
  return out;
}

std::optional<ClientError> OcrBatch::cancel_all() {
  std::optional<ClientError> first;
  for (const std::string& job : jobs()) {
    const auto answer = client_.request("POST", "/v1/jobs/" + job + "/cancel");
    if (answer.ok) {
      active_.erase(job);
      continue;
    }
    if (!first) first = answer.error;
    if (answer.error.exit_code == kInterrupted) break;
  }
  return first;
}

}  // namespace millrace::cli
