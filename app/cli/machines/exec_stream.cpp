#include "app/cli/machines/exec_stream.h"

#include <cerrno>
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

bool print_chunk(const json& of, std::FILE* to) {
  std::string bytes = of.value("chunk", "");
  if (of.value("encoding", "") == "base64") bytes = base::base64_decode(bytes).value_or("");
  return write_output(bytes, to);
}

class Follower {
 public:
  Follower(const std::string& path, ClientOptions options, Interrupt& interrupt, OnInterrupt on_interrupt,
           OnStatus on_status)
      : path_(path),
        client_(std::move(options), &interrupt),
        interrupt_(interrupt),
        on_interrupt_(on_interrupt),
        on_status_(std::move(on_status)) {}

  ExecutionOutcome run() {
    for (int tries = 0; tries < kReconnectsMax; ++tries) {
      const std::int64_t before = last_;
      const auto answer = client_.stream(
          path_ + "/events", last_,
          [this](std::string_view id, std::string_view, std::string_view data) { return take(id, data); });
      if (!end_.status.empty() || end_.cut_off) return end_;
      if (answer.reply.status == 204) return end_of_record();
      if (last_ != before) tries = 0;
      if (answer.error.exit_code == kInterrupted) {
        if (!cancel()) return failed(interrupt_exit_code());
      } else if (!answer.ok && !answer.error.transient) {
        print_error(answer.error);
        return failed(answer.error.exit_code);
      } else if (interrupt_.wait(kReconnectAfter) && !cancel()) {
        return failed(interrupt_exit_code());
      }
    }
    print_error({kNoConnection, 0, {}, "the connection was lost and could not be restored", {}, true});
    return failed(kNoConnection);
  }

 private:
  bool take(std::string_view id, std::string_view data) {
    const json event = json::parse(data, nullptr, false);
    if (!event.is_object()) return true;
    std::from_chars(id.data(), id.data() + id.size(), last_);
    const std::string status = event.value("status", "");
    if (on_status_) on_status_(status, last_);
    const bool written =
        client_.options().json ? write_output(event.dump() + '\n', stdout) : print_event(event);
    const int why = errno;
    if (is_end(status) && (written || !client_.options().json)) {
      note_end(event);
    } else if (!written) {
      end_.cut_off = output_cut_off(why);
      end_.failure = end_.cut_off->exit_code;
    }
    return written;
  }

  void note_end(const json& of) {
    end_.status = of.value("status", "");
    end_.exit_code = of.value("exit_code", 0);
    end_.signal = of.value("signal", 0);
    end_.error_code = of.value("error_code", "");
    end_.error_message = of.value("error_message", "");
  }

  // The events ended before the execution did: reads its end from the execution itself.
  ExecutionOutcome end_of_record() {
    const auto answer = client_.request("GET", path_);
    if (!answer.ok) {
      print_error(answer.error);
      return failed(answer.error.exit_code);
    }
    note_end(*answer.json);
    return end_;
  }

  // Requests the cancellation. False: it was requested before, or must not be.
  bool cancel() {
    end_.cut_off = cut_off_by(interrupt_);
    if (end_.cut_off) return false;
    if (on_interrupt_ == OnInterrupt::kLeave || std::exchange(end_.interrupted, true)) return false;
    if (on_status_) on_status_("", last_);
    end_interrupted_line();
    std::fputs("cancelling; press Ctrl-C again to leave at once\n", stderr);
    Client once(client_.options());
    const auto answer = once.request("DELETE", path_);
    if (!answer.ok) print_error(answer.error);
    end_.cancelling = answer.ok;
    return true;
  }

  int interrupt_exit_code() const { return end_.cut_off ? end_.cut_off->exit_code : kInterrupted; }

  ExecutionOutcome failed(int exit_code) {
    end_.failure = exit_code;
    return end_;
  }

  std::string path_;
  Client client_;
  Interrupt& interrupt_;
  const OnInterrupt on_interrupt_;
  const OnStatus on_status_;
  ExecutionOutcome end_;
  std::int64_t last_ = 0;
};

}  // namespace

bool print_event(const json& event) {
  const std::string type = event.value("type", "");
  if (type == "stdout") return print_chunk(event, stdout);
  if (type == "stderr") return print_chunk(event, stderr);
  const std::string message = event.value("message", "");
  return message.empty() || write_output("millrace: " + message + '\n', stderr);
}

ExecutionOutcome follow(const std::string& execution_path, ClientOptions options, Interrupt& interrupt,
                        OnInterrupt on_interrupt, OnStatus on_status) {
  return Follower(execution_path, std::move(options), interrupt, on_interrupt, std::move(on_status)).run();
}

}  // namespace millrace::cli
