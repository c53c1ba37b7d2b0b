#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace millrace::base {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

// One named value of a log line. Values are escaped. Text that looks like an API key (`mr_live_…`) is masked
// before it is written. Never pass a body or a secret.
struct LogField {
  std::string_view key;
  std::string value;
  bool number = false;

  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  template <std::integral T>
  LogField(std::string_view k, T v) : key(k), value(std::to_string(v)), number(true) {}
  LogField(std::string_view k, double v) : key(k), value(std::to_string(v)), number(true) {}
};

// Writes one line to stderr: time, level, event, fields. Never blocks. Lines go through a bounded queue to
// one thread, which writes them within some milliseconds, errors immediately. If the queue is full, the line
// is dropped and counted (`log_dropped`). Before `log_start` and after `log_stop`, lines are written
// directly. Thread-safe.
void log(LogLevel level, std::string_view event, std::span<const LogField> fields);
inline void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {}) {
  log(level, event, std::span(fields.begin(), fields.size()));
}
// True if a line of that level would be written. Lets callers skip fields that are expensive to build.
bool log_enabled(LogLevel level);
inline void log_info(std::string_view event, std::initializer_list<LogField> f = {}) {
  log(LogLevel::kInfo, event, f);
}
inline void log_warn(std::string_view event, std::initializer_list<LogField> f = {}) {
  log(LogLevel::kWarn, event, f);
}
inline void log_error(std::string_view event, std::initializer_list<LogField> f = {}) {
  log(LogLevel::kError, event, f);
}

void log_start(LogFormat format, LogLevel level);
// Returns when all earlier lines have been written, or after one second if the reader of stderr is blocked.
void log_flush();
void log_stop();
std::uint64_t log_dropped();

}  // namespace millrace::base
