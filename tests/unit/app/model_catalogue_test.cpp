#include "app/models/model_catalogue.h"

#include <set>

#include <gtest/gtest.h>

#include "ai/engines/speech/model_files.h"
#include "schemas/media/languages.h"

namespace millrace::app::model_catalogue_test {
namespace {

TEST(ModelCatalogue, TheBuiltInOneIsValid) {
  std::set<std::string> names;
  std::set<std::string> urls;
  for (const CatalogueModel& model : built_in_catalogue()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    const bool is_for_speakers = model.family == engines::SpeechModelFamily::kSpeakers;
    EXPECT_FALSE(model.licence.empty() || model.files.empty()) << model.name;
    EXPECT_EQ(model.languages.empty(), is_for_speakers) << model.name;
    for (const std::string& code : model.languages) {
      const schemas::SpokenLanguage* language = schemas::find_language(code);
      ASSERT_NE(language, nullptr) << code;
      EXPECT_EQ(language->code, code);
    }
    for (const CatalogueFile& file : model.files) {
      EXPECT_TRUE(is_download_url(file.url) && file.url.starts_with("https://")) << file.url;
      EXPECT_TRUE(urls.insert(file.url).second) << file.url;
      EXPECT_TRUE(is_for_speakers || file.url.ends_with("/" + file.name)) << file.url;
      EXPECT_NE(file.url.find("/resolve/"), std::string::npos) << file.url;
      EXPECT_EQ(file.sha256.size(), 64u) << file.url;
      EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos) << file.url;
      EXPECT_GT(file.bytes, 0) << file.url;
    }
  }
  EXPECT_EQ(names.count("whisper-base"), 1u);
}

// A catalogue of the operator's has the same form, so the built-in one can be written as one.
TEST(ModelCatalogue, AFileIsReadAsItWasWritten) {
  for (const CatalogueModel& model : built_in_catalogue()) {
    std::string text = "models:\n- name: " + model.name + "\n  licence: " + model.licence +
                       "\n  family: " + std::string(engines::family_name(model.family));
    if (!model.languages.empty()) {
      text += "\n  languages: [";
      for (const std::string& code : model.languages) text += code + ",";
      text.back() = ']';
    }
    text += "\n  files:\n";
    for (const CatalogueFile& file : model.files)
      text += "  - {name: " + file.name + ", url: '" + file.url + "', size: " + std::to_string(file.bytes) +
              ", sha256: '" + file.sha256 + "'}\n";
    const auto read = read_catalogue("c.yaml", text);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), 1u);
    EXPECT_EQ(read->front().family, model.family);
    EXPECT_EQ(read->front().languages, model.languages);
    EXPECT_EQ(read->front().bytes(), model.bytes());
    EXPECT_EQ(read->front().files.size(), model.files.size());
  }
}

TEST(ModelCatalogue, MistakesOfAFileNameTheirPlace) {
  const auto error = [](const std::string& text) {
    const auto read = read_catalogue("c.yaml", text);
    return read ? "(no error)" : read.error().message;
  };
  EXPECT_EQ(error(""), "c.yaml: models: a list is expected here, as in `- name: whisper-base`");
  EXPECT_EQ(error("models: x\nother: y"), "c.yaml:2: other: no such setting");
  const std::string row =
      "- {name: a, family: whisper, languages: [en], licence: MIT, files: [{name: t, url: 'https://h/t', "
      "size: "
      "1, sha256: " +
      std::string(64, 'a') + "}]}\n";
  EXPECT_EQ(error("models:\n" + row), "(no error)");
  EXPECT_EQ(error("models:\n" + row + row), "c.yaml:3: models.name: \"a\" is listed twice");
  EXPECT_EQ(error("models:\n- {name: a, family: whisper, languages: [en], licence: MIT, files: []}\n"),
            "c.yaml:2: models.files: a list is expected here, as in `- {name: tokens.txt, url: …, size: …, "
            "sha256: …}`");
}

TEST(ModelCatalogue, ItsTextsArePrintableAndItsNamesAreFree) {
  const auto error = [](const std::string& name, const std::string& licence, const std::string& url) {
    const auto read = read_catalogue(
        "c.yaml", "models:\n- {name: \"" + name + "\", family: whisper, languages: [en], licence: \"" +
                      licence + "\", files: [{name: t, size: 1, sha256: " + std::string(64, 'a') +
                      ", url: \"" + url + "\"}]}\n");
    return read ? "" : read.error().message;
  };
  const std::string url = "https://h/t";
  EXPECT_EQ(error("a", "MIT", url), "");
  EXPECT_NE(error("a", "\\e[2J", url).find("models.licence: has at most 200 characters"), std::string::npos);
  EXPECT_NE(error("a", std::string(201, 'x'), url).find("models.licence:"), std::string::npos);
  EXPECT_NE(error("a", "MIT", url + "\\e[2J").find("models.files.url: has at most 2000"), std::string::npos);
  EXPECT_NE(error("whisper-1", "MIT", url).find("another name of the default local model"),
            std::string::npos);
  const std::string hostile = error("a\\e[2J", "MIT", url);
  EXPECT_NE(hostile, "");
  EXPECT_EQ(hostile.find('\x1b'), std::string::npos) << hostile;
}

TEST(ModelCatalogue, FilesComeFromHttpsOrThisMachine) {
  for (const char* good : {"https://models.example/a", "https://models.example:8443/a?b",
                           "http://127.0.0.1:1/a", "http://localhost/a", "http://[::1]:1/a"})
    EXPECT_TRUE(is_download_url(good)) << good;
  for (const char* bad : {"http://models.example/a", "http://127.0.0.1.example/a",
                          "https://user@models.example/a", "http://127.0.0.1@models.example/a",
                          "ftp://127.0.0.1/a", "file:///etc/passwd", "https://", "https://a b/", ""})
    EXPECT_FALSE(is_download_url(bad)) << bad;
}

TEST(ModelCatalogue, TheRowForTheConfigurationIsYaml) {
  CatalogueModel model;
  model.name = "w";
  model.family = engines::SpeechModelFamily::kWhisper;
  model.languages = {"de", "no"};
  EXPECT_EQ(stt_models_row(model, "/it's"),
            "stt:\n  models:\n  - name: 'w'\n    family: whisper\n    path: '/it''s'\n    languages: [de, "
            "\"no\"]\n");
  model.family = engines::SpeechModelFamily::kSpeakers;
  EXPECT_EQ(stt_models_row(model, "/it's"),
            "stt:\n  speakers:\n    segmentation: '/it''s/segmentation.onnx'\n"
            "    embedding: '/it''s/embedding.onnx'\n");
}

TEST(ModelCatalogue, TheFilesForSpeakersHaveTheirNames) {
  const auto read = read_catalogue(
      "c.yaml",
      "models:\n- name: who\n  family: speakers\n  licence: MIT\n  files:\n  - {name: embedding.onnx, "
      "url: 'https://a.example/x', size: 1, sha256: '" +
          std::string(64, 'a') + "'}\n");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("has the files segmentation.onnx and embedding.onnx"),
            std::string::npos)
      << read.error().message;
}

}  // namespace
}  // namespace millrace::app::model_catalogue_test
