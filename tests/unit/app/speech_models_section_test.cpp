#include "app/config/speech_models_section.h"

#include <array>

#include <gtest/gtest.h>

#include "app/components/speech_models.h"
#include "tests/support/temp_dir.h"

namespace millrace::app::speech_models_section_test {
namespace {

constexpr std::array<base::Setting, 1> kTable{base::Setting{.path = "stt.wait", .help = "how long"}};

SpeechModelsSection read(const std::string& rows) {
  base::ConfigSources sources{.file_name = "m.yaml", .file_text = "stt:\n  wait: x\n  models:" + rows};
  sources.sections = {"stt.models"};
  const base::Config config = base::Config::read(kTable, sources);
  EXPECT_TRUE(config.mistakes().empty());
  return read_speech_models(config.section("stt.models"));
}

std::string mistakes_of(const SpeechModelsSection& section) {
  std::string out;
  for (const auto& mistake : section.mistakes)
    out += mistake.place + (mistake.fatal ? ": " : ": warning: ") + mistake.message + "\n";
  return out;
}

// A folder that looks like a Whisper model's.
class WhisperFolder {
 public:
  WhisperFolder() {
    for (const char* name : {"base-encoder.onnx", "base-decoder.onnx", "base-tokens.txt"})
      dir_.write(name, "x");
  }
  std::string path() const { return dir_.str(); }
  std::string row(const std::string& name, const std::string& languages = "[de, en]") const {
    return "\n  - {name: " + name + ", family: whisper, path: " + path() + "/, languages: " + languages + "}";
  }

