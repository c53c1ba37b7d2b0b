#include <filesystem>

#include "ai/engines/speech/speech_engine_folder.h"
#include "tests/unit/engines/transcription_fixture.h"

// The default model, Moonshine, in real children.
namespace millrace::engines {
namespace {

namespace fs = std::filesystem;
using testing::recording_of;
using testing::spoken;
using testing::TranscriptionRun;

const std::string kStory =
    "The old house stood at the end of a narrow road, and nobody had lived in it for many years. In the "
    "spring a young family moved in with two children and a small brown dog.";

std::string engine_folder() {
  return find_speech_engine(fs::path(testing::engine_options().engine_path).parent_path().string());
}

class SpeechModelTest : public testing::TranscriberTest {
 protected:
  void SetUp() override {
    folder_ = engine_folder();
    const auto model = loadable_model(folder_, moonshine_model(folder_));
    if (!model) GTEST_SKIP() << model.error().message;
    how_ = {*model, {.language = "en"}};
  }

  std::string folder_;
};

TEST_F(SpeechModelTest, WritesSentencesWithCaseAndPunctuation) {
  make();
  const std::string heard = reported_in(spoken(spawner_, kStory));
  EXPECT_LT(testing::word_error_rate(kStory, heard), 0.06) << heard;
  EXPECT_EQ(heard.substr(0, 8), "The old ");
  EXPECT_EQ(heard.back(), '.');
}

TEST_F(SpeechModelTest, WorksWhereThereAreNoNamespaces) {
  const std::string mp3 = testing::converted(spawner_, spoken(spawner_, kStory), "mp3");
  for (const auto form : {process::Confinement::kFileRules, process::Confinement::kReduced}) {
    auto options = testing::engine_options();
    options.jail.readable = {folder_};
    make(std::move(options), form);
    const std::string heard = reported_in(mp3);
    EXPECT_LT(testing::word_error_rate(kStory, heard), 0.06) << heard;
  }
}

TEST_F(SpeechModelTest, SilenceAndNoiseHaveNoText) {
  make();
  EXPECT_EQ(reported_in(testing::generated(spawner_, "anullsrc=r=16000:cl=mono", "flac", {"-t", "8"})), "");
  EXPECT_EQ(reported_in(testing::generated(spawner_, "anoisesrc=d=6:c=pink:seed=1:r=16000", "flac")), "");
}

TEST_F(SpeechModelTest, ASentenceBetweenLongSilencesIsRecognisedWhereItIs) {
  make();
  const std::string samples = testing::samples_of(spoken(spawner_, "Please close the window."));
  const std::string wav =
      testing::wav_of(testing::silent_samples(9) + samples + testing::silent_samples(9), 24'000, 1);
  const auto info = inspect(wav);
  ASSERT_TRUE(info) << info.error().message;
  TranscriptionRun run;
  ASSERT_TRUE(transcriber_->transcribe(*recording_of(wav), how_, info->pieces, run.on_piece(), run.on_end()));
  ASSERT_EQ(run.wait_end().kind, EngineResult::Kind::kDone);
  const schemas::TranscriptPiece& piece = run.pieces.at(0);
  EXPECT_EQ(schemas::text_of(piece), "Please close the window.");
  ASSERT_EQ(piece.words.size(), 4U);
  EXPECT_NEAR(piece.words.front().start, 9.2, 0.2);
  EXPECT_LT(piece.words.back().end, 9.1 + static_cast<double>(samples.size()) / 48'000);
}

TEST_F(SpeechModelTest, OneChildServesBothRecognisers) {
  auto options = testing::engine_options();
  options.children = 1;
  make(options);
  const std::string wav = spoken(spawner_, kStory);
  const Recognition with_model = how_;
  EXPECT_LT(testing::word_error_rate(kStory, reported_in(wav)), 0.06);
  how_ = {};
  EXPECT_LT(testing::word_error_rate(kStory, reported_in(wav)), 0.25);
  how_ = with_model;
  EXPECT_LT(testing::word_error_rate(kStory, reported_in(wav)), 0.06);
  EXPECT_EQ(pool_->counts().children_started, 1U);
}

}  // namespace
}  // namespace millrace::engines
