#include "ai/engines/speech/transcriber.h"

#include <csignal>

#include "tests/unit/engines/transcription_fixture.h"

namespace millrace::engines {
namespace {

using base::Code;
using schemas::AudioPiece;
using std::chrono::milliseconds;
using testing::recording_of;
using testing::spoken;
using testing::TranscriberTest;
using testing::TranscriptionRun;

constexpr unsigned kSpokenRate = 24'000;

const std::string kMessage =
    "The old house stood at the end of a narrow road, and nobody had lived in it for many years. In the "
    "spring "
    "a young family moved in with two children and a small brown dog.";

TEST_F(TranscriberTest, TranscribesSpeechOfFlite) {
  make();
  const std::string heard = reported_in(spoken(spawner_, kMessage));
  EXPECT_LT(testing::word_error_rate(kMessage, heard), 0.2) << heard;
  EXPECT_EQ(heard.substr(0, 3), "The");
}

TEST_F(TranscriberTest, TranscribesWhereThereAreNoNamespaces) {
  const std::string mp3 = testing::converted(spawner_, spoken(spawner_, kMessage), "mp3");
  for (const auto form : {process::Confinement::kFileRules, process::Confinement::kReduced}) {
    make(testing::engine_options(), form);
    const std::string heard = reported_in(mp3);
    EXPECT_LT(testing::word_error_rate(kMessage, heard), 0.25) << heard;
    EXPECT_EQ(pool_->counts().children_crashed, 0U);
  }
}

TEST_F(TranscriberTest, AWordsTimeIsWhereItIsInTheRecording) {
  make();
  const std::string speech = testing::samples_of(spoken(spawner_, "Nobody had lived in the house."));
  const std::string wav = testing::wav_of(testing::silent_samples(2) + speech, kSpokenRate, 1);
  const auto info = inspect(wav);
  ASSERT_TRUE(info) << info.error().message;
  ASSERT_EQ(info->pieces.size(), 1U);
  TranscriptionRun run;
  ASSERT_TRUE(transcriber_->transcribe(*recording_of(wav), how_, info->pieces, run.on_piece(), run.on_end()));
  ASSERT_EQ(run.wait_end().kind, EngineResult::Kind::kDone);
  const schemas::TranscriptPiece& piece = run.pieces.at(0);
  ASSERT_GE(piece.words.size(), 4U);
  EXPECT_NEAR(piece.words.front().start, 2.2, 0.25);
  EXPECT_LE(piece.words.back().end, static_cast<double>(info->ms) / 1000);
  EXPECT_NEAR(piece.segments.at(0).start, piece.words.front().start, 0.001);
  EXPECT_LE(piece.segments.at(0).avg_logprob, 0);
}

TEST_F(TranscriberTest, ReportsTheLengthOfARecordingAndItsCuts) {
  make();
  const std::string tone = testing::generated(spawner_, "sine=duration=130:sample_rate=16000", "flac");
  const auto info = inspect(tone);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_NEAR(static_cast<double>(info->ms), 130'000, 50);
  ASSERT_EQ(info->pieces.size(), 3U);
  EXPECT_EQ(info->pieces.back().end_ms, info->ms);
}

TEST_F(TranscriberTest, SilenceHasNoPiecesAndCostsNothing) {
  make();
  const auto info = inspect(testing::generated(spawner_, "anullsrc=r=16000:cl=mono", "flac", {"-t", "200"}));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_TRUE(info->pieces.empty());
  EXPECT_NEAR(static_cast<double>(info->ms), 200'000, 50);
}

TEST_F(TranscriberTest, EachBadRecordingHasItsOwnCode) {
  auto options = testing::engine_options();
  options.limits.recording_max = std::chrono::minutes(1);
  make(options);
  EXPECT_EQ(inspect_error(""), Code::kAudioEmpty);
  EXPECT_EQ(inspect_error("plain text"), Code::kAudioUnsupported);
  EXPECT_EQ(inspect_error("#EXTM3U\nfile:///etc/hostname\n"), Code::kAudioUnsupported);
  EXPECT_EQ(inspect_error(std::string((25 << 20) + 1, 'x')), Code::kAudioTooLarge);
  EXPECT_EQ(inspect_error("fLaC" + std::string(500, '\x7f')), Code::kAudioDamaged);
  EXPECT_EQ(inspect_error(testing::generated(spawner_, "color=s=64x64:d=1", "mp4")), Code::kAudioDamaged);
  EXPECT_EQ(inspect_error(testing::generated(spawner_, "sine=duration=61", "ogg")), Code::kAudioTooLong);
  EXPECT_EQ(inspect_error(testing::wav_of(std::string(64'000, '\1'), 16'000, 64)), Code::kAudioUnsupported);
  EXPECT_EQ(pool_->counts().children_crashed, 0U);
}

TEST_F(TranscriberTest, ATruncatedRecordingIsRefusedWhereItsFormatDeclaresItsLength) {
  make();
  const std::string tone = testing::generated(spawner_, "sine=duration=6:sample_rate=16000", "wav");
  for (const std::string ending : {"wav", "mp3", "flac", "webm"}) {
    const std::string whole = testing::converted(spawner_, tone, ending);
    EXPECT_TRUE(inspect(whole)) << ending;
    const auto half = inspect(whole.substr(0, whole.size() / 2));
    ASSERT_FALSE(half) << ending;
    EXPECT_EQ(half.error().code, Code::kAudioDamaged) << ending;
    EXPECT_NE(half.error().message.find("cut off"), std::string::npos) << half.error().message;
  }
}

TEST_F(TranscriberTest, TimesThatLeapOverWhatWasNeverRecordedAreNoFault) {
  make();
  const std::string tone = testing::generated(spawner_, "sine=duration=6:sample_rate=16000", "wav");
  for (const std::string ending : {"ogg", "webm", "m4a"}) {
    const std::string leaps = testing::converted(
        spawner_, tone, ending, {"-af", "asetpts='if(gt(T,3),PTS+20/TB,PTS)'", "-fps_mode", "passthrough"});
    const auto info = inspect(leaps);
    EXPECT_TRUE(info) << ending << ": " << info.error().message;
  }
}

TEST_F(TranscriberTest, APieceBeyondTheEndFailsAlone) {
  make();
  auto recording = recording_of(spoken(spawner_, "Nobody had lived in the house."));
  ASSERT_TRUE(recording);
  TranscriptionRun run;
  ASSERT_TRUE(transcriber_->transcribe(*recording, how_, {{0, 0, 1'000}, {7, 90'000, 95'000}}, run.on_piece(),
                                       run.on_end()));
  EXPECT_EQ(run.wait_end().kind, EngineResult::Kind::kDone);
  EXPECT_FALSE(run.pieces.at(0).error);
  ASSERT_TRUE(run.pieces.at(7).error);
  EXPECT_EQ(run.pieces.at(7).error->code, Code::kPieceFailed);
}

// The message again and again, for longer than a minute.
std::string long_message(process::Spawner& spawner) {
  const std::string once = testing::samples_of(spoken(spawner, kMessage));
  std::string samples;
  while (samples.size() < testing::silent_samples(62).size()) samples += once;
  return testing::wav_of(samples, kSpokenRate, 1);
}

TEST_F(TranscriberTest, APieceThatKillsItsChildIsNamedAndANewChildTranscribesTheOthers) {
  make();
  auto recording = recording_of(long_message(spawner_));
  ASSERT_TRUE(recording);
  TranscriptionRun first;
  ASSERT_TRUE(
      transcriber_->transcribe(*recording, how_, seconds_with_a_minute(), first.on_piece(), first.on_end()));
  ASSERT_TRUE(first.wait([&] { return !first.pieces.empty(); }));
  ASSERT_TRUE(testing::signal_engine_child(SIGKILL));
  const EngineResult end = first.wait_end();
  ASSERT_EQ(end.kind, EngineResult::Kind::kCrashed);
  EXPECT_EQ(end.page, 1);
  EXPECT_FALSE(first.pieces.contains(end.page)) << "completed pieces keep their results and are not blamed";
  std::vector<AudioPiece> rest;
  for (const AudioPiece& piece : seconds()) {
    if (!first.pieces.contains(piece.index)) rest.push_back(piece);
  }
  TranscriptionRun second;
  ASSERT_TRUE(transcriber_->transcribe(*recording, how_, rest, second.on_piece(), second.on_end()));
  EXPECT_EQ(second.wait_end().kind, EngineResult::Kind::kDone);
  EXPECT_EQ(first.pieces.size() + second.pieces.size(), 8U);
  EXPECT_EQ(pool_->counts().children_crashed, 1U);
}

TEST_F(TranscriberTest, APieceThatUsesUpItsProcessorTimeFailsAlone) {
  make();
  auto recording = recording_of(long_message(spawner_));
  ASSERT_TRUE(recording);
  TranscriptionRun run;
  ASSERT_TRUE(
      transcriber_->transcribe(*recording, how_, seconds_with_a_minute(), run.on_piece(), run.on_end()));
  ASSERT_TRUE(run.wait([&] { return !run.pieces.empty(); }));
  ASSERT_TRUE(testing::signal_engine_child(SIGXCPU));
  ASSERT_EQ(run.wait_end().kind, EngineResult::Kind::kDone);
  ASSERT_EQ(run.pieces.size(), 8U);
  for (const auto& [index, piece] : run.pieces) EXPECT_EQ(piece.error.has_value(), index == 1) << index;
  const auto& error = run.pieces.at(1).error;
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::kPieceTimeout);
  EXPECT_NE(error->message.find("250 s of processor time"), std::string::npos) << error->message;
}

TEST_F(TranscriberTest, ACancelledCallEndsAndTheNextIsServed) {
  make();
  auto recording = recording_of(long_message(spawner_));
  ASSERT_TRUE(recording);
  TranscriptionRun run;
  auto ticket =
      transcriber_->transcribe(*recording, how_, seconds_with_a_minute(), run.on_piece(), run.on_end());
  ASSERT_TRUE(ticket);
  ASSERT_TRUE(run.wait([&] { return !run.pieces.empty(); }));
  ticket->cancel();
  EXPECT_EQ(run.wait_end().kind, EngineResult::Kind::kCancelled);
  EXPECT_EQ(run.pieces.size(), 1U);
  EXPECT_EQ(inspect_error(testing::wav_of(testing::silent_samples(1), kSpokenRate, 1)), Code::kInternal)
      << "the child works";
}

}  // namespace
}  // namespace millrace::engines
