#include "app/cli/chat/chat_talk.h"

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include "app/cli/chat/chat_history.h"
#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kQuote = R"(""")";

// A double backslash stands for a literal one.
bool ends_with_backslash(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\\');
  const std::size_t count = line.size() - (last == std::string_view::npos ? 0 : last + 1);
  return count % 2 == 1;
}

}  // namespace

bool ChatQuestion::add(std::string_view line) {
  if (!open_ && line.starts_with(kQuote)) {
    quoted_ = true;
    line.remove_prefix(kQuote.size());
    if (line.empty()) return open_ = true, false;
  }
  if (quoted_) return add_quoted(line);
  open_ = ends_with_backslash(line);
  if (open_) line.remove_suffix(1);
  text_.append(line);
  if (open_) text_ += '\n';
  return !open_;
}

bool ChatQuestion::add_quoted(std::string_view line) {
  open_ = !line.ends_with(kQuote);
  if (!open_) line.remove_suffix(kQuote.size());
  text_.append(line);
  if (open_) text_ += '\n';
  return !open_;
}

std::string ChatQuestion::take() {
  open_ = quoted_ = false;
  std::string text = std::exchange(text_, {});
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

namespace {

constexpr std::size_t kLineBytes = 4096;  // what a terminal returns in one read

// Lines as the terminal returns them.
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
      if (interrupt_.wait_on_thread(STDIN_FILENO)) return buffer_.clear(), End::kInterrupted;
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

namespace {

struct EditorEnd {
  void operator()(EditLine* editor) const { ::el_end(editor); }
};
struct MemoryEnd {
  void operator()(History* memory) const { ::history_end(memory); }
};

class EditedLines final : public ChatLines {
 public:
  EditedLines(Interrupt& interrupt, ChatHistory& history) : interrupt_(interrupt), history_(history) {
    editor_.reset(::el_init("millrace", stdin, stderr, stderr));
    memory_.reset(::history_init());
    if (!works()) return;
    HistEvent event;
    ::history(memory_.get(), &event, H_SETSIZE, static_cast<int>(kHistoryLinesMax));
    for (const std::string& line : history_.lines()) remember(line);
    ::el_set(editor_.get(), EL_CLIENTDATA, this);
    ::el_set(editor_.get(), EL_PROMPT, &EditedLines::prompt_of);
    ::el_set(editor_.get(), EL_GETCFN, &EditedLines::next_character);
    ::el_set(editor_.get(), EL_SIGNAL, 1);
    ::el_set(editor_.get(), EL_EDITOR, "emacs");
    ::el_set(editor_.get(), EL_HIST, ::history, memory_.get());
    bind("^R", "em-inc-search-prev");
    bind("^W", "ed-delete-prev-word");
    ::el_source(editor_.get(), nullptr);
  }
  bool works() const { return editor_ != nullptr && memory_ != nullptr; }

  End next(const char* prompt, std::string& line) override {
    prompt_ = prompt;
    interrupted_ = false;
    int bytes = 0;
    // Otherwise text typed right after the prompt could arrive too early.
    ::el_set(editor_.get(), EL_PREP_TERM, 1);
    const char* const typed = ::el_gets(editor_.get(), &bytes);
    if (interrupted_) return End::kInterrupted;
    if (typed == nullptr || bytes <= 0) return End::kNoMore;
    line.assign(typed, static_cast<std::size_t>(bytes));
    while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
    if (history_.add(line)) remember(line);
    return End::kLine;
  }

 private:
  void bind(const char* key, const char* what) {
    ::el_set(editor_.get(), EL_BIND, key, what, static_cast<const char*>(nullptr));
  }

  void remember(const std::string& line) {
    HistEvent event;
    ::history(memory_.get(), &event, H_ENTER, line.c_str());
  }

  static EditedLines& of(EditLine* editor) {
    void* self = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<EditedLines*>(self);
  }

  static char* prompt_of(EditLine* editor) { return of(editor).prompt_.data(); }

  // Ctrl-C arrives through a descriptor, because a signal would not end a read.
  static int next_character(EditLine* editor, wchar_t* to) {
    EditedLines& self = of(editor);
    std::mbstate_t state{};
    for (;;) {
      if (self.interrupt_.wait_on_thread(STDIN_FILENO)) {
        self.interrupted_ = true;
        errno = EINTR;
        return -1;
      }
      char byte = 0;
      const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
      if (got <= 0) return static_cast<int>(got);
      const std::size_t made = std::mbrtowc(to, &byte, 1, &state);
      if (made == 0 || made == 1) return 1;
      if (made == static_cast<std::size_t>(-1)) state = {};  // invalid character: skipped
    }
  }

  Interrupt& interrupt_;
  ChatHistory& history_;
  std::string prompt_;
  bool interrupted_ = false;
  std::unique_ptr<History, MemoryEnd> memory_;
  std::unique_ptr<EditLine, EditorEnd> editor_;  // looks into memory_
};

// Treats input as UTF-8 whatever locale the environment sets.
void take_utf8() {
  const char* const own = std::setlocale(LC_CTYPE, "");  // NOLINT(concurrency-mt-unsafe)
  const bool is_utf8 = own != nullptr && std::string_view(::nl_langinfo(CODESET)) == "UTF-8";  // NOLINT
  if (!is_utf8) std::setlocale(LC_CTYPE, "C.UTF-8");  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

std::unique_ptr<ChatLines> edited_lines(Interrupt& interrupt, ChatHistory& history) {
  take_utf8();
  auto lines = std::make_unique<EditedLines>(interrupt, history);
  if (!lines->works()) return nullptr;
  return lines;
}

using nlohmann::json;
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr const char* kTalkHelp =
    R"(Each line is a message; the conversation so far is sent with it. A line that ends with \ continues on the
next one; a text of several lines goes between two """. Ctrl-C stops an answer. /exit or Ctrl-D ends.
)";

enum class Meaning { kNothing, kExit, kHelp, kQuestion };

Meaning meaning_of(std::string_view line) {
  const std::size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return Meaning::kNothing;
  const std::string_view word = line.substr(first, line.find_last_not_of(kBlanks) - first + 1);
  if (word == "/exit") return Meaning::kExit;
  return word == "/help" ? Meaning::kHelp : Meaning::kQuestion;
}

// True if no other message would succeed, either.
bool is_hopeless(int exit_code) {
  return exit_code == kCredentials || exit_code == kNotFound || exit_code == kNoConnection;
}

class Conversation {
 public:
  Conversation(ChatExchange& chat_exchange, Interrupt& interrupt, const ChatRequestParameters& parameters,
               json messages)
      : chat_exchange_(chat_exchange),
        manner_(parameters),
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
        if (question_.add(line)) send(question_.take());
        break;
    }
  }

  void send(const std::string& question) {
    if (question.find_first_not_of(kBlanks) == std::string::npos) return;
    messages_.push_back(message_of("user", question));
    const ChatExchangeResult result = chat_exchange_.send(manner_, messages_);
    if (!result.text.empty()) {
      messages_.push_back(message_of("assistant", result.text));
    } else {
      messages_.erase(messages_.size() - 1);
    }
    answered_ = answered_ || result.exit_code == kOk || !result.text.empty();
    if (!answered_ && is_hopeless(result.exit_code)) end_ = result.exit_code;
  }

  ChatExchange& chat_exchange_;
  const ChatRequestParameters& manner_;
  json messages_;
  ChatHistory history_;
  std::unique_ptr<ChatLines> lines_;
  ChatQuestion question_;
  std::optional<int> end_;
  bool answered_ = false;     // at least one response was received
  bool interrupted_ = false;  // the previous prompt was interrupted
};

}  // namespace

int run_conversation(ChatExchange& chat_exchange, Interrupt& interrupt,
                     const ChatRequestParameters& parameters, json messages) {
  return Conversation(chat_exchange, interrupt, parameters, std::move(messages)).run();
}

}  // namespace millrace::cli
