#pragma once
#include "api/media_answer.h"

namespace millrace::api {

// An answer that may be a stream. While its client reads slowly, what makes it waits. What goes wrong once it
// has begun is an event `error`, behind which the stream ends.
class MediaStream : public MediaAnswer {
 public:
  using MediaAnswer::MediaAnswer;

  // On a stream of events: a comment.
  void beat() override;

 protected:
  // All on the loop's thread.
  bool streaming() const { return streaming_; }
  // `head` gets the headers that say who was asked. `beats`: it is a stream of events.
  void begin_stream(const inference::ChatHead& asked, front::Reply head, bool beats);
  // Whether the client has taken most of what was written; if not, the run goes on once it has.
  bool has_room();
  void say_error(const base::Error& error) override;

 private:
  bool streaming_ = false;
};

}  // namespace millrace::api
