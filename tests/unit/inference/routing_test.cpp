#include "ai/inference/routing/routing.h"

#include <map>

#include <gtest/gtest.h>

#include "tests/unit/inference/rows.h"

namespace millrace::inference {
namespace {

using base::Code;
using testing::request;
using testing::row;
using Names = std::vector<std::string>;

Registry abc() {
  ModelSettings settings;
  settings.models = {row("x/a", "openai"), row("x/b", "anthropic"), row("x/c", "openai"), row("x/d", "groq")};
  settings.models[0].fallbacks = {"x/c", "x/unknown", "x/b"};
  settings.models[1].fallbacks = {"x/d"};
  settings.mock = true;
  return Registry(std::move(settings));
}

Names names(const std::vector<ModelPtr>& models) {
  Names names;
  for (const ModelPtr& model : models) names.push_back(model->name);
  return names;
}

TEST(Routing, TheListOfTheClientComesInItsOrderWithoutUnknownOnes) {
  auto chat_request = request("x/b");
  chat_request.models = {"x/b", "x/unknown", "x/a", "x/b"};
  EXPECT_EQ((Names{"x/b", "x/a"}), names(candidates(abc(), chat_request).value()));
}

TEST(Routing, NoneLeftIsTheErrorOfTheFirst) {
  auto chat_request = request("x/nix");
  chat_request.models.push_back("x/nox");
  const auto none = candidates(abc(), chat_request);
  ASSERT_FALSE(none);
  EXPECT_EQ(Code::kModelNotFound, none.error().code);
  EXPECT_NE(std::string::npos, none.error().message.find("x/nix"));
}

TEST(Routing, TheHighestDotProductWinsAMissingAttributeIsZeroAndTiesKeepTheListsOrder) {
  auto chat_request = request("x/a");
  chat_request.models = {"x/a", "x/b", "x/c"};
  chat_request.model_attributes = {{"x/a", {{"speed", 1.0}}},
                                   {"x/b", {{"accuracy", 0.9}, {"speed", 0.1}}},
                                   {"x/c", {{"accuracy", 0.9}, {"speed", 0.1}}}};
  chat_request.agent_attributes = {{"accuracy", 1.0}, {"friendliness", 1.0}};
  EXPECT_EQ((Names{"x/b", "x/c", "x/a"}), names(candidates(abc(), chat_request).value()));
}

TEST(Routing, OneModelStandsAgainstTheKeysOfModelAttributes) {
  auto chat_request = request("x/a");
  chat_request.model_attributes = {
      {"x/a", {{"cost", 0.1}}}, {"x/c", {{"cost", 0.8}}}, {"x/none", {{"cost", 1.0}}}};
  chat_request.agent_attributes = {{"cost", 1.0}};
  EXPECT_EQ((Names{"x/c", "x/a"}), names(candidates(abc(), chat_request).value()));
}

TEST(Routing, TheRowsFallbacksComeBehindTheClientsEachOnce) {
  auto chat_request = request("x/a");
  const auto models = candidates(abc(), chat_request).value();
  EXPECT_EQ((Names{"x/a", "x/c", "x/b"}), names(with_fallbacks(abc(), models, chat_request)));
  chat_request.models = {"x/b", "x/a"};
  EXPECT_EQ((Names{"x/b", "x/a", "x/d", "x/c"}),
            names(with_fallbacks(abc(), candidates(abc(), chat_request).value(), chat_request)));
}

TEST(Routing, AResponseFormatMustBeTakenByAllThatTheClientNamesAndLeavesOutOtherFallbacks) {
  auto chat_request = request("x/a");
  chat_request.needs_format = true;
  const auto models = candidates(abc(), chat_request);
  ASSERT_TRUE(models);
  EXPECT_EQ((Names{"x/a", "x/c"}), names(with_fallbacks(abc(), *models, chat_request)));
  chat_request.models = {"x/a", "x/b"};
  const auto refused = candidates(abc(), chat_request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kBadRequest, refused.error().code);
  EXPECT_EQ("response_format", refused.error().param);
}

TEST(Routing, AModelOfAnotherAbilityDoesNotChat) {
  const auto refused = candidates(abc(), request("mock/embedding"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kBadRequest, refused.error().code);
}

TEST(Routing, TargetsAreDrawnByTheirWeights) {
  Model model{"x/a", {row("x/a"), row("x/a"), row("x/a")}};
  model.rows[0].weight = 1;
  model.rows[1].weight = 3;
  model.rows[2].weight = 0;
  std::map<const ModelRow*, int> first;
  for (int i = 0; i < 100; ++i) {
    const auto order = by_weight(model, [i] { return i / 100.0; });
    ASSERT_EQ(3u, order.size());
    ++first[order[0]];
  }
  EXPECT_EQ(25, first[&model.rows[0]]);
  EXPECT_EQ(75, first[&model.rows[1]]);
  EXPECT_EQ(0, first[&model.rows[2]]);
}

TEST(Routing, AStrictRequestIsRefusedForWhatTheTableDrops) {
  auto chat_request = request("x/b");
  chat_request.body["logit_bias"] = {{"5", 1}};
  const Registry registry = abc();
  const providers::Target& anthropic = registry.find("x/b").value()->rows[0].target;
  const auto dropped = dropped_by(anthropic, chat_request);
  EXPECT_TRUE(check_strict(chat_request, dropped));
  chat_request.strict = true;
  const auto refused = check_strict(chat_request, dropped);
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kBadRequest, refused.error().code);
  EXPECT_EQ("logit_bias", refused.error().param);
  EXPECT_TRUE(
      check_strict(chat_request, dropped_by(registry.find("x/a").value()->rows[0].target, chat_request)));
}

TEST(OcrModels, AreThoseMarkedInTheirRowAndMistralsOfSuchAName) {
  ModelSettings settings;
  settings.models = {testing::row("team/reader", "vllm"), testing::row("team/chat", "vllm"),
                     testing::row("mistral/mistral-ocr-2505", "mistral"),
                     testing::row("claude/x-ocr", "anthropic")};
  settings.models[0].abilities = {Ability::kOcr};
  const RegistryPtr models = testing::registry(std::move(settings));
  EXPECT_EQ("team/reader", ocr_model(*models, "team/reader"));
  EXPECT_EQ("mistral/mistral-ocr-2505", ocr_model(*models, "mistral/mistral-ocr-2505"));
  EXPECT_EQ("mistral/mistral-ocr-2505", ocr_model(*models, "mistral-ocr-2505"));
  for (const char* name :
       {"team/chat", "claude/x-ocr", "mistral-ocr-latest", "millrace/ocr", "vendor-ocr-latest"})
    EXPECT_FALSE(ocr_model(*models, name)) << name;
}

TEST(OcrModels, TheNameOfMistralsIsItsOnceThatProviderIsOpen) {
  ModelSettings settings;
  settings.open_providers = {testing::open_provider("mistral")};
  const RegistryPtr models = testing::registry(std::move(settings));
  EXPECT_EQ("mistral/mistral-ocr-latest", ocr_model(*models, "mistral-ocr-latest"));
  EXPECT_FALSE(ocr_model(*models, "mistral/mistral-large-latest"));
  EXPECT_FALSE(ocr_model(*models, "vendor-ocr-latest"));
}

TEST(TranscriptionModels, ARowTranscribesByItsAbilitiesElseByItsName) {
  ModelSettings settings;
  settings.models = {testing::row("team/ears", "openai"), testing::row("team/whisper-small", "vllm"),
                     testing::row("team/chat", "openai"), testing::row("claude/whisper", "anthropic")};
  settings.models[0].abilities = {Ability::kAudio};
  const RegistryPtr models = testing::registry(std::move(settings));
  EXPECT_EQ("team/ears", transcription_model(*models, "team/ears"));
  EXPECT_EQ("team/whisper-small", transcription_model(*models, "team/whisper-small"));
  for (const char* name : {"team/chat", "claude/whisper", "whisper-1", "millrace/sphinx-en"})
    EXPECT_FALSE(transcription_model(*models, name)) << name;
}

// "segments words"
std::string told(const Registry& models, std::string_view name, std::string_view language = {}) {
  const auto [segments, words] = reported_times(models, name, language);
  return std::string(segments ? "segments" : "") + (words ? " words" : "");
}

TEST(TranscriptionModels, TheTimesOfANameAreThoseThatAllItsRowsReport) {
  ModelSettings settings;
  settings.models = {testing::row("team/whisper", "openai"), testing::row("team/voxtral", "mistral"),
                     testing::row("team/mixed-whisper", "groq"),
                     testing::row("team/mixed-whisper", "openai")};
  settings.models.back().target.model = "gpt-4o-transcribe";
  settings.open_providers = {testing::open_provider("openai")};
  const RegistryPtr models = testing::registry(std::move(settings));
  EXPECT_EQ(told(*models, "team/whisper", "de"), "segments words");
  EXPECT_EQ(told(*models, "team/voxtral"), "segments");
  EXPECT_EQ(told(*models, "team/voxtral", "de"), "");
  EXPECT_EQ(told(*models, "team/mixed-whisper"), "");
  EXPECT_EQ(told(*models, "gpt-4o-transcribe"), "");
  EXPECT_EQ(told(*models, "millrace/sphinx-en"), "segments words");
}

TEST(TranscriptionModels, AKnownNameIsItsProvidersOnceThatIsOpen) {
  ModelSettings settings;
  settings.open_providers = {testing::open_provider("openai"), testing::open_provider("groq")};
  const RegistryPtr models = testing::registry(std::move(settings));
  EXPECT_EQ("openai/whisper-1", transcription_model(*models, "whisper-1"));
  EXPECT_EQ("openai/gpt-4o-transcribe", transcription_model(*models, "gpt-4o-transcribe"));
  EXPECT_EQ("groq/whisper-large-v3-turbo", transcription_model(*models, "whisper-large-v3-turbo"));
  EXPECT_FALSE(transcription_model(*models, "openai/gpt-4o"));
  EXPECT_FALSE(transcription_model(*models, "voxtral-mini-latest"));
}

std::string default_image(ModelSettings settings, bool gpt_image = false) {
  const auto name = default_image_model(Registry(std::move(settings)), gpt_image);
  return name ? *name : std::string(base::name(name.error().code));
}

TEST(DefaultImageModel, TheSettingDecides) {
  ModelSettings settings = testing::models({row("x/dall-e-2", "openai"), row("x/draw", "vllm")});
  settings.default_image_model = "x/draw";
  EXPECT_EQ("x/draw", default_image(settings));
  EXPECT_EQ("x/draw", default_image(settings, true));
  settings.default_image_model = "x/nix";
  const auto none = default_image_model(Registry(settings), false);
  ASSERT_FALSE(none);
  EXPECT_EQ(Code::kModelNotFound, none.error().code);
  EXPECT_NE(std::string::npos, none.error().message.find("images.default_model names 'x/nix'"));
}

TEST(DefaultImageModel, IsOneThatTheKeyMayUse) {
  const ModelSettings settings =
      testing::models({row("x/gpt-image-2", "openai"), row("y/dall-e-2", "openai")});
  const auto chosen = [&](const char* allowed) {
    return default_image_model(Registry(settings), false, schemas::AllowList{{allowed}}).value();
  };
  EXPECT_EQ("x/gpt-image-2", chosen("x/*"));
  EXPECT_EQ("y/dall-e-2", chosen("y/*"));
}

TEST(DefaultImageModel, WithARowOfDallE2ItIsThatOfTheApi) {
  ModelSettings settings = testing::models({row("x/gpt-image-2", "openai"), row("x/gpt-image-1", "openai"),
                                            row("x/dall-e-2", "openai"), row("x/gpt-4o", "openai")});
  EXPECT_EQ("x/dall-e-2", default_image(settings));
  EXPECT_EQ("x/gpt-image-1", default_image(settings, true));
  settings.models.erase(settings.models.begin() + 1);
  EXPECT_EQ("x/gpt-image-2", default_image(settings, true)) << "the newest, without gpt-image-1";
}

TEST(DefaultImageModel, OtherwiseItIsTheNewestOfTheRows) {
  ModelSettings settings = testing::models(
      {row("x/gpt-4o", "openai"), row("x/dall-e-3", "openai"), row("x/gpt-image-1-mini", "openai"),
       row("x/gpt-image-1.5-2025-12-16", "openai"), row("x/gpt-image-1", "openai")});
  settings.open_providers = {testing::open_provider("openai")};
  settings.mock = true;
  EXPECT_EQ("x/gpt-image-1.5-2025-12-16", default_image(settings));
  settings.models.resize(3);
  EXPECT_EQ("x/gpt-image-1-mini", default_image(settings));
  settings.models.resize(2);
  EXPECT_EQ("x/dall-e-3", default_image(settings));
  settings.models = {row("x/draw", "vllm"), row("x/gemini-2.5-flash-image", "gemini")};
  EXPECT_EQ("x/gemini-2.5-flash-image", default_image(settings));
  settings.models[0].abilities = {Ability::kImages};
  settings.models.pop_back();
  EXPECT_EQ("x/draw", default_image(settings)) << "an unknown name with the ability";
}

TEST(DefaultImageModel, WithoutRowsItIsTheNewestOfAProviderWithAKeyOrTheMocks) {
  ModelSettings settings = testing::models({row("x/claude-image", "anthropic"), row("x/gpt-4o", "openai")});
  EXPECT_EQ("model_not_found", default_image(settings));
  settings.mock = true;
  EXPECT_EQ("mock/image", default_image(settings));
  settings.open_providers = {testing::open_provider("gemini")};
  EXPECT_EQ("gemini/gemini-3.1-flash-image", default_image(settings));
  settings.open_providers.push_back(testing::open_provider("openai"));
  EXPECT_EQ("openai/gpt-image-2", default_image(settings));
}

}  // namespace
}  // namespace millrace::inference
