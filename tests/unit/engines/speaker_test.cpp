#include "ai/engines/speech/speaker.h"

#include <set>

#include "tests/support/wait_until.h"
#include "tests/unit/engines/pool_fixture.h"
#include "tests/unit/engines/real_recordings.h"

namespace millrace::engines {
namespace {

using base::Code;
using schemas::SpeechEncoding;

const std::string kSentences =
    "The gateway keeps its promises. Nobody has to wait for a result that is lost.";

struct Talked : testing::CallProbe {
  std::string bytes;
  int chunks = 0;

  std::function<void(std::string)> on_audio() {
    return [this](const std::string& some) {
      const std::lock_guard lock(mutex);
      EXPECT_FALSE(end) << "sound after the end";
      EXPECT_FALSE(some.empty());
      bytes += some;
      ++chunks;
      changed.notify_all();
    };
  }
};

class SpeakerTest : public testing::PoolTest {
 protected:
  void SetUp() override { make(testing::engine_options()); }
  void make(EnginePool::Options options) {
    options.in_background = false;
    make_pool(std::move(options));
    speaker_ = std::make_unique<Speaker>(*pool_);
  }
  static schemas::SpeechRequest request_for(const std::string& text,
                                            SpeechEncoding encoding = SpeechEncoding::kPcm) {
    schemas::SpeechRequest request;
    request.input = text;
    request.voice = "slt";
    request.encoding = encoding;
    return request;
  }
  std::string synthesise(const schemas::SpeechRequest& request) {
    Talked talked;
    EXPECT_TRUE(speaker_->speak(request, talked.on_audio(), talked.on_end()));
    const EngineResult end = talked.wait_end();
    EXPECT_EQ(end.kind, EngineResult::Kind::kDone) << (end.error ? end.error->message : "");
    return talked.bytes;
  }

  std::unique_ptr<Speaker> speaker_;
};

TEST_F(SpeakerTest, EveryEncodingIsWhatItSaysAndTheSameSound) {
  const double seconds = static_cast<double>(synthesise(request_for(kSentences)).size()) / 48'000;
  EXPECT_GT(seconds, 3);
  const std::pair<SpeechEncoding, const char*> rows[] = {
      {SpeechEncoding::kMp3, "mp3 24000 1"},       {SpeechEncoding::kOpus, "opus 48000 1"},
      {SpeechEncoding::kAac, "aac 24000 1"},       {SpeechEncoding::kFlac, "flac 24000 1"},
      {SpeechEncoding::kWav, "pcm_s16le 24000 1"},
  };
  for (const auto& [encoding, told] : rows) {
    const std::string bytes = synthesise(request_for(kSentences, encoding));
    EXPECT_EQ(testing::probed(spawner_, bytes), told);
    EXPECT_NEAR(testing::seconds_in(spawner_, bytes), seconds, 0.3) << told;
  }
}

TEST_F(SpeakerTest, AudioIsDeliveredWhileItIsGenerated) {
  for (const auto encoding :
       {SpeechEncoding::kPcm, SpeechEncoding::kMp3, SpeechEncoding::kOpus, SpeechEncoding::kAac}) {
    Talked talked;
    ASSERT_TRUE(speaker_->speak(request_for(kSentences, encoding), talked.on_audio(), talked.on_end()));
    ASSERT_EQ(talked.wait_end().kind, EngineResult::Kind::kDone);
    EXPECT_GT(talked.chunks, 5) << schemas::name(encoding);
  }
}

TEST_F(SpeakerTest, SpeedChangesTheLengthOfTheSpeech) {
  auto request = request_for(kSentences);
  const auto plain = static_cast<double>(synthesise(request).size());
  request.speed = 2;
  EXPECT_NEAR(static_cast<double>(synthesise(request).size()) / plain, 0.5, 0.1);
  request.speed = 0.5;
  EXPECT_NEAR(static_cast<double>(synthesise(request).size()) / plain, 2, 0.2);
  request.speed = 1;
  EXPECT_NEAR(static_cast<double>(synthesise(request).size()) / plain, 1, 0.05)
      << "the previous speed has no effect on the next request";
}

TEST_F(SpeakerTest, EveryVoiceIsAnother) {
  std::set<std::size_t> lengths;
  for (const std::string voice : {"slt", "rms", "awb", "kal16"}) {
    auto request = request_for(kSentences);
    request.voice = voice;
    lengths.insert(synthesise(request).size());
  }
  EXPECT_EQ(lengths.size(), 4U);
}

TEST_F(SpeakerTest, TextThatCannotBeSpokenIsRefusedBeforeAnySound) {
  for (const std::string text : {"\u65e5\u672c\u8a9e", "...", "\n"}) {
    Talked talked;
    ASSERT_TRUE(speaker_->speak(request_for(text, SpeechEncoding::kWav), talked.on_audio(), talked.on_end()));
    const EngineResult end = talked.wait_end();
    ASSERT_EQ(end.kind, EngineResult::Kind::kFailed);
    EXPECT_EQ(end.error->code, Code::kInvalidField);
    EXPECT_TRUE(talked.bytes.empty());
  }
  auto request = request_for("Hello.");
  request.voice = "nobody";
  Talked talked;
  const auto ticket = speaker_->speak(request, talked.on_audio(), talked.on_end());
  ASSERT_FALSE(ticket);
  EXPECT_EQ(ticket.error().code, Code::kInvalidField);
}

TEST_F(SpeakerTest, AListenerMayEndItEarly) {
  std::string text;
  while (text.size() < 3'900) text += kSentences + " ";
  auto request = request_for(text);
  request.speed = 0.25;
  Talked talked;
  auto ticket = speaker_->speak(request, talked.on_audio(), talked.on_end());
  ASSERT_TRUE(ticket);
  ASSERT_TRUE(talked.wait([&] { return !talked.bytes.empty(); }));
  ticket->cancel();
  EXPECT_EQ(talked.wait_end().kind, EngineResult::Kind::kCancelled);
  EXPECT_FALSE(synthesise(request_for("Hello.")).empty());
}

TEST_F(SpeakerTest, AWarmChildIsThereBeforeTheFirstCallAndStays) {
  auto options = testing::engine_options();
  options.children = 1;
  options.warm_children = 1;
  options.idle_after = std::chrono::milliseconds(1);
  make(options);
  ASSERT_TRUE(
      support::wait_until([this] { return pool_->counts().children_running == 1; }, testing::kCallTimeLimit));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(synthesise(request_for("Hello.")).empty());
  EXPECT_EQ(pool_->counts().children_started, 1U);
}

}  // namespace
}  // namespace millrace::engines
