#pragma once
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/wait_until.h"

namespace millrace::providers::testing {

// An upstream on loopback that runs a script for each request. Connections are kept open.
class ScriptedUpstream {
 public:
  class Exchange {
   public:
    Exchange(int fd, std::string its_head, std::string its_body)
        : head(std::move(its_head)), body(std::move(its_body)), fd_(fd) {}
    const std::string head, body;

    // False: the client has closed the connection.
    bool send(std::string_view bytes) {
      while (!bytes.empty()) {
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      }
      return true;
    }
    bool send_chunk(std::string_view bytes) {
      char size[32];
      std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
      return send(std::string(size).append(bytes).append("\r\n"));
    }
    // Waits until the client closes the connection.
    bool client_leaves() {
      pollfd watched{fd_, POLLIN, 0};
      char byte = 0;
      return ::poll(&watched, 1, static_cast<int>(support::kDeadline.count())) == 1 &&
             ::recv(fd_, &byte, 1, 0) <= 0;
    }
    void close() { closed_ = true; }
    bool is_closed() const { return closed_; }

   private:
    int fd_;
    bool closed_ = false;
  };
  using Script = std::function<void(Exchange&)>;

  explicit ScriptedUpstream(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, ::listen(listener_, 16));
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~ScriptedUpstream() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    served_.clear();
    ::close(listener_);
  }
  ScriptedUpstream(const ScriptedUpstream&) = delete;
  ScriptedUpstream& operator=(const ScriptedUpstream&) = delete;

  std::string base_url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  int connections() const { return connections_; }

 private:
  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      ++connections_;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      served_.emplace_back([this, fd] { serve(fd); });
    }
  }

  void serve(int fd) {
    std::string input;
    while (serve_one(fd, input)) {
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    ::close(fd);
  }

  bool serve_one(int fd, std::string& input) {
    const auto fill_until = [&](auto&& enough) {
      char buffer[16'384];
      while (!enough()) {
        const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
        if (got <= 0) return false;
        input.append(buffer, static_cast<std::size_t>(got));
      }
      return true;
    };
    if (!fill_until([&] { return input.find("\r\n\r\n") != std::string::npos; })) return false;
    const std::size_t head = input.find("\r\n\r\n") + 4;
    const std::size_t at = input.find("Content-Length: ");
    const std::size_t length = at < head ? std::stoul(input.substr(at + 16)) : 0;
    if (!fill_until([&] { return input.size() >= head + length; })) return false;
    Exchange exchange(fd, input.substr(0, head), input.substr(head, length));
    input.erase(0, head + length);
    script_(exchange);
    return !exchange.is_closed();
  }

  Script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::jthread acceptor_;
  std::vector<std::jthread> served_;
};

inline std::string whole_reply(std::string_view body, std::string_view status = "200 OK",
                               std::string_view headers = "Content-Type: application/json\r\n") {
  return std::string("HTTP/1.1 ")
      .append(status)
      .append("\r\n")
      .append(headers)
      .append("Content-Length: ")
      .append(std::to_string(body.size()))
      .append("\r\n\r\n")
      .append(body);
}
inline constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";

}  // namespace millrace::providers::testing
