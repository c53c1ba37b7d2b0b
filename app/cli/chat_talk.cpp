#include "app/cli/chat_talk.h"

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "app/cli/interrupt.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::size_t kLineBytes = 4096;  // what a terminal hands out at a time

// Lines of standard input. At a terminal one that was interrupted is forgotten, as the terminal does it.
class Lines {
 public:
  explicit Lines(Interrupt& interrupt) : interrupt_(interrupt) {}

  enum class End { kLine, kNoMore, kInterrupted };
  End next(std::string& line) {
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

constexpr std::string_view kBlanks = " \t\r";

enum class Meaning { kNothing, kExit, kHelp, kQuestion };

Meaning meaning_of(std::string_view line) {
  const std::size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return Meaning::kNothing;
  const std::string_view word = line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
  if (word == "/exit") return Meaning::kExit;
  return word == "/help" ? Meaning::kHelp : Meaning::kQuestion;
}

// No other question would fare better.
bool is_hopeless(int exit_code) {
  return exit_code == kCredentials || exit_code == kNotFound || exit_code == kNoConnection;
}

class Conversation {
 public:
  Conversation(ChatAsking& asking, Interrupt& interrupt, const ChatManner& manner, json messages)
      : asking_(asking), manner_(manner), messages_(std::move(messages)), lines_(interrupt) {}

  int run() {
    std::fprintf(stderr, "%s · Ctrl-C stops an answer, Ctrl-D ends, /help\n", manner_.model.c_str());
    while (!end_) {
      std::fputs("> ", stderr);
      std::fflush(stderr);
      std::string line;
      const Lines::End end = lines_.next(line);
      if (end != Lines::End::kLine) std::fputs("\n", stderr);
      switch (end) {
        case Lines::End::kLine:
          interrupted_ = false;
          take(line);
          break;
        case Lines::End::kNoMore:
          end_ = kOk;
          break;
        case Lines::End::kInterrupted:
          be_interrupted();
          break;
      }
    }
    return *end_;
  }

 private:
  void be_interrupted() {
    if (std::exchange(interrupted_, true)) {
      end_ = kInterrupted;
    } else {
      std::fputs("Ctrl-D ends, and so does a second Ctrl-C\n", stderr);
    }
  }

  void take(const std::string& line) {
    switch (meaning_of(line)) {
      case Meaning::kNothing:
        break;
      case Meaning::kExit:
        end_ = kOk;
        break;
      case Meaning::kHelp:
        std::fputs(
            "A line is a question, and what was said before goes with it. Ctrl-C stops an answer. /exit or "
            "Ctrl-D ends.\n",
            stderr);
        break;
      case Meaning::kQuestion:
        ask(line);
        break;
    }
  }

  void ask(const std::string& line) {
    messages_.push_back(message_of("user", line));
    const ChatAsked asked = asking_.ask(manner_, messages_);
    if (!asked.text.empty()) {
      messages_.push_back(message_of("assistant", asked.text));
    } else {
      messages_.erase(messages_.size() - 1);
    }
    answered_ = answered_ || asked.exit_code == kOk || !asked.text.empty();
    if (!answered_ && is_hopeless(asked.exit_code)) end_ = asked.exit_code;
  }

  ChatAsking& asking_;
  const ChatManner& manner_;
  json messages_;
  Lines lines_;
  std::optional<int> end_;
  bool answered_ = false;     // something, by now
  bool interrupted_ = false;  // at the question before this one
};

}  // namespace

int talk(ChatAsking& asking, Interrupt& interrupt, const ChatManner& manner, json messages) {
  return Conversation(asking, interrupt, manner, std::move(messages)).run();
}

}  // namespace millrace::cli
