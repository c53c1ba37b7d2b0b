// bench_floor: the minimum cost of a durable upload. It reads the body into one buffer, writes the given
// number of bytes of it to a new file, calls fsync and responds with 202. It serves one connection at a time.

#include <charconv>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/measure/flags.h"
#include "tests/bench/measure/socket.h"

namespace {

using namespace millrace;
using bench::Socket;

constexpr std::size_t kHeadMax = 64 * 1024;

struct Upload {
  std::unique_ptr<char[]> bytes;  // uninitialised: the floor does not include zeroing 67 MB
  std::size_t size = 0;
};

std::optional<std::size_t> content_length(const std::string& head) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const std::size_t at = head.find(kName);
  if (at == std::string::npos) return std::nullopt;
  std::size_t length = 0;
  const char* begin = head.data() + at + kName.size();
  if (std::from_chars(begin, head.data() + head.size(), length).ec != std::errc{}) return std::nullopt;
  return length;
}

// The head and the part of the body that was read with it. nullopt: the client has closed the connection.
std::optional<std::string> read_head(int fd, std::size_t& end_of_head) {
  std::string seen;
  while (seen.size() < kHeadMax) {
    char piece[4096];
    const ssize_t count = ::recv(fd, piece, sizeof piece, 0);
    if (count <= 0) return std::nullopt;
    seen.append(piece, static_cast<std::size_t>(count));
    const std::size_t blank = seen.find("\r\n\r\n");
    if (blank == std::string::npos) continue;
    end_of_head = blank + 4;
    return seen;
  }
  return std::nullopt;
}

std::optional<Upload> receive(int fd) {
  std::size_t start = 0;
  const auto seen = read_head(fd, start);
  if (!seen) return std::nullopt;
  const auto length = content_length(*seen);
  if (!length || seen->size() - start > *length) return std::nullopt;
  Upload upload{std::unique_ptr<char[]>(new char[*length]), *length};
  std::size_t have = seen->size() - start;
  std::memcpy(upload.bytes.get(), seen->data() + start, have);
  while (have < *length) {
    const ssize_t count = ::recv(fd, upload.bytes.get() + have, *length - have, 0);
    if (count <= 0) return std::nullopt;
    have += static_cast<std::size_t>(count);
  }
  return upload;
}

bool store(const Upload& upload, std::size_t bytes, const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  std::size_t written = 0;
  const std::size_t wanted = std::min(bytes, upload.size);
  while (written < wanted) {
    const ssize_t count = ::write(fd, upload.bytes.get() + written, wanted - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  const bool good = written == wanted && ::fsync(fd) == 0;
  ::close(fd);
  return good;
}

void serve(const Socket& client, std::size_t bytes, const std::string& path) {
  while (const auto upload = receive(client.fd())) {
    constexpr std::string_view kDone = "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}";
    constexpr std::string_view kFailed = "HTTP/1.1 500 Failed\r\nContent-Length: 2\r\n\r\n{}";
    const std::string_view reply = store(*upload, bytes, path) ? kDone : kFailed;
    if (::send(client.fd(), reply.data(), reply.size(), MSG_NOSIGNAL) < 0) return;
    ::unlink(path.c_str());
  }
}

int fail(const std::string& message) {
  std::cerr << "bench_floor: " << message << '\n';
  return 1;
}

}  // namespace

int main(int count, char** words) {
  const auto flags = bench::Flags::read(count, words, {"file", "bytes"});
  if (!flags) return fail(flags.error().message);
  const auto bytes = flags->number("bytes", 0);
  if (!bytes || *bytes < 1 || flags->text("file").empty())
    return fail("--file PATH and --bytes N are required");
  auto listening = bench::listen_loopback();
  if (!listening) return fail(listening.error().message);
  std::cout << "millrace ready http://127.0.0.1:" << listening->port << std::endl;
  while (true) {
    const Socket client(::accept4(listening->socket.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.fd() < 0) return fail("accept");
    serve(client, static_cast<std::size_t>(*bytes), flags->text("file"));
  }
}
