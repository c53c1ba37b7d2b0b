#include "app/cli/files/upload_in_parts.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/json_cells.h"
#include "app/cli/progress.h"
#include "app/cli/terminal.h"
#include "platform/base/bytes.h"
#include "platform/base/md5.h"
#include "schemas/form_body.h"

namespace millrace::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::int64_t kPartBytes = std::int64_t{16} << 20;
constexpr int kTriesOfPart = 8;  // of one request; the pauses take about two minutes together
constexpr milliseconds kFirstPauseOfPart{500}, kLongestPauseOfPart{60'000};
constexpr int kSecondsPerHour = 3'600;

class PartsUpload {
 public:
  PartsUpload(Client& client, Interrupt& interrupt, const UploadSource& source, const LargeFile& file)
      : client_(client),
        interrupt_(interrupt),
        source_(source),
        file_(file),
        progress_(client.options().quiet, client.options().no_color) {}

  Client::Response run() {
    auto answer = begin();
    if (!answer.ok) return answer;
    path_ = "/v1/uploads/" + percent_encoded(text_at(*answer.json, "id"));
    answer = send_parts();
    if (answer.ok) answer = complete();
    if (!answer.ok) client_.request("POST", path_ + "/cancel");
    return answer;
  }

 private:
  using Send = std::function<Client::Response()>;

  void show(std::string text) {
    line_.emplace(std::move(text), client_.options().quiet);
    line_->show();
  }

  // Repeats the request as long as its error may pass.
  Client::Response with_retries(const Send& send) {
    milliseconds pause = kFirstPauseOfPart;
    for (int tries = 1; true; ++tries) {
      auto answer = send();
      if (answer.ok || !answer.error.transient || tries == kTriesOfPart) return answer;
      line_.reset();
      const milliseconds wait = answer.error.status == 0 ? pause : std::max(pause, retry_after(answer.reply));
      progress_.line("Trying again in " + std::to_string((wait.count() + 999) / 1000) +
                     " s: " + answer.error.message);
      if (interrupt_.wait(wait)) {
        answer.error.exit_code = kInterrupted;
        return answer;
      }
      pause = std::min(pause * 2, kLongestPauseOfPart);
    }
  }

  Client::Response post(const std::string& path, const std::string& body) {
    const Client::Headers key = fresh_key_header();
    return with_retries([&] { return client_.request("POST", path, body, key); });
  }

  Client::Response begin() {
    json body = {{"purpose", file_.purpose.empty() ? "user_data" : file_.purpose},
                 {"filename", file_.name},
                 {"bytes", source_.bytes()},
                 {"mime_type", "application/octet-stream"}};
    if (file_.expire_hours)
      body["expires_after"] = {{"anchor", "created_at"}, {"seconds", *file_.expire_hours * kSecondsPerHour}};
    return post("/v1/uploads", local_json(body));
  }

  Client::Response send_parts() {
    Client::Response answer;
    for (std::int64_t offset = 0; offset < source_.bytes(); offset += kPartBytes) {
      show("Uploading " + one_line(file_.name) + ": " + base::short_bytes(offset) + " of " +
           base::short_bytes(source_.bytes()));
      answer = send_part(offset, std::min(kPartBytes, source_.bytes() - offset));
      if (!answer.ok) return answer;
      part_ids_.push_back(text_at(*answer.json, "id"));
    }
    return answer;
  }

  Client::Response send_part(std::int64_t offset, std::int64_t count) {
    std::string form;
    schemas::FormBody body(form);
    body.file("data", "part");
    const std::size_t head_bytes = form.size();
    body.end();
    const std::string_view text = form;
    const auto file = source_.form(offset, count, text.substr(0, head_bytes), text.substr(head_bytes), &md5_);
    if (!file) {
      Client::Response failed;
      failed.error.message = file.error().message;
      return failed;
    }
    const Client::Headers key = fresh_key_header();
    return with_retries(
        [&] { return client_.upload_form(path_ + "/parts", fileno(file->get()), body.content_type(), key); });
  }

  Client::Response complete() {
    show("Joining the parts of " + one_line(file_.name));
    const json body = {{"part_ids", part_ids_}, {"md5", md5_.finish()}};
    return post(path_ + "/complete", body.dump());
  }

  Client& client_;
  Interrupt& interrupt_;
  const UploadSource& source_;
  const LargeFile& file_;
  Progress progress_;
  std::optional<WaitingLine> line_;  // on a terminal
  std::string path_;
  std::vector<std::string> part_ids_;
  base::Md5 md5_;
};

}  // namespace

Client::Response upload_in_parts(Client& client, Interrupt& interrupt, const UploadSource& source,
                                 const LargeFile& file) {
  return PartsUpload(client, interrupt, source, file).run();
}

}  // namespace millrace::cli
