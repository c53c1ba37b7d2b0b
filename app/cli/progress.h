#pragma once
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cli {

// What a command calls the files that it hands in and their parts, and how it says that one is done.
struct Words {
  std::string_view documents = "documents", page = "page", pages = "pages", done = "read";
};

// One document on its way.
struct Bar {
  std::string name;
  std::string state;        // "queued", "running" …
  int done = 0, total = 0;  // pages; total 0: not known yet
};

// All of them.
struct Totals {
  int documents = 0, documents_done = 0, documents_failed = 0;
  int documents_before = 0;             // of documents_done: by an earlier run
  int documents_counted = 0;            // those whose pages are in pages_total
  int documents_open = 0;               // whose number of pages is not known yet
  int pages_done = 0, pages_total = 0;  // of the counted ones
  int pages_before = 0;                 // of pages_done: by an earlier run
  std::chrono::steady_clock::duration elapsed{};
  Words words = {};
};

// Pure: what the screen shows, one line per bar and one for the whole, each at most `width` columns.
std::vector<std::string> render(const std::vector<Bar>& bars, const Totals& totals, int width, int rows_max,
                                bool color);
// While it runs "12/50 documents", with what failed apart: "10 read, 2 failed of 50"; at the end what this
// run has read, and how many were before: "2 read, 10 before". Speed counts this run's pages; open documents
// are taken to have as many as the counted ones on average.
std::string totals_line(const Totals& totals);

// Progress on stderr: bars that redraw themselves on a terminal (moves_cursor), plain lines otherwise; when
// quiet, failures alone.
class Progress {
 public:
  Progress(bool quiet, bool no_color);
  ~Progress();  // leaves the last picture
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws; without a terminal it says nothing.
  void show(const std::vector<Bar>& bars, const Totals& totals);
  // A line that stays, and is one whatever names are in it (one_line): a finished document, a warning.
  void line(const std::string& text);
  // The same of what went wrong, also when quiet.
  void failure(const std::string& text);
  // The picture stays as it is; what is written next stands below.
  void settle() { drawn_ = 0; }
  bool on_terminal() const { return terminal_; }

 private:
  void erase();

  bool quiet_, terminal_, color_;
  int drawn_ = 0;
};

}  // namespace millrace::cli
