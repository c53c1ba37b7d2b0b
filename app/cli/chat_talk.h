#pragma once
#include <nlohmann/json_fwd.hpp>

#include "app/cli/chat_asking.h"

namespace millrace::cli {

// A conversation at a terminal: a line of standard input is a question (ChatQuestion: or several), and what
// was said before goes with it. Lines are edited and gone back to as ChatLines and ChatHistory say. Ctrl-D or
// `/exit` ends it with kOk, `/help` tells of both. Ctrl-C stops an answer, of which the model is reminded as
// far as it came; at a question it forgets the line, and a second one in a row leaves with kInterrupted. A
// question that fails is told and forgotten; before the first answer, one that no question can mend (key,
// model, connection) ends it with its exit code. `messages` are said before the first.
int talk(ChatAsking& asking, Interrupt& interrupt, const ChatManner& manner, nlohmann::json messages);

}  // namespace millrace::cli
