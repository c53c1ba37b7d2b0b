#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/call_ids.h"
#include "ai/providers/citations.h"
#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// The citations of a candidate, whole or event by event. Gemini counts offsets in bytes: of the whole text,
// or of one part if the answer is a single event. It may refer to bytes of later events, so all citations are
// emitted with the last event.
class GeminiCitations {
 public:
  void begin_event() { ++events_; }
  void begin_part();
  void add_text(std::string_view text) { text_.add(text); }
  // Reads the citations of an event. REQUIRES: the text of the event has been added.
  void take(const Json& candidate);
  void end();  // of the answer
  void add_to(Json& extra) { list_.add_to(extra); }

 private:
  struct Segment {
    std::size_t part, begin, end;  // `begin` and `end` in bytes
    std::string url, title;
  };
  void take_support(const Json& support, const Json& chunks);
  void take_sources(const Json* sources);
  void keep(const Json& segment, std::string_view url, std::string_view title);

  CharacterIndex text_;
  std::vector<std::size_t> parts_;  // of the first event: the byte offset at which each part begins
  std::vector<Segment> segments_;   // at most kCitationsMax
  Json chunks_ = nullptr;           // the latest list of sources
  int events_ = 0;
  Citations list_;
};

// The signatures that Gemini requires back (ChatChoice::reasoning_state): those of calls, by call id, and
// that of the text.
class GeminiReasoningState {
 public:
  void call(std::string_view id, std::string_view signature);  // an empty signature is ignored
  void text(std::string_view signature);
  std::string take();  // empty: nothing was signed

  // Reads the state of an earlier answer. Empty if there is none or it is that of another provider.
  static GeminiReasoningState read(std::string_view reasoning_state);
  std::string_view of_call(std::string_view id) const;
  std::string_view of_text() const;

 private:
  Json signatures_ = Json::object();
};

inline constexpr std::int64_t kGeminiCandidatesMax = 128;  // of one answer

// A signature in the form of Gemini's endpoint for OpenAI's protocol, as calls, images and messages of
// answers have it; and the signature that a client sends back in that form, empty: none.
Json signature_content(std::string_view signature);
std::string_view given_signature(const Json& object);

// Reads one candidate of an answer, whole or event by event, into pieces. Calls without an id of their own
// get one from the gateway.
class GeminiCandidate {
 public:
  explicit GeminiCandidate(int index) : index_(index) {}

  // False: nothing new. kUpstream: the model ended with an invalid call.
  base::Result<bool> read(const Target& target, const Json& candidate, schemas::ChatPiece& out);
  // Adds what a finished candidate has at its end: finish reason, citations, state. Gemini may send a finish
  // reason with each event, so this is known when the answer is over.
  void end(schemas::ChatPiece& out);
  bool finished() const { return !finish_reason_.empty(); }

 private:
  void take_part(const Json& part, schemas::ChatPiece& out);
  void take_call(const Json& call, std::string_view signature, schemas::ChatPiece& out);
  static void take_media(const Json& data, std::string_view signature, schemas::ChatPiece& out);
  base::Status keep_reason(const Target& target, const Json& candidate);

  int index_;
  int calls_ = 0;
  CallIds ids_;
  bool has_content_ = false;
  std::string finish_reason_;  // OpenAI's; "stop" also for calls
  GeminiReasoningState reasoning_state_;
  GeminiCitations citations_;
};

// Shared by whole answers and streams.
std::optional<schemas::ChatUsage> gemini_usage(const Json* usage);
// Logprobs in OpenAI's form; null: none.
Json gemini_logprobs(const Json* result);
// An error reported in a reply or a stream: {code, message, status}, or a list with such an object.
const Json* gemini_error_of(const Json& node);
base::Error gemini_error(const Target& target, const Json& error);
// True if the finishReason of a candidate is that of a filter.
bool gemini_filters(std::string_view finish_reason);
// The prompt was refused: an answer without content.
schemas::ChatPiece gemini_blocked(const Json& feedback);

}  // namespace millrace::providers
