#include "machines/sshd/sshd_connection.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::machines {
namespace {

constexpr std::size_t kLogLineMax = 512;
constexpr int kReadsMax = 16;   // reads per call, so that other descriptors get their turn
constexpr int kJailFailed = 1;  // exit code of bubblewrap; sshd exits with 0 or 255

// "Accepted publickey for … ID ssh-… (serial 7) CA …"
std::int64_t serial_in(std::string_view line) {
  constexpr std::string_view kMark = "(serial ";
  const std::size_t mark = line.rfind(kMark);
  std::int64_t serial = 0;
  if (mark == std::string_view::npos) return serial;
  std::from_chars(line.data() + mark + kMark.size(), line.data() + line.size(), serial);
  return serial;
}

}  // namespace

void SshdConnection::read_log() {
  std::array<char, 4096> buffer;
  for (int reads = 0; reads < kReadsMax; ++reads) {
    const ssize_t count = ::read(log_.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return log_.reset();
    take({buffer.data(), static_cast<std::size_t>(count)});
  }
}

void SshdConnection::take(std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n') {
      log_line();
    } else if (c != '\r' && line_.size() < kLogLineMax) {
      line_.push_back(c);
    }
  }
}

void SshdConnection::log_line() {
  const bool login = line_.rfind("Accepted ", 0) == 0;
  has_login_ = has_login_ || login;
  if (login) serial_ = serial_in(line_);
  base::log(login ? base::LogLevel::kInfo : base::LogLevel::kDebug, login ? "ssh_login" : "sshd",
            {{"machine", machine_}, {"client", client_}, {"text", line_}});
  last_line_ = std::move(line_);
  line_.clear();
}

bool SshdConnection::is_over() {
  const auto exit = sshd_.wait(std::chrono::milliseconds(0));
  if (!exit) return false;
  if (std::exchange(has_ended_, true)) return relay_->is_over();
  if (log_) read_log();
  if (exit->signal == 0 && exit->code == kJailFailed) {
    base::log_warn("sshd_start_failed", {{"machine", machine_}, {"text", last_line_}});
  }
  return relay_->is_over();
}

}  // namespace millrace::machines
