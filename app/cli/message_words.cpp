#include "app/cli/message_words.h"

#include <algorithm>

#include <unistd.h>

#include "app/cli/client.h"
#include "app/cli/interrupt.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kInputMax = std::size_t{64} << 20;  // what a gateway takes as a whole
constexpr std::size_t kInputPieceBytes = std::size_t{64} << 10;

// Until its end; Ctrl-C is heard meanwhile.
enum class Input { kRead, kTooLong, kInterrupted };
Input read_input(Interrupt& interrupt, std::string& to) {
  std::string piece(kInputPieceBytes, '\0');
  for (;;) {
    if (interrupt.wait_beside(STDIN_FILENO)) return Input::kInterrupted;
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (got <= 0) return Input::kRead;
    to.append(piece, 0, static_cast<std::size_t>(got));
    if (to.size() > kInputMax) return Input::kTooLong;
  }
}

}  // namespace

int read_message(const std::vector<std::string>& words, Interrupt& interrupt, std::string& message) {
  for (const std::string& word : words) {
    if (!message.empty() && message.back() != '\n') message += ' ';
    if (word != "-") {
      message += word;
      continue;
    }
    const Input input = read_input(interrupt, message);
    if (input == Input::kInterrupted) return kInterrupted;
    if (input == Input::kTooLong)
      return misused("standard input is longer than the 64 MB that a gateway takes");
  }
  while (message.ends_with('\n')) message.pop_back();
  if (!message.empty()) return kOk;
  const bool piped = std::ranges::find(words, "-") != words.end();
  return misused(piped ? "there is no message: standard input is empty"
                       : "there is no message: what was given is empty");
}

}  // namespace millrace::cli
