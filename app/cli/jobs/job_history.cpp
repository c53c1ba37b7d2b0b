#include "app/cli/jobs/job_history.h"

#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/cli/jobs/job_text.h"
#include "app/cli/json_cells.h"
#include "platform/base/base64.h"
#include "platform/base/bytes.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::size_t kTypeColumns = 9;

// The members of an event's data that no sentence has used yet.
class UnusedMembers {
 public:
  explicit UnusedMembers(json data) : data_(std::move(data)) {}

  bool has(const char* name) const { return data_.contains(name); }
  std::string take(const char* name) {
    std::string out = plain(data_[name]);
    data_.erase(name);
    return out;
  }
  // "MESSAGE (CODE)".
  std::string take_error() {
    std::string out = error_text(data_);
    data_.erase("message"), data_.erase("code");
    return out;
  }
  std::string with_rest(std::string sentence) const {
    for (const auto& [name, value] : data_.items())
      sentence += (sentence.empty() ? "" : ", ") + name + " " + plain(value);
    return sentence;
  }

 private:
  json data_;
};

std::string of_queued(UnusedMembers& members) {
  struct Why {
    std::string_view reason, sentence;
  };
  constexpr std::array kWhys{Why{"machine_awake", "its machine is awake; it waits for a worker"},
                             Why{"children_done", "all its parts are done; they are assembled next"},
                             Why{"worker_lost", "its worker was lost; it waits for another worker"},
                             Why{"run_at", "its time has come; it waits for a worker"},
                             Why{"drain", "its worker is draining; it waits for another worker"}};
  if (!members.has("reason")) return "it waits for a worker";
  std::string reason = members.take("reason");
  for (const Why& why : kWhys) {
    if (why.reason == reason) return std::string(why.sentence);
  }
  return reason;
}

std::string of_scheduled(UnusedMembers& members) {
  return members.has("run_at") ? "it starts at " + members.take("run_at") : "";
}

std::string of_waking(UnusedMembers&) { return "it waits until its machine is awake"; }

std::string of_running(UnusedMembers& members) {
  if (members.has("message")) return members.take("message");
  return members.has("attempt") ? "attempt " + members.take("attempt") + " begins" : "";
}

std::string of_retry(UnusedMembers& members) {
  std::string out = members.has("message") ? members.take_error() : "";
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (members.has("attempt")) add("attempt " + members.take("attempt") + " failed");
  if (members.has("run_at")) add("the next attempt at " + members.take("run_at"));
  return out;
}

std::string of_waiting(UnusedMembers& members) {
  if (!members.has("children")) return "";
  const std::string parts = members.take("children");
  return "it is processed in " + parts + (parts == "1" ? " part" : " parts");
}

std::string of_page(UnusedMembers& members) {
  return members.has("index") ? "page " + members.take("index") + " is read" : "";
}

std::string of_piece(UnusedMembers& members) {
  return members.has("index") ? "piece " + members.take("index") + " is transcribed" : "";
}

std::string of_progress(UnusedMembers& members) {
  if (!members.has("done") || !members.has("total")) return "";
  const std::string done = members.take("done");
  return done + " of " + members.take("total") + " done";
}

// The output as it was written, without its last newline.
std::string of_output(UnusedMembers& members) {
  if (!members.has("chunk")) return "";
  std::string chunk = members.take("chunk");
  if (members.has("encoding") && members.take("encoding") == "base64") {
    const auto bytes = base::base64_decode(chunk);
    return base::short_bytes(bytes ? static_cast<std::int64_t>(bytes->size()) : 0) + " that are not text";
  }
  if (chunk.ends_with('\n')) chunk.pop_back();
  if (chunk.ends_with('\r')) chunk.pop_back();
  return chunk;
}

std::string of_error(UnusedMembers& members) { return members.has("message") ? members.take_error() : ""; }

struct Sentence {
  std::string_view type;
  std::string (*of)(UnusedMembers& members);
};
constexpr std::array kSentences{
    Sentence{"queued", &of_queued},       Sentence{"wake_in_progress", &of_waking},
    Sentence{"scheduled", &of_scheduled}, Sentence{"running", &of_running},
    Sentence{"retry", &of_retry},         Sentence{"waiting", &of_waiting},
    Sentence{"page", &of_page},           Sentence{"piece", &of_piece},
    Sentence{"progress", &of_progress},   Sentence{"stdout", &of_output},
    Sentence{"stderr", &of_output},
};

std::string what(std::string_view type, const json& data) {
  if (!data.is_object()) return plain(data);
  UnusedMembers members(data);
  for (const Sentence& sentence : kSentences) {
    if (sentence.type != type) continue;
    std::string text = members.with_rest(sentence.of(members));
    return sentence.of == &of_output ? text : one_line(text);
  }
  return one_line(members.with_rest(of_error(members)));
}

// Each line of `text`, prefixed with `begin`.
std::string lines(const std::string& begin, std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = text.find('\n');
    out += one_line(begin + std::string(text.substr(0, end)));
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string event_text(const json& event) {
  if (!event.is_object()) return one_line(plain(event));
  const auto text = [&](const char* name) { return event.contains(name) ? plain(event[name]) : ""; };
  const std::string type = text("type");
  const std::string event_text = event.contains("data") ? what(type, event["data"]) : "";
  if (event_text.empty()) return one_line(text("at") + "  " + type);
  return lines(text("at") + "  " + padded(type, kTypeColumns) + "  ", event_text);
}

std::string queued_reason(const json& event) {
  if (!event.is_object() || text_at(event, "type") != "queued") return {};
  const json data = event.value("data", json());
  if (!data.is_object() || !data.contains("reason")) return {};
  UnusedMembers members(data);
  return of_queued(members);
}

std::string JobHistory::text(json event) {
  const std::string type = event.is_object() ? text_at(event, "type") : "";
  in_parts_ = in_parts_ || type == "waiting";
  const bool has_data = event.is_object() && event.contains("data") && event["data"].is_object();
  if (!has_data || !event["data"].contains("attempt")) return event_text(event);
  json& attempt = event["data"]["attempt"];
  if (in_parts_ && attempt.is_number_integer()) attempt = attempt.get<std::int64_t>() - 1;
  const bool puts_together = in_parts_ && type == "running" && attempt == attempt_;
  if (type == "running" && attempt.is_number_integer()) attempt_ = attempt.get<std::int64_t>();
  if (puts_together) event["data"] = {{"message", "its parts are assembled"}};
  return event_text(event);
}

}  // namespace millrace::cli