 private:
  support::TempDir dir_;
};

TEST(SpeechModelsSection, ARowIsAModel) {
  const WhisperFolder folder;
  const SpeechModelsSection section = read(folder.row("whisper-base", "[de, en, de, yue]"));
  EXPECT_EQ(mistakes_of(section), "");
  ASSERT_EQ(section.models.size(), 1u);
  EXPECT_EQ(section.models[0].name, "whisper-base");
  EXPECT_EQ(section.models[0].family, engines::SpeechModelFamily::kWhisper);
  EXPECT_EQ(section.models[0].path, folder.path());
  EXPECT_EQ(section.models[0].languages, (std::vector<std::string>{"de", "en", "yue"}));
  EXPECT_EQ(section.places, (std::vector<std::string>{"m.yaml:4"}));
  EXPECT_TRUE(read("").models.empty());
}

TEST(SpeechModelsSection, MistakesNameTheLineAndTheWayOut) {
  EXPECT_EQ(mistakes_of(read(" whisper")),
            "m.yaml:3: stt.models: a list is expected here, as in `- name: whisper-base`\n");
  EXPECT_EQ(
      mistakes_of(read("\n  - name: a\n    famly: whisper")),
      "m.yaml:5: stt.models.famly: no such key; did you mean family?\n"
      "m.yaml:4: stt.models.family: is missing: one of moonshine, whisper, sense_voice, transducer, nemo\n"
      "m.yaml:4: stt.models.path: is missing: the folder with the model's files, as in "
      "/srv/models/whisper-base\n"
      "m.yaml:4: stt.models.languages: the ISO 639-1 codes that the model knows are expected here, as in "
      "[en, de]\n");
  EXPECT_EQ(
      mistakes_of(read("\n  - {name: a b, family: wisper, path: models, languages: [deutsch, German, DE]}")),
      "m.yaml:4: stt.models.name: is the name that clients send, such as whisper-base: 1 to 200 "
      "characters, no spaces\n"
      "m.yaml:4: stt.models.family: \"wisper\" is none of moonshine, whisper, sense_voice, transducer, "
      "nemo; did you mean whisper?\n"
      "m.yaml:4: stt.models.path: \"models\" does not begin with /: give the whole path of the folder\n"
      "m.yaml:4: stt.models.languages: \"deutsch\" is not an ISO 639-1 code, such as en\n"
      "m.yaml:4: stt.models.languages: \"German\" is not an ISO 639-1 code; did you mean de?\n"
      "m.yaml:4: stt.models.languages: \"DE\" is not an ISO 639-1 code; did you mean de?\n");
}

TEST(SpeechModelsSection, AFolderWithoutTheModelIsAWarning) {
  const SpeechModelsSection section =
      read("\n  - {name: a, family: whisper, path: /nonexistent/a, languages: [en]}");
  EXPECT_EQ(
      mistakes_of(section),
      "m.yaml:4: warning: stt.models.path: the model's folder /nonexistent/a cannot be read: No such file "
      "or directory\n");
  EXPECT_EQ(section.models.size(), 1u);
}

constexpr std::array<base::Setting, 2> kSpeakersTable{
    base::Setting{.path = "stt.speakers.segmentation", .default_text = "", .help = "one"},
    base::Setting{.path = "stt.speakers.embedding", .default_text = "", .help = "two"}};

std::string speakers_mistakes(const std::string& members, bool is_used) {
  base::ConfigSources sources{.file_name = "m.yaml", .file_text = "stt:\n  speakers:\n" + members};
  const base::Config config = base::Config::read(kSpeakersTable, sources);
  EXPECT_TRUE(config.mistakes().empty());
  SpeechModelsSection section;
  EXPECT_EQ(read_speaker_files(config, section.mistakes).empty(), !is_used);
  return mistakes_of(section);
}

TEST(SpeechModelsSection, TheFilesForSpeakersAreTwoAndWholePaths) {
  EXPECT_EQ(speakers_mistakes("    segmentation: /a.onnx\n", false),
            "m.yaml:3: stt.speakers.embedding: is missing; both files are needed\n");
  EXPECT_EQ(speakers_mistakes("    segmentation: a.onnx\n    embedding: /b.onnx\n", false),
            "m.yaml:3: stt.speakers.segmentation: \"a.onnx\" does not begin with /: give the whole path\n");
  EXPECT_EQ(speakers_mistakes("    segmentation: /nonexistent/a.onnx\n    embedding: /b.onnx\n", true),
            "m.yaml:3: warning: stt.speakers: the model's file /nonexistent/a.onnx is missing, or no file\n");
}

TEST(SpeechModelsSection, WithoutTheSpeechEngineSpeakersAreNotToldApart) {
  Settings settings;
  settings.speaker_files = {"/a.onnx", "/b.onnx"};
  for (const char* engine : {"none", "/nonexistent/speech"}) {
    settings.stt_engine = engine;
    EXPECT_FALSE(can_tell_speakers_apart(settings)) << engine;
  }
  settings.stt_engine = "";
  if (speech_engine_folder(settings).empty()) GTEST_SKIP() << "the speech engine is not installed";
  EXPECT_TRUE(can_tell_speakers_apart(settings));
  settings.speaker_files = {};
  EXPECT_FALSE(can_tell_speakers_apart(settings));
}

TEST(SpeechModelsSection, NamesAreTheirOwn) {
  const WhisperFolder folder;
  EXPECT_EQ(mistakes_of(
                read(folder.row("millrace/x") + folder.row("whisper-1") + folder.row("a") + folder.row("a"))),
            "m.yaml:4: stt.models.name: \"millrace/x\" begins with millrace/, which is for built-in models; "
            "choose another name\n"
            "m.yaml:5: stt.models.name: \"whisper-1\" is another name of the default local model; choose "
            "another name\n"
            "m.yaml:7: stt.models.name: \"a\" is also the name of the row at m.yaml:6\n");
  SpeechModelsSection section = read(folder.row("team/a") + folder.row("openai/a") + folder.row("b"));
  inference::ModelSettings others;
  others.models.resize(1);
  others.models[0].target.name = "b";
  const std::vector<std::string> places{"m.yaml:20"};
  LocalRows rows{"stt.models", {}, section.places};
  for (const engines::SpeechModel& model : section.models) rows.names.push_back(model.name);
  check_local_model_names(rows, others, places, section.mistakes);
  EXPECT_EQ(
      mistakes_of(section),
      "m.yaml:5: stt.models.name: \"openai/a\" begins with openai/, which is for models of that provider; "
      "choose another name\n"
      "m.yaml:6: stt.models.name: \"b\" is also the name of the row of `models` at m.yaml:20; choose another "
      "name\n");
}

TEST(SpeechModelsSection, WhisperOfSeveralLanguagesTranslates) {
  using Family = engines::SpeechModelFamily;
  Settings settings;
  settings.speech_models = {{"w", Family::kWhisper, "/w", {"de", "en"}},
                            {"w.en", Family::kWhisper, "/w.en", {"en"}},
                            {"s", Family::kSenseVoice, "/s", {"ja"}}};
  settings.stt_engine = "none";
  const auto models = local_transcription_models(settings);
  EXPECT_TRUE(models.find("w")->translates && models.find("w")->is_configured);
  EXPECT_FALSE(models.find("w.en")->translates || models.find("s")->translates);
  EXPECT_EQ(models.default_model().name, "millrace/sphinx-en");
}

}  // namespace
}  // namespace millrace::app::speech_models_section_test
