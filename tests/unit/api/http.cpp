#include "tests/unit/api/http.h"

#include <cctype>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::api::test {
namespace {

std::string lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Parses the status line and headers of `head`, which ends with the empty line.
Answer parse_head(std::string_view head) {
  Answer out;
  out.status = std::stoi(std::string(head.substr(9, 3)));
  head.remove_prefix(head.find("\r\n") + 2);
  while (head.size() > 2) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos)
      out.headers[lowered(std::string(line.substr(0, colon)))] = line.substr(colon + 2);
    head.remove_prefix(end + 2);
  }
  return out;
}

}  // namespace

Connection::Connection(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) close();
}

Connection::~Connection() { close(); }

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Connection::send(const TestRequest& send_request) {
  std::string text =
      send_request.method + " " + send_request.path + " HTTP/1.1\r\nHost: test\r\n" + send_request.headers;
  if (!send_request.key.empty()) text += "Authorization: Bearer " + send_request.key + "\r\n";
  if (!send_request.body.empty()) {
    if (!send_request.type.empty()) text += "Content-Type: " + send_request.type + "\r\n";
    text += "Content-Length: " + std::to_string(send_request.body.size()) + "\r\n";
  }
  send_text(text + "\r\n" + send_request.body);
}

void Connection::send_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool Connection::fill() {
  pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
  const auto time_limit = std::chrono::milliseconds(kTimeLimit).count();
  if (fd_ < 0 || ::poll(&readable, 1, static_cast<int>(time_limit)) <= 0) return false;
  char piece[16 * 1024];
  const ssize_t got = ::recv(fd_, piece, sizeof piece, 0);
  if (got <= 0) return false;
  in_.append(piece, static_cast<std::size_t>(got));
  return true;
}

bool Connection::saw(std::string_view text) {
  while (in_.find(text) == std::string::npos) {
    if (!fill()) return false;
  }
  return true;
}

bool Connection::ended() {
  const auto deadline = std::chrono::steady_clock::now() + kTimeLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, static_cast<int>(std::chrono::milliseconds(kTimeLimit).count())) <= 0)
      return false;
    if (!fill()) return true;
  }
  return false;
}

std::string Connection::take(std::size_t bytes) {
  while (in_.size() < bytes && fill()) {
  }
  std::string out = in_.substr(0, bytes);
  in_.erase(0, bytes);
  return out;
}

std::string Connection::read_chunks() {
  std::string body;
  while (saw("\r\n")) {
    const std::string line = take(in_.find("\r\n") + 2);
    const std::size_t size = std::stoul(line, nullptr, 16);
    body += take(size);
    take(2);
    if (size == 0) break;
  }
  return body;
}

Answer Connection::answer(bool head_only) {
  if (!saw("\r\n\r\n")) return {};
  Answer out = parse_head(take(in_.find("\r\n\r\n") + 4));
  if (head_only) return out;
  if (out.has("transfer-encoding")) {
    out.body = read_chunks();
  } else if (out.has("content-length")) {
    out.body = take(std::stoul(out.header("content-length")));
  }
  return out;
}

Answer send_request(std::uint16_t port, const TestRequest& send_request) {
  Connection connection(port);
  connection.send(send_request);
  return connection.answer(send_request.method == "HEAD");
}

}  // namespace millrace::api::test
