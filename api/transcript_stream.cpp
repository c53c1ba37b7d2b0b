#include "api/transcript_stream.h"

#include <algorithm>

#include "api/chat_answer.h"
#include "api/transcript_answer.h"
#include "platform/base/log.h"
#include "schemas/chat_reply.h"
#include "schemas/json_text.h"
#include "schemas/transcript.h"

namespace millrace::api {
namespace {

using base::Code;

std::string frame_of(std::string_view json) { return std::string("data: ").append(json).append("\n\n"); }

}  // namespace

void TranscriptStream::start(Context& context, CallPtr call, const schemas::JobId& job, Marks marks) {
  auto stream = std::make_shared<TranscriptStream>(context, call, job, std::move(marks));
  context.waits.add(stream);
  const std::weak_ptr<TranscriptStream> weak = stream;
  call->on_gone([weak] {
    if (const auto held = weak.lock()) held->over();
  });
  auto ticket = context.waits.waiters().watch(job, 0, [weak](std::int64_t, schemas::JobStatus) {
    if (const auto held = weak.lock()) held->wake();
  });
  {
    const std::lock_guard lock(stream->mutex_);
    if (!stream->over_) stream->ticket_ = std::move(ticket);
  }
  stream->schedule_heartbeat();
  stream->wake();
}

void TranscriptStream::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    again_ = true;
    if (running_) return;
    running_ = true;
  }
  const bool posted =
      context_.pool.post(base::Pool::Lane::kQuick, [self = shared_from_this()] { self->pump(); });
  if (posted) return;
  const std::lock_guard lock(mutex_);
  running_ = false;  // the next heartbeat looks again
}

void TranscriptStream::pump() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      running_ = again_ && !over_;
      again_ = false;
      if (!running_) return;
    }
    if (!looked()) return over();
  }
}

// `look`, whatever it throws: a stream that stopped looking would wait for ever.
bool TranscriptStream::looked() {
  try {
    return look();
  } catch (const std::exception& problem) {
    base::log_error("transcript_stream_threw", {{"what", problem.what()}});
    fail(base::error(Code::kInternal, "The transcript could not be read"), false);
    return false;
  }
}

// False: there is no more to say.
bool TranscriptStream::look() {
  auto stored = storage::JobQueries(context_.store).result(call_->tenant(), job_);
  if (!stored) {
    fail(stored.error(), false);
    return false;
  }
  if (schemas::is_terminal(stored->job.status)) {
    say_end(std::move(*stored));
    return false;
  }
  if (const base::Status said = say_pieces(); !said) {
    fail(said.error(), false);
    return false;
  }
  return true;
}

// The pieces that follow what was said, up to the first that is not there.
base::Status TranscriptStream::say_pieces() {
  const auto parts = storage::JobQueries(context_.store).part_sizes(call_->tenant(), job_);
  if (!parts) return parts.error();
  const auto is_there = [&](int index) {
    return std::any_of(parts->begin(), parts->end(), [&](const auto& part) { return part.index == index; });
  };
  for (; is_there(next_); ++next_) {
    const auto piece = spoken_piece(context_, call_->tenant(), job_, next_);
    if (!piece) return piece.error();
    const std::size_t before = said_.size();
    schemas::add_words(said_, schemas::text_of(*piece));
    if (!say_text(std::string_view(said_).substr(before))) return {};
  }
  return {};
}

bool TranscriptStream::say_text(std::string_view more) {
  if (more.empty()) return true;
  return write(
      frame_of(schemas::JsonObject().member("type", "transcript.text.delta").member("delta", more).finish()));
}

void TranscriptStream::say_end(storage::StoredResult stored) {
  if (stored.job.status != schemas::JobStatus::kSucceeded) return fail(error_of(stored.job), true);
  if (!stored.payload) return fail(expired_result(), true);
  const auto json = bytes_of(context_.store, std::move(*stored.payload));
  if (!json) return fail(json.error(), false);
  const auto read = schemas::stored_transcript(*json);
  if (!read) return fail(read.error(), false);
  const schemas::Transcript& whole = read->transcript;
  if (whole.text.starts_with(said_)) say_text(std::string_view(whole.text).substr(said_.size()));
  schemas::JsonObject done;
  done.member("type", "transcript.text.done").member("text", whole.text);
  if (const std::string usage = schemas::transcript_usage(whole); !usage.empty()) done.raw("usage", usage);
  if (write(frame_of(done.finish()))) call_->responder().end();
}

bool TranscriptStream::write(std::string_view frames) {
  const std::lock_guard lock(mutex_);
  if (over_) return false;
  if (!std::exchange(begun_, true)) {
    front::Reply head = model_stream_head();
    if (marks_.freshness == Freshness::kReplayed) add_header(head, "idempotent-replayed", "true");
    if (!marks_.dropped.empty()) add_header(head, "x-millrace-dropped-params", marks_.dropped);
    if (!call_->start_stream(std::move(head))) return false;
  }
  return call_->responder().write(frames);
}

// `is_lasting`: asking again does not help.
void TranscriptStream::fail(const base::Error& error, bool is_lasting) {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    if (begun_) {
      const auto body = schemas::error_body(call_->head().path, error).body;
      if (call_->responder().write(schemas::ChatChunks::error(body))) call_->responder().end();
      return;
    }
    begun_ = true;
  }
  if (!is_lasting) return call_->fail(error);
  call_->fail(error, lasting_failure(call_->head().path, error));
}

void TranscriptStream::drain() {
  const std::string id = job_.str();
  fail(base::error(Code::kUpstreamTimeout, "The server is shutting down. Job " + id +
                                               " goes on: read GET /v1/jobs/" + id + "/result"),
       true);
  over();
}

void TranscriptStream::schedule_heartbeat() {
  auto timer = context_.loop.after(context_.options.chat_heartbeat, [weak = weak_from_this()] {
    const auto held = weak.lock();
    if (!held) return;
    if (!held->write(schemas::ChatChunks::kHeartbeat)) return held->over();
    held->wake();
    held->schedule_heartbeat();
  });
  const std::lock_guard lock(mutex_);
  if (!over_) heartbeat_ = std::move(timer);
}

void TranscriptStream::over() {
  jobs::Waiters::Ticket ticket;
  net::Loop::Timer heartbeat;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    ticket = std::move(ticket_);
    heartbeat = std::move(heartbeat_);
  }
  heartbeat.cancel();
  context_.waits.remove(shared_from_this());
}

}  // namespace millrace::api
