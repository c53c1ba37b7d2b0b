#pragma once
#include <string>
#include <string_view>

namespace millrace::cli {

// A question that is typed in one line or in several: a backslash at the end of a line joins the next one to
// it, and what stands between two """ is one text, its lines as they are.
class ChatQuestion {
 public:
  // True: it is whole, and `take` gives it.
  bool add(std::string_view line);
  bool is_open() const { return open_; }  // lines are to come
  std::string take();
  void forget() { take(); }

 private:
  bool add_quoted(std::string_view line);
  std::string text_;
  bool open_ = false, quoted_ = false;
};

}  // namespace millrace::cli
