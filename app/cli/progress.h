#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cli {

// The nouns and the verb that a command uses for its files, their parts, and completion.
struct ProgressNouns {
  std::string_view documents = "documents", page = "page", pages = "pages", done = "read";
};

// Progress of one document.
struct Bar {
  std::string name;
  std::string state;        // "queued", "running" …
  int done = 0, total = 0;  // pages; `total` 0: not known yet
};

// Progress of all documents.
struct Totals {
  int documents = 0, documents_done = 0, documents_failed = 0;
  int documents_before = 0;             // the part of documents_done from an earlier run
  int documents_counted = 0;            // documents whose pages are counted in pages_total
  int documents_open = 0;               // documents whose number of pages is not known yet
  int pages_done = 0, pages_total = 0;  // pages of the counted documents
  int pages_before = 0;                 // the part of pages_done from an earlier run
  std::chrono::steady_clock::duration elapsed{};
  ProgressNouns nouns = {};
};

// Progress of many small units of work, which are not shown one by one.
struct Tally {
  std::int64_t total = 0, done = 0, failed = 0;  // `done` includes `failed`; `total` 0: not known yet
  std::int64_t before = 0;                       // the part of `done` from before this command
  std::chrono::steady_clock::duration elapsed{};
  std::string state = {};               // what is done now, if it is not the work itself: "validating"
  std::string_view units = "requests";  // plural
};
// While running: "12/50 requests · 1 failed · 4.0 requests/s · 0:09 left". At the end: "49 done, 1 failed ·
// 4.0 requests/s · 0:12". Pure.
std::string tally_line(const Tally& tally);

// The lines on screen: one per bar and one for the total, each at most `width` columns. Pure.
std::vector<std::string> render(const std::vector<Bar>& bars, const Totals& totals, int width, int rows_max,
                                bool color);
// While running: "12/50 documents", or with failures "10 read, 2 failed of 50". At the end: what this run has
// read, and how many were done before: "2 read, 10 before". The speed counts only pages of this run.
// Documents with an unknown number of pages are assumed to have the average of the counted ones.
std::string totals_line(const Totals& totals);

// Shows progress on stderr: bars that redraw themselves on a terminal (moves_cursor), otherwise plain lines;
// when quiet, only failures.
class Progress {
 public:
  Progress(bool quiet, bool no_color);
  ~Progress();  // leaves the last state on screen
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws the bars. Does nothing without a terminal.
  void show(const std::vector<Bar>& bars, const Totals& totals);
  // The same for a tally, which is one line.
  void show(const Tally& tally);
  // Prints a permanent line: a finished document, a warning. It stays one line whatever names it contains
  // (one_line).
  void line(const std::string& text);
  // The same for an error; printed also when quiet.
  void failure(const std::string& text);
  // Keeps the current bars on screen; later output goes below them.
  void settle() { drawn_ = 0; }
  bool on_terminal() const { return terminal_; }

 private:
  void erase();
  void draw(const std::vector<std::string>& lines);

  bool quiet_, terminal_, color_;
  int drawn_ = 0;
};

}  // namespace millrace::cli
