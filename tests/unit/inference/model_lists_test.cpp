#include "ai/inference/routing/model_lists.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/net/web_server.h"

namespace millrace::inference {
namespace {

using net::testing::WebServer;

constexpr const char* kList =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 34\r\nConnection: close\r\n\r\n"
    "{\"data\":[{\"id\":\"a\"},{\"id\":\"b/c\"}]}";
constexpr const char* kError = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

class Lists : public ::testing::Test {
 protected:
  static ModelSettings settings(const std::string& provider, const std::string& base_url) {
    ModelSettings out;
    providers::Target target;
    target.preset = providers::preset_named(provider);
    target.base_url = base_url;
    out.open_providers.push_back(std::move(target));
    return out;
  }
  void start(const ModelSettings& settings, ModelListOptions options = {}) {
    lists = std::make_unique<ModelLists>(ModelLists::Dependencies{loop, client, pool}, settings, options);
  }
  std::vector<std::string> fetch() {
    auto promise = std::make_shared<std::promise<ModelLists::List>>();
    auto list = promise->get_future();
    lists->fetch([promise](ModelLists::List fetched) { promise->set_value(std::move(fetched)); });
    std::vector<std::string> names;
    if (list.wait_for(std::chrono::seconds(20)) != std::future_status::ready) return {"no list"};
    const ModelLists::List fetched = list.get();
    for (const ModelLists::Listed& each : *fetched) names.push_back(each.name);
    return names;
  }

  net::Loop loop{"lists"};
  base::Pool pool{{}};
  net::HttpClient client{loop};
  std::unique_ptr<ModelLists> lists;
};
using Names = std::vector<std::string>;

TEST_F(Lists, WithoutOpenProvidersThereIsNothingToWaitFor) {
  start({});
  EXPECT_EQ(fetch(), Names());
}

TEST_F(Lists, AProvidersModelsAreKnownByItsNameAndRequestedOnce) {
  WebServer server(net::testing::Replies{{"/v1/models", kList}});
  start(settings("openai", server.url("/v1")));
  EXPECT_EQ(lists->known()->size(), 0u);
  EXPECT_EQ(fetch(), (Names{"openai/a", "openai/b/c"}));
  const std::size_t sent = server.sent_bytes();
  EXPECT_EQ(fetch(), (Names{"openai/a", "openai/b/c"}));
  EXPECT_EQ(lists->known()->size(), 2u);
  EXPECT_EQ(server.sent_bytes(), sent);
}

TEST_F(Lists, AProviderThatRefusesOrIsNotThereHasNoModels) {
  WebServer server(net::testing::Replies{{"/v1/models", kError}});
  ModelSettings both = settings("openai", server.url("/v1"));
  both.open_providers.push_back(settings("groq", "http://127.0.0.1:1").open_providers.front());
  start(both);
  EXPECT_EQ(fetch(), Names());
}

TEST_F(Lists, ASilentProviderIsWaitedForNoLongerThanTheFirstWait) {
  WebServer server(net::testing::Replies{{"/v1/models", ""}});
  start(settings("openai", server.url("/v1")), {.first_wait = std::chrono::milliseconds(50)});
  EXPECT_EQ(fetch(), Names());
}

TEST_F(Lists, AProvidersListOutlivesAReload) {
  WebServer server(net::testing::Replies{{"/v1/models", kList}});
  const ModelSettings one = settings("openai", server.url("/v1"));
  start(one);
  EXPECT_EQ(fetch().size(), 2u);
  lists->reload(one);
  EXPECT_EQ(lists->known()->size(), 2u);
  lists->reload({});
  EXPECT_EQ(lists->known()->size(), 0u);
}

}  // namespace
}  // namespace millrace::inference
