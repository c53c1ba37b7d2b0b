#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace millrace::api::test {

inline constexpr std::chrono::seconds kTimeLimit{20};

struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // decoded if it was chunked

  bool has(const std::string& name) const { return headers.contains(name); }
  std::string header(const std::string& name) const { return has(name) ? headers.at(name) : std::string(); }
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

// A request that a test sends.
struct TestRequest {
  std::string method = "GET";
  std::string path = {};
  std::string key = {};      // Bearer key; empty: none
  std::string headers = {};  // lines, each with its CRLF
  std::string body = {};
  std::string type = "application/json";  // of the body
};

// A connection to a loopback server. Reads have a deadline.
class Connection {
 public:
  explicit Connection(std::uint16_t port);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(const TestRequest& send_request);
  void send_text(std::string_view bytes);
  // Reads a complete reply. Status 0: the connection ended or the deadline passed.
  Answer answer(bool head_only = false);
  // Reads until `text` arrives (true), or until the connection ends or the deadline passes (false).
  bool saw(std::string_view text);
  // Reads until the server ends the connection (true), or until nothing arrives before the deadline (false).
  bool ended();
  const std::string& seen() const { return in_; }
  void close();

 private:
  bool fill();
  std::string take(std::size_t bytes);
  std::string read_chunks();

  int fd_ = -1;
  std::string in_;
};

// Sends one request on a new connection.
Answer send_request(std::uint16_t port, const TestRequest& send_request);

}  // namespace millrace::api::test
