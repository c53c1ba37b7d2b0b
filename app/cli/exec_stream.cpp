#include "app/cli/exec_stream.h"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/interrupt.h"
#include "platform/base/base64.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::chrono::seconds kReconnectAfter{1};
constexpr int kReconnectsMax = 60;

bool is_end(std::string_view status) {
  return status == "succeeded" || status == "failed" || status == "cancelled" || status == "expired";
}

class Follower {
 public:
  Follower(const std::string& path, ClientOptions options, Interrupt& interrupt)
      : path_(path), client_(std::move(options), &interrupt), interrupt_(interrupt) {}

  ExecEnd run() {
    for (int tries = 0; tries < kReconnectsMax; ++tries) {
      const std::int64_t before = last_;
      const auto answer = client_.stream(
          path_ + "/events", last_, [this](std::string_view id, std::string_view, std::string_view data) {
            take(id, data);
            return true;
          });
      if (!end_.status.empty()) return end_;
      if (answer.reply.status == 204) return end_of_record();
      if (last_ != before) tries = 0;
      if (answer.error.exit_code == kInterrupted) {
        if (!cancel()) return failed(kInterrupted);
      } else if (!answer.ok && !answer.error.transient) {
        print_error(answer.error);
        return failed(answer.error.exit_code);
      } else if (interrupt_.wait(kReconnectAfter) && !cancel()) {
        return failed(kInterrupted);
      }
    }
    print_error({kNoConnection, 0, {}, "the connection was lost and did not come back", {}, true});
    return failed(kNoConnection);
  }

 private:
  void take(std::string_view id, std::string_view data) {
    const json event = json::parse(data, nullptr, false);
    if (!event.is_object()) return;
    std::from_chars(id.data(), id.data() + id.size(), last_);
    const std::string type = event.value("type", "");
    if (type == "stdout") return print_chunk(event, "chunk", "encoding", stdout);
    if (type == "stderr") return print_chunk(event, "chunk", "encoding", stderr);
    if (is_end(event.value("status", ""))) note_end(event);
  }

  void note_end(const json& of) {
    end_.status = of.value("status", "");
    end_.exit_code = of.value("exit_code", 0);
    end_.signal = of.value("signal", 0);
    end_.error_code = of.value("error_code", "");
    end_.error_message = of.value("error_message", "");
  }

  // Its history ended before what we asked for: the execution itself says how.
  ExecEnd end_of_record() {
    const auto answer = client_.request("GET", path_);
    if (!answer.ok) {
      print_error(answer.error);
      return failed(answer.error.exit_code);
    }
    note_end(*answer.json);
    return end_;
  }

  // False: it was asked for before.
  bool cancel() {
    if (std::exchange(cancelled_, true)) return false;
    std::fputs("\ncancelling; Ctrl-C again leaves at once\n", stderr);
    Client once(client_.options());
    const auto answer = once.request("DELETE", path_);
    if (!answer.ok) print_error(answer.error);
    return true;
  }

  ExecEnd failed(int exit_code) {
    end_.failure = exit_code;
    return end_;
  }

  std::string path_;
  Client client_;
  Interrupt& interrupt_;
  ExecEnd end_;
  std::int64_t last_ = 0;
  bool cancelled_ = false;
};

}  // namespace

void print_chunk(const json& of, const char* chunk, const char* encoding, std::FILE* to) {
  std::string bytes = of.value(chunk, "");
  if (of.value(encoding, "") == "base64") bytes = base::base64_decode(bytes).value_or("");
  std::fwrite(bytes.data(), 1, bytes.size(), to);
  std::fflush(to);
}

ExecEnd follow(const std::string& execution_path, ClientOptions options, Interrupt& interrupt) {
  return Follower(execution_path, std::move(options), interrupt).run();
}

}  // namespace millrace::cli
