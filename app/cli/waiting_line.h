#pragma once
#include <string>

namespace millrace::cli {

// What we wait for, as one line on a terminal's stderr (moves_cursor) that is gone once it is over;
// elsewhere, and when quiet, nothing. Not thread-safe.
class WaitingLine {
 public:
  WaitingLine(std::string text, bool quiet);
  ~WaitingLine();  // clears
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  void show();  // as it is
  void turn();  // with a wheel that moves by one; some ten times a second
  void clear();

 private:
  std::string text_;
  bool on_;
  bool drawn_ = false;
  unsigned turns_ = 0;
};

}  // namespace millrace::cli
