#pragma once
#include <string>
#include <string_view>

#include "ai/providers/gemini_citations.h"
#include "ai/providers/gemini_continuity.h"
#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

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
const Json* gemini_error_of(const Json& said);
base::Error gemini_error(const Target& target, const Json& error);
// A candidate's finishReason is that of a filter.
bool gemini_filters(std::string_view finish_reason);
// The prompt was refused: an answer without content.
schemas::ChatPiece gemini_blocked(const Json& feedback);

}  // namespace millrace::providers
