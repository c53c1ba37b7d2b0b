#include "app/config/models_section.h"

#include <array>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace::app::models_section_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

constexpr std::array<base::Setting, 1> kTable{base::Setting{.path = "listen", .help = "where"}};

ModelsSection read(const std::string& yaml, const Environment& environment = {}, bool mock = false,
                   const std::vector<std::string>& local_models = {}) {
  base::ConfigSources sources{.file_name = "m.yaml", .file_text = yaml};
  sources.sections = {"models", "providers", "aliases", "mcp"};
  const base::Config config = base::Config::read(kTable, sources);
  EXPECT_TRUE(config.mistakes().empty());
  return read_models({config.section("models"), config.section("providers"), config.section("aliases"),
                      config.section("mcp"), mock, local_models},
                     environment, {});
}

std::string said(const ModelsSection& section) {
  std::string out;
  for (const auto& mistake : section.mistakes)
    out += mistake.place + (mistake.fatal ? ": " : ": warning: ") + mistake.message + "\n";
  return out;
}

TEST(ModelsSection, AFileWithoutItHasTheUsualAliasesAndNoModels) {
  const ModelsSection section = read("listen: 127.0.0.1:1\n");
  EXPECT_EQ(said(section), "");
  EXPECT_TRUE(section.settings.models.empty());
  EXPECT_TRUE(section.settings.open_providers.empty());
  EXPECT_EQ(section.settings.aliases.at("provider-a"), "openai");
  EXPECT_EQ(section.settings.aliases.at("provider-b"), "gemini");
}

TEST(ModelsSection, AModelHasItsServerAndTheKeyThatItsReferenceNames) {
  const ModelsSection section = read(
      "models:\n- name: local/llama\n  provider: openai\n  base_url: http://127.0.0.1:1/v1/\n  model: "
      "llama3\n"
      "  api_key: env:SOME_KEY\n",
      {{"SOME_KEY", "s3cret"}});
  ASSERT_EQ(section.settings.models.size(), 1u) << said(section);
  const providers::Target& target = section.settings.models[0].target;
  EXPECT_EQ(target.name, "local/llama");
  EXPECT_EQ(target.preset->name, "openai");
  EXPECT_EQ(target.model, "llama3");
  EXPECT_EQ(target.base_url, "http://127.0.0.1:1/v1");
  EXPECT_EQ(target.key.reveal(), "s3cret");
  EXPECT_THAT(section.places, ElementsAre("m.yaml:2"));
}

TEST(ModelsSection, EveryKeyOfAModelIsTaken) {
  const ModelsSection section = read(
      "models:\n- {name: a, provider: mock}\n"
      "- name: b\n  provider: mock\n  fallbacks: [a]\n  weight: 3\n  input_max: 900\n  output_max: 100\n  "
      "response_format: "
      "true\n"
      "  price: {prompt: 1.5, completion: 2, cached: 0.1}\n"
      "  limits: {concurrent: 1, requests_per_minute: 2, tokens_per_minute: 3}\n  abilities: [chat, "
      "images]\n");
  ASSERT_EQ(section.settings.models.size(), 2u) << said(section);
  const inference::ModelRow& row = section.settings.models[1];
  EXPECT_THAT(row.fallbacks, ElementsAre("a"));
  EXPECT_EQ(row.weight, 3);
  EXPECT_EQ(row.target.input_max, 900);
  EXPECT_EQ(row.target.output_max, 100);
  EXPECT_TRUE(row.target.response_format);
  ASSERT_TRUE(row.price.has_value());
  EXPECT_EQ(row.price->prompt, 1.5);
  EXPECT_EQ(row.price->cached, 0.1);
  EXPECT_EQ(row.limits.concurrent, 1);
  EXPECT_EQ(row.limits.requests_per_minute, 2);
  EXPECT_EQ(row.limits.tokens_per_minute, 3);
  EXPECT_THAT(row.abilities, ElementsAre(inference::Ability::kChat, inference::Ability::kImages));
}

TEST(ModelsSection, EveryPartOfAPriceIsTakenAndNoneMayBeNegative) {
  const std::string before = "models:\n- {name: a, provider: mock, price: {";
  std::vector<std::string> names{"prompt", "completion"};
  for (const inference::PricePart& part : inference::kPriceParts) {
    names.emplace_back(part.name);
    const ModelsSection section = read(before + std::string(part.name) + ": 0.25}}\n");
    ASSERT_EQ(section.settings.models.size(), 1u) << said(section);
    EXPECT_EQ(section.settings.models[0].price.value().*part.value, 0.25) << part.name;
  }
  for (const std::string& name : names) {
    for (const char* value : {"-0.1", "nan", "1e300", "much"}) {
      const ModelsSection section = read(before + name + ": " + value + "}}\n");
      EXPECT_TRUE(section.settings.models.empty()) << name << value;
      EXPECT_THAT(said(section), HasSubstr("models.price." + name + ": "));
    }
  }
}

