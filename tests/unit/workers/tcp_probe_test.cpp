#include <gtest/gtest.h>

#include "tests/unit/net/web_server.h"
#include "workers/machines/machine_wake.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;

base::NetAddress by_name(const net::testing::WebServer& web, const std::string& name) {
  base::NetAddress address = *base::parse_net_address(web.host());
  address.host = name;
  return address;
}

TEST(TcpProbe, AnAddressAndANameThatLeadToAnOpenPortAnswer) {
  process::Spawner spawner;
  net::testing::WebServer web({});
  for (const char* name : {"127.0.0.1", "localhost"}) {
    EXPECT_TRUE(is_tcp_reachable(spawner, by_name(web, name), milliseconds(10'000), {})) << name;
  }
}

TEST(TcpProbe, AnUnknownNameDoesNotAnswer) {
  process::Spawner spawner;
  net::testing::WebServer web({});
  EXPECT_FALSE(is_tcp_reachable(spawner, by_name(web, "name.invalid"), milliseconds(5'000), {}));
}

TEST(TcpProbe, ResolvingANameStopsOnACancel) {
  process::Spawner spawner;
  net::testing::WebServer web({});
  machines::CancelToken stop;
  stop.kill();
  EXPECT_FALSE(is_tcp_reachable(spawner, by_name(web, "localhost"), milliseconds(60'000), stop));
}

}  // namespace
}  // namespace millrace::workers
