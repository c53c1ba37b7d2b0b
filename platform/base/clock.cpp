#include "platform/base/clock.h"

#include <fstream>
#include <utility>

#include <time.h>

namespace millrace::base {
namespace {

using std::chrono::milliseconds;

milliseconds read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::chrono::duration_cast<milliseconds>(std::chrono::seconds(t.tv_sec) +
                                                  std::chrono::nanoseconds(t.tv_nsec));
}

// Reads digits and separators of a date-time from the front. A mismatch sets `ok` to false.
struct Scanner {
  std::string_view rest;
  bool ok = true;

  int digits(std::size_t count) {
    if (rest.size() < count) return ok = false, 0;
    int value = 0;
    for (char c : rest.substr(0, count)) {
      if (c < '0' || c > '9') return ok = false, 0;
      value = value * 10 + (c - '0');
    }
    rest.remove_prefix(count);
    return value;
  }
  char one_of(std::string_view set) {
    if (rest.empty() || set.find(rest.front()) == std::string_view::npos) return ok = false, '\0';
    const char c = rest.front();
    rest.remove_prefix(1);
    return c;
  }
  bool next_is(char c) const { return !rest.empty() && rest.front() == c; }

  milliseconds fraction() {
    one_of(".");
    int ms = 0, seen = 0;
    for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; rest.remove_prefix(1), ++seen) {
      if (seen < 3) ms = ms * 10 + (rest.front() - '0');
    }
    if (seen == 0) ok = false;
    for (; seen < 3; ++seen) ms *= 10;
    return milliseconds(ms);
  }
  std::chrono::minutes offset() {
    const char sign = one_of("Zz+-");
    if (sign == 'Z' || sign == 'z' || !ok) return std::chrono::minutes(0);
    const int hours = digits(2);
    one_of(":");
    const int minutes = digits(2);
    if (hours > 23 || minutes > 59) ok = false;
    const std::chrono::minutes total(hours * 60 + minutes);
    return sign == '-' ? -total : total;
  }
};

// `value` must be below 100.
void put_two(char* at, unsigned value) {
  at[0] = static_cast<char>('0' + value / 10);
  at[1] = static_cast<char>('0' + value % 10);
}

}  // namespace

SystemClock::SystemClock() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot_id_);
}
WallTime SystemClock::wall() const { return WallTime(read_clock(CLOCK_REALTIME)); }
BootTime SystemClock::boot() const { return BootTime(read_clock(CLOCK_BOOTTIME)); }

ManualClock::ManualClock(WallTime start) : wall_(start) {}
WallTime ManualClock::wall() const {
  std::lock_guard lock(mutex_);
  return wall_;
}
BootTime ManualClock::boot() const {
  std::lock_guard lock(mutex_);
  return boot_;
}
std::string ManualClock::boot_id() const {
  std::lock_guard lock(mutex_);
  return boot_id_;
}
void ManualClock::advance(milliseconds by) {
  std::lock_guard lock(mutex_);
  wall_ += by;
  boot_ += by;
}
void ManualClock::jump_wall(milliseconds by) {
  std::lock_guard lock(mutex_);
  wall_ += by;
}
void ManualClock::reboot(std::string new_boot_id) {
  std::lock_guard lock(mutex_);
  boot_id_ = std::move(new_boot_id);
  boot_ = BootTime{};
}

std::string rfc3339(WallTime t) {
  std::string out;
  append_rfc3339(out, t);
  return out;
}

void append_rfc3339(std::string& out, WallTime t) {
  const auto day = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day date(day);
  const auto ms = static_cast<unsigned>((t - day).count());
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  char text[] = "0000-00-00T00:00:00.000Z";
  put_two(text, year / 100 % 100);
  put_two(text + 2, year % 100);
  put_two(text + 5, static_cast<unsigned>(date.month()));
  put_two(text + 8, static_cast<unsigned>(date.day()));
  put_two(text + 11, ms / 3'600'000);
  put_two(text + 14, ms / 60'000 % 60);
  put_two(text + 17, ms / 1'000 % 60);
  put_two(text + 20, ms % 1'000 / 10);
  text[22] = static_cast<char>('0' + ms % 10);
  out.append(text, sizeof text - 1);
}

bool parse_rfc3339(std::string_view text, WallTime& out) {
  Scanner in{text};
  const int year = in.digits(4);
  in.one_of("-");
  const int month = in.digits(2);
  in.one_of("-");
  const int day = in.digits(2);
  in.one_of("Tt ");
  const int hour = in.digits(2);
  in.one_of(":");
  const int minute = in.digits(2);
  in.one_of(":");
  const int second = in.digits(2);
  const milliseconds fraction = in.next_is('.') ? in.fraction() : milliseconds(0);
  const std::chrono::minutes offset = in.offset();
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!in.ok || !in.rest.empty() || !date.ok() || hour > 23 || minute > 59 || second > 60) return false;
  out = WallTime(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                 std::chrono::minutes(minute) + std::chrono::seconds(second) + fraction - offset);
  return true;
}

}  // namespace millrace::base
