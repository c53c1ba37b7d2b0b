#include "ai/inference/routing/routing.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/media.h"
#include "ai/providers/ocr.h"
#include "schemas/media/image.h"
#include "schemas/media/speech.h"
#include "schemas/unknown_model.h"

namespace millrace::inference {
namespace {

using schemas::ChatRequest;

bool contains(const std::vector<ModelPtr>& models, const ModelPtr& model_to_find) {
  return std::any_of(models.begin(), models.end(),
                     [&](const ModelPtr& model) { return model->name == model_to_find->name; });
}

bool supports_format(const Model& model) {
  return std::all_of(model.rows.begin(), model.rows.end(), [](const ModelRow& row) {
    return row.target.response_format || row.target.preset->response_format;
  });
}

bool chats(const Model& model) {
  return std::all_of(model.rows.begin(), model.rows.end(),
                     [](const ModelRow& row) { return serves(row, Ability::kChat); });
}

base::Error not_allowed(const std::string& name) {
  return base::error(base::Code::kForbidden, "The API key may not use the model '" + name + "'", "model");
}

base::Result<ModelPtr> find_chat(const Registry& registry, const std::string& name,
                                 const schemas::AllowList& allowed) {
  base::Result<ModelPtr> model = registry.find(name);
  if (model && !allows(allowed, name, (*model)->name)) return not_allowed(name);
  if (model && !chats(**model))
    return base::error(base::Code::kBadRequest, "model '" + (*model)->name + "' does not chat", "model");
  return model;
}

std::vector<std::string> names_of(const ChatRequest& request) {
  std::vector<std::string> names = request.models;
  if (names.size() > 1) return names;
  for (const auto& [name, attributes] : request.model_attributes) {
    if (names.size() < kRouteModelsMax) names.push_back(name);
  }
  return names;
}

double score(const ChatRequest& request, const std::string& name) {
  const auto model = request.model_attributes.find(name);
  if (model == request.model_attributes.end()) return 0;
  double sum = 0;
  for (const auto& [attribute, weight] : request.agent_attributes) {
    const auto has = model->second.find(attribute);
    if (has != model->second.end()) sum += weight * has->second;
  }
  return sum;
}

base::Error no_format(const Model& model) {
  return base::error(base::Code::kBadRequest,
                     "response_format is not supported by model '" + model.name +
                         "': use a model of the openai provider, or set response_format: true in its row",
                     "response_format");
}

// The common case: the request names one model.
base::Result<std::vector<ModelPtr>> the_one(const Registry& registry, const ChatRequest& request) {
  base::Result<ModelPtr> model = find_chat(registry, request.models.front(), request.allowed_models);
  if (!model) return model.error();
  if (request.needs_format && !supports_format(**model)) return no_format(**model);
  return std::vector<ModelPtr>{*std::move(model)};
}

}  // namespace

bool allows(const schemas::AllowList& allowed, std::string_view requested, std::string_view name) {
  return schemas::allows(allowed, requested) || schemas::allows(allowed, name);
}

bool serves(const ModelRow& row, Ability ability) {
  return row.abilities.empty() ||
         std::find(row.abilities.begin(), row.abilities.end(), ability) != row.abilities.end();
}

bool reads_documents(const ModelRow& row) {
  if (providers::no_ocr(row.target)) return false;
  if (!row.abilities.empty()) return serves(row, Ability::kOcr);
  return row.target.preset->dialect == providers::Dialect::kMistral &&
         row.target.model.find("-ocr") != std::string::npos;
}

std::optional<std::string> ocr_model(const Registry& registry, std::string_view name) {
  std::vector<std::string> names{std::string(name)};
  if (name.starts_with("mistral-ocr")) names.push_back("mistral/" + names.front());
  for (const std::string& each : names) {
    const ModelPtr model = registry.look_up(each);
    if (model && std::all_of(model->rows.begin(), model->rows.end(), reads_documents)) return model->name;
  }
  return std::nullopt;
}

bool transcribes(const ModelRow& row) {
  if (providers::no_transcription(row.target)) return false;
  if (!row.abilities.empty()) return serves(row, Ability::kAudio);
  constexpr std::array<std::string_view, 3> kWords{"whisper", "transcribe", "voxtral"};
  const std::string& model = row.target.model;
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return model.find(word) != std::string::npos; });
}

std::optional<std::string> transcription_model(const Registry& registry, std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kKnownFor{
      {{"whisper-1", "openai/"},
       {"gpt-4o-transcribe", "openai/"},
       {"gpt-4o-mini-transcribe", "openai/"},
       {"whisper-large-v3", "groq/"},
       {"voxtral-", "mistral/"}}};
  std::vector<std::string> names{std::string(name)};
  for (const auto& [begin, provider] : kKnownFor) {
    if (name.starts_with(begin)) names.push_back(std::string(provider).append(name));
  }
  for (const std::string& each : names) {
    const base::Result<ModelPtr> model = registry.find(each);
    if (model && std::all_of((*model)->rows.begin(), (*model)->rows.end(), transcribes))
      return (*model)->name;
  }
  return std::nullopt;
}

