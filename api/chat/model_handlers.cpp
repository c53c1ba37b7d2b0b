#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ai/inference/routing/routing.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/model_request.h"
#include "platform/base/nearest.h"
#include "schemas/json/json_text.h"
#include "schemas/media/local_transcription.h"
#include "schemas/media/ocr_request.h"
#include "schemas/media/speech.h"
#include "schemas/unknown_model.h"

namespace millrace::api {
namespace {

using inference::Ability;
using schemas::JsonObject;

// 2025-01-01T00:00:00Z, for models without a known creation time: the date of the engine's first version.
constexpr std::int64_t kCreated = 1'735'689'600;

struct AbilityName {
  std::string_view name;
  Ability ability;
};
constexpr std::array kAbilities{AbilityName{"chat", Ability::kChat},
                                AbilityName{"embeddings", Ability::kEmbeddings},
                                AbilityName{"images", Ability::kImages},
                                AbilityName{"audio", Ability::kAudio}, AbilityName{"ocr", Ability::kOcr}};

// A model as shown to clients. If empty, owned_by is the provider and display_name the id.
struct Card {
  std::string_view id, provider, display_name = {}, owned_by = {};
  std::int64_t created = 0;                     // 0: unknown
  std::string_view alias_of = {};               // the model's own name, if `id` is a further one
  std::span<const std::string> languages = {};  // of speech, ISO 639-1; empty: unknown
};

// The audio abilities of an audio model.
struct Sound {
  bool transcribes = false, speaks = false;
};

// Derived from the model's name; both if the name does not show it.
Sound sound_of(std::string_view name) {
  constexpr std::array<std::string_view, 3> kTranscriptionNames{"whisper", "transcribe", "voxtral"};
  constexpr std::array<std::string_view, 2> kSpeaking{"tts", "flite"};
  const auto is_among = [&](const auto& words) {
    return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != name.npos; });
  };
  const bool transcribes = is_among(kTranscriptionNames);
  const bool speaks = is_among(kSpeaking);
  return {.transcribes = transcribes || !speaks, .speaks = speaks || !transcribes};
}

template <class Has>
std::string model_json(const Card& card, const Has& has, Sound sound) {
  const std::int64_t created = card.created > 0 ? card.created : kCreated;
  JsonObject abilities;
  for (const AbilityName& each : kAbilities) abilities.flag(each.name, has(each.ability));
  const bool audio = has(Ability::kAudio);
  abilities.flag("transcription", audio && sound.transcribes).flag("speech", audio && sound.speaks);
  JsonObject out;
  out.member("id", card.id)
      .member("object", "model")
      .number("created", created)
      .member("created_at", base::rfc3339(base::wall_from(created * 1000)))
      .member("owned_by", card.owned_by.empty() ? card.provider : card.owned_by)
      .member("provider", card.provider)
      .member("display_name", card.display_name.empty() ? card.id : card.display_name)
      .member("type", "base")
      .raw("capabilities", abilities.finish());
  if (!card.alias_of.empty()) out.member("alias_of", card.alias_of);
  if (!card.languages.empty()) {
    std::string list;
    for (const std::string& code : card.languages) list += (list.empty() ? "\"" : ",\"") + code + "\"";
    out.raw("languages", "[" + list + "]");
  }
  return out.finish();
}

// A local model, which may have further names.
Card own_card(std::string_view id, std::string_view name, std::string_view display_name) {
  return {.id = id,
          .provider = "millrace",
          .display_name = display_name,
          .alias_of = id == name ? std::string_view() : name};
}

std::string ocr_json(std::string_view id) {
  return model_json(own_card(id, schemas::kOcrModel, "Millrace OCR"),
                    [](Ability ability) { return ability == Ability::kOcr; }, {});
}

std::string speech_json(std::string_view id) {
  return model_json(own_card(id, schemas::kSpeechModel, "Flite"),
                    [](Ability ability) { return ability == Ability::kAudio; }, {.speaks = true});
}

std::string voice_json(const schemas::LocalVoiceModel& model) {
  Card card = own_card(model.name, model.name, model.name);
  card.languages = model.languages;
  return model_json(card, [](Ability ability) { return ability == Ability::kAudio; }, {.speaks = true});
}

std::string transcription_json(std::string_view id, const schemas::LocalTranscriptionModel& model) {
  Card card = own_card(id, model.name, model.display_name);
  card.languages = model.languages;
  return model_json(card, [](Ability ability) { return ability == Ability::kAudio; }, {.transcribes = true});
}

// The local model that transcribes if a client requests `id`; null: none.
const schemas::LocalTranscriptionModel* local_transcription(const Context& context,
                                                            const inference::Registry& registry,
                                                            std::string_view id) {
  return context.options.transcription_models.serving(
      id, inference::transcription_model(registry, id).has_value());
}

// The JSON of a local model, if its endpoint would choose it; empty: a provider's model, or unknown.
std::string own_json(const Context& context, const inference::Registry& registry, const std::string& id) {
  if (schemas::is_local_ocr_model(id)) return ocr_json(id);
  if (const auto* model = local_transcription(context, registry, id)) return transcription_json(id, *model);
  if (const auto* voice = context.options.voice_models.find(id)) return voice_json(*voice);
  if (schemas::is_local_speech_model(id) && !inference::speech_model(registry, id)) return speech_json(id);
  return {};
}

