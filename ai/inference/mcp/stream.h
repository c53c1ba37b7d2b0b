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

// The URL to which messages are sent, from the first event of the server: `url` is a path, or a URL of the
// same origin. kUpstream: anything else.
base::Result<std::string> mcp_message_url(std::string_view stream_url, std::string_view url);

// The transport of 2024-11-05: all messages of the server are events of one GET; messages to the server are
// POSTs to the URL in the first event. Loop thread only.
class McpStream {
 public:
  McpStream(net::Loop& loop, McpChannel& channel, const McpLimits& limits)
      : loop_(loop), channel_(channel), limits_(limits) {}
  ~McpStream() { close(); }
  McpStream(const McpStream&) = delete;
  McpStream& operator=(const McpStream&) = delete;

  bool is_open() const { return !message_url_.empty(); }
  // Returns when the server has sent the URL. Errors: as McpChannel::post.
  net::Task<base::Status> open(McpDeadline deadline, net::Cancel& cancel);
  // As McpChannel::post. If the stream ends, requests without a response fail with kUpstream.
  net::Task<base::Result<McpReply>> post(McpPost post, net::Cancel& cancel);
  void close();

 private:
  using Answer = base::Result<McpReply>;
  using OnAnswer = std::function<void(Answer)>;
  struct PendingCall {
    std::optional<Answer> early_answer;  // the response, if it arrived before `done` was set
    OnAnswer done;
  };
  struct EventReader;
  base::Status listen(McpDeadline deadline);
  void on_event(const std::string& event, const std::string& data);
  void on_message(McpMessage message);
  void opened(base::Status status);
  void answer(std::int64_t id, Answer answer);
  void ended(base::Error why);
  net::Task<Answer> answer_to(std::int64_t id, McpDeadline deadline, net::Cancel& cancel);

  net::Loop& loop_;
  McpChannel& channel_;
  const McpLimits& limits_;
  std::shared_ptr<EventReader> event_reader_;
  std::function<void(base::Status)> opening_;
  std::string message_url_;  // empty: not open
  int requests_ = 0;         // server requests since the last response
  std::map<std::int64_t, PendingCall> waiting_;
};

}  // namespace millrace::inference
