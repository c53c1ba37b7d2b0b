#pragma once
#include <string>

#include "api/media/media_responder.h"

namespace millrace::api {

// A response that may be streamed. The head is sent with the first piece. If a heartbeat comes before it, the
// head is sent with the heartbeat and cannot name the model that answers. While the client reads slowly, the
// run pauses. An error after the start is sent as an event `error`, and then the stream ends.
class MediaStream : public MediaResponder {
 public:
  using MediaResponder::MediaResponder;

  void send_heartbeat() override;

 protected:
  // All on the loop's thread.
  bool streaming() const { return streaming_; }
  // From now on sends heartbeat comments periodically. Only for event streams.
  void start_heartbeat();
  // Adds the headers that name the called model to `head`.
  void begin_stream(const inference::ChatHead& requested, front::Reply head);
  // The dropped parameters of the request, in the format of x-millrace-dropped-params, if the head was sent
  // too early to contain them.
  std::string late_dropped_params(const inference::ChatHead& requested) const;
  // Whether the client has received most of the output. If not, the run resumes once it has.
  bool may_send();
  void send_error(const base::Error& error) override;

 private:
  bool streaming_ = false, begun_early_ = false;
};

}  // namespace millrace::api
