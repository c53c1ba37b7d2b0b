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
constexpr std::size_t kEndsPerWrite = 64;
constexpr int kInFlightMax = 64;                        // lines of all batches that are sent and not answered
constexpr std::int64_t kBytesInFlightMax = 32LL << 20;  // of these, unless it is one
constexpr int kAttemptsMax = 4;  // of a line that is answered directly and fails for a passing reason
constexpr milliseconds kPauseMin{500}, kPauseMax{30'000}, kPauseOfAll{2'000};
constexpr int kRefusalsInRow = 16;

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

// True if a member of the error has this text.
bool has_word(const front::Reply& reply, std::string_view word) {
  return reply.body.find("\"" + std::string(word) + "\"") != std::string::npos;
}

bool is_spent(const schemas::Batch& batch) {
  return batch.cost_max && batch.cost >= *batch.cost_max && batch.cost > 0;
}

// As a reply that has no body of its own.
front::Reply own_error(int status, std::string_view code, std::string_view message) {
  const std::string error = schemas::JsonObject()
                                .member("message", message)
                                .member("type", "server_error")
                                .raw("param", "null")
                                .member("code", code)
                                .finish();
  return {.status = status,
          .content_type = "application/json",
          .headers = {},
          .body = schemas::JsonObject().raw("error", error).finish()};
}

}  // namespace

base::Result<bool> BatchRunner::progress(Run& run, const Driven& found) {
  const auto principal = auth_.principal_of(found.key_id);
  if (!principal) return principal.error();
  if (!*principal)
    return cancel_with(run, "key_invalid", "The API key that created the batch was revoked or has expired");
  const auto answered = take_answers(run);
  if (!answered) return answered.error();
  const auto collected = collect_jobs(run, found);
  if (!collected) return collected.error();
  const bool has_new_cost = found.batch.cost_max && (*answered || *collected);
  const auto driven = has_new_cost ? batches_.find(run.id) : base::Result<Driven>(found);
  if (!driven) return driven.error();
  const auto sent = submit(run, *driven, *principal);
  if (!sent && sent.error().code == base::Code::kStoredDamaged)
    return cancel_with(run, "input_damaged", sent.error().message);
  if (!sent) return sent.error();
  if (run.in_flight > 0) return *answered || *collected;
  if (*answered || *collected || *sent > 0) return true;
  if (!run.has_no_pending || !run.to_resend.empty()) return false;
  return finalize_if_over(run);
}

base::Result<bool> BatchRunner::cancel_with(Run& run, std::string code, std::string message) {
  const base::Status begun =
      batches_.begin_cancel(run.id, {.code = std::move(code), .message = std::move(message)});
  return begun ? base::Result<bool>(true) : begun.error();
}

base::Result<bool> BatchRunner::finalize_if_over(Run& run) {
  const auto open = batches_.submitted_count(run.id, 1);
  if (!open) return open.error();
  if (*open > 0) return false;
  const auto is_over = batches_.finalize(run.id);
  if (!is_over) return is_over.error();
  if (!*is_over) {  // a line was refused for the batch's sake, and is pending
    run.next_after = 0;
    run.has_no_pending = false;
  }
  return true;
}

int BatchRunner::in_flight(bool only_direct) const {
  int count = 0;
  for (const auto& [id, each] : runs_) {
    if (!only_direct || !each.makes_jobs.value_or(false)) count += each.in_flight;
  }
  return count;
}

// How many lines may be sent now, but for the window of jobs.
int BatchRunner::sendable_lines(const Run& run, const Driven& driven) const {
  const int left = std::min(kInFlightMax - in_flight(false), kLinesPerStep);
  if (run.makes_jobs == true) return left;
  // The first line shows what the others are. Under a limit of costs, one after the other.
  if (!run.makes_jobs || driven.batch.cost_max) return run.in_flight > 0 ? 0 : std::min(left, 1);
  return std::min(left, context_.options.batches.direct - in_flight(true));
}

base::Result<std::vector<BatchRunner::Line>> BatchRunner::next_lines(Run& run, int most) {
  std::vector<Line> lines;
  if (!run.has_no_pending) {
    auto more = batches_.pending(run.id, run.next_after, most);
    if (!more) return more.error();
    run.has_no_pending = more->empty();
    if (!more->empty()) run.next_after = more->back().number;
    lines = *std::move(more);
  }
  const auto now = Clock::now();
  while (std::ssize(lines) < most && !run.to_resend.empty() && run.to_resend.begin()->first <= now) {
    lines.push_back(std::move(run.to_resend.begin()->second));
    run.to_resend.erase(run.to_resend.begin());
  }
  return lines;
}

