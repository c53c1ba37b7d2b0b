#include <map>

#include "ai/providers/gemini_candidate.h"
#include "ai/providers/gemini_reply.h"
#include "ai/providers/wire_words.h"

namespace millrace::providers {
namespace {

class GeminiStream final : public StreamReader {
 public:
  explicit GeminiStream(const Target& target) : target_(target) {}

  base::Status read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) override {
    const std::optional<Json> answer = parse_wire(event.data);
    if (!answer) return not_a_reply(target_);
    if (const Json* error = gemini_error_of(*answer)) return gemini_error(target_, *error);
    if (!answer->is_object()) return not_a_reply(target_);
    take_gemini_facts(*answer, facts_);
    if (const Json* candidates = member(*answer, "candidates");
        candidates != nullptr && candidates->is_array()) {
      for (const Json& candidate : *candidates) {
        if (base::Status read = read_candidate(candidate, out); !read) return read;
      }
    }
    const Json* feedback = member(*answer, "promptFeedback");
    if (candidates_.empty() && member(feedback, "blockReason") != nullptr && !blocked_) {
      blocked_ = true;
      out.push_back(gemini_blocked(*feedback));
    }
    return {};
  }

  bool complete(int choices) const override {
    const bool all_begun = !candidates_.empty() && candidates_.size() >= static_cast<std::size_t>(choices);
    bool all = blocked_ || all_begun;
    for (const auto& [index, candidate] : candidates_) all = all && candidate.finished();
    return all;
  }

  bool has_end_word() const override { return false; }

  const schemas::ChatFacts& facts() const override { return facts_; }

 private:
  base::Status read_candidate(const Json& candidate, std::vector<schemas::ChatPiece>& out) {
    const std::int64_t index = integer_of(candidate, "index").value_or(0);
    if (index < 0 || index >= kGeminiCandidatesMax) return not_a_reply(target_);
    const int choice = static_cast<int>(index);
    GeminiCandidate& reader = candidates_.try_emplace(choice, choice).first->second;
    schemas::ChatPiece piece;
    const base::Result<bool> is_new = reader.read(target_, candidate, piece);
    if (!is_new) return is_new.error();
    if (*is_new) out.push_back(std::move(piece));
    return {};
  }

  const Target& target_;
  std::map<int, GeminiCandidate> candidates_;
  schemas::ChatFacts facts_;
  bool blocked_ = false;
};

}  // namespace

std::unique_ptr<StreamReader> gemini_stream(const Target& target) {
  return std::make_unique<GeminiStream>(target);
}

}  // namespace millrace::providers
