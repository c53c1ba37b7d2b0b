#include "platform/base/log.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/base/clock.h"

namespace millrace::base {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kQueueBytesMax = std::size_t{4} << 20;
constexpr std::size_t kValueBytesMax = 8192;
// a pipe that polls as writable accepts this much without blocking
constexpr std::size_t kPipeAtomicBytes = 4096;
// How long a line other than an error waits for more lines. Waking the thread costs the caller a system call,
// and a busy gateway writes one line per request.
constexpr milliseconds kGather{5};
constexpr milliseconds kPollSlice{50};
constexpr milliseconds kDirectWaitMax{200};  // for a line written without the thread
constexpr milliseconds kStopWaitMax{1000};   // for queued lines at the end
constexpr milliseconds kFlushWaitMax{1000};
constexpr std::string_view kKeyMark = "mr_live_";
constexpr std::size_t kKeyIdSize = 8;

bool is_key_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

// Keeps the public id of a well-formed key, so the line can still be attributed. The secret becomes `****`.
void mask_keys(std::string& line) {
  for (std::size_t at = line.find(kKeyMark); at != std::string::npos; at = line.find(kKeyMark, at)) {
    std::size_t end = at + kKeyMark.size();
    std::size_t keep = end;
    while (end < line.size() && is_key_character(line[end])) ++end;
    if (end > keep + kKeyIdSize && line[keep + kKeyIdSize] == '_') keep += kKeyIdSize + 1;
    line.replace(keep, end - keep, "****");
    at = keep + 4;
  }
}

bool is_plain(std::string_view text) {
  for (char c : text) {
    if (c <= ' ' || c == '"' || c == '\\' || c == '=' || c == '\x7f') return false;
  }
  return !text.empty();
}

void append_quoted(std::string& out, std::string_view text) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_finite_number(const LogField& field) {
  return field.number && field.value.find_first_of("nN") == std::string::npos;  // inf, nan
}

void append_value(std::string& out, const LogField& field, LogFormat format) {
  const std::string_view value = std::string_view(field.value).substr(0, kValueBytesMax);
  if (is_finite_number(field) || (format == LogFormat::kText && is_plain(value))) {
    out += value;
  } else {
    append_quoted(out, value);
  }
}

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

std::string timestamp() {
  return rfc3339(std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()));
}

std::string text_line(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  std::string line = timestamp();
  line.append(" ").append(level_name(level)).append(" ").append(event);
  for (const LogField& field : fields) {
    line.append(" ").append(field.key).append("=");
    append_value(line, field, LogFormat::kText);
  }
  return line;
}

std::string json_line(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  std::string line = R"({"time":")" + timestamp() + R"(","level":")";
  line.append(level_name(level)).append(R"(","event":)");
  append_quoted(line, event);
  for (const LogField& field : fields) {
    line += ',';
    append_quoted(line, field.key);
    line += ':';
    append_value(line, field, LogFormat::kJson);
  }
  line += '}';
  return line;
}

std::string make_line(LogFormat format, LogLevel level, std::string_view event,
                      std::span<const LogField> fields) {
  std::string line =
      format == LogFormat::kJson ? json_line(level, event, fields) : text_line(level, event, fields);
  mask_keys(line);
  line += '\n';
  return line;
}

// Writes as much as fits now, without blocking where the kernel supports that (pipes). < 0: see errno.
ssize_t write_some(const char* data, std::size_t size) {
  iovec part{const_cast<char*>(data), std::min(size, kPipeAtomicBytes)};
  const ssize_t wrote = ::pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT);
  if (wrote >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)) return wrote;
  return ::write(STDERR_FILENO, part.iov_base, part.iov_len);
}

// Writes all of `text` and waits for a slow reader until `give_up()` is true. False: only a part was written.
template <class WriteTimeout>
bool write_with_deadline(std::string_view text, WriteTimeout&& give_up) {
  while (!text.empty()) {
    if (give_up()) return false;
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(kPollSlice.count()));
    const ssize_t wrote = count > 0 ? write_some(text.data(), text.size()) : 0;
    if (wrote > 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
      continue;
    }
    if (wrote < 0 && errno != EAGAIN && errno != EINTR) return false;
  }
  return true;
}

