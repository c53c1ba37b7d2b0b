#include <deque>
#include <thread>

#include <gtest/gtest.h>

#include "ai/inference/media/media.h"
#include "tests/support/answer.h"
#include "tests/support/wait_until.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

namespace millrace::inference {
namespace {

using base::Code;
using schemas::SpeechRequest;
using testing::ChatFixture;
using testing::ScriptedUpstream;

SpeechRequest saying(const std::string& model) {
  SpeechRequest request;
  request.model = model;
  request.input = "The mill turns.";
  request.voice = "alloy";
  return request;
}

std::string sound(const std::string& bytes, const std::string& type = "audio/mpeg") {
  return "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nContent-Length: " + std::to_string(bytes.size()) +
         "\r\nConnection: close\r\n\r\n" + bytes;
}
// A response that ends before its Content-Length.
std::string cut_sound(const std::string& bytes) {
  return "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n" +
         bytes;
}

// Receives the audio while `ready` is true.
class SpeechReceiver final : public SpeechSink {
 public:
  void on_audio(const ChatHead& head, std::string bytes) override {
    note([&] {
      heads.push_back(head);
      audio += bytes;
    });
  }
  bool is_ready() override {
    const std::lock_guard lock(mutex);
    return ready;
  }
  void on_end(base::Result<SpeechResult> result) override {
    note([&] { end.emplace(std::move(result)); });
  }
  bool ended() {
    std::unique_lock lock(mutex);
    return support::wait_until(changed, lock, [&] { return end.has_value(); });
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool ready = true;
  std::vector<ChatHead> heads;
  std::string audio;
  std::optional<base::Result<SpeechResult>> end;

 private:
  template <class Change>
  void note(Change&& change) {
    const std::lock_guard lock(mutex);
    change();
    changed.notify_all();
  }
};

// A fake engine that the test controls.
struct PlayedEngine {
  LocalSpeech local() {
    return {[this](SpeechRequest, auto on_audio, auto done) -> base::Result<LocalSpeech::Stop> {
              if (full) return base::error(Code::kOverloaded, "full");
              audio = std::move(on_audio);
              finish = std::move(done);
              return LocalSpeech::Stop([this] {
                stopped = true;
                if (on_stop) on_stop();
              });
            },
            ""};
  }
  bool full = false, stopped = false;
  std::function<void(std::string)> audio;
  std::function<void(base::Status)> finish;
  std::function<void()> on_stop;
};

struct SpeechFixture : ChatFixture {
  explicit SpeechFixture(ModelSettings settings = {}, LocalSpeech local = {})
      : ChatFixture(std::move(settings), quick(), {}, std::move(local)) {}
  ~SpeechFixture() { pool.close(); }

