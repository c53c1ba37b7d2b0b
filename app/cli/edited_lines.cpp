#include "app/cli/edited_lines.h"

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <string_view>

#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include "app/cli/chat_history.h"
#include "app/cli/interrupt.h"

namespace millrace::cli {
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
    ::el_set(editor_.get(), EL_PREP_TERM, 1);  // else what is typed at the prompt's sight may come too early
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

  // Ctrl-C comes by a descriptor of its own: a signal would not end a read.
  static int next_character(EditLine* editor, wchar_t* to) {
    EditedLines& self = of(editor);
    std::mbstate_t state{};
    for (;;) {
      if (self.interrupt_.wait_beside(STDIN_FILENO)) {
        self.interrupted_ = true;
        errno = EINTR;
        return -1;
      }
      char byte = 0;
      const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
      if (got <= 0) return static_cast<int>(got);
      const std::size_t made = std::mbrtowc(to, &byte, 1, &state);
      if (made == 0 || made == 1) return 1;
      if (made == static_cast<std::size_t>(-1)) state = {};  // no character: passed over
    }
  }

  Interrupt& interrupt_;
  ChatHistory& history_;
  std::string prompt_;
  bool interrupted_ = false;
  std::unique_ptr<History, MemoryEnd> memory_;
  std::unique_ptr<EditLine, EditorEnd> editor_;  // looks into memory_
};

// What is typed is UTF-8, whatever the environment says or forgets to say.
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

}  // namespace millrace::cli
