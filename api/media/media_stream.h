#pragma once
#include <string>

#include "api/media/media_answer.h"

namespace millrace::api {

// An answer that may be a stream. Its head leaves with its first piece; a stream of events that is silent so
// far begins with the first heartbeat, and then its head cannot say who answers. While its client reads
// slowly, what makes it waits. What goes wrong once it has begun is an event `error`, behind which the stream
// ends.
class MediaStream : public MediaAnswer {
 public:
  using MediaAnswer::MediaAnswer;

  void beat() override;

 protected:
  // All on the loop's thread.
  bool streaming() const { return streaming_; }
  // From now on a comment says every so often that it is still there. For streams of events.
  void keep_beating();
  // `head` gets the headers that say who was asked.
  void begin_stream(const inference::ChatHead& requested, front::Reply head);
  // Of what was asked: what the head went too early to say, as x-millrace-dropped-params has it.
  std::string unsaid_dropped(const inference::ChatHead& requested) const;
  // Whether the client has taken most of what was written; if not, the run goes on once it has.
  bool may_send();
  void send_error(const base::Error& error) override;

 private:
  bool streaming_ = false, begun_early_ = false;
};

}  // namespace millrace::api