// The costs of lines without jobs are known at their ends. Returns the number of lines that were refused.
base::Result<int> BatchRunner::refuse_lines(Run& run) {
  const auto lines = next_lines(run, kLinesPerStep);
  if (!lines) return lines.error();
  for (const Line& line : *lines)
    fail_line(run, line, "budget_exceeded", "The batch has reached its max_cost_usd");
  if (const base::Status written = write_ends(run); !written) return written.error();
  return static_cast<int>(lines->size());
}

// Returns the number of lines that were sent or refused.
base::Result<int> BatchRunner::submit(Run& run, const Driven& driven, const PrincipalPtr& principal) {
  {
    const std::lock_guard lock(answers_->mutex);
    if (answers_->is_draining) return 0;
  }
  if (Clock::now() < run.paused_until || (run.has_no_pending && run.to_resend.empty())) return 0;
  if (is_spent(driven.batch) && run.makes_jobs != true) return refuse_lines(run);
  int most = sendable_lines(run, driven);
  if (most <= 0) return 0;
  const int window = context_.options.batches.window;
  const auto submitted = batches_.submitted_count(run.id, window);
  if (!submitted) return submitted.error();
  most = std::min(most, window - *submitted - run.in_flight);
  if (most <= 0) return 0;
  auto lines = next_lines(run, most);
  if (!lines) return lines.error();
  int sent = 0;
  for (const Line& line : *lines) {
    const bool fits = bytes_in_flight_ == 0 || bytes_in_flight_ + line.bytes <= kBytesInFlightMax;
    const base::Status done = fits ? send(run, driven, principal, line) : base::Status();
    if (fits && done) {
      ++sent;
      continue;
    }
    for (auto left = lines->begin() + sent; left != lines->end(); ++left)
      run.to_resend.emplace(Clock::time_point(), std::move(*left));
    if (!done) return done.error();
    break;
  }
  return sent;
}

base::Status BatchRunner::send(Run& run, const Driven& driven, const PrincipalPtr& principal,
                               const Line& line) {
  const schemas::Batch& batch = driven.batch;
  if (!run.input) {
    if (!driven.input) return base::error(base::Code::kStoredDamaged, "The input of the batch is missing");
    auto file = context_.store.blobs().open(*driven.input);
    if (!file) return file.error();
    run.input.emplace(*std::move(file), context_.options.batches.line_bytes_max);
  }
  auto text = run.input->read(line.starts_at, line.bytes);
  if (!text) return text.error();
  auto read = schemas::parse_batch_line(*text, batch.shape, batch.endpoint, line.number);
  if (!read) return base::error(base::Code::kStoredDamaged, "The input of the batch has changed");
  const bool is_chat = batch.endpoint == "/v1/chat/completions";
  const bool is_execution = batch.endpoint.starts_with("/v1/machines/");
  Guard::LineRequest request{
      .path = batch.endpoint,
      .body = schemas::batch_line_request(std::move(read->body), batch.model, is_chat),
      .idempotency_key = is_execution ? schemas::batch_id(run.id) + "_" + std::to_string(line.number) : "",
      .principal = principal,
      .line = {.batch = run.id,
               .number = line.number,
               .driver = batches_.driver(),
               .expires_at = batch.expires_at}};
  ++run.in_flight;
  bytes_in_flight_ += line.bytes;
  guard_.send_line(
      std::move(request), context_.options.reply_bytes_max,
      [answers = answers_, id = run.id, generation = run.generation, line](Guard::LineReply reply) {
        const std::lock_guard lock(answers->mutex);
        answers->lines.push_back({id, generation, line, std::move(reply)});
        answers->has_new = true;
        answers->changed.notify_all();
      });
  return {};
}

// True: there were some.
base::Result<bool> BatchRunner::take_answers(Run& run) {
  std::vector<AnsweredLine> mine;
  {
    const std::lock_guard lock(answers_->mutex);
    std::vector<AnsweredLine> others;
    for (AnsweredLine& each : answers_->lines)
      (each.batch == run.id ? mine : others).push_back(std::move(each));
    answers_->lines = std::move(others);
  }
  for (auto each = mine.begin(); each != mine.end(); ++each) {
    const bool is_current = each->generation == run.generation;
    const base::Status taken = is_current ? take_answer(run, *each) : base::Status();
    if (!taken) {
      const std::lock_guard lock(answers_->mutex);  // they are taken again
      std::move(each, mine.end(), std::back_inserter(answers_->lines));
      return taken.error();
    }
    if (is_current) --run.in_flight;
    bytes_in_flight_ -= each->line.bytes;
  }
  if (const base::Status written = write_ends(run); !written) return written.error();
  return !mine.empty();
}

// The line fails now, and may not when it is sent again later.
bool BatchRunner::is_passing(const Run& run, const AnsweredLine& answered) const {
  const front::Reply& reply = *answered.reply.reply;
  if (reply.status == 429) return !has_word(reply, "budget_exceeded");
  if (reply.status == 503) return true;
  const auto tried = run.attempts.find(answered.line.number);
  const bool may_pass = reply.status >= 500 && header_of(reply, "x-should-retry") != "false";
  return may_pass && (tried == run.attempts.end() || tried->second + 1 < kAttemptsMax);
}

