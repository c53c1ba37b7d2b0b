#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace millrace::engines::host {

// The text as an English voice can say it: ASCII. Typographic quotes, dashes and accented letters are
// replaced by their plain kin; what has none is left out.
std::string plain_text(std::string_view utf8);

// Sentences of a plain text, each of which is said in one go. A sentence that is very long is cut at a comma,
// else at a space; the first is kept short, so that it is heard soon. Those without a letter or digit are
// left out.
std::vector<std::string> sentences_of(std::string_view plain);

}  // namespace millrace::engines::host
