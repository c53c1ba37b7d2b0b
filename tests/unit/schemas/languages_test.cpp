#include "schemas/media/languages.h"

#include <gtest/gtest.h>

namespace millrace::schemas {
namespace {

TEST(Languages, AreFoundByCodeRegionOrName) {
  for (const char* german : {"de", "DE", "de-CH", "de_AT", "German", "german"}) {
    const SpokenLanguage* language = find_language(german);
    ASSERT_NE(language, nullptr) << german;
    EXPECT_EQ(language->code, "de");
  }
  EXPECT_EQ(find_language("eng")->code, "en");
  EXPECT_EQ(find_language("Haitian Creole")->code, "ht");
  EXPECT_EQ(find_language("yue")->name, "Cantonese");
  for (const char* unknown : {"", "-", "xx", "deu", "klingon", "d"})
    EXPECT_EQ(find_language(unknown), nullptr) << unknown;
}

TEST(Languages, BokmalIsWhatModelsCallNorwegian) {
  for (const char* norwegian : {"nb", "nb-NO", "no"}) EXPECT_EQ(find_language(norwegian)->code, "no");
  EXPECT_EQ(find_language("nn")->code, "nn");
}

TEST(Languages, HaveWhispersNamesInTranscripts) {
  EXPECT_EQ(spoken_name("de"), "german");
  EXPECT_EQ(spoken_name("<|yue|>"), "cantonese");
  EXPECT_EQ(spoken_name("English"), "english");
  for (const char* unknown : {"", "<||>", "<|nospeech|>", "xx"})
    EXPECT_EQ(spoken_name(unknown), "") << unknown;
}

TEST(Languages, AreShownWithNameAndCode) {
  EXPECT_EQ(shown_language("de"), "German (de)");
  EXPECT_EQ(shown_language("xx"), "xx");
}

}  // namespace
}  // namespace millrace::schemas