// Other lines may be accepted meanwhile. If many in a row are refused, all of them wait.
void BatchRunner::send_later(Run& run, const AnsweredLine& answered) const {
  const int doubled = std::min(run.attempts[answered.line.number]++, 6);
  const auto pause = std::min(pause_of(*answered.reply.reply) * (1 << doubled), kPauseMax);
  run.to_resend.emplace(Clock::now() + pause, answered.line);
  if (++run.refusals % kRefusalsInRow == 0) run.paused_until = Clock::now() + std::min(pause, kPauseOfAll);
}

base::Status BatchRunner::take_answer(Run& run, const AnsweredLine& answered) {
  const Guard::LineReply& got = answered.reply;
  if (got.job) {
    run.makes_jobs = true;
    run.refusals = 0;
    return {};
  }
  if (!got.reply)
    return end_line(
        run, answered.line, std::nullopt,
        own_error(502, "reply_incomplete", "The reply was cut off, or is too large (ocr.reply_max)"),
        got.request_id);
  const front::Reply& reply = *got.reply;
  // It was submitted before, or its batch has ended or has another driver: it ends otherwise.
  if (reply.status == 409 && has_word(reply, storage::kBatchLineParam)) return {};
  if (is_passing(run, answered)) {
    send_later(run, answered);
    return {};
  }
  run.refusals = 0;
  if (!run.makes_jobs && reply.status < 300) run.makes_jobs = false;
  return end_line(run, answered.line, std::nullopt, reply, got.request_id);
}

// True: there were some.
base::Result<bool> BatchRunner::collect_jobs(Run& run, const Driven& driven) {
  const auto ended = batches_.ended(run.id, kLinesPerStep);
  if (!ended) return ended.error();
  bool has_collected = false;
  for (const SubmittedLine& each : *ended) {
    run.makes_jobs = true;
    const auto done = end_job(run, driven, each);
    if (!done) return done.error();
    has_collected = has_collected || *done;
  }
  if (const base::Status written = write_ends(run); !written) return written.error();
  return has_collected;
}

// False: its result cannot be read now.
base::Result<bool> BatchRunner::end_job(Run& run, const Driven& driven, const SubmittedLine& line) {
  const Line of{.number = line.number, .custom_id = line.custom_id};
  if (line.is_lost) {
    fail_line(run, of, "job_deleted", "The job of this line was deleted");
    return true;
  }
  const auto owner = std::make_shared<Principal>();
  owner->key_id = driven.key_id;
  owner->tenant = driven.tenant;
  std::optional<front::Reply> reply;
  guard_.send_result(owner, driven.batch.endpoint, line.job, context_.options.reply_bytes_max,
                     [&](Guard::LineReply got) { reply = std::move(got.reply); });
  if (line.has_succeeded && reply && reply->status == 503) return false;
  if (!reply) reply = own_error(413, "result_too_large", "The result is larger than ocr.reply_max");
  const base::Status done = end_line(run, of, line.has_succeeded, *reply, line.job.str());
  return done ? base::Result<bool>(true) : done.error();
}

void BatchRunner::fail_line(Run& run, const Line& line, std::string_view code,
                            std::string_view message) const {
  run.ends.push_back(
      {.number = line.number,
       .output = {.bytes = schemas::batch_error_line(run.id, line.number, line.custom_id, code, message),
                  .blob = {}}});
}

base::Status BatchRunner::end_line(Run& run, const Line& line, std::optional<bool> job_succeeded,
                                   const front::Reply& reply, const std::string& request_id) {
  const bool is_good = reply.status >= 200 && reply.status < 300;
  LineEnd end{.number = line.number, .has_succeeded = is_good && job_succeeded.value_or(true), .output = {}};
  schemas::BatchReply shown{.status = reply.status, .request_id = request_id, .body = json_of(reply)};
  end.usage = schemas::usage_of_reply(shown.body);
  const auto cost = number_of(header_of(reply, "x-millrace-cost-usd"));
  if (cost) end.cost = schemas::nano_usd(*cost);
  if (!cost && job_succeeded == true) end.cost = std::nullopt;  // unknown
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
    const auto count = static_cast<std::ptrdiff_t>(std::min(run.ends.size(), kEndsPerWrite));
    const std::vector<LineEnd> some(run.ends.begin(), run.ends.begin() + count);
    if (base::Status written = batches_.end_lines(run.id, some); !written) return written;
    for (const LineEnd& end : some) (end.has_succeeded ? succeeded_ : failed_).add();
    run.ends.erase(run.ends.begin(), run.ends.begin() + count);
  }
  return {};
}

}  // namespace millrace::api