class Sink {
 public:
  void start(LogFormat format, LogLevel level) {
    stop();
    format_ = format;
    level_ = level;
    std::lock_guard lock(mutex_);
    queued_ = true;
    give_up_at_ = {};
    writer_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  void stop() {
    std::jthread writer;
    {
      std::lock_guard lock(mutex_);
      queued_ = false;
      writer.swap(writer_);
    }
    if (writer.joinable()) writer.request_stop();
  }

  void flush() {
    std::unique_lock lock(mutex_);
    if (!queued_) return;
    urgent_ = urgent_ || !queue_.empty();
    ready_.notify_one();
    written_.wait_for(lock, kFlushWaitMax, [this] { return queue_bytes_ == 0; });
  }

  bool takes(LogLevel level) const { return level >= level_.load(std::memory_order_relaxed); }

  void take(LogLevel level, std::string_view event, std::span<const LogField> fields) {
    if (!takes(level)) return;
    std::string line = make_line(format_.load(std::memory_order_relaxed), level, event, fields);
    {
      std::lock_guard lock(mutex_);
      if (queued_) return enqueue(level, std::move(line));
    }
    const auto end = Steady::now() + kDirectWaitMax;
    if (!write_with_deadline(line, [end] { return Steady::now() >= end; })) dropped_.fetch_add(1);
  }

  std::uint64_t dropped() const { return dropped_.load(); }

 private:
  void enqueue(LogLevel level, std::string line) {
    if (queue_bytes_ + line.size() > kQueueBytesMax) {
      dropped_.fetch_add(1);
      return;
    }
    const bool was_pressed = is_pressed();
    const bool is_first = queue_.empty();
    queue_bytes_ += line.size();
    urgent_ = urgent_ || level >= LogLevel::kError;
    queue_.push_back(std::move(line));
    if (is_first || (is_pressed() && !was_pressed)) ready_.notify_one();
  }
  // True if the writer should not wait for more lines.
  bool is_pressed() const { return urgent_ || queue_bytes_ > kQueueBytesMax / 2; }

  void run(const std::stop_token& stop) {
    std::uint64_t reported = dropped();
    while (true) {
      std::deque<std::string> batch;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, stop, [this] { return !queue_.empty(); });
        ready_.wait_for(lock, stop, kGather, [this] { return is_pressed(); });
        batch.swap(queue_);
        urgent_ = false;
      }
      if (batch.empty()) return;
      write_batch(batch, stop);
      report_drops(reported, stop);
    }
  }

  // Waits without limit while the process runs, and kStopWaitMax in total once it stops.
  auto write_deadline(const std::stop_token& stop) {
    return [this, stop] {
      if (!stop.stop_requested()) return false;
      if (give_up_at_ == Steady::time_point{}) give_up_at_ = Steady::now() + kStopWaitMax;
      return Steady::now() >= give_up_at_;
    };
  }

  // Writes as many lines at once as a pipe accepts as a whole. They count against the limit of the queue
  // until they are written or dropped.
  void write_batch(std::deque<std::string>& batch, const std::stop_token& stop) {
    while (!batch.empty()) {
      std::string text = std::move(batch.front());
      batch.pop_front();
      std::uint64_t lines = 1;
      for (; !batch.empty() && text.size() + batch.front().size() <= kPipeAtomicBytes; ++lines) {
        text += batch.front();
        batch.pop_front();
      }
      if (!write_with_deadline(text, write_deadline(stop))) dropped_.fetch_add(lines);
      std::lock_guard lock(mutex_);
      queue_bytes_ -= text.size();
      if (queue_bytes_ == 0) written_.notify_all();
    }
  }

  void report_drops(std::uint64_t& reported, const std::stop_token& stop) {
    const std::uint64_t now = dropped();
    if (now == reported) return;
    const LogField lines{"lines", now - reported};
    const std::string line = make_line(format_, LogLevel::kWarn, "log_lines_dropped", {&lines, 1});
    if (write_with_deadline(line, write_deadline(stop))) reported = now;
  }

  std::atomic<LogFormat> format_{LogFormat::kText};
  std::atomic<LogLevel> level_{LogLevel::kInfo};
  std::atomic<std::uint64_t> dropped_{0};
  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::condition_variable written_;
  std::deque<std::string> queue_;
  std::size_t queue_bytes_ = 0;  // of the queue, and of the lines that are being written
  bool urgent_ = false;          // the queued lines must be written without delay
  bool queued_ = false;
  Steady::time_point give_up_at_{};  // used only by the writer
  std::jthread writer_;
};

Sink& sink() {
  static Sink the_sink;
  return the_sink;
}

}  // namespace

void log(LogLevel level, std::string_view event, std::span<const LogField> fields) {
  sink().take(level, event, fields);
}
bool log_enabled(LogLevel level) { return sink().takes(level); }
void log_start(LogFormat format, LogLevel level) { sink().start(format, level); }
void log_flush() { sink().flush(); }
void log_stop() { sink().stop(); }
std::uint64_t log_dropped() { return sink().dropped(); }

}  // namespace millrace::base
