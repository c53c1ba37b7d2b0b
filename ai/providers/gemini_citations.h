#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/citations.h"
#include "ai/providers/text_meter.h"

namespace millrace::providers {

// What a candidate's text is grounded on, whole or event by event. Gemini counts bytes: of the whole text, or
// of one part of an answer that comes in one event; and it may name bytes of events to come, so all is told
// with the last one.
class GeminiCitations {
 public:
  void begin_event() { ++events_; }
  void begin_part();
  void say(std::string_view text) { text_.add(text); }
  // Of an event whose text has been said.
  void take(const Json& candidate);
  void tell(Json& extra) { told_.tell(extra); }

 private:
  struct Segment {
    std::size_t part, begin, end;  // the latter bytes
    std::string url, title;
  };
  void take_support(const Json& support, const Json& chunks);
  void take_sources(const Json* sources);
  void keep(const Json& segment, std::string_view url, std::string_view title);
  void settle(const Json* chunks);

  TextMeter text_;
  std::vector<std::size_t> parts_;  // of the first event: the byte of the text at which each begins
  std::vector<Segment> segments_;   // at most kCitationsMax
  int events_ = 0;
  Citations told_;
};

}  // namespace millrace::providers
