#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/inference/mcp/channel.h"

namespace millrace::inference {

// The URL to which messages are sent, from the data of the event `endpoint`: `url` is a path, or a URL of the
// same origin. kUpstream: anything else.
base::Result<std::string> mcp_message_url(std::string_view stream_url, std::string_view url);

// The transport HTTP+SSE, which only the version 2024-11-05 has. All messages of the server are events of one
// GET. Messages to the server are POSTs to the URL in the event `endpoint`. McpSession uses it only for a
// server that refuses the POST of `initialize`. Loop thread only.
class McpStream {
 public:
  // `version` of the protocol that the client requests; empty: detected.
  McpStream(net::Loop& loop, McpChannel& channel, const McpLimits& limits, std::string_view version)
      : loop_(loop),
        channel_(channel),
        limits_(limits),
        may_be_detected_(version.empty() || version == kMcpLegacy.back()) {}
  ~McpStream() { close(); }
  McpStream(const McpStream&) = delete;
  McpStream& operator=(const McpStream&) = delete;

  // True if the server uses this transport.
  bool in_use() const { return in_use_; }
  void set_in_use(bool in_use) { in_use_ = in_use; }
  bool is_open() const { return !message_url_.empty(); }
  // Sends `initialize` and returns the response. `make_post` makes the request; it is called again if the
  // request is sent again. If this transport is in use, opens the stream first. Otherwise posts the request
  // to the channel. If the server refuses that as a server of 2024-11-05 does, and `is_first` returns true
  // after the reply, opens the stream, sends the request again and sets in_use.
  net::Task<base::Result<McpReply>> initialize(std::function<McpPost()> make_post,
                                               std::function<bool()> is_first, McpDeadline deadline,
                                               net::Cancel& cancel);
  // As McpChannel::post. If the stream ends, requests without a response fail with kUpstream.
  net::Task<base::Result<McpReply>> post(McpPost post, net::Cancel& cancel);
  // Closes the stream; requests without a response fail with `why`.
  void end(base::Error why);
  void close();

 private:
  using Answer = base::Result<McpReply>;
  using OnAnswer = std::function<void(Answer)>;
  struct PendingCall {
    std::optional<Answer> early_answer;  // the response, if it arrived before `done` was set
    OnAnswer done;
  };
  struct EventReader;
  // Returns when the server has sent the URL. Errors: as McpChannel::post.
  net::Task<base::Status> open(McpDeadline deadline, net::Cancel& cancel);
  base::Status listen(McpDeadline deadline);
  void on_event(const std::string& event, const std::string& data);
  void on_message(McpMessage message);
  void opened(base::Status status);
  void answer(std::int64_t id, Answer answer);
  net::Task<Answer> answer_to(std::int64_t id, McpDeadline deadline, net::Cancel& cancel);

  net::Loop& loop_;
  McpChannel& channel_;
  const McpLimits& limits_;
  const bool may_be_detected_;
  bool in_use_ = false;
  std::shared_ptr<EventReader> event_reader_;
  std::function<void(base::Status)> opening_;
  std::string message_url_;  // empty: not open
  int requests_ = 0;         // server requests since the last response
  std::map<std::int64_t, PendingCall> waiting_;
};

}  // namespace millrace::inference
