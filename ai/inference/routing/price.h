#pragma once
#include "ai/inference/routing/registry.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/tenants/money.h"

namespace millrace::inference {

// What a call uses besides tokens.
struct Units {
  std::int64_t images = 0;      // generated
  std::int64_t pages = 0;       // of a document that is read
  std::int64_t characters = 0;  // of spoken text
  double audio_seconds = 0;     // of a transcribed recording
};

// US dollars of one call. Prompt tokens include cached tokens and those written to the cache; completion
// tokens include reasoning tokens.
double cost_of(const Price& price, const schemas::ChatUsage& usage, const Units& units = {});
// The cost, if it is certain: the model has a price, and its tokens are not estimated if they cost anything.
std::optional<schemas::NanoUsd> certain_cost(const std::optional<Price>& price,
                                             const schemas::ChatUsage& usage, const Units& units = {});

// What one upstream call may cost, known before it is sent.
struct CallCost {
  std::string model;                    // the registry name
  std::optional<schemas::NanoUsd> max;  // nullopt: the model has no price
  // The same for the whole run so far, including this call: what each call has cost, or its maximum as long
  // as that is unknown.
  schemas::NanoUsd run_max = 0;
};

// The most that one upstream call of a request may cost, whichever of its models is called.
struct CostBound {
  schemas::NanoUsd max = 0;
  std::string unpriced = {};  // the name of a model without a price: there is no bound; empty: all have one
};
void widen(CostBound& bound, const ModelRow& row, std::optional<schemas::NanoUsd> max);

// The price of the row. Models of the mock provider and of servers of our own (those that need no key) are
// free without one. nullopt: unknown.
std::optional<Price> price_of(const ModelRow& row);

// Tokens of an answer of a model without `output_max` if the request has no limit.
inline constexpr std::int64_t kOutputMax = 8'192;
// The limit of the answer in the request.
std::optional<std::int64_t> requested_output(const schemas::ChatRequest& request);
// The most tokens of one choice: as requested, within `output_max`. It holds if it is sent (cap_output).
std::int64_t output_cap(const providers::Target& target, std::optional<std::int64_t> requested);

// Removes what could make a call dearer than its bound: searches by the provider, predicted answers, dearer
// service tiers, and members that are passed through without being known. Reports them as dropped. Nothing is
// removed for a row that is free.
void drop_unbounded(const ModelRow& row, schemas::ChatRequest& request);

// The most tokens of a prompt. A token has at least one byte. But providers add texts of their own, images
// are counted by their size in pixels, and a file may be unpacked to any size within the model's context.
inline constexpr std::int64_t kAddedTokensMax = 1'024;   // of the provider: templates, instructions for tools
inline constexpr std::int64_t kImageTokensMax = 50'000;  // of one image (gpt-4o-mini: 48,169)
inline constexpr std::int64_t kContextTokensMax = 1'000'000;
std::int64_t prompt_max(const schemas::ChatRequest& request);

// The most that one call of this row for the request may cost: with all its choices, or with one if each
// takes a call. nullopt: it has no price.
std::optional<schemas::NanoUsd> max_cost(const ModelRow& row, const schemas::ChatRequest& request);
// The most that a call of this row costs that has at most so many tokens and units.
std::optional<schemas::NanoUsd> max_cost(const ModelRow& row, const schemas::ChatUsage& usage,
                                         const Units& units);

// The usage to assume if an upstream reports none. Both counts are estimated from the texts.
schemas::ChatUsage estimated_usage(std::int64_t prompt_tokens, std::int64_t completion_tokens);
// The usage of a call that failed: `reported`, if the upstream has reported it, otherwise `estimated`, from
// the prompt and what was received. A stream may have gone on after its last report, so it stays estimated.
schemas::ChatUsage failed_usage(const std::optional<schemas::ChatUsage>& reported,
                                const schemas::ChatUsage& estimated, bool stream);
// Estimates the prompt tokens from the texts in the messages. A part that is not text counts as kPartTokens.
inline constexpr std::int64_t kPartTokens = 800;
std::int64_t estimated_prompt(const schemas::ChatRequest& request);
// What a call takes from tokens_per_minute until its usage is known. A client can allow any number of tokens,
// so the model bounds it.
std::int64_t expected_tokens(const schemas::ChatRequest& request, const providers::Target& target);

// Estimates the completion tokens of an answer, piece by piece or as a whole.
std::int64_t estimated_completion(const schemas::ChatPiece& piece);
std::int64_t estimated_completion(const schemas::ChatReply& reply);

}  // namespace millrace::inference