providers::ReportedTimes reported_times(const Registry& registry, std::string_view name,
                                        std::string_view language) {
  providers::ReportedTimes all{.segments = true, .words = true};
  const std::optional<std::string> known = transcription_model(registry, name);
  const ModelPtr model = known ? registry.look_up(*known) : nullptr;
  if (!model) return all;
  for (const ModelRow& row : model->rows) {
    const providers::ReportedTimes times = providers::reported_times(row.target, language);
    all.segments = all.segments && times.segments;
    all.words = all.words && times.words;
  }
  return all;
}

schemas::SpeakerSupport speaker_support(const Registry& registry, std::string_view name) {
  const std::optional<std::string> known = transcription_model(registry, name);
  const ModelPtr model = known ? registry.look_up(*known) : nullptr;
  if (!model || model->rows.empty()) return {};
  schemas::SpeakerSupport all = providers::speaker_support(model->rows.front().target);
  for (const ModelRow& row : model->rows) all = all & providers::speaker_support(row.target);
  return all;
}

std::optional<std::string> speech_model(const Registry& registry, std::string_view name) {
  std::vector<std::string> names{std::string(name)};
  if (schemas::is_local_speech_model(name) && name != schemas::kSpeechModel)
    names.push_back("openai/" + names.front());
  for (const std::string& each : names) {
    if (const base::Result<ModelPtr> model = registry.find(each)) return (*model)->name;
  }
  return std::nullopt;
}

namespace {

struct KnownImageModel {
  std::string_view provider, name;
};
// For each provider the newest first.
constexpr std::array kImageModels{
    KnownImageModel{"openai", "gpt-image-2"},        KnownImageModel{"openai", "chatgpt-image-latest"},
    KnownImageModel{"openai", "gpt-image-1.5"},      KnownImageModel{"openai", "gpt-image-1"},
    KnownImageModel{"openai", "gpt-image-1-mini"},   KnownImageModel{"openai", "dall-e-3"},
    KnownImageModel{"openai", "dall-e-2"},           KnownImageModel{"gemini", "gemini-3.1-flash-image"},
    KnownImageModel{"gemini", "gemini-3-pro-image"}, KnownImageModel{"gemini", "gemini-2.5-flash-image"},
    KnownImageModel{"gemini", "imagen-4"},           KnownImageModel{"xai", "grok-imagine-image"},
    KnownImageModel{"xai", "grok-2-image"}};

// The position in kImageModels of the longest name that begins this one; the number of all: unknown.
std::size_t image_rank(std::string_view model) {
  std::size_t rank = kImageModels.size(), matched = 0;
  for (std::size_t i = 0; i < kImageModels.size(); ++i) {
    const std::string_view name = kImageModels[i].name;
    if (!model.starts_with(name) || name.size() <= matched) continue;
    rank = i;
    matched = name.size();
  }
  return rank;
}

bool makes_images(const ModelRow& row) {
  if (providers::no_images(row.target)) return false;
  if (!row.abilities.empty()) return serves(row, Ability::kImages);
  const std::string_view model = schemas::bare_model_name(row.target.model);
  return image_rank(model) < kImageModels.size() || model.find("-image") != std::string_view::npos ||
         model.starts_with("imagen");
}

// The bare name of the model at its provider, or empty if it makes no images.
std::string_view image_model_name(const Model& model) {
  if (!std::all_of(model.rows.begin(), model.rows.end(), makes_images)) return {};
  return schemas::bare_model_name(model.rows.front().target.model);
}

bool is_mock(const Model& model) {
  return model.rows.front().target.preset->family == providers::Family::kMock;
}

// Null: no row makes images.
ModelPtr newest_image_model(const std::vector<ModelPtr>& models, bool gpt_image, bool mock) {
  ModelPtr newest;
  std::size_t newest_rank = 0;
  for (const ModelPtr& model : models) {
    const std::string_view name = image_model_name(*model);
    if (name.empty() || is_mock(*model) != mock || (gpt_image && !schemas::always_base64(name))) continue;
    const std::size_t rank = image_rank(name);
    if (newest && newest_rank <= rank) continue;
    newest = model;
    newest_rank = rank;
  }
  return newest;
}

ModelPtr image_model_named(const std::vector<ModelPtr>& models, std::string_view name) {
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const ModelPtr& model) { return image_model_name(*model) == name; });
  return found == models.end() ? nullptr : *found;
}

}  // namespace

