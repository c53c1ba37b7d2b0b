#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/providers/citations.h"

namespace millrace::providers {

// What the text blocks of an answer cite. A citation is for all of the block that it stands in, so it is told
// when that ends.
class AnthropicCitations {
 public:
  void begin_block(const Json& block);  // with the citations that it has from its start
  void say(std::string_view text);
  void cite(const Json& citation);
  void end_block();
  void tell(Json& extra) { told_.tell(extra); }

 private:
  std::size_t begin_ = 0, said_ = 0;                          // characters
  std::vector<std::pair<std::string, std::string>> pending_;  // URL and title
  Citations told_;
};

}  // namespace millrace::providers
