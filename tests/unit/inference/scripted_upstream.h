#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/wait_until.h"
#include "tests/unit/inference/rows.h"

namespace millrace::inference::testing {

inline std::string http(int status, const std::string& body, const std::string& more = {}) {
  return "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Type: application/json\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}
inline std::string failure() { return http(500, R"({"error":{"message":"broken"}})"); }
inline std::string completion(const std::string& text) {
  return http(200, R"({"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,)"
                   R"("message":{"role":"assistant","content":")" +
                       text +
                       R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,)"
                       R"("completion_tokens":2,"total_tokens":5}})");
}
inline std::string event_stream(const std::string& events) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + events;
}
inline std::string chunk(const std::string& delta, const std::string& finish = "null") {
  return R"(data: {"id":"c","created":1,"model":"m","choices":[{"index":0,"delta":)" + delta +
         R"(,"finish_reason":)" + finish + "}]}\n\n";
}

// An OpenAI-compatible upstream on loopback. It sends one scripted reply per request, in order, and then
// repeats the last one. An empty reply is never sent: the connection stays open until the caller closes it.
class ScriptedUpstream {
 public:
  explicit ScriptedUpstream(std::vector<std::string> script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, ::listen(listener_, 64));
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~ScriptedUpstream() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  ScriptedUpstream(const ScriptedUpstream&) = delete;
  ScriptedUpstream& operator=(const ScriptedUpstream&) = delete;

  std::string base_url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  std::vector<std::string> bodies() {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }
  bool wait_for_requests(std::size_t count) {
    std::unique_lock lock(mutex_);
    return support::wait_until(changed_, lock, [&] { return bodies_.size() >= count; });
  }
  bool wait_for_caller_gone() {
    std::unique_lock lock(mutex_);
    return support::wait_until(changed_, lock, [&] { return gone_ > 0; });
  }

 private:
  void serve() {
    for (std::size_t number = 0;; ++number) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      note(read_request(fd), 0);
      const std::string& reply = script_[std::min(number, script_.size() - 1)];
      if (!reply.empty()) ::send(fd, reply.data(), reply.size(), MSG_NOSIGNAL);
      if (!reply.empty()) ::shutdown(fd, SHUT_WR);
      pollfd gone{fd, POLLIN, 0};
      ::poll(&gone, 1, 10'000);
      ::close(fd);
      note({}, 1);
    }
  }
  void note(const std::string& body, int gone) {
    const std::lock_guard lock(mutex_);
    if (gone == 0) bodies_.push_back(body);
    gone_ += gone;
    changed_.notify_all();
  }
  static std::string read_request(int fd) {
    std::string all;
    std::vector<char> bytes(std::size_t{64} << 10);
    std::size_t body = 0, whole = std::string::npos;
    while (all.size() < whole) {
      const ssize_t got = ::recv(fd, bytes.data(), bytes.size(), 0);
      if (got <= 0) return {};
      all.append(bytes.data(), static_cast<std::size_t>(got));
      const std::size_t head = body == 0 ? all.find("\r\n\r\n") : std::string::npos;
      if (head == std::string::npos) continue;
      body = head + 4;
      const std::size_t length = all.find("Content-Length: ");
      whole = length < head ? body + std::stoul(all.substr(length + 16, 20)) : body;
    }
    return all.substr(body);
  }

  std::vector<std::string> script_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> bodies_;
  int gone_ = 0, listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

inline ModelRow upstream_row(const std::string& name, const ScriptedUpstream& upstream,
                             const std::string& provider = "openai") {
  ModelRow made = row(name, provider);
  made.target.base_url = upstream.base_url();
  made.target.key = base::Secret("k");
  return made;
}

inline ModelRow priced_row(const std::string& name, const ScriptedUpstream& upstream,
                           const std::string& provider = "openai") {
  ModelRow row = upstream_row(name, upstream, provider);
  row.price = Price{.prompt = 1, .completion = 2};
  return row;
}

}  // namespace millrace::inference::testing
