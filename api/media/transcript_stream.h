#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "api/jobs/job_result.h"
#include "api/jobs/job_stream.h"
#include "schemas/media/transcript.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {

// The text of a recording as server-sent events while its job runs: `transcript.text.delta` for each piece as
// soon as all earlier pieces are finished, then `transcript.text.done` with the whole text and the usage.
// With speakers, there is a delta for each segment, followed by `transcript.text.segment`; the local engine
// knows the speakers when it knows all voices, so these events come together at the end. The type is in the
// data. The response begins with the first event, so that an unreadable recording gets a plain error. After
// that an event `error` ends the stream. The stream also ends at shutdown and when the client disconnects;
// the job continues.
class TranscriptStream final : public JobStream {
 public:
  // Whether diarized_json was requested, and when the segments have their speakers.
  enum class Speakers { kNone, kWithText, kAtEnd };
  struct Marks {
    ReplayState replay_state = ReplayState::kFirst;
    std::string dropped;  // x-millrace-dropped-params
    Speakers speakers = Speakers::kNone;
  };
  // Starts the response to `call`. REQUIRES: the job belongs to the caller. Never blocks.
  static void start(Context& context, CallPtr call, const schemas::JobId& job, Marks marks);

  TranscriptStream(Context& context, CallPtr call, const schemas::JobId& job, Marks marks)
      : JobStream(context, std::move(call), job), marks_(std::move(marks)) {}
  void drain() override;

 private:
  PollResult poll() override;
  void on_poll_exception() override;
  bool send_heartbeat() override;
  bool send_new_pieces();
  base::Status send_pieces();
  void send_end(storage::StoredResult stored);
  void send_rest(const schemas::Transcript& whole);
  bool send_text(std::string_view more, std::string_view segment_id = {});
  bool send_segments(std::span<const schemas::TranscriptSegment> segments);
  bool send_speaker(const schemas::TranscriptSegment& segment, std::size_t index);

  bool write(std::string_view frames);
  void fail(const base::Error& error, bool is_lasting);

  const Marks marks_;
  std::string sent_text_;          // text sent so far; used only by the running poll, like next_
  int next_ = 0;                   // index of the next piece
  std::size_t segments_sent_ = 0;  // with speakers
  bool begun_ = false;             // under the mutex
};

}  // namespace millrace::api
