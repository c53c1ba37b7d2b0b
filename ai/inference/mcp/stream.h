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

// Where a server takes messages, by what its first event says: a path, or a URL of the server's own origin.
// kUpstream: anything else.
base::Result<std::string> mcp_message_url(std::string_view stream_url, std::string_view url);

// The transport of 2024-11-05: one GET whose events are all that the server says, and POSTs to the place that
// its first event names. Loop thread only.
class McpStream {
 public:
  McpStream(net::Loop& loop, McpChannel& channel, const McpLimits& limits)
      : loop_(loop), channel_(channel), limits_(limits) {}
  ~McpStream() { close(); }
  McpStream(const McpStream&) = delete;
  McpStream& operator=(const McpStream&) = delete;

  bool is_open() const { return !place_.empty(); }
  // Until the server has named the place. Errors: as McpChannel::post.
  net::Task<base::Status> open(McpDeadline deadline, net::Cancel& cancel);
  // As McpChannel::post; a stream that ends leaves what was sent without an answer: kUpstream.
  net::Task<base::Result<McpReply>> post(McpPost post, net::Cancel& cancel);
  void close();

 private:
  using Answer = base::Result<McpReply>;
  using OnAnswer = std::function<void(Answer)>;
  struct Waiting {
    std::optional<Answer> early_answer;  // before anybody asked
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
  std::string place_;  // empty: not open
  int requests_ = 0;   // since the last answer
  std::map<std::int64_t, Waiting> waiting_;
};

}  // namespace millrace::inference
