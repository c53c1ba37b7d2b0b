#include "app/config/voice_models_section.h"

#include <array>

#include <gtest/gtest.h>

#include "app/config/speech_models_section.h"

namespace millrace::app::voice_models_section_test {
namespace {

constexpr std::array<base::Setting, 1> kTable{base::Setting{.path = "speech.children", .help = "how many"}};

VoiceModelsSection read(const std::string& rows) {
  base::ConfigSources sources{.file_name = "m.yaml", .file_text = "speech:\n  children: x\n  models:" + rows};
  sources.sections = {"speech.models"};
  const base::Config config = base::Config::read(kTable, sources);
  EXPECT_TRUE(config.mistakes().empty());
  return read_voice_models(config.section("speech.models"));
}

std::string text_of(const std::vector<base::ConfigMistake>& mistakes) {
  std::string out;
  for (const auto& mistake : mistakes)
    out += mistake.place + (mistake.fatal ? ": " : ": warning: ") + mistake.message + "\n";
  return out;
}

TEST(VoiceModelsSection, ARowIsAVoiceAndAMissingFolderIsAWarning) {
  const VoiceModelsSection section = read(
      "\n  - {name: joe, path: /nonexistent/joe/}\n"
      "  - {name: eva, path: /nonexistent/eva, languages: [de]}");
  const std::vector<engines::VoiceModel> expected{{"joe", "/nonexistent/joe", {"en"}},
                                                  {"eva", "/nonexistent/eva", {"de"}}};
  EXPECT_EQ(section.models, expected);
  EXPECT_EQ(text_of(section.mistakes),
            "m.yaml:4: warning: speech.models.path: the model's folder /nonexistent/joe cannot be read: No "
            "such file or directory\n"
            "m.yaml:5: warning: speech.models.path: the model's folder /nonexistent/eva cannot be read: No "
            "such file or directory\n");
  EXPECT_TRUE(read("").models.empty());
}

TEST(VoiceModelsSection, MistakesNameTheLineAndTheWayOut) {
  EXPECT_EQ(text_of(read(" joe").mistakes),
            "m.yaml:3: speech.models: a list is expected here, as in `- name: piper-joe`\n");
  EXPECT_EQ(text_of(read("\n  - {name: tts-1, pth: /a, languages: []}").mistakes),
            "m.yaml:4: speech.models.pth: no such key; did you mean path?\n"
            "m.yaml:4: speech.models.name: \"tts-1\" is another name of the default local model; choose "
            "another name\n"
            "m.yaml:4: speech.models.path: is missing: the folder with the model's files, as in "
            "/srv/voices/joe\n"
            "m.yaml:4: speech.models.languages: the ISO 639-1 codes that the model knows are expected here, "
            "as in [en, de]\n");
}

TEST(VoiceModelsSection, ANameIsUsedOnce) {
  const std::string mistakes =
      text_of(read("\n  - {name: joe, path: /nonexistent}\n  - {name: joe, path: /nonexistent}").mistakes);
  EXPECT_NE(mistakes.find("m.yaml:5: speech.models.name: \"joe\" is also the name of the row at m.yaml:4\n"),
            std::string::npos)
      << mistakes;
  std::vector<base::ConfigMistake> found;
  check_same_names({"speech.models", {"a", "b"}, {"m:1", "m:2"}}, {"stt.models", {"b"}, {"m:9"}}, found);
  EXPECT_EQ(text_of(found),
            "m:2: speech.models.name: \"b\" is also the name of the row of stt.models at m:9; choose another "
            "name\n");
}

}  // namespace
}  // namespace millrace::app::voice_models_section_test
