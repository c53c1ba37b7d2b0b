#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A page without the letters that are set across its text: a watermark, a stamp.
struct Unstamped {
  PageText page;
  std::vector<std::string> stamps;  // what they say, each once
};

// Of a text layer only: a recogniser reads what it sees. Nothing: no letters are set across others, or so
// many are that the page is made of them.
std::optional<Unstamped> without_stamps(const PageText& page);

}  // namespace millrace::engines
