#include "app/cli/key_advice.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

TEST(KeyAdvice, TheCommandLineOfAGatewayShowsItsDataDirectoryAndPort) {
  const auto found = gateway_in({"/opt/millrace", "serve", "--data", "/srv/m", "--listen=127.0.0.1:9000"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->data, "/srv/m");
  EXPECT_EQ(found->port, 9000);
  EXPECT_EQ(gateway_in({"millrace", "api", "--data=d"})->data, "")
      << "relative to a folder that is not known";
  EXPECT_EQ(gateway_in({"millrace", "serve"})->port, 8080);
  EXPECT_EQ(gateway_in({"millrace", "serve", "--listen", "nonsense"})->port, 0);
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{}, {"millrace"}, {"millrace", "jobs", "ls"}, {"sh", "serve"}})
    EXPECT_FALSE(gateway_in(other));
}

TEST(KeyAdvice, ItNamesTheDirectoryOfTheGatewayAtThePort) {
  const std::string url = "http://127.0.0.1:9000";
  const auto names = [&](const std::vector<LocalGateway>& running) {
    const std::string text = key_advice(url, running);
    const std::size_t at = text.find(" --data /");
    return at == std::string::npos ? "" : text.substr(at + 8, text.find('`', at) - at - 8);
  };
  EXPECT_EQ(names({{"/a", 8080}, {"/b", 9000}}), "/b");
  EXPECT_EQ(names({{"/a", 0}}), "/a") << "the only one, at a port that it chose";
  EXPECT_EQ(names({{"/a", 0}, {"/b", 0}}), "");
  EXPECT_EQ(names({{"", 9000}}), "");
  EXPECT_EQ(names({}), "");
  EXPECT_NE(key_advice("https://gateway.example", {{"/a", 443}}).find("on the gateway's host"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace::cli
