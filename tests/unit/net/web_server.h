#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::net::testing {

using Replies = std::map<std::string, std::string>;

// How a server sends its replies: pieces of this size, with a pause after each.
struct Pace {
  std::size_t piece = 65'536;
  std::chrono::milliseconds pause{0};
  std::chrono::milliseconds patience{2'000};  // wait for the client's close at the end
};

// Serves fixed replies by path on loopback, one connection at a time. An empty reply is never sent. The
// client is a real one, curl.
class WebServer {
 public:
  explicit WebServer(Replies replies, Pace pace = {}) : replies_(std::move(replies)), pace_(pace) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, ::listen(listener_, 16));
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](std::stop_token stop) { serve(stop); });
  }
  ~WebServer() {
    thread_.request_stop();
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(const std::string& path) const { return "http://" + host() + path; }
  // Bytes of replies that the kernel has accepted so far.
  std::size_t sent_bytes() const { return sent_bytes_; }
  // The head of the latest request.
  std::string last_head() const {
    const std::lock_guard lock(mutex_);
    return last_head_;
  }

 private:
  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      answer(fd, read_head(fd));
      leaves(fd, pace_.patience);
      ::close(fd);
    }
  }

  static bool leaves(int fd, std::chrono::milliseconds within) {
    pollfd gone{fd, POLLIN, 0};
    return ::poll(&gone, 1, static_cast<int>(within.count())) == 1;
  }

  std::string read_head(int fd) {
    std::string head;
    char byte = 0;
    while (head.find("\r\n\r\n") == std::string::npos && ::recv(fd, &byte, 1, 0) == 1) head.push_back(byte);
    const std::lock_guard lock(mutex_);
    last_head_ = head;
    return head;
  }

  void answer(int fd, const std::string& head) {
    const std::size_t begin = head.find(' ') + 1;
    const auto found = replies_.find(head.substr(begin, head.find(' ', begin) - begin));
    const std::string reply =
        found == replies_.end() ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" : found->second;
    if (reply.empty()) return;
    for (std::size_t at = 0; at < reply.size();) {
      if (at > 0 && pace_.pause.count() > 0 && leaves(fd, pace_.pause)) return;
      const std::size_t piece = std::min(reply.size() - at, pace_.piece);
      const ssize_t sent = ::send(fd, reply.data() + at, piece, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<std::size_t>(sent);
      sent_bytes_ += static_cast<std::size_t>(sent);
    }
    if (is_whole(reply)) ::shutdown(fd, SHUT_WR);
  }

  // True if the reply is as long as its head declares. After a shorter reply the server stays silent.
  static bool is_whole(const std::string& reply) {
    const std::string_view name = "Content-Length: ";
    const std::size_t at = reply.find(name), body = reply.find("\r\n\r\n");
    return at == std::string::npos || reply.size() - body - 4 >= std::stoul(reply.substr(at + name.size()));
  }

  Replies replies_;
  const Pace pace_;
  mutable std::mutex mutex_;
  std::string last_head_;
  std::atomic<std::size_t> sent_bytes_{0};
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

inline std::string ok(const std::string& body, const std::string& more = {}) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more +
         "Connection: close\r\n\r\n" + body;
}

}  // namespace millrace::net::testing
