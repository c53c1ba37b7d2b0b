#include <algorithm>
#include <charconv>
#include <utility>

#include "api/admission/auth.h"
#include "api/batches/batch_runner.h"
#include "api/front/reply_collector.h"
#include "api/jobs/job_result.h"
#include "platform/base/base64.h"
#include "platform/base/utf8.h"
#include "schemas/json/json_text.h"

// How a BatchRunner sends lines and collects what becomes of them.
namespace millrace::api {
namespace {

using std::chrono::milliseconds;

constexpr int kLinesPerStep = 256;
constexpr std::size_t kEndBytesPerWrite = 1 << 20;
constexpr int kAttemptsMax = 4;  // of a line that is answered directly and fails for a passing reason
constexpr milliseconds kPauseMin{500}, kPauseMax{30'000};

std::string_view header_of(const front::Reply& reply, std::string_view name) {
  const auto at = std::ranges::find(reply.headers, name, &front::Header::name);
  return at == reply.headers.end() ? std::string_view() : std::string_view(at->value);
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? std::optional(number) : std::nullopt;
}

milliseconds pause_of(const front::Reply& reply) {
  const auto seconds = number_of(header_of(reply, "retry-after"));
  const auto pause = milliseconds(static_cast<std::int64_t>(seconds.value_or(1.0) * 1000));
  return std::clamp(pause, kPauseMin, kPauseMax);
}

// A body that is not JSON becomes a text, or an object with its bytes.
std::string json_of(const front::Reply& reply) {
  const bool is_json = reply.content_type.find("json") != std::string::npos;
  if (is_json || reply.body.empty()) return reply.body;
  std::string out;
  if (reply.content_type.starts_with("text/") && base::is_utf8(reply.body)) {
    schemas::append_json_string(out, reply.body);
    return out;
  }
  return schemas::JsonObject(reply.body.size() * 2)
      .member("content_type", reply.content_type)
      .member("content_base64", base::base64_encode(reply.body))
      .finish();
}

bool has_code(const front::Reply& reply, std::string_view code) {
  return reply.body.find("\"" + std::string(code) + "\"") != std::string::npos;
}

}  // namespace

base::Result<bool> BatchRunner::progress(Run& run, const Driven& driven) {
  const PrincipalPtr principal = auth_.principal_of(driven.key_id);
  if (!principal) {
    const schemas::BatchError why{.code = "key_invalid",
                                  .message = "The API key that created the batch was revoked or has expired"};
    const base::Status begun = batches_.begin_cancel(run.id, why);
    return begun ? base::Result<bool>(true) : begun.error();
  }
  const auto replied = take_replies(run);
  if (!replied) return replied.error();
  const auto collected = collect_jobs(run, driven);
  if (!collected) return collected.error();
  const auto sent = submit(run, driven, principal);
  if (!sent) return sent.error();
  if (*replied || *collected || *sent > 0 || run.in_flight > 0) return *replied || *collected;
  if (!run.has_no_pending || !run.again.empty()) return false;
  const auto open = batches_.submitted_count(run.id, 1);
  if (!open) return open.error();
  if (*open > 0) return false;
  const base::Status finalizing = batches_.finalize(run.id);
  return finalizing ? base::Result<bool>(true) : finalizing.error();
}

base::Result<std::vector<BatchRunner::Line>> BatchRunner::next_lines(Run& run, int most) {
  std::vector<Line> lines;
  while (!run.again.empty() && std::ssize(lines) < most) {
    lines.push_back(std::move(run.again.back()));
    run.again.pop_back();
  }
  if (std::ssize(lines) == most || run.has_no_pending) return lines;
  auto more = batches_.pending(run.id, run.next_after, most - static_cast<int>(lines.size()));
  if (!more) {
    std::ranges::move(lines, std::back_inserter(run.again));
    return more.error();
  }
  run.has_no_pending = more->empty();
  if (!more->empty()) run.next_after = more->back().number;
  std::ranges::move(*more, std::back_inserter(lines));
  return lines;
}

// Returns the number of lines that were sent.
base::Result<int> BatchRunner::submit(Run& run, const Driven& driven, const PrincipalPtr& principal) {
  {
    const std::lock_guard lock(arrivals_->mutex);
    if (arrivals_->is_draining) return 0;
  }
  if (Clock::now() < run.paused_until || (run.has_no_pending && run.again.empty())) return 0;
  const schemas::BatchLimits& limits = context_.options.batches;
  const int window = run.has_jobs ? limits.window : std::min(limits.direct, limits.window);
  const auto submitted = batches_.submitted_count(run.id, window);
  if (!submitted) return submitted.error();
  const int most = std::min(window - *submitted - run.in_flight, kLinesPerStep);
  if (most <= 0) return 0;
  auto lines = next_lines(run, most);
  if (!lines) return lines.error();
  for (std::size_t i = 0; i < lines->size(); ++i) {
    if (const base::Status sent = send(run, driven, principal, (*lines)[i]); !sent) {
      std::move(lines->begin() + static_cast<std::ptrdiff_t>(i), lines->end(), std::back_inserter(run.again));
      return sent.error();
    }
  }
  return static_cast<int>(lines->size());
}

base::Status BatchRunner::send(Run& run, const Driven& driven, const PrincipalPtr& principal,
                               const Line& line) {
  if (!run.input) {
    if (!driven.input) return base::error(base::Code::kStoredDamaged, "the input of the batch is missing");
    auto file = context_.store.blobs().open(*driven.input);
    if (!file) return file.error();
    run.input.emplace(*std::move(file), context_.options.batches.line_bytes_max);
  }
  auto text = run.input->read(line.starts_at, line.bytes);
  if (!text) return text.error();
  auto read = schemas::parse_batch_line(*text, driven.batch.shape, driven.batch.endpoint, line.number);
  if (!read) return base::error(base::Code::kStoredDamaged, "the input of the batch has changed");
  const bool is_chat = driven.batch.endpoint == "/v1/chat/completions";
  const bool is_execution = driven.batch.endpoint.starts_with("/v1/machines/");
  Guard::LineRequest request{
      .path = driven.batch.endpoint,
      .body = schemas::batch_line_request(std::move(read->body), driven.batch.model, is_chat),
      .idempotency_key = is_execution ? schemas::batch_id(run.id) + "_" + std::to_string(line.number) : "",
      .principal = principal,
      .line = {.batch = run.id,
               .number = line.number,
               .driver = batches_.driver(),
               .expires_at = driven.batch.expires_at}};
  ++run.in_flight;
  guard_.send_line(
      std::move(request), context_.options.reply_bytes_max,
      [arrivals = arrivals_, id = run.id, generation = run.generation, line](Guard::LineReply reply) {
        const std::lock_guard lock(arrivals->mutex);
        arrivals->replies.push_back({id, generation, line, std::move(reply)});
        arrivals->changed.notify_all();
      });
  return {};
}

// True: there were some.
base::Result<bool> BatchRunner::take_replies(Run& run) {
  std::vector<Arrival> arrived;
  {
    const std::lock_guard lock(arrivals_->mutex);
    std::vector<Arrival> others;
    for (Arrival& each : arrivals_->replies) {
      if (!runs_.contains(each.batch)) continue;
      (each.batch == run.id ? arrived : others).push_back(std::move(each));
    }
    arrivals_->replies = std::move(others);
  }
  for (auto each = arrived.begin(); each != arrived.end(); ++each) {
    if (each->generation != run.generation) continue;
    if (const base::Status taken = take_reply(run, *each); !taken) {
      const std::lock_guard lock(arrivals_->mutex);  // they are taken again
      std::move(each, arrived.end(), std::back_inserter(arrivals_->replies));
      return taken.error();
    }
    --run.in_flight;
  }
  if (const base::Status written = write_ends(run); !written) return written.error();
  return !arrived.empty();
}

// The line fails now, and may not when it is sent again later.
bool BatchRunner::is_passing(Run& run, const Arrival& arrival) const {
  const front::Reply& reply = *arrival.reply.reply;
  if (reply.status == 429) return !has_code(reply, "budget_exceeded");
  if (reply.status == 503) return true;
  const bool may_pass = reply.status >= 500 && header_of(reply, "x-should-retry") != "false";
  return may_pass && ++run.attempts[arrival.line.number] < kAttemptsMax;
}

base::Status BatchRunner::take_reply(Run& run, const Arrival& arrival) {
  if (arrival.reply.job) {
    run.has_jobs = true;
    return {};
  }
  if (!arrival.reply.reply) {
    front::Reply cut{
        .status = 502,
        .content_type = "application/json",
        .headers = {},
        .body = R"({"error":{"message":"The reply was cut off, or is larger than results.reply_max",)"
                R"("type":"server_error","param":null,"code":"reply_incomplete"}})"};
    return end_line(run, arrival.line, false, cut, arrival.reply.request_id);
  }
  const front::Reply& reply = *arrival.reply.reply;
  if (reply.status == 409) {
    const auto pending = batches_.pending(run.id, arrival.line.number - 1, 1);
    if (!pending) return pending.error();
    if (pending->empty() || pending->front().number != arrival.line.number)
      return {};  // it was submitted before
  }
  if (!is_passing(run, arrival)) return end_line(run, arrival.line, true, reply, arrival.reply.request_id);
  run.paused_until = Clock::now() + pause_of(reply);
  run.again.push_back(arrival.line);
  return {};
}

// True: there were some.
base::Result<bool> BatchRunner::collect_jobs(Run& run, const Driven& driven) {
  const auto ended = batches_.ended(run.id, kLinesPerStep);
  if (!ended) return ended.error();
  const auto owner = std::make_shared<Principal>();
  owner->key_id = driven.key_id;
  owner->tenant = driven.tenant;
  for (const auto& each : *ended) {
    run.has_jobs = true;
    const Line line{.number = each.number, .custom_id = each.custom_id};
    if (each.is_lost) {
      run.ends.push_back(
          {.number = each.number,
           .output = {.bytes = schemas::batch_error_line(run.id, each.number, each.custom_id, "job_deleted",
                                                         "The job of this line was deleted"),
                      .blob = {}}});
      continue;
    }
    std::optional<front::Reply> reply;
    std::string request_id;
    guard_.send_result(owner, driven.batch.endpoint, each.job, context_.options.reply_bytes_max,
                       [&](Guard::LineReply got) {
                         reply = std::move(got.reply);
                         request_id = each.job.str();
                       });
    if (reply && reply->status == 503)
      return base::error(base::Code::kOverloaded, "a result cannot be read now");
    if (!reply) reply = front::Reply{.status = 413, .content_type = {}, .headers = {}, .body = {}};
    if (const base::Status done = end_line(run, line, each.has_succeeded, *reply, request_id); !done)
      return done.error();
  }
  if (const base::Status written = write_ends(run); !written) return written.error();
  return !ended->empty();
}

base::Status BatchRunner::end_line(Run& run, const Line& line, bool may_succeed, const front::Reply& reply,
                                   const std::string& request_id) {
  LineEnd end{.number = line.number,
              .has_succeeded = may_succeed && reply.status >= 200 && reply.status < 300,
              .output = {}};
  schemas::BatchReply shown{.status = reply.status, .request_id = request_id, .body = json_of(reply)};
  end.usage = schemas::usage_of_reply(shown.body);
  end.cost = schemas::nano_usd(number_of(header_of(reply, "x-millrace-cost-usd")).value_or(0));
  end.output.bytes = schemas::batch_output_line(run.id, line.number, line.custom_id, shown);
  if (end.output.bytes.size() > storage::kInlineMax) {
    auto staged = storage::stage_reserved(context_.store.blobs(), end.output.bytes);
    if (!staged) return staged.error();
    end.output.blob = *std::move(staged);
    end.output.bytes.clear();
  }
  run.attempts.erase(line.number);
  run.ends.push_back(std::move(end));
  return {};
}

base::Status BatchRunner::write_ends(Run& run) {
  while (!run.ends.empty()) {
    std::vector<LineEnd> some;
    std::size_t bytes = 0, count = 0;
    for (; count < run.ends.size() && bytes < kEndBytesPerWrite; ++count) {
      bytes += run.ends[count].output.bytes.size() + 256;
      some.push_back(run.ends[count]);
    }
    if (const base::Status written = batches_.end_lines(run.id, some); !written) return written;
    for (const LineEnd& end : some) (end.has_succeeded ? succeeded_ : failed_).add();
    run.ends.erase(run.ends.begin(), run.ends.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return {};
}

}  // namespace millrace::api
