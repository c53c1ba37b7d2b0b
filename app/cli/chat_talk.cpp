#include "app/cli/chat_talk.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/cli/chat_history.h"
#include "app/cli/chat_lines.h"
#include "app/cli/chat_question.h"
#include "app/cli/interrupt.h"

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr const char* kTalkHelp =
    R"(A line is a question, and what was said before goes with it. With a \ at its end it goes on in the
next one; a text of several lines stands between two """. Ctrl-C stops an answer. /exit or Ctrl-D ends.
)";

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
      : asking_(asking),
        manner_(manner),
        messages_(std::move(messages)),
        history_(chat_history_file()),
        lines_(chat_lines(interrupt, history_)) {}

  int run() {
    std::fprintf(stderr, "%s · Ctrl-C stops an answer, Ctrl-D ends, /help\n", manner_.model.c_str());
    while (!end_) {
      std::string line;
      const ChatLines::End end = lines_->next(question_.is_open() ? ". " : "> ", line);
      if (end != ChatLines::End::kLine) std::fputs("\n", stderr);
      switch (end) {
        case ChatLines::End::kLine:
          interrupted_ = false;
          take(line);
          break;
        case ChatLines::End::kNoMore:
          end_ = kOk;
          break;
        case ChatLines::End::kInterrupted:
          be_interrupted();
          break;
      }
    }
    return *end_;
  }

 private:
  void be_interrupted() {
    question_.forget();
    if (std::exchange(interrupted_, true)) {
      end_ = kInterrupted;
    } else {
      std::fputs("Ctrl-D ends, and so does a second Ctrl-C\n", stderr);
    }
  }

  void take(const std::string& line) {
    switch (question_.is_open() ? Meaning::kQuestion : meaning_of(line)) {
      case Meaning::kNothing:
        break;
      case Meaning::kExit:
        end_ = kOk;
        break;
      case Meaning::kHelp:
        std::fputs(kTalkHelp, stderr);
        break;
      case Meaning::kQuestion:
        if (question_.add(line)) ask(question_.take());
        break;
    }
  }

  void ask(const std::string& question) {
    if (question.find_first_not_of(kBlanks) == std::string::npos) return;
    messages_.push_back(message_of("user", question));
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
  ChatHistory history_;
  std::unique_ptr<ChatLines> lines_;
  ChatQuestion question_;
  std::optional<int> end_;
  bool answered_ = false;     // something, by now
  bool interrupted_ = false;  // at the question before this one
};

}  // namespace

int talk(ChatAsking& asking, Interrupt& interrupt, const ChatManner& manner, json messages) {
  return Conversation(asking, interrupt, manner, std::move(messages)).run();
}

}  // namespace millrace::cli
