#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::front::test {

inline constexpr std::chrono::seconds kTimeLimit{20};  // the longest wait for an expected event

// A received reply. Header names are in lower case.
struct RawReply {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;      // decoded if it was chunked
  bool complete = true;  // false: the connection ended within the body

  bool has(const std::string& name) const { return headers.contains(name); }
};

// A client on a loopback socket that sends exactly the given bytes. Reads have a deadline. Not thread-safe.
class RawClient {
 public:
  // `receive_buffer` 0: the kernel's default.
  // `from`: the client's own IPv4 address; null: the kernel chooses.
  explicit RawClient(std::uint16_t port, int receive_buffer = 0, const char* host = "127.0.0.1",
                     const char* from = nullptr);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  // Sends all bytes. False: the server has closed the connection, or has not read everything by the deadline.
  bool send(std::string_view bytes, std::chrono::milliseconds deadline = kTimeLimit);
  // Sends as many bytes as the kernel accepts now. Returns their number.
  std::size_t send_some(std::string_view bytes);

  // Reads the next reply. Nullopt: before its head was complete, the connection ended or the deadline passed.
  // `head_only`: it is the reply to a HEAD request.
  std::optional<RawReply> reply(bool head_only = false, std::chrono::milliseconds deadline = kTimeLimit);
  // Reads up to `count` bytes, until the connection ends or the deadline passes.
  std::string bytes(std::size_t count, std::chrono::milliseconds deadline = kTimeLimit);
  // Reads until the connection ends. Nullopt: it did not end within the deadline.
  std::optional<std::string> until_end(std::chrono::milliseconds deadline = kTimeLimit);
  // True: the server ends the connection (FIN or reset) within the deadline. Bytes received before are
  // dropped.
  bool ends(std::chrono::milliseconds deadline = kTimeLimit) { return until_end(deadline).has_value(); }
  bool was_reset() const { return reset_; }

  void half_close();
  void close();
  void reset();  // closes the connection with RST

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  bool fill(Deadline deadline);  // false: the connection ended or the deadline passed
  bool fill_to(std::size_t count, Deadline deadline);
  std::optional<std::string> line(Deadline deadline);
  void read_body(RawReply& reply, Deadline deadline);
  bool read_chunk(std::string& body, Deadline deadline, bool& last);

  int fd_ = -1;
  bool ended_ = false;
  bool reset_ = false;
  std::string in_;
};

}  // namespace millrace::front::test