TEST(ModelsSection, AModelOfTheGatewayItselfMayHaveAPriceAndNothingElse) {
  const ModelsSection section = read(
      "models:\n- {name: millrace/ocr, price: {page: 0.5}}\n- {name: millrace/flite, price: {character: "
      "1}}\n");
  EXPECT_EQ(said(section), "");
  EXPECT_TRUE(section.settings.models.empty());
  const inference::Registry registry(section.settings);
  EXPECT_EQ(registry.local_price("millrace/ocr").page, 0.5);
  EXPECT_EQ(registry.local_price("millrace/sphinx-en").audio_second, std::nullopt);
  EXPECT_EQ(registry.look_up("millrace/ocr"), nullptr);
  EXPECT_THAT(said(read("models:\n- {name: millrace/ocr, price: {page: 1}, weight: 2}\n")),
              HasSubstr("models.weight"));
  EXPECT_THAT(said(read("models:\n- {name: millrace/ocr}\n")), HasSubstr("models.price: is missing"));
}

TEST(ModelsSection, AModelOfTheSettingSttModelsMayHaveAPrice) {
  const std::string row = "models:\n- {name: whisper-base, price: {audio_second: 0.5}}\n";
  const ModelsSection section = read(row, {}, false, {"whisper-base"});
  EXPECT_EQ(said(section), "");
  EXPECT_EQ(inference::Registry(section.settings).local_price("whisper-base").audio_second, 0.5);
  EXPECT_THAT(said(read(row)), HasSubstr("models.provider: is missing"));
  const std::string far_row = "models:\n- {name: whisper-base, provider: openai, base_url: http://h/v1}\n";
  EXPECT_EQ(read(far_row, {}, false, {"whisper-base"}).settings.models.size(), 1u);
}

TEST(ModelsSection, AKeyThatStandsInTheFileIsRefusedAndNotRepeated) {
  const ModelsSection section =
      read("models:\n- name: a\n  provider: openai\n  base_url: http://h/v1\n  api_key: sk-very-secret\n");
  EXPECT_TRUE(section.settings.models.empty());
  EXPECT_THAT(said(section), HasSubstr("m.yaml:5: models.api_key: "));
  EXPECT_THAT(said(section), testing::Not(HasSubstr("very-secret")));
}

TEST(ModelsSection, AKeyThatIsNotThereIsAWarningAndTheModelStays) {
  const ModelsSection section = read(
      "models:\n- {name: a, provider: openai, base_url: 'http://h/v1', api_key: 'env:NOT_THERE'}\n"
      "- {name: b, provider: openai}\n");
  EXPECT_EQ(section.settings.models.size(), 2u);
  EXPECT_THAT(said(section), HasSubstr("m.yaml:2: warning: api_key: the environment does not set NOT_THERE"));
  EXPECT_THAT(said(section), HasSubstr("OPENAI_API_KEY"));
}

TEST(ModelsSection, AKeyIsReadFromAFile) {
  const support::TempDir folder;
  const std::string path = folder.str() + "/key";
  std::ofstream(path) << "  from-a-file\n";
  const ModelsSection section =
      read("models:\n- {name: a, provider: openai, api_key: 'file:" + path + "'}\n");
  ASSERT_EQ(section.settings.models.size(), 1u) << said(section);
  EXPECT_EQ(section.settings.models[0].target.key.reveal(), "from-a-file");
}

TEST(ModelsSection, TheProvidersOwnKeyGoesToNoOtherServer) {
  const ModelsSection section = read(
      "models:\n- {name: a, provider: openai, base_url: 'http://elsewhere/v1'}\n"
      "- {name: b, provider: openai}\n",
      {{"OPENAI_API_KEY", "k"}});
  ASSERT_EQ(section.settings.models.size(), 2u) << said(section);
  EXPECT_TRUE(section.settings.models[0].target.key.empty());
  EXPECT_EQ(section.settings.models[1].target.key.reveal(), "k");
}

