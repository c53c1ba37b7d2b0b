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

// An application by hand. Its parts are set before the server starts; without them it admits 1 MB and answers
// 200 with
// `<method> <path> <body>`.
class FakeApplication : public Application {
 public:
  std::function<Admission(const Head&)> on_admit;
  std::function<void(Request, Responder)> on_run;

  Admission admit(const Head& head) override;
  void run(Request request, Responder responder) override;
  Reply error_reply(int status, std::string_view message, const Head& head) override;

  // What was seen so far. Thread-safe.
  std::vector<Head> admitted() const;
  std::size_t ran() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Head> admitted_;
  std::size_t ran_ = 0;
};

// Responders that a test answers later, from its own thread.
class Parked {
 public:
  void park(Responder responder);
  // The next one, in the order of arrival; a failure of the test if none comes.
  Responder next();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Responder> waiting_;
};

// A condition that another thread makes true, once.
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

// A server with such an application on a free loopback port. What the application touches belongs to the
// fixture, not to the body of a test: it is used until the server has stopped.
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
