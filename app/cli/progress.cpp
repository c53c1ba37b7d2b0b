#include "app/cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

#include "app/cli/json_cells.h"
#include "app/cli/terminal.h"

namespace millrace::cli {
namespace {

constexpr int kNameColumns = 32;
constexpr int kBarColumns = 30;

// Counts columns: continuation bytes of UTF-8 take none.
int columns(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string fitted(const std::string& text, int width) {
  std::string out;
  int used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (text[i] & 0xC0) != 0x80;
    if (begins && used == width) break;
    used += begins ? 1 : 0;
    out.push_back(text[i]);
  }
  return out;
}

std::string padded_or_cut(const std::string& text, int width) {
  if (columns(text) > width) return fitted(text, width - 1) + "…";
  return text + std::string(static_cast<std::size_t>(width - columns(text)), ' ');
}

std::string bar_of(std::int64_t done, std::int64_t total) {
  const double share = total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
  const int full = static_cast<int>(std::floor(share * kBarColumns));
  std::string out;
  for (int i = 0; i < kBarColumns; ++i) out += i < full ? "█" : "░";
  return out;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  }
  return text;
}

std::string bar_line(const Bar& bar) {
  std::string pages = bar.total > 0 ? std::to_string(bar.done) + "/" + std::to_string(bar.total) : bar.state;
  return padded_or_cut(one_line(bar.name), kNameColumns) + " " + bar_of(bar.done, bar.total) + " " + pages;
}

int terminal_value(bool width) {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return width ? 80 : 24;
  return width ? size.ws_col : size.ws_row;
}

// The expected number of pages of all documents: known numbers, and their mean for unknown ones. 0: nothing
// is known.
int pages_expected(const Totals& totals) {
  if (totals.documents_open == 0) return totals.pages_total;
  if (totals.documents_counted == 0) return 0;
  const double mean = static_cast<double>(totals.pages_total) / totals.documents_counted;
  return totals.pages_total + static_cast<int>(std::lround(mean * totals.documents_open));
}

std::string expected_text(const Totals& totals) {
  if (totals.documents_open == 0) return std::to_string(totals.pages_total);
  return totals.documents_counted == 0 ? "?" : "~" + std::to_string(pages_expected(totals));
}

bool is_ended(const Totals& totals) { return totals.documents_done == totals.documents; }

// Failed documents are not counted as read.
std::string documents_text(const Totals& totals) {
  const std::string all = std::to_string(totals.documents);
  const int good = totals.documents_done - totals.documents_failed;
  const std::string done = " " + std::string(totals.nouns.done);
  const std::string failed =
      totals.documents_failed == 0 ? "" : ", " + std::to_string(totals.documents_failed) + " failed";
  if (is_ended(totals)) {
    const int before = totals.documents_before;
    return std::to_string(good - before) + done + failed +
           (before == 0 ? "" : ", " + std::to_string(before) + " before");
  }
  if (totals.documents_failed > 0) return std::to_string(good) + done + failed + " of " + all;
  return std::to_string(totals.documents_done) + "/" + all + " " + std::string(totals.nouns.documents);
}

}  // namespace

std::string totals_line(const Totals& totals) {
  const double seconds = std::chrono::duration<double>(totals.elapsed).count();
  const int read_now = totals.pages_done - totals.pages_before;
  const double rate = seconds > 0 ? read_now / seconds : 0;
  const int expected = pages_expected(totals);
  char speed[32];
  std::snprintf(speed, sizeof speed, "%.1f ", rate);
  const bool ended = is_ended(totals);
  std::string out = documents_text(totals) + " · " + std::to_string(ended ? read_now : totals.pages_done);
  if (!ended) out += "/" + expected_text(totals);
  const ProgressNouns& nouns = totals.nouns;
  out.append(" ").append(read_now == 1 && ended ? nouns.page : nouns.pages);
  out.append(" · ").append(speed).append(nouns.pages).append("/s");
  if (is_ended(totals)) return out + " · " + clock_text(seconds);
  if (rate > 0 && expected > totals.pages_done) {
    out += " · " + clock_text((expected - totals.pages_done) / rate) + " left";
  }
  return out;
}

