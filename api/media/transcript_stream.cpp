#include "api/media/transcript_stream.h"

#include <algorithm>

#include "api/chat/chat_responder.h"
#include "api/media/transcript_reply.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/json/json_text.h"
#include "schemas/media/transcript.h"

namespace millrace::api {
namespace {

using base::Code;

std::string frame_of(std::string_view json) { return std::string("data: ").append(json).append("\n\n"); }

}  // namespace

void TranscriptStream::start(Context& context, CallPtr call, const schemas::JobId& job, Marks marks) {
  std::make_shared<TranscriptStream>(context, call, job, std::move(marks))
      ->watch(0, context.options.chat_heartbeat);
}

JobStream::PollResult TranscriptStream::poll() {
  return send_new_pieces() ? PollResult::kCaughtUp : PollResult::kOver;
}

void TranscriptStream::on_poll_exception() {
  fail(base::error(Code::kInternal, "The transcript could not be read"), false);
}

// False: the stream is complete.
bool TranscriptStream::send_new_pieces() {
  auto stored = storage::JobQueries(context_.store).result(call_->tenant(), job_);
  if (!stored) {
    fail(stored.error(), false);
    return false;
  }
  if (schemas::is_terminal(stored->job.status)) {
    send_end(std::move(*stored));
    return false;
  }
  if (const base::Status sent = send_pieces(); !sent) {
    fail(sent.error(), false);
    return false;
  }
  return true;
}

// Sends the pieces after those already sent, up to the first that is not finished.
base::Status TranscriptStream::send_pieces() {
  const auto parts = storage::JobQueries(context_.store).part_sizes(call_->tenant(), job_);
  if (!parts) return parts.error();
  const auto is_there = [&](int index) {
    return std::any_of(parts->begin(), parts->end(), [&](const auto& part) { return part.index == index; });
  };
  for (; is_there(next_); ++next_) {
    const auto piece = spoken_piece(context_, call_->tenant(), job_, next_);
    if (!piece) return piece.error();
    if (marks_.speakers != Speakers::kNone) {
      if (!send_segments(piece->segments)) return {};
      continue;
    }
    const std::size_t before = sent_text_.size();
    schemas::add_words(sent_text_, schemas::text_of(*piece));
    if (!send_text(std::string_view(sent_text_).substr(before))) return {};
  }
  return {};
}

bool TranscriptStream::send_text(std::string_view more, std::string_view segment_id) {
  if (more.empty()) return true;
  schemas::JsonObject delta;
  delta.member("type", "transcript.text.delta").member("delta", more);
  if (!segment_id.empty()) delta.member("segment_id", segment_id);
  return write(frame_of(delta.finish()));
}

bool TranscriptStream::send_segments(std::span<const schemas::TranscriptSegment> segments) {
  for (const schemas::TranscriptSegment& segment : segments) {
    const std::size_t index = segments_sent_++, before = sent_text_.size();
    schemas::add_words(sent_text_, segment.text);
    if (!send_text(std::string_view(sent_text_).substr(before), schemas::segment_id(index))) return false;
    if (marks_.speakers == Speakers::kWithText && !send_speaker(segment, index)) return false;
  }
  return true;
}

bool TranscriptStream::send_speaker(const schemas::TranscriptSegment& segment, std::size_t index) {
  return write(frame_of(schemas::diarized_segment(segment, index)));
}

// What send_pieces has not sent.
void TranscriptStream::send_rest(const schemas::Transcript& whole) {
  if (marks_.speakers != Speakers::kNone && segments_sent_ < whole.segments.size()) {
    send_segments(std::span(whole.segments).subspan(segments_sent_));
  } else if (whole.text.starts_with(sent_text_)) {
    send_text(std::string_view(whole.text).substr(sent_text_.size()));
  }
  if (marks_.speakers != Speakers::kAtEnd) return;
  for (std::size_t index = 0; index < whole.segments.size(); ++index)
    if (!send_speaker(whole.segments[index], index)) return;
}

void TranscriptStream::send_end(storage::StoredResult stored) {
  if (stored.job.status != schemas::JobStatus::kSucceeded) return fail(error_of(stored.job), true);
  if (!stored.payload) return fail(expired_result(), true);
  const auto json = read_payload(context_.store, std::move(*stored.payload));
  if (!json) return fail(json.error(), false);
  const auto read = schemas::stored_transcript(*json);
  if (!read) return fail(read.error(), false);
  const schemas::Transcript& whole = read->transcript;
  send_rest(whole);
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
    if (marks_.replay_state == ReplayState::kReplayed) add_header(head, "idempotent-replayed", "true");
    if (!marks_.dropped.empty()) add_header(head, "x-millrace-dropped-params", marks_.dropped);
    if (!call_->start_stream(std::move(head))) return false;
  }
  return call_->responder().write(frames);
}

// `is_lasting`: a retry cannot succeed.
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
  call_->fail(error, permanent_failure(call_->head().path, error));
}

void TranscriptStream::drain() {
  const std::string id = job_.str();
  fail(base::error(Code::kUpstreamTimeout, "The server is shutting down. Job " + id +
                                               " continues: read GET /v1/jobs/" + id + "/result"),
       true);
  over();
}

bool TranscriptStream::send_heartbeat() { return write(schemas::ChatChunks::kHeartbeat); }

}  // namespace millrace::api
