#pragma once
#include <string>
#include <string_view>

#include "api/jobs/job_result.h"
#include "api/jobs/job_stream.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {

// The text of a recording as server-sent events while its job goes on: `transcript.text.delta` for each piece
// as soon as all before it are there, then `transcript.text.done` with the whole text and the usage; the type
// is in the data. The answer begins with the first thing to say, so that a recording that cannot be read gets
// a plain error; after that, an event `error` ends the stream. Ends when the client leaves, whose job goes
// on, and at drain.
class TranscriptStream final : public JobStream {
 public:
  struct Marks {
    Freshness freshness = Freshness::kFirst;
    std::string dropped;  // x-millrace-dropped-params
  };
  // Answers `call`. REQUIRES: the job is the caller's. Never blocks.
  static void start(Context& context, CallPtr call, const schemas::JobId& job, Marks marks);

  TranscriptStream(Context& context, CallPtr call, const schemas::JobId& job, Marks marks)
      : JobStream(context, std::move(call), job), marks_(std::move(marks)) {}
  void drain() override;

 private:
  Look look() override;
  void look_threw() override;
  bool beat() override;
  bool send_new_pieces();
  base::Status send_pieces();
  void send_end(storage::StoredResult stored);
  bool send_text(std::string_view more);

  bool write(std::string_view frames);
  void fail(const base::Error& error, bool is_lasting);

  const Marks marks_;
  std::string sent_text_;  // of the text; the running look's, as is the next
  int next_ = 0;           // piece
  bool begun_ = false;     // under the mutex
};

}  // namespace millrace::api