// The own name of a model that clients send by a further one, such as "whisper-1" or "tts-1".
std::string known_as(const Context& context, const inference::Registry& registry, const std::string& id) {
  if (const auto* model = local_transcription(context, registry, id)) return model->name;
  if (registry.look_up(id)) return id;
  if (auto name = inference::transcription_model(registry, id)) return *std::move(name);
  return inference::speech_model(registry, id).value_or(id);
}

// The ability of a model whose row does not define it, guessed from its name.
Ability guessed(std::string_view name) {
  struct Word {
    std::string_view part;
    Ability ability;
  };
  constexpr std::array kWords{
      Word{"embed", Ability::kEmbeddings}, Word{"dall-e", Ability::kImages}, Word{"-image", Ability::kImages},
      Word{"imagen", Ability::kImages},    Word{"whisper", Ability::kAudio}, Word{"tts", Ability::kAudio},
      Word{"transcribe", Ability::kAudio}, Word{"voxtral", Ability::kAudio}, Word{"-ocr", Ability::kOcr}};
  for (const Word& word : kWords) {
    if (name.find(word.part) != std::string_view::npos) return word.ability;
  }
  return Ability::kChat;
}

using Listed = inference::ModelLists::Listed;

std::string listed_json(const Listed& listed) {
  const auto& [id, display_name, owned_by, created] = listed.model;
  return model_json(
      {listed.name, listed.provider, display_name, owned_by, created},
      [ability = guessed(id)](Ability each) { return each == ability; }, sound_of(id));
}

// `listed`: the entry in its provider's list, or null.
std::string row_json(const inference::Model& model, const Listed* listed) {
  const inference::ModelRow& row = model.rows.front();
  Card card{model.name, row.target.preset->name, row.target.model, {}, 0};
  if (listed != nullptr) {
    card.owned_by = listed->model.owned_by;
    card.created = listed->model.created;
    if (!listed->model.display_name.empty()) card.display_name = listed->model.display_name;
  }
  const auto has = [&](Ability ability) {
    return row.abilities.empty() ? ability == guessed(row.target.model) : inference::serves(row, ability);
  };
  return model_json(card, has, sound_of(row.target.model));
}

const Listed* find_listed(const std::vector<Listed>& list, const inference::Model& model) {
  const auto& target = model.rows.front().target;
  const std::string name = std::string(target.preset->name).append("/").append(target.model);
  const auto found = std::find_if(list.begin(), list.end(), [&](const Listed& l) { return l.name == name; });
  return found == list.end() ? nullptr : &*found;
}

void send_list(const Context& context, Call& call, const std::vector<Listed>& listed) {
  std::string data = "[";
  std::unordered_set<std::string_view> names;
  const auto add = [&](std::string_view name, const std::string& model) {
    if (!schemas::allows(call.principal->access.models, name)) return;
    data.append(data.size() > 1 ? "," : "").append(model);
  };
  for (std::string_view id : schemas::ocr_model_names()) add(id, ocr_json(id));
  for (const schemas::LocalTranscriptionModel& model : context.options.transcription_models.all())
    add(model.name, transcription_json(model.name, model));
  add(schemas::kSpeechModel, speech_json(schemas::kSpeechModel));
  for (const schemas::LocalVoiceModel& model : context.options.voice_models.all())
    add(model.name, voice_json(model));
  const inference::RegistryPtr registry = context.chat.registry();
  for (const inference::ModelPtr& model : registry->configured()) {
    names.insert(model->name);
    add(model->name, row_json(*model, find_listed(listed, *model)));
  }
  for (const Listed& each : listed) {
    if (names.insert(each.name).second) add(each.name, listed_json(each));
  }
  call.reply(json_reply(200, JsonObject().member("object", "list").raw("data", data + "]").finish()));
}

}  // namespace

void list_models(Context& context, CallPtr call) {
  context.model_lists.fetch([&context, call = std::move(call)](const inference::ModelLists::List& listed) {
    reply_on_pool(context, call, [&context, call, listed] { send_list(context, *call, *listed); });
  });
}

void get_model(Context& context, CallPtr call) {
  const std::string& id = call->params.front();
  const auto registry = context.chat.registry();
  if (const auto may = check_model(*call, id, known_as(context, *registry, id)); !may)
    return call->fail(may.error());
  if (const std::string own = own_json(context, *registry, id); !own.empty())
    return call->reply(json_reply(200, own));
  const auto model = registry->find(known_as(context, *registry, id));
  if (model) {
    const auto listed = context.model_lists.known();
    return call->reply(json_reply(200, row_json(**model, find_listed(*listed, **model))));
  }
  const schemas::LocalTranscriptionModels& transcription = context.options.transcription_models;
  if (transcription.is_missing(id)) return call->fail(schemas::missing_model(id));
  std::vector<std::string_view> own(schemas::ocr_model_names().begin(), schemas::ocr_model_names().end());
  const auto transcription_models = transcription.names();
  own.insert(own.end(), transcription_models.begin(), transcription_models.end());
  own.push_back(schemas::kSpeechModel);
  for (const schemas::LocalVoiceModel& voice : context.options.voice_models.all()) own.push_back(voice.name);
  const std::string_view near = base::nearest(id, own);
  if (near.empty()) return call->fail(model.error());
  call->fail(schemas::unknown_model(id, near));
}

}  // namespace millrace::api
