#include "schemas/media/local_voices.h"

#include <gtest/gtest.h>

namespace millrace::schemas {
namespace {

TEST(LocalVoiceModels, ASpeakerHasANumberAndNamesOfOpenaiAreTheFirst) {
  const LocalVoiceModel model{"joe", {"en"}, 3};
  EXPECT_EQ(speaker_number(model, "default"), 0);
  EXPECT_EQ(speaker_number(model, "alloy"), 0);
  EXPECT_EQ(speaker_number(model, "2"), 2);
  for (const char* voice : {"3", "-1", "2 ", "+1", "", "slt", "1.0", "99999999999999999999", "Alloy"})
    EXPECT_EQ(speaker_number(model, voice), std::nullopt) << voice;
}

TEST(LocalVoiceModels, AnUnknownVoiceIsRefusedAndTheOthersAreListed) {
  SpeechRequest request;
  request.voice = "slt";
  const auto refusal = voice_model_refusal({"joe", {"en"}, 3}, request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(
      refusal->problems.front().msg,
      "The model 'joe' has no such voice; it has: default, 0 to 2; OpenAI's names of voices are default");
  request.voice = "nova";
  EXPECT_FALSE(voice_model_refusal({"joe", {"en"}, 1}, request));
}

TEST(LocalVoiceModels, AModelIsFoundByItsName) {
  const LocalVoiceModels models({{"joe", {"en"}, 1}, {"eva", {"de"}, 2}});
  ASSERT_NE(models.find("eva"), nullptr);
  EXPECT_EQ(models.find("eva")->speakers, 2);
  EXPECT_EQ(models.find("millrace/flite"), nullptr);
}

}  // namespace
}  // namespace millrace::schemas
