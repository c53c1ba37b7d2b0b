#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/inference/routing/registry.h"
#include "ai/providers/audio.h"
#include "schemas/chat/chat_request.h"

// Selects the models that may answer a request, and their order (docs/design/http-contract.md §4, Routing).
// Pure functions.
namespace millrace::inference {

inline constexpr std::size_t kRouteModelsMax = 32;  // of one request, with all fallbacks

// The models that the client names and that exist and can chat. They come from its list, or from the single
// model and the keys of model_attributes. With agent_attributes, they are ordered by the dot product with
// these, otherwise as given. If there are none: the error of the first. kForbidden: the key may not use it.
// kBadRequest: one breaks the rule for response_format.
base::Result<std::vector<ModelPtr>> candidates(const Registry& registry, const schemas::ChatRequest& request);

// `models`, then the fallbacks of their rows, each model once, without those that the key may not use or that
// break the rule for response_format.
std::vector<ModelPtr> with_fallbacks(const Registry& registry, std::vector<ModelPtr> models,
                                     const schemas::ChatRequest& request);

// The rows of a model in the order in which to try them: random, in proportion to their weights. `random`
// returns a value in [0, 1).
std::vector<const ModelRow*> by_weight(const Model& model, const std::function<double()>& random);

// True if `target` returns one choice per call and the request wants several: each takes a call.
bool fans_out(const providers::Target& target, const schemas::ChatRequest& request);

// The members of the request that `target` does not honour, according to the parameter table.
schemas::DroppedParams dropped_by(const providers::Target& target, const schemas::ChatRequest& request);
// kBadRequest if the request is strict and `dropped` lists a lost parameter.
base::Status check_strict(bool strict, const schemas::DroppedParams& dropped);
base::Status check_strict(const schemas::ChatRequest& request, const schemas::DroppedParams& dropped);

// True if a key may use a model that it requests by one name and that has another in the registry.
bool allows(const schemas::AllowList& allowed, std::string_view requested, std::string_view name);

bool serves(const ModelRow& row, Ability ability);

// True if the model reads documents: its row says so, or it is a Mistral model whose name says so.
bool reads_documents(const ModelRow& row);
// The registry name of the provider model that reads documents for `name`: the model with that name, or for
// "mistral-ocr-…" the model of the provider mistral. nullopt: the name is that of the local engine, or
// unknown.
std::optional<std::string> ocr_model(const Registry& registry, std::string_view name);

// The registry name of the provider model that speaks for `name`: the model with that name, or for an OpenAI
// name that the local model also accepts, the model of the provider openai. nullopt: the local model speaks,
// or the name is unknown.
std::optional<std::string> speech_model(const Registry& registry, std::string_view name);

// The registry name of the model for an image request that names none: the setting images.default_model. If
// it is not set and a row has dall-e-2: the default of OpenAI's API, dall-e-2, or gpt-image-1 where
// `gpt_image` (schemas::needs_gpt_image). Otherwise the newest known image model of the rows, of the
// providers with a key, or of the mock, in this order. Except for the setting, only models that `allowed` has
// are chosen. kModelNotFound: there is none.
base::Result<std::string> default_image_model(const Registry& registry, bool gpt_image,
                                              const schemas::AllowList& allowed = {});

// True if the model transcribes recordings: its row says so, or its name is that of a transcription model.
bool transcribes(const ModelRow& row);
// The registry name of the provider model that transcribes for `name`: the model with that name, or for a
// well-known name without a provider ("whisper-1"), the model of the provider that has it. nullopt: the name
// is that of the local engine, or unknown.
std::optional<std::string> transcription_model(const Registry& registry, std::string_view name);
// The timestamps that a transcript by `name` always contains, whichever row answers; fallbacks do not count.
// `language`: as in the request, or empty. The local engine reports all timestamps.
providers::ReportedTimes reported_times(const Registry& registry, std::string_view name,
                                        std::string_view language);
// What the model `name` has for speakers (providers::speaker_support), whichever row answers; fallbacks do
// not count. The local engine has nothing.
schemas::SpeakerSupport speaker_support(const Registry& registry, std::string_view name);

}  // namespace millrace::inference
