#include "ai/inference/media/media.h"

#include <gtest/gtest.h>

#include "ai/inference/routing/breaker.h"
#include "tests/support/answer.h"
#include "tests/unit/inference/chat_fixture.h"
#include "tests/unit/inference/scripted_upstream.h"

namespace millrace::inference {
namespace {

using base::Code;
using schemas::EmbeddingRequest;
using schemas::ImageRequest;
using testing::ChatFixture;
using testing::row;

EmbeddingRequest texts(const std::string& model, std::vector<std::string> inputs) {
  EmbeddingRequest request;
  request.model = model;
  request.texts = std::move(inputs);
  request.input_tokens = static_cast<std::int64_t>(request.texts.size());
  return request;
}

ImageRequest picture(const std::string& model) {
  ImageRequest request;
  request.model = model;
  request.prompt = "a mill";
  return request;
}

// A row whose address has no listener.
ModelRow dead(const std::string& name) {
  ModelRow made = row(name, "openai");
  made.target.base_url = "http://127.0.0.1:1/v1";
  return made;
}

class Drawn final : public ImageSink {
 public:
  void on_image(const ChatHead& head, schemas::ImageEvent&& event) override {
    model = head.model;
    events.push_back(std::move(event));
  }
  void on_end(base::Result<ImageResult> end) override { take(std::move(end)); }

  std::string model;
  std::vector<schemas::ImageEvent> events;
  support::Answer<ImageResult> answer;

 private:
  std::function<void(base::Result<ImageResult>)> take = answer.take();
};

struct MediaFixture : ChatFixture {
  using ChatFixture::ChatFixture;
  ~MediaFixture() { pool.close(); }
  base::Result<EmbeddingResult> embed(EmbeddingRequest request) {
    support::Answer<EmbeddingResult> answer;
    std::shared_ptr<ChatRun> run;
    on_loop([&] { run = media.embed(std::move(request), answer.take()); });
    return answer.wait();
  }
  base::Pool pool{base::Pool::Options{}};
  MediaClient media{chat, pool};
};

std::string refused(const std::optional<schemas::Refusal>& refusal) {
  if (!refusal) return "";
  return refusal->problems.empty() ? std::string(base::name(refusal->error.code))
                                   : refusal->problems.front().loc.back();
}

TEST(MediaClient, EveryInputHasAVectorAndTheModelIsNamed) {
  MediaFixture dependencies(testing::mock_settings());
  const auto end = dependencies.embed(texts("mock/embedding", {"a", "b", "c", "d", "e", "f"}));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->reply.vectors.size(), 6u);
  EXPECT_EQ(end->head.model, "mock/embedding");
  EXPECT_EQ(end->head.attempts, 1);
  EXPECT_EQ(end->reply.model, "mock/embedding");
  EXPECT_FALSE(end->reply.id.empty());
  EXPECT_GT(end->reply.total_tokens, 0);
}

TEST(MediaClient, UnsupportedParametersAreReportedBeforeAnythingIsSent) {
  ModelSettings settings = testing::mock_settings();
  settings.models = {row("a", "openai"), row("g", "gemini"), row("c", "anthropic")};
  settings.models[0].target.model = "text-embedding-ada-002";
  MediaFixture dependencies(settings);
  EmbeddingRequest sized = texts("a", {"x"}), tokens = texts("g", {});
  sized.dimensions = 4;
  tokens.tokens = {{1}};
  EXPECT_EQ(refused(dependencies.media.check(sized)), "dimensions");
  EXPECT_EQ(refused(dependencies.media.check(tokens)), "input");
  EXPECT_EQ(refused(dependencies.media.check(texts("c", {"x"}))), "bad_request");
  EXPECT_EQ(refused(dependencies.media.check(texts("mock/chat", {"x"}))), "bad_request");
  EXPECT_EQ(refused(dependencies.media.check(texts("nobody", {"x"}))), "model_not_found");
  EXPECT_EQ(refused(dependencies.media.check(picture("c"))), "bad_request");
  EXPECT_EQ(refused(dependencies.media.check(picture("g"))), "");
  EXPECT_EQ(refused(dependencies.media.check(texts("mock/embedding", {"x"}))), "");
}

TEST(MediaClient, ATargetThatFailsIsTriedAgainAndThenItsFallback) {
  ModelSettings settings = testing::mock_settings();
  settings.models = {dead("first")};
  settings.models[0].fallbacks = {"mock/chat", "mock/embedding"};
  MediaFixture dependencies(settings);
  const auto end = dependencies.embed(texts("first", {"a"}));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->head.model, "mock/embedding");
  EXPECT_EQ(end->head.attempts, ChatOptions().tries_max + 1);
}

ModelRow able(const std::string& name, const testing::ScriptedUpstream& upstream) {
  ModelRow made = row(name, "openai");
  made.target.base_url = upstream.base_url();
  made.abilities = {Ability::kChat, Ability::kEmbeddings};
  return made;
}

TEST(MediaClient, ATargetThatFailsAtOneThingGoesOnWithTheOthers) {
  const std::string failure = testing::http(500, R"({"error":{"message":"broken"}})");
  std::vector<std::string> script(Breaker::kFailures, failure);
  script.push_back(testing::completion("hi"));
  testing::ScriptedUpstream upstream(std::move(script));
  ModelSettings settings;
  settings.models = {able("m", upstream)};
  MediaFixture dependencies(settings);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(dependencies.embed(texts("m", {"a"})).error().code, Code::kUpstream);
  EXPECT_EQ(dependencies.embed(texts("m", {"a"})).error().code, Code::kOverloaded)
      << "the open breaker refuses the request";
  EXPECT_EQ(dependencies.chat.health().at(0).breaker, BreakerState::kOpen);
  EXPECT_EQ(dependencies.chat.health().at(0).work, Work::kEmbeddings)
      << "the work with the worst state is reported";
  testing::Received received;
  const auto end = dependencies.answer(testing::request("m"), received);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->reply.choices.at(0).content, "hi");
}

