#include <gtest/gtest.h>

#include "ai/inference/media/media.h"
#include "tests/support/answer.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

// What the calls of media requests are charged with, against upstreams over real sockets.
namespace millrace::inference {
namespace {

using schemas::NanoUsd;
using testing::ChatFixture;
using testing::http;
using testing::models;
using testing::ScriptedUpstream;

ModelRow media_row(const std::string& name, const ScriptedUpstream& upstream, Price price,
                   std::vector<Ability> abilities = {}) {
  ModelRow row = testing::upstream_row(name, upstream);
  row.price = price;
  row.abilities = std::move(abilities);
  return row;
}

std::string embedding(const std::string& usage) {
  return http(
      200, R"({"object":"list","model":"m","data":[{"index":0,"embedding":[0.5]}],"usage":)" + usage + "}");
}

schemas::EmbeddingRequest text(const std::string& input) {
  schemas::EmbeddingRequest request;
  request.model = "a/m";
  request.texts = {input};
  request.input_tokens = 1;
  return request;
}

struct Costs : ChatFixture {
  explicit Costs(ModelSettings settings) : ChatFixture(std::move(settings)) {}
  ~Costs() { pool.close(); }

  MediaClient media() {
    return {chat, pool, "t", [this](const CallCost& cost, std::function<void(bool)> go) {
              before_sending.push_back(cost);
              go(goes);
            }};
  }
  // What the run of `begin(client, done)` is charged with at its end.
  template <class End, class Begin>
  NanoUsd charged(Begin&& begin) {
    support::Answer<End> answer;
    std::shared_ptr<ChatRun> run;
    on_loop([&] { run = begin(media(), answer.take()); });
    end = answer.wait().has_value();
    NanoUsd sum = 0;
    on_loop([&] { sum = run->charged().cost; });
    return sum;
  }
  NanoUsd embedded(const schemas::EmbeddingRequest& request) {
    return charged<EmbeddingResult>(
        [&](const MediaClient& client, auto done) { return client.embed(request, std::move(done)); });
  }
  NanoUsd read(schemas::PageList pages) {
    providers::OcrCall call;
    call.media_type = "application/pdf";
    call.bytes = [] { return std::string("%PDF"); };
    call.pages = std::move(pages);
    return charged<OcrResult>(
        [&](const MediaClient& client, auto done) { return client.read("a/m", {}, call, std::move(done)); });
  }
  NanoUsd transcribed(double seconds_max) {
    providers::TranscriptionCall call;
    call.file_name = "a.wav";
    call.append_bytes = [](std::string& out) {
      out += "RIFF";
      return base::Status();
    };
    call.seconds_max = seconds_max;
    return charged<TranscriptionResult>([&](const MediaClient& client, auto done) {
      return client.transcribe("a/m", {}, call, std::move(done));
    });
  }