base::Result<std::string> default_image_model(const Registry& registry, bool gpt_image,
                                              const schemas::AllowList& allowed) {
  const std::string& setting = registry.settings().default_image_model;
  if (!setting.empty() && registry.look_up(setting)) return setting;
  if (!setting.empty())
    return base::error(base::Code::kModelNotFound,
                       "the setting images.default_model names '" + setting + "', which is not configured",
                       "model");
  std::vector<ModelPtr> models;
  std::ranges::copy_if(registry.configured(), std::back_inserter(models),
                       [&](const ModelPtr& model) { return allows(allowed, model->name, model->name); });
  if (const ModelPtr dall_e_2 = image_model_named(models, "dall-e-2")) {
    const ModelPtr model = gpt_image ? image_model_named(models, "gpt-image-1") : dall_e_2;
    if (model) return model->name;
  }
  if (const ModelPtr model = newest_image_model(models, gpt_image, false)) return model->name;
  if (const ModelPtr model = newest_image_model(models, false, false)) return model->name;
  for (const KnownImageModel& known : kImageModels) {
    const std::string name = std::string(known.provider).append("/").append(known.name);
    if (allows(allowed, name, name) && registry.look_up(name)) return name;
  }
  if (const ModelPtr model = newest_image_model(models, false, true)) return model->name;
  return base::error(base::Code::kModelNotFound,
                     "the request names no model, and no image model is configured: give `model`, or set "
                     "images.default_model; " +
                         std::string(schemas::kModelsHint),
                     "model");
}

base::Result<std::vector<ModelPtr>> candidates(const Registry& registry, const ChatRequest& request) {
  if (request.models.size() == 1 && request.model_attributes.empty()) return the_one(registry, request);
  std::vector<std::pair<double, ModelPtr>> scored;
  std::vector<ModelPtr> models;
  std::optional<base::Error> first_error;
  for (const std::string& name : names_of(request)) {
    base::Result<ModelPtr> model = find_chat(registry, name, request.allowed_models);
    if (!model) {
      if (!first_error) first_error = model.error();
    } else if (!contains(models, *model)) {
      models.push_back(*model);
      scored.emplace_back(score(request, name), std::move(*model));
    }
  }
  if (scored.empty()) return *first_error;
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  models.clear();
  for (auto& [points, model] : scored) {
    if (request.needs_format && !supports_format(*model)) return no_format(*model);
    models.push_back(std::move(model));
  }
  return models;
}

std::vector<ModelPtr> with_fallbacks(const Registry& registry, std::vector<ModelPtr> models,
                                     const ChatRequest& request) {
  const std::size_t named = models.size();
  for (std::size_t i = 0; i < named; ++i) {
    const ModelPtr from = models[i];
    for (const ModelRow& row : from->rows) {
      for (const std::string& name : row.fallbacks) {
        const base::Result<ModelPtr> model = find_chat(registry, name, request.allowed_models);
        const bool is_suitable = model && (!request.needs_format || supports_format(**model));
        if (is_suitable && !contains(models, *model) && models.size() < kRouteModelsMax)
          models.push_back(*model);
      }
    }
  }
  return models;
}

std::vector<const ModelRow*> by_weight(const Model& model, const std::function<double()>& random) {
  if (model.rows.size() == 1) return {&model.rows.front()};
  std::vector<const ModelRow*> left, order;
  for (const ModelRow& row : model.rows) left.push_back(&row);
  while (left.size() > 1) {
    double sum = 0;
    for (const ModelRow* row : left) sum += std::max(row->weight, 0);
    double at = random() * sum;
    std::size_t chosen = 0;
    while (chosen + 1 < left.size() && (at -= std::max(left[chosen]->weight, 0)) >= 0) ++chosen;
    order.push_back(left[chosen]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  order.insert(order.end(), left.begin(), left.end());
  return order;
}

bool fans_out(const providers::Target& target, const ChatRequest& request) {
  return request.n > 1 && providers::support(target, "n") == providers::Support::kEmulated;
}

schemas::DroppedParams dropped_by(const providers::Target& target, const ChatRequest& request) {
  schemas::DroppedParams dropped = request.dropped;
  const auto look_at = [&](std::string_view name) {
    const auto support = providers::support(target, name);
    const bool passed_on = !support && target.preset->family == providers::Family::kOpenai;
    if (passed_on || (support && *support != providers::Support::kDropped)) return;
    dropped.push_back({std::string(name), schemas::DroppedParam::How::kDropped});
  };
  for (const schemas::ChatText::Member& member : request.quick.members) look_at(member.name);
  for (const auto& [name, value] : request.body.items()) look_at(name);
  return dropped;
}

base::Status check_strict(const ChatRequest& request, const schemas::DroppedParams& dropped) {
  return check_strict(request.strict, dropped);
}

base::Status check_strict(bool strict, const schemas::DroppedParams& dropped) {
  if (!strict) return {};
  for (const schemas::DroppedParam& param : dropped) {
    if (param.how != schemas::DroppedParam::How::kDropped) continue;
    return base::error(base::Code::kBadRequest,
                       "parameter '" + param.name + "' is not supported by this model (strict)", param.name);
  }
  return {};
}

}  // namespace millrace::inference
