#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/front/exchange.h"
#include "api/front/server.h"
#include "tests/unit/front/raw_client.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MILLRACE_UNDER_SANITIZER 1
#else
#define MILLRACE_UNDER_SANITIZER 0
#endif

namespace millrace::front::test {

inline constexpr std::size_t kMegabyte = 1024 * 1024;

// An application whose callbacks the test sets before the server starts. By default it admits bodies of 1 MB
// and responds with 200 and `<method> <path> <body>`.
class FakeApplication : public Application {
 public:
  std::function<Admission(const Head&)> on_admit;
  std::function<void(Request, Responder)> on_run;

  Admission admit(const Head& head) override;
  void run(Request request, Responder responder) override;
  Reply error_reply(int status, std::string_view message, const Head& head) override;

  // The requests so far. Thread-safe.
  std::vector<Head> admitted() const;
  std::size_t ran() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Head> admitted_;
  std::size_t ran_ = 0;
};

// Responders that a test uses later, on its own thread.
class Parked {
 public:
  void park(Responder responder);
  // The next responder in order of arrival. The test fails if none arrives.
  Responder next();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Responder> waiting_;
};

// A one-time event that another thread sets.
class Signal {
 public:
  void set();
  bool wait(std::chrono::milliseconds deadline = kTimeLimit);
  bool is_set() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// A server with a FakeApplication on a free loopback port. The application runs until the server has stopped,
// so objects that it uses belong to the fixture, not to the test body.
class Served : public ::testing::Test {
 protected:
  void TearDown() override {
    if (server) server->stop();
  }
  void start(Limits limits = {}, const std::string& host = "127.0.0.1");
  RawClient client(int receive_buffer = 0) { return RawClient(server->port(), receive_buffer); }
  // Sends `request` on a new connection and reads one reply.
  std::optional<RawReply> send_request(const std::string& request);

  Parked parked;
  FakeApplication application;
  std::optional<Server> server;
};

Reply text_reply(std::string body, int status = 200);
std::string get(const std::string& path, const std::string& more_headers = "");
std::string post(const std::string& path, const std::string& body);

}  // namespace millrace::front::test