  base::Pool pool{base::Pool::Options{}};
  std::vector<CallCost> before_sending;  // loop thread, or after the end
  bool goes = true, end = false;
};

TEST(MediaCost, EmbeddingsAreChargedWithTheirTokens) {
  ScriptedUpstream upstream({embedding(R"({"prompt_tokens":7,"total_tokens":7})")});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
  EXPECT_EQ(7'000, costs.embedded(text("hello")));
  ASSERT_EQ(1u, costs.before_sending.size());
  EXPECT_EQ("a/m", costs.before_sending[0].model);
  EXPECT_GE(costs.before_sending[0].max, 5'000);
  EXPECT_EQ(costs.before_sending[0].max, costs.before_sending[0].run_max);
  EXPECT_EQ(costs.media().max_cost(text("hello")).max, costs.before_sending[0].max);
}

TEST(MediaCost, EmbeddingsThatTheClientLeavesHaveTheirEstimatedTokens) {
  ScriptedUpstream upstream({""});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
  std::shared_ptr<ChatRun> run;
  costs.on_loop(
      [&] { run = costs.media().embed(text("hello"), [](const base::Result<EmbeddingResult>&) {}); });
  ASSERT_TRUE(upstream.wait_for_requests(1));
  schemas::Charge at_once;
  costs.on_loop([&] {
    run->cancel();
    at_once = run->charged();
  });
  EXPECT_TRUE(costs.chat.stop());
  EXPECT_EQ(text("hello").input_tokens, at_once.tokens);
  EXPECT_EQ(at_once.tokens, run->charged().tokens);
  EXPECT_NE(std::string::npos, costs.metrics.scrape().find("millrace_tokens_total"));
}

TEST(MediaCost, EmbeddingsThatARefusalAnswersHaveNoTokens) {
  ScriptedUpstream upstream({http(400, R"({"error":{"message":"no"}})")});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
  support::Answer<EmbeddingResult> answer;
  std::shared_ptr<ChatRun> run;
  costs.on_loop([&] { run = costs.media().embed(text("hello"), answer.take()); });
  EXPECT_FALSE(answer.wait());
  costs.on_loop([&] { EXPECT_EQ(0, run->charged().tokens); });
}

TEST(MediaCost, ARunThatWasCancelledSendsNothingAfterALatePermission) {
  ScriptedUpstream upstream({embedding("{}")});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
  support::Answer<bool> called;
  std::function<void(bool)> permit;
  std::shared_ptr<ChatRun> run;
  costs.on_loop([&] {
    const MediaClient client(costs.chat, costs.pool, "t",
                             [&, call = called.take()](const CallCost&, std::function<void(bool)> go) {
                               permit = std::move(go);
                               call(true);
                             });
    run = client.embed(text("hello"), [](const base::Result<EmbeddingResult>&) {});
  });
  ASSERT_TRUE(called.wait());
  costs.on_loop([&] {
    EXPECT_EQ(0, run->charged().cost);
    run->cancel();
    permit(true);
    EXPECT_EQ(0, run->charged().cost);
  });
  EXPECT_TRUE(costs.chat.stop());
  EXPECT_TRUE(upstream.bodies().empty());
}

TEST(MediaCost, AReplyWithoutUsageIsChargedInFull) {
  ScriptedUpstream upstream({embedding("{}")});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
  const NanoUsd sum = costs.embedded(text("hello"));
  EXPECT_TRUE(costs.end);
  EXPECT_EQ(costs.before_sending.at(0).max, sum);
}

TEST(MediaCost, AnHttpErrorCostsNothingAndALostConnectionEverything) {
  ScriptedUpstream upstream({http(500, "{}"), "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{",
                             embedding(R"({"prompt_tokens":7,"total_tokens":7})")});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
  const NanoUsd sum = costs.embedded(text("hello"));
  ASSERT_EQ(3u, costs.before_sending.size());
  const NanoUsd each = costs.before_sending[0].max.value();
  EXPECT_EQ(each, costs.before_sending[1].run_max);
  EXPECT_EQ(2 * each, costs.before_sending[2].run_max);
  EXPECT_EQ(each + 7'000, sum);
}

TEST(MediaCost, AReplyThatIsRejectedIsChargedWithTheUsageThatItReports) {
  const std::string two = R"({"data":[{"index":0,"embedding":[0.5,1]}],"usage":{"prompt_tokens":7}})";
  for (const std::string& reply : {two, std::string(R"({"usage":{"input_tokens":7,"total_tokens":7}})")}) {
    ScriptedUpstream upstream({http(200, reply)});
    Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
    schemas::EmbeddingRequest request = text("hello");
    request.dimensions = 3;
    const NanoUsd sum = costs.embedded(request);
    EXPECT_FALSE(costs.end);
    EXPECT_EQ(7'000 * static_cast<NanoUsd>(upstream.bodies().size()), sum) << reply;
    EXPECT_NE(std::string::npos, costs.metrics.scrape().find("millrace_tokens_total"));
  }
}

TEST(MediaCost, AReplyThatIsRejectedWithoutUsageIsChargedInFull) {
  ScriptedUpstream upstream({http(200, R"({"data":[],"usage":{}})")});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
  const NanoUsd sum = costs.embedded(text("hello"));
  EXPECT_EQ(*costs.before_sending.at(0).max * static_cast<NanoUsd>(costs.before_sending.size()), sum);
}

TEST(MediaCost, UnitsOfAFailedCallStayReserved) {
  ScriptedUpstream upstream({http(200, R"({"pages":3,"usage":{"prompt_tokens":7,"total_tokens":7}})")});
  Costs costs(models({media_row("a/m", upstream, {.page = 0.001}, {Ability::kOcr})}));
  const NanoUsd sum = costs.read({0, 4, 9});
  EXPECT_FALSE(costs.end);
  EXPECT_EQ(3'000'000 * static_cast<NanoUsd>(costs.before_sending.size()), sum);
}

TEST(MediaCost, ACallThatIsRefusedIsNotSentAndCostsNothing) {
  ScriptedUpstream upstream({embedding("{}")});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1})}));
  costs.goes = false;
  EXPECT_EQ(0, costs.embedded(text("hello")));
  EXPECT_FALSE(costs.end);
  EXPECT_TRUE(upstream.bodies().empty());
}

TEST(MediaCost, PagesAreChargedAsRequested) {
  ScriptedUpstream upstream({http(200, R"({"pages":[{"index":0,"markdown":"a"}]})")});
  Costs costs(models({media_row("a/m", upstream, {.page = 0.001}, {Ability::kOcr})}));
  EXPECT_EQ(3'000'000, costs.read({0, 4, 9}));
  EXPECT_EQ(3'000'000, costs.before_sending.at(0).max);
  EXPECT_EQ(schemas::kDocumentPagesMax * 1'000'000, costs.read({}));
}

TEST(MediaCost, ARecordingIsChargedBySecondsAndInFullIfItsLengthIsNotReported) {
  ScriptedUpstream upstream({http(200, R"({"text":"a","duration":9.2})"), http(200, R"({"text":"a"})")});
  Costs costs(models({media_row("a/m", upstream, {.audio_second = 0.001}, {Ability::kAudio})}));
  EXPECT_EQ(10'000'000, costs.transcribed(20));
  EXPECT_EQ(20'000'000, costs.before_sending.at(0).max);
  EXPECT_EQ(20'000'000, costs.transcribed(20));
}

TEST(MediaCost, ARecordingIsChargedByTokensIfTheModelIs) {
  ScriptedUpstream upstream({http(
      200,
      R"({"text":"a","usage":{"type":"tokens","input_tokens":14,"output_tokens":45,"total_tokens":59}})")});
  Costs costs(models({media_row("a/m", upstream, {.prompt = 1, .completion = 2}, {Ability::kAudio})}));
  EXPECT_EQ(14'000 + 90'000, costs.transcribed(20));
  EXPECT_GE(costs.before_sending.at(0).max, 20 * 50 * 3'000);
}

TEST(MediaCost, ImagesAreChargedByTheirNumber) {
  ScriptedUpstream upstream({http(200, "{}")});
  Costs costs(models({media_row("a/m", upstream, {.image = 0.04}, {Ability::kImages})}));
  schemas::ImageRequest request;
  request.model = "a/m";
  request.prompt = "a mill";
  request.n = 3;
  EXPECT_EQ(120'000'000, costs.media().max_cost(request).max);
}

TEST(MediaCost, SpeechIsChargedByItsCharacters) {
  ScriptedUpstream upstream({"HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 2\r\n\r\nab"});
  Costs costs(models({media_row("a/m", upstream, {.character = 0.001}, {Ability::kAudio})}));
  schemas::SpeechRequest request;
  request.model = "a/m";
  request.input = "grüß";
  EXPECT_EQ(4'000'000, costs.media().max_cost(request).max);
}

TEST(MediaCost, TheBoundNamesAModelWithoutAPrice) {
  ScriptedUpstream upstream({embedding("{}")});
  ModelRow priced = media_row("a/m", upstream, {.prompt = 1}), unpriced = priced;
  unpriced.target.name = "b/m";
  unpriced.price.reset();
  priced.fallbacks = {"b/m"};
  Costs costs(models({priced, unpriced}));
  EXPECT_EQ("b/m", costs.media().max_cost(text("hello")).unpriced);
}

}  // namespace
}  // namespace millrace::inference