std::string tally_line(const Tally& tally) {
  const double seconds = std::chrono::duration<double>(tally.elapsed).count();
  const double rate = seconds > 0 ? static_cast<double>(tally.done - tally.before) / seconds : 0;
  char speed[32];
  std::snprintf(speed, sizeof speed, "%.1f ", rate);
  const std::string units(tally.units), failed = std::to_string(tally.failed) + " failed";
  if (tally.total == 0) return tally.state.empty() ? "0 " + units : tally.state;
  if (tally.done == tally.total && tally.state.empty()) {
    return std::to_string(tally.done - tally.failed) + " done" + (tally.failed > 0 ? ", " + failed : "") +
           " · " + speed + units + "/s · " + clock_text(seconds);
  }
  std::string out = std::to_string(tally.done) + "/" + std::to_string(tally.total) + " " + units;
  if (tally.failed > 0) out += " · " + failed;
  if (!tally.state.empty()) return out + " · " + tally.state;
  out.append(" · ").append(speed).append(units).append("/s");
  if (rate > 0) out += " · " + clock_text(static_cast<double>(tally.total - tally.done) / rate) + " left";
  return out;
}

namespace {

// The total line; without its bar if the bar would displace the numbers.
std::string total_line(const Totals& totals, int width) {
  const std::string numbers = totals_line(totals);
  const std::string whole = padded_or_cut("Total", kNameColumns) + " " +
                            bar_of(totals.pages_done, pages_expected(totals)) + " " + numbers;
  return columns(whole) <= width ? whole : "Total " + numbers;
}

}  // namespace

std::vector<std::string> render(const std::vector<Bar>& bars, const Totals& totals, int width, int rows_max,
                                bool color) {
  std::vector<std::string> lines;
  const std::size_t rows = static_cast<std::size_t>(std::max(1, rows_max - 1));
  for (const Bar& bar : bars) {
    if (lines.size() == rows) break;
    lines.push_back(fitted(bar_line(bar), width));
  }
  if (bars.size() > rows)
    lines.back() = fitted("… and " + std::to_string(bars.size() - rows + 1) + " more", width);
  const std::string total = fitted(total_line(totals, width), width);
  lines.push_back(color ? "\x1b[1m" + total + "\x1b[0m" : total);
  return lines;
}

Progress::Progress(bool quiet, bool no_color)
    : quiet_(quiet),
      terminal_(moves_cursor(STDERR_FILENO)),
      color_(!no_color && std::getenv("NO_COLOR") == nullptr) {}  // NOLINT(concurrency-mt-unsafe)

Progress::~Progress() { std::fflush(stderr); }

void Progress::erase() {
  for (; drawn_ > 0; --drawn_) std::fputs("\x1b[1A\x1b[2K", stderr);
}

void Progress::show(const std::vector<Bar>& bars, const Totals& totals) {
  if (quiet_ || !terminal_) return;
  draw(render(bars, totals, terminal_value(true), std::min(16, terminal_value(false) - 1), color_));
}

void Progress::show(const Tally& tally) {
  if (quiet_ || !terminal_) return;
  const std::string numbers = tally_line(tally);
  const std::string whole = bar_of(tally.done, tally.total) + " " + numbers;
  const int width = terminal_value(true);
  draw({fitted(columns(whole) <= width ? whole : numbers, width)});
}

void Progress::draw(const std::vector<std::string>& lines) {
  erase();
  for (const std::string& text : lines) std::fprintf(stderr, "%s\n", text.c_str());
  drawn_ = static_cast<int>(lines.size());
  std::fflush(stderr);
}

void Progress::line(const std::string& text) {
  if (!quiet_) failure(text);
}

void Progress::failure(const std::string& text) {
  if (terminal_) erase();
  std::fprintf(stderr, "%s\n", one_line(text).c_str());
  std::fflush(stderr);
}

}  // namespace millrace::cli