  std::shared_ptr<ChatRun> speak(SpeechRequest request, SpeechReceiver& ear) {
    std::shared_ptr<ChatRun> run;
    on_loop([&] { run = media.speak(std::move(request), ear); });
    on_loop([] {});  // the tasks that it posts are queued now
    on_loop([] {});  // the call has started
    return run;
  }
  base::Pool pool{base::Pool::Options{}};
  MediaClient media{chat, pool};
};

ModelSettings voiced_by(std::vector<const ScriptedUpstream*> upstreams, const std::string& name = "voice") {
  ModelSettings settings;
  for (const ScriptedUpstream* each : upstreams) {
    const std::string own = settings.models.empty() ? name : "other";
    settings.models.push_back(testing::row(own, "openai"));
    settings.models.back().target.base_url = each->base_url();
  }
  if (upstreams.size() > 1) settings.models.front().fallbacks = {"other"};
  return settings;
}

std::string speech_refused(const std::optional<schemas::Refusal>& refusal) {
  if (!refusal) return "";
  return refusal->problems.empty() ? std::string(base::name(refusal->error.code))
                                   : refusal->problems.front().loc.back();
}

TEST(ProvidersSpeech, ItsBytesArePassedOnAfterItsHead) {
  ScriptedUpstream upstream({sound("ID3bytes")});
  SpeechFixture dependencies(voiced_by({&upstream}));
  SpeechReceiver ear;
  dependencies.speak(saying("voice"), ear);
  ASSERT_TRUE(ear.ended());
  ASSERT_TRUE(*ear.end) << ear.end->error().message;
  EXPECT_EQ(ear.audio, "ID3bytes");
  EXPECT_EQ(ear.heads.front().model, "voice");
  EXPECT_EQ((*ear.end)->head.attempts, 1);
  EXPECT_GT((*ear.end)->input_tokens, 0);
}

TEST(ProvidersSpeech, AFailureBeforeTheFirstByteIsTriedAgainAndThenElsewhere) {
  ScriptedUpstream upstream({testing::http(503, "{}")}), other({testing::http(500, "{}"), sound("bytes")});
  SpeechFixture dependencies(voiced_by({&upstream, &other}));
  SpeechReceiver ear;
  dependencies.speak(saying("voice"), ear);
  ASSERT_TRUE(ear.ended());
  ASSERT_TRUE(*ear.end) << ear.end->error().message;
  EXPECT_EQ(ear.audio, "bytes");
  EXPECT_EQ((*ear.end)->head.model, "other");
  EXPECT_EQ((*ear.end)->head.attempts, ChatOptions().tries_max + 2);
}

TEST(ProvidersSpeech, AFailureAfterTheFirstByteIsTheEnd) {
  ScriptedUpstream upstream({cut_sound("half"), sound("whole")});
  SpeechFixture dependencies(voiced_by({&upstream}));
  SpeechReceiver ear;
  dependencies.speak(saying("voice"), ear);
  ASSERT_TRUE(ear.ended());
  EXPECT_EQ(ear.end->error().code, Code::kUpstream);
  EXPECT_EQ(ear.audio, "half");
  EXPECT_EQ(upstream.bodies().size(), 1u);
}

TEST(ProvidersSpeech, AReplyOfTextOrWithoutBytesIsAnError) {
  for (const std::string& reply :
       {sound("{}", "application/json"), sound("<html>", "text/html"), sound("")}) {
    ScriptedUpstream upstream({reply});
    SpeechFixture dependencies(voiced_by({&upstream}));
    SpeechReceiver ear;
    dependencies.speak(saying("voice"), ear);
    ASSERT_TRUE(ear.ended());
    EXPECT_EQ(ear.end->error().code, Code::kUpstream);
    EXPECT_EQ(ear.audio, "");
  }
}

TEST(ProvidersSpeech, ACancelEndsTheUpstreamCall) {
  ScriptedUpstream upstream({""});
  SpeechFixture dependencies(voiced_by({&upstream}));
  SpeechReceiver ear;
  const auto run = dependencies.speak(saying("voice"), ear);
  ASSERT_TRUE(upstream.wait_for_requests(1));
  dependencies.on_loop([&] { run->cancel(); });
  EXPECT_TRUE(upstream.wait_for_caller_gone());
  EXPECT_FALSE(ear.end);
}

TEST(SpeechModels, ANameOfOpenAisIsTheLocalModelWhileNoProviderHasIt) {
  PlayedEngine engine;
  SpeechFixture alone({}, engine.local());
  for (const char* name : {"millrace/flite", "tts-1", "tts-1-hd", "gpt-4o-mini-tts"})
    EXPECT_EQ(speech_refused(alone.media.check(saying(name))), "") << name;
  ScriptedUpstream upstream({sound("theirs")});
  SpeechFixture dependencies(voiced_by({&upstream}, "tts-1"), engine.local());
  SpeechReceiver ear;
  dependencies.speak(saying("tts-1"), ear);
  ASSERT_TRUE(ear.ended());
  EXPECT_EQ(ear.audio, "theirs");
}

TEST(SpeechModels, TheProvidersOwnModelGoesBeforeTheLocalOneOfThatName) {
  PlayedEngine engine;
  ModelSettings settings;
  settings.open_providers = {testing::open_provider("openai")};
  SpeechFixture dependencies(settings, engine.local());
  SpeechRequest request = saying("tts-1");
  request.voice = "a voice of theirs";
  EXPECT_EQ(speech_refused(dependencies.media.check(request)), "");
}

TEST(SpeechModels, UnsupportedRequestsFailBeforeAnySpeech) {
  PlayedEngine engine;
  ModelSettings settings;
  settings.models = {testing::row("c", "anthropic"), testing::row("d", "openai")};
  settings.models[1].abilities = {Ability::kChat};
  SpeechFixture dependencies(settings, engine.local());
  SpeechRequest voiceless = saying("tts-1"), strict = saying("tts-1");
  voiceless.voice = "nobody";
  strict.instructions = "softly";
  EXPECT_EQ(speech_refused(dependencies.media.check(strict)), "");
  strict.strict = true;
  EXPECT_EQ(speech_refused(dependencies.media.check(strict)), "bad_request");
  EXPECT_EQ(speech_refused(dependencies.media.check(voiceless)), "voice");
  EXPECT_EQ(speech_refused(dependencies.media.check(saying("c"))), "bad_request");
  EXPECT_EQ(speech_refused(dependencies.media.check(saying("d"))), "bad_request");
  const auto unknown = dependencies.media.check(saying("millrace/flit"));
  EXPECT_EQ(speech_refused(unknown), "model_not_found");
  EXPECT_NE(unknown->error.message.find("millrace/flite"), std::string::npos);
}

TEST(SpeechModels, AProcessWithoutAnEngineNamesTheReason) {
  SpeechFixture dependencies({}, {.speak = {}, .off = "no engine here"});
  const auto refusal = dependencies.media.check(saying("tts-1"));
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->error.code, Code::kOverloaded);
  EXPECT_EQ(refusal->error.message, "no engine here");
}

TEST(LocalSpeechRun, TheBytesComeInTheirOrderAndThenTheEnd) {
  PlayedEngine engine;
  SpeechFixture dependencies({}, engine.local());
  SpeechRequest request = saying("tts-1");
  request.instructions = "softly";
  SpeechReceiver ear;
  dependencies.speak(request, ear);
  std::jthread([&] {
    engine.audio("one ");
    engine.audio("two");
    engine.finish({});
  }).join();
  ASSERT_TRUE(ear.ended());
  ASSERT_TRUE(*ear.end);
  EXPECT_EQ(ear.audio, "one two");
  EXPECT_EQ(ear.heads.front().model, schemas::kSpeechModel);
  EXPECT_EQ(schemas::dropped_text(ear.heads.front().dropped), "instructions");
}

TEST(LocalSpeechRun, WhatAClientDoesNotTakeWaitsUntilItDoes) {
  PlayedEngine engine;
  SpeechFixture dependencies({}, engine.local());
  SpeechReceiver ear;
  ear.ready = false;
  const auto run = dependencies.speak(saying("tts-1"), ear);
  engine.audio("one ");
  engine.audio("two");
  engine.finish({});
  dependencies.on_loop([] {});
  EXPECT_EQ(ear.audio, "");
  EXPECT_FALSE(ear.end);
  ear.ready = true;
  dependencies.on_loop([&] { run->resume(); });
  EXPECT_EQ(ear.audio, "one two");
  EXPECT_TRUE(ear.end);
}

TEST(LocalSpeechRun, MoreThanMayWaitIsCutOff) {
  PlayedEngine engine;
  SpeechFixture dependencies({}, engine.local());
  SpeechReceiver ear;
  ear.ready = false;
  dependencies.speak(saying("tts-1"), ear);
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  for (std::size_t sent = 0; sent <= kSpeechBufferMax; sent += kPiece) engine.audio(std::string(kPiece, 'a'));
  ASSERT_TRUE(ear.ended());
  EXPECT_EQ(ear.end->error().code, Code::kOverloaded);
  EXPECT_TRUE(engine.stopped);
  engine.finish(base::error(Code::kJobCancelled, "cancelled"));
  SpeechReceiver next;  // the buffered bytes are released
  dependencies.speak(saying("tts-1"), next);
  engine.audio(std::string(kPiece, 'a'));
  engine.finish({});
  ASSERT_TRUE(next.ended());
  EXPECT_TRUE(*next.end);
}

TEST(LocalSpeechRun, ACancelStopsTheEngineAndNothingIsDelivered) {
  PlayedEngine engine;
  SpeechFixture dependencies({}, engine.local());
  SpeechReceiver ear;
  const auto run = dependencies.speak(saying("tts-1"), ear);
  dependencies.on_loop([&] { run->cancel(); });
  EXPECT_TRUE(engine.stopped);
  engine.audio("late");
  engine.finish(base::error(Code::kJobCancelled, "cancelled"));
  dependencies.on_loop([] {});
  EXPECT_EQ(ear.audio, "");
  EXPECT_FALSE(ear.end);
}

TEST(LocalSpeechRun, AnEngineThatIsFullOrFailsIsReported) {
  PlayedEngine engine;
  SpeechFixture dependencies({}, engine.local());
  SpeechReceiver failed, full;
  dependencies.speak(saying("tts-1"), failed);
  engine.finish(base::error(Code::kInternal, "broken"));
  ASSERT_TRUE(failed.ended());
  EXPECT_EQ(failed.end->error().message, "broken");
  engine.full = true;
  dependencies.speak(saying("tts-1"), full);
  ASSERT_TRUE(full.ended());
  EXPECT_EQ(full.end->error().code, Code::kOverloaded);
}

TEST(LocalSpeechRun, TheEndOfAllWaitsForTheEngine) {
  PlayedEngine engine;
  SpeechFixture dependencies({}, engine.local());
  SpeechReceiver ear;
  dependencies.speak(saying("tts-1"), ear);
  engine.on_stop = [&] { engine.finish(base::error(Code::kJobCancelled, "cancelled")); };
  EXPECT_TRUE(dependencies.chat.stop());
  EXPECT_FALSE(ear.end);
}

ModelSettings spoken_for(double dollars) {
  ModelSettings settings;
  settings.local_prices["millrace/flite"] = Price{.character = dollars};
  return settings;
}

TEST(LocalSpeechCost, AnAnswerCostsItsCharactersIfTheyHaveAPrice) {
  PlayedEngine engine;
  SpeechReceiver ear;
  SpeechFixture dependencies(spoken_for(0.001), engine.local());
  const auto run = dependencies.speak(saying("millrace/flite"), ear);
  engine.finish({});
  ASSERT_TRUE(ear.ended());
  ASSERT_TRUE(*ear.end);
  EXPECT_EQ(15'000'000, (*ear.end)->charged.cost);
  EXPECT_DOUBLE_EQ(0.015, (*ear.end)->cost_usd.value());
  EXPECT_EQ(15'000'000, dependencies.media.max_cost(saying("millrace/flite")).max);
}

TEST(LocalSpeechCost, ACallThatIsRefusedOrFailsCostsNothing) {
  for (const bool goes : {false, true}) {
    PlayedEngine engine;
    SpeechReceiver ear;
    SpeechFixture dependencies(spoken_for(0.001), engine.local());
    std::vector<CallCost> costs;
    const MediaClient media(dependencies.chat, dependencies.pool, "t",
                            [&](const CallCost& cost, std::function<void(bool)> go) {
                              costs.push_back(cost);
                              go(goes);
                            });
    std::shared_ptr<ChatRun> run;
    dependencies.on_loop([&] { run = media.speak(saying("millrace/flite"), ear); });
    const auto is_begun = [&] {
      bool begun = false;
      dependencies.on_loop([&] { begun = static_cast<bool>(engine.audio); });
      return begun;
    };
    if (goes) {
      ASSERT_TRUE(support::wait_until(is_begun));
      engine.finish(base::error(Code::kInternal, "broken"));
    }
    ASSERT_TRUE(ear.ended());
    EXPECT_FALSE(*ear.end);
    ASSERT_EQ(1u, costs.size());
    EXPECT_EQ(15'000'000, costs[0].max);
    EXPECT_EQ(goes, static_cast<bool>(engine.audio));
    dependencies.on_loop([&] { EXPECT_EQ(0, run->charged().cost); });
  }
}

TEST(LocalSpeechCost, ACallThatIsCancelledIsChargedInFull) {
  PlayedEngine engine;
  SpeechReceiver ear;
  SpeechFixture dependencies(spoken_for(0.001), engine.local());
  const auto run = dependencies.speak(saying("millrace/flite"), ear);
  dependencies.on_loop([&] { run->cancel(); });
  engine.finish(base::error(Code::kJobCancelled, "stopped"));
  dependencies.on_loop([] {});
  dependencies.on_loop([&] { EXPECT_EQ(15'000'000, run->charged().cost); });
}

}  // namespace
}  // namespace millrace::inference
