#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "api/call.h"
#include "api/context.h"
#include "api/job_result.h"
#include "api/job_wait.h"
#include "storage/job_queries.h"

namespace millrace::api {

// The text of a recording as server-sent events while its job goes on: `transcript.text.delta` for each piece
// as soon as all before it are there, then `transcript.text.done` with the whole text and the usage; the type
// is in the data. The answer begins with the first thing to say, so that a recording that cannot be read gets
// a plain error; after that, an event `error` ends the stream. Hints say when to look, the rows say what to
// send. Ends when the client leaves, whose job goes on, and at drain. Thread-safe.
class TranscriptStream final : public Waiting, public std::enable_shared_from_this<TranscriptStream> {
 public:
  struct Marks {
    Freshness freshness = Freshness::kFirst;
    std::string dropped;  // x-millrace-dropped-params
  };
  // Answers `call`. REQUIRES: the job is the caller's. Never blocks.
  static void start(Context& context, CallPtr call, const schemas::JobId& job, Marks marks);

  TranscriptStream(Context& context, CallPtr call, const schemas::JobId& job, Marks marks)
      : context_(context), call_(std::move(call)), job_(job), marks_(std::move(marks)) {}
  void drain() override;

 private:
  void wake();
  // On the pool, one thread at a time.
  void pump();
  bool looked();
  bool look();
  base::Status say_pieces();
  void say_end(storage::StoredResult stored);
  bool say_text(std::string_view more);

  bool write(std::string_view frames);
  void fail(const base::Error& error, bool is_lasting);
  void schedule_heartbeat();
  void over();

  Context& context_;
  const CallPtr call_;
  const schemas::JobId job_;
  const Marks marks_;
  std::string said_;  // of the text; the running pump's, as is the next
  int next_ = 0;      // piece

  std::mutex mutex_;  // guards all below
  bool begun_ = false;
  bool running_ = false;
  bool again_ = false;
  bool over_ = false;
  jobs::Waiters::Ticket ticket_;
  net::Loop::Timer heartbeat_;
};

}  // namespace millrace::api
