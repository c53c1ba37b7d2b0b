#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "api/call.h"
#include "api/context.h"
#include "api/jobs/job_wait.h"

namespace millrace::api {

// Server-sent events about the whole gateway, for administrators: `job` with the new state of each job that
// changed, `overview` at the start and then periodically, `ping` in between. A stream cannot be resumed: a
// client that reconnects reads the lists first. The stream pauses while its client does not read. Once more
// jobs have changed than jobs::Feed keeps for it, the client gets `dropped` and the stream ends.
// Thread-safe.
class AdminStream final : public Drainable, public std::enable_shared_from_this<AdminStream> {
 public:
  // Starts the stream as the response to `call`. 429 if the key has too many streams, 503 if all keys have.
  static void start(Context& context, CallPtr call);

  AdminStream(Context& context, CallPtr call, jobs::Feed::FollowerPtr follower, KeyedSemaphore::Permit permit)
      : context_(context),
        call_(std::move(call)),
        follower_(std::move(follower)),
        permit_(std::move(permit)) {}
  void drain() override { end(); }

 private:
  void schedule();
  void tick();
  void poll();
  bool overview_is_due() const;
  bool send(const std::string& frames);
  std::string changes();
  std::string overview();
  void end();

  Context& context_;
  const CallPtr call_;
  const jobs::Feed::FollowerPtr follower_;  // null: this process receives no changes
  const KeyedSemaphore::Permit permit_;
  // Used only by the running poll; one runs at a time.
  base::BootTime overview_at_{}, sent_at_{};

  std::mutex mutex_;  // guards all below
  bool over_ = false;
  net::Loop::Timer timer_;
};

}  // namespace millrace::api
