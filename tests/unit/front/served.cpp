#include "tests/unit/front/served.h"

#include <utility>

namespace millrace::front::test {

Admission FakeApplication::admit(const Head& head) {
  {
    const std::lock_guard lock(mutex_);
    admitted_.push_back(head);
  }
  return on_admit ? on_admit(head) : Admission(Admit{kMegabyte, nullptr});
}

void FakeApplication::run(Request request, Responder responder) {
  {
    const std::lock_guard lock(mutex_);
    ++ran_;
  }
  if (on_run) return on_run(std::move(request), std::move(responder));
  responder.send(text_reply(request.head.method + " " + request.head.path + " " + request.body));
}

Reply FakeApplication::error_reply(int status, std::string_view message, const Head& head) {
  Reply reply = text_reply(std::string(message) + "|" + head.method + "|" + head.path, status);
  if (const auto id = head.header("x-id")) reply.headers.push_back({"X-Id", std::string(*id)});
  reply.headers.push_back({"X-Made-By", "error_reply"});
  return reply;
}

std::vector<Head> FakeApplication::admitted() const {
  const std::lock_guard lock(mutex_);
  return admitted_;
}

std::size_t FakeApplication::ran() const {
  const std::lock_guard lock(mutex_);
  return ran_;
}

void Served::start(Limits limits, const std::string& host) {
  Server::Options options;
  options.host = host;
  options.port = 0;
  options.limits = limits;
  server.emplace(options, application);
  const auto started = server->start();
  ASSERT_TRUE(started.has_value()) << started.error().message;
}

std::optional<RawReply> Served::send_request(const std::string& request) {
  RawClient one = client();
  if (!one.send(request)) return std::nullopt;
  return one.reply(request.starts_with("HEAD "));
}

void Parked::park(Responder responder) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(responder));
  changed_.notify_all();
}

Responder Parked::next() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kTimeLimit, [this] { return !waiting_.empty(); })) {
    ADD_FAILURE() << "no request arrived";
    return {};
  }
  Responder responder = std::move(waiting_.front());
  waiting_.erase(waiting_.begin());
  return responder;
}

void Signal::set() {
  const std::lock_guard lock(mutex_);
  set_ = true;
  changed_.notify_all();
}

bool Signal::wait(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, deadline, [this] { return set_; });
}

bool Signal::is_set() const {
  const std::lock_guard lock(mutex_);
  return set_;
}

Reply text_reply(std::string body, int status) {
  Reply reply;
  reply.status = status;
  reply.content_type = "text/plain";
  reply.body = std::move(body);
  return reply;
}

std::string get(const std::string& path, const std::string& more_headers) {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + more_headers + "\r\n";
}

std::string post(const std::string& path, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

}  // namespace millrace::front::test
