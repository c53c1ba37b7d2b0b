#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/citations.h"
#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

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
  void add_to(Json& extra) { list_.add_to(extra); }

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
  Citations list_;
};

// The signatures that Gemini wants to see again (ChatChoice::continuity): of calls by their ids, and of the
// text.
class GeminiContinuity {
 public:
  void call(std::string_view id, std::string_view signature);  // an empty one is none
  void text(std::string_view signature);
  std::string take();  // empty: nothing was signed

  // Of an earlier answer; without anything for another provider's, or none.
  static GeminiContinuity read(std::string_view continuity);
  std::string_view of_call(std::string_view id) const;
  std::string_view of_text() const;

 private:
  Json signatures_ = Json::object();
};

inline constexpr std::int64_t kGeminiCandidatesMax = 128;  // of one answer

// One candidate of an answer, whole or event by event: what each says becomes a piece. Its calls get ids of
// ours where Gemini gives none.
class GeminiCandidate {
 public:
  explicit GeminiCandidate(int index) : index_(index) {}

  // False: nothing new. kUpstream: the model ended with a call that is none.
  base::Result<bool> read(const Target& target, const Json& candidate, schemas::ChatPiece& out);
  bool finished() const { return finished_; }

 private:
  void take_part(const Json& part, schemas::ChatPiece& out);
  void take_call(const Json& call, std::string_view signature, schemas::ChatPiece& out);
  static void take_media(const Json& data, schemas::ChatPiece& out);
  base::Status finish(const Target& target, const Json& candidate, schemas::ChatPiece& out);

  int index_;
  int calls_ = 0;
  bool has_content_ = false, finished_ = false;
  GeminiContinuity continuity_;
  GeminiCitations citations_;
};

// What a whole answer and a stream have in common.
std::optional<schemas::ChatUsage> gemini_usage(const Json* usage);
// Logprobs in OpenAI's form; null: none.
Json gemini_logprobs(const Json* result);
// An error that is said in a reply or a stream: {code, message, status}; in a list, too.
const Json* gemini_error_of(const Json& node);
base::Error gemini_error(const Target& target, const Json& error);
// A candidate's finishReason is that of a filter.
bool gemini_filters(std::string_view finish_reason);
// The prompt was refused: an answer without content.
schemas::ChatPiece gemini_blocked(const Json& feedback);

}  // namespace millrace::providers