TEST(ModelsSection, AKeyInTheEnvironmentOpensItsProvider) {
  const ModelsSection section = read("", {{"GROQ_API_KEY", "k"}});
  ASSERT_EQ(section.settings.open_providers.size(), 1u);
  EXPECT_EQ(section.settings.open_providers[0].preset->name, "groq");
  EXPECT_EQ(section.settings.open_providers[0].key.reveal(), "k");
}

TEST(ModelsSection, AnEntryOfProvidersOpensItAndIsWhereItsModelsAre) {
  const ModelsSection section = read(
      "providers:\n  openai: {base_url: 'http://127.0.0.1:9/v1', api_key: 'env:K', headers: {x-team: a}}\n"
      "models:\n- {name: m, provider: openai}\n",
      {{"K", "k"}, {"OPENAI_API_KEY", "other"}});
  ASSERT_EQ(section.settings.open_providers.size(), 1u) << said(section);
  EXPECT_EQ(section.settings.open_providers[0].base_url, "http://127.0.0.1:9/v1");
  EXPECT_EQ(section.settings.open_providers[0].key.reveal(), "k");
  ASSERT_EQ(section.settings.models.size(), 1u);
  EXPECT_EQ(section.settings.models[0].target.base_url, "http://127.0.0.1:9/v1");
  EXPECT_EQ(section.settings.models[0].target.key.reveal(), "k");
  EXPECT_THAT(section.settings.models[0].target.headers, ElementsAre(testing::Pair("x-team", "a")));
}

TEST(ModelsSection, EachMistakeHasItsLineAndNamesWhatIsRight) {
  EXPECT_THAT(said(read("models:\n- name: a\n  provider: opnai\n")),
              HasSubstr("m.yaml:3: models.provider: no provider \"opnai\"; did you mean openai?"));
  EXPECT_THAT(said(read("models:\n- name: a\n  provder: openai\n")), HasSubstr("did you mean provider?"));
  EXPECT_THAT(said(read("models:\n- {provider: mock}\n")), HasSubstr("models.name"));
  EXPECT_THAT(said(read("models: {a: b}\n")), HasSubstr("a list is expected here"));
  EXPECT_THAT(said(read("models:\n- {name: a, provider: mock, fallbacks: [b]}\n")),
              HasSubstr("models.fallbacks: "));
  for (const char* url : {"http://h:99999/v1", "http://h:/v1", "https://:80", "http://"}) {
    const std::string row = std::string("models:\n- {name: a, provider: openai, base_url: '") + url + "'}\n";
    EXPECT_THAT(said(read(row)), HasSubstr("is not a URL")) << url;
  }
  EXPECT_THAT(said(read("models:\n- {name: a, provider: openai, base_url: 'ftp://h'}\n")),
              HasSubstr("models.base_url"));
  EXPECT_THAT(said(read("models:\n- {name: a, provider: mock, abilities: [sing]}\n")), HasSubstr("sing"));
  EXPECT_THAT(said(read("aliases: {mine: nobody}\n")), HasSubstr("aliases.mine"));
  EXPECT_THAT(said(read("providers: {nobody: {}}\n")), HasSubstr("no provider \"nobody\""));
}

TEST(ModelsSection, ServersOfToolsHaveASlugOfTheirOwn) {
  const ModelsSection section = read(
      "mcp:\n- {slug: search, url: 'https://tools.example/mcp', headers: {authorization: 'env:T'}}\n"
      "- {slug: search, url: 'https://tools.example/other'}\n- {slug: b, url: 'stdio:ls'}\n",
      {{"T", "Bearer t"}});
  EXPECT_THAT(said(section), HasSubstr("m.yaml:3: mcp.slug"));
  EXPECT_THAT(said(section), HasSubstr("m.yaml:4: mcp.url"));
  ASSERT_FALSE(section.settings.mcp_slugs.empty());
  EXPECT_THAT(section.settings.mcp_slugs[0].headers, ElementsAre(testing::Pair("authorization", "Bearer t")));
}

TEST(ModelsSectionOfMocks, TheyAreFallbacksWhereTheyAreSwitchedOn) {
  const std::string yaml =
      "models:\n  - name: m\n    provider: ollama\n    model: llama3\n    base_url: http://127.0.0.1:1/v1\n"
      "    fallbacks: [mock/chat]\n";
  EXPECT_EQ(said(read(yaml, {}, true)), "");
  EXPECT_NE(said(read(yaml, {}, false)), "");
}

}  // namespace
}  // namespace millrace::app::models_section_test
