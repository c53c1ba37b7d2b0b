#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/ocr/pages.h"

namespace millrace::engines {

// A page without text that is printed across its other text (watermarks, stamps).
struct Unstamped {
  PageText page;
  std::vector<std::string> stamps;  // their texts, without duplicates
};

// Only for text layers: a recogniser reads what is visible. nullopt: no text is printed across other text, or
// so much is that it makes up the page.
std::optional<Unstamped> without_stamps(const PageText& page);

}  // namespace millrace::engines
