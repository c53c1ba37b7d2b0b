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

// Which models a request may be answered by, and in which order (docs/design/http-contract.md §4, Routing).
// Pure.
namespace millrace::inference {

inline constexpr std::size_t kRouteModelsMax = 32;  // of one request, with all fallbacks

// The models that the client names, known and able to chat: its list, else the one and the keys of
// model_attributes; by their dot product with agent_attributes if there are any, else in the order given.
// Without one: the error of the first. kBadRequest: one of them breaks response_format's rule.
base::Result<std::vector<ModelPtr>> candidates(const Registry& registry, const schemas::ChatRequest& request);

// `models`, then the fallbacks of their rows, each model once; none that breaks response_format's rule.
std::vector<ModelPtr> with_fallbacks(const Registry& registry, std::vector<ModelPtr> models,
                                     const schemas::ChatRequest& request);

// The rows of a model in the order in which to try them: by chance, as their weights want it. `random` gives
// [0, 1).
std::vector<const ModelRow*> by_weight(const Model& model, const std::function<double()>& random);

// The members of the request that `target` does not honour, by the parameter table.
schemas::DroppedParams dropped_by(const providers::Target& target, const schemas::ChatRequest& request);
// kBadRequest if anything in `dropped` is lost and the request is strict.
base::Status check_strict(bool strict, const schemas::DroppedParams& dropped);
base::Status check_strict(const schemas::ChatRequest& request, const schemas::DroppedParams& dropped);

bool serves(const ModelRow& row, Ability ability);

// It reads documents: its row says so, or it is a model of Mistral's with such a name.
bool reads_documents(const ModelRow& row);
// The registry's name of the model of a provider that reads documents for `name`: that one, or, for
// "mistral-ocr-…", the one of the provider mistral. nullopt: the local engine's, or nobody's.
std::optional<std::string> ocr_model(const Registry& registry, std::string_view name);

// The registry's name of the model of a provider that is asked to speak for `name`: that one, or, for a name
// of OpenAI's that the local model answers to, the one of the provider openai. nullopt: the local one's, or
// nobody's.
std::optional<std::string> speech_model(const Registry& registry, std::string_view name);

// It hears recordings: its row says so, or its name is one of such models.
bool hears(const ModelRow& row);
// The registry's name of the model of a provider that hears recordings for `name`: that one, or, for the bare
// name of a model that a provider is known for ("whisper-1"), the one there. nullopt: the local engine's, or
// nobody's.
std::optional<std::string> transcription_model(const Registry& registry, std::string_view name);
// The times that come with what is heard for `name`, whichever row hears it, its fallbacks aside; `language`:
// as the request has it, or empty. The local engine tells them all.
providers::ReportedTimes reported_times(const Registry& registry, std::string_view name,
                                        std::string_view language);

}  // namespace millrace::inference
