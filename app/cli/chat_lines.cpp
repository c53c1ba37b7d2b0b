#include "app/cli/chat_lines.h"

#include <array>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include "app/cli/edited_lines.h"
#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kLineBytes = 4096;  // what a terminal hands out at a time

// As the terminal gives them.
class PlainLines final : public ChatLines {
 public:
  explicit PlainLines(Interrupt& interrupt) : interrupt_(interrupt) {}

  End next(const char* prompt, std::string& line) override {
    std::fputs(prompt, stderr);
    std::fflush(stderr);
    for (;;) {
      if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return End::kLine;
      }
      if (interrupt_.wait_beside(STDIN_FILENO)) return buffer_.clear(), End::kInterrupted;
      std::array<char, kLineBytes> piece;
      const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
      if (got <= 0) return last(line);
      buffer_.append(piece.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  End last(std::string& line) {
    line = std::exchange(buffer_, {});
    return line.empty() ? End::kNoMore : End::kLine;
  }

  Interrupt& interrupt_;
  std::string buffer_;
};

}  // namespace

std::unique_ptr<ChatLines> chat_lines(Interrupt& interrupt, ChatHistory& history) {
  const bool at_screen = ::isatty(STDIN_FILENO) == 1 && moves_cursor(STDERR_FILENO);
  std::unique_ptr<ChatLines> edited = at_screen ? edited_lines(interrupt, history) : nullptr;
  if (edited != nullptr) return edited;
  return std::make_unique<PlainLines>(interrupt);
}

}  // namespace millrace::cli