TEST(MediaClient, TheModelOfEmbeddingsIsTheGatewaysName) {
  testing::ScriptedUpstream upstream({testing::http(
      200, R"({"object":"list","model":"theirs","data":[{"index":0,"embedding":[0.5]}],"usage":{}})")});
  ModelSettings settings;
  settings.models = {able("m", upstream)};
  MediaFixture dependencies(settings);
  const auto end = dependencies.embed(texts("m", {"a"}));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->reply.model, "m");
}

// `vectors`: JSON lists of numbers.
std::string vectors_reply(const std::vector<std::string>& vectors) {
  std::string data;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    data += i == 0 ? "" : ",";
    data += R"({"index":)" + std::to_string(i) + R"(,"embedding":)" + vectors[i] + "}";
  }
  return testing::http(200, R"({"object":"list","model":"m","data":[)" + data + R"(],"usage":{}})");
}

TEST(MediaClient, VectorsOfAnotherLengthThanRequestedAreAnErrorThatKeepsTheModelInUse) {
  std::vector<std::string> script(Breaker::kFailures + 1, vectors_reply({"[0.5,0.5,0.5]"}));
  script.push_back(vectors_reply({"[0.5,0.5]"}));
  testing::ScriptedUpstream upstream(std::move(script));
  ModelSettings settings;
  settings.models = {able("m", upstream)};
  MediaFixture dependencies(settings);
  EmbeddingRequest request = texts("m", {"a"});
  request.dimensions = 2;
  for (int i = 0; i <= Breaker::kFailures; ++i) {
    const auto end = dependencies.embed(request);
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, Code::kUpstream);
    EXPECT_EQ(end.error().param, "dimensions");
  }
  const auto end = dependencies.embed(request);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->reply.vectors.at(0).size(), 2U);
}

TEST(MediaClient, VectorsOfDifferentLengthsAreAnErrorAndTheFallbackAnswers) {
  testing::ScriptedUpstream upstream({vectors_reply({"[0.5,0.5,0.5]", "[0.5,0.5]"})});
  ModelSettings settings = testing::mock_settings();
  settings.models = {able("m", upstream)};
  settings.models[0].fallbacks = {"mock/embedding"};
  MediaFixture dependencies(settings);
  const auto end = dependencies.embed(texts("m", {"a", "b"}));
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->head.model, "mock/embedding");
  EXPECT_EQ(end->head.attempts, 2);
}

TEST(MediaClient, FewerImagesThanRequestedAreReportedAndPaid) {
  testing::ScriptedUpstream upstream({testing::http(200, R"({"created":1,"data":[{"b64_json":"QUJD"}]})"),
                                      testing::http(200, R"({"created":1,"data":[{"b64_json":"QUJD"}]})")});
  ModelSettings settings;
  settings.models = {able("m", upstream)};
  settings.models[0].abilities = {Ability::kImages};
  settings.models[0].price = Price{.image = 2};
  MediaFixture dependencies(settings);
  for (const int n : {3, 1}) {
    ImageRequest request = picture("m");
    request.n = n;
    Drawn drawn;
    dependencies.on_loop([&] { dependencies.media.draw(request, drawn); });
    const auto end = drawn.answer.wait();
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->reply.images.size(), 1U);
    EXPECT_EQ(schemas::dropped_text(end->head.dropped), n == 3 ? "n;clamped" : "");
    EXPECT_EQ(end->cost_usd, 2);
  }
}

TEST(MediaClient, ThePriceOfItsTokensIsReported) {
  ModelSettings settings;
  settings.models = {row("m")};
  settings.models[0].price = Price{.prompt = 2'000'000};
  MediaFixture dependencies(settings);
  EXPECT_EQ(dependencies.embed(texts("m", {"a", "b"}))->cost_usd, 4);
  settings.models[0].price.reset();
  dependencies.chat.reload(testing::registry(settings));
  EXPECT_FALSE(dependencies.embed(texts("m", {"a"}))->cost_usd);
}

TEST(MediaClient, TheLimitsOfAModelHold) {
  ModelSettings settings;
  settings.models = {row("m")};
  settings.models[0].limits.requests_per_minute = 1;
  MediaFixture dependencies(settings);
  EXPECT_TRUE(dependencies.embed(texts("m", {"a"})));
  const auto second = dependencies.embed(texts("m", {"a"}));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kRateLimited);
}

TEST(MediaClient, NothingIsDeliveredAfterACancel) {
  MediaFixture dependencies(testing::mock_settings());
  ImageRequest request = picture("mock/image");
  request.stream = true;
  Drawn cancelled, other;
  dependencies.on_loop([&] { dependencies.media.draw(request, cancelled)->cancel(); });
  dependencies.on_loop([&] { dependencies.media.draw(request, other); });
  ASSERT_TRUE(other.answer.wait());
  EXPECT_TRUE(cancelled.events.empty());
  EXPECT_EQ(other.events.size(), 1u);
  EXPECT_EQ(other.model, "mock/image");
}

TEST(MediaClient, ImagesComeInAsManyAsWereWanted) {
  MediaFixture dependencies(testing::mock_settings());
  ImageRequest request = picture("mock/image");
  request.n = 3;
  Drawn drawn;
  dependencies.on_loop([&] { dependencies.media.draw(request, drawn); });
  const auto end = drawn.answer.wait();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->reply.images.size(), 3u);
  EXPECT_TRUE(end->by_url);
  EXPECT_TRUE(drawn.events.empty());
}

}  // namespace
}  // namespace millrace::inference
