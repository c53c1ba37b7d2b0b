#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "machines/sshd/sshd_listeners.h"
#include "tests/support/wait_until.h"

// Listeners whose sshd never becomes ready: each start blocks until it is cancelled.
namespace millrace::machines {
namespace {

constexpr int kRounds = 400;

base::Uuid machine_number(int number) {
  std::string bytes(16, '\0');
  bytes[0] = static_cast<char>(number / 256);
  bytes[1] = static_cast<char>(number % 256);
  return *base::Uuid::from_bytes(bytes);
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

SshdListener listener_of(const base::Uuid& machine, const Ed25519Key& key) {
  SshdListener listener{
      .machine = {},
      .endpoint = {},
      .host_key = key,
      .listener = base::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  listener.machine.id = machine;
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.listener.get(), any, size), 0);
  EXPECT_EQ(::listen(listener.listener.get(), 8), 0);
  EXPECT_EQ(::getsockname(listener.listener.get(), any, &size), 0);
  listener.endpoint = {"127.0.0.1", ntohs(address.sin_port)};
  return listener;
}

base::Fd client_of(const LocalSshd::Endpoint& endpoint) {
  base::Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(endpoint.port);
  EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  constexpr std::string_view kVersion = "SSH-2.0-Test\r\n";
  EXPECT_GT(::send(client.get(), kVersion.data(), kVersion.size(), MSG_NOSIGNAL), 0);
  return client;
}

class SshListenersTest : public testing::Test {
 protected:
  base::Result<SshdConnection> begin(const schemas::Machine& machine, const CancelToken& stop) {
    {
      const std::lock_guard lock(mutex_);
      ++starts_[machine.tenant];
    }
    pollfd output_of{stop.fd(), POLLIN, 0};
    if (::poll(&output_of, 1, static_cast<int>(support::kDeadline.count())) != 1) ++untold_;
    return base::error(base::Code::kInternal, "it was cancelled");
  }

  int starts_of(const std::string& tenant) {
    const std::lock_guard lock(mutex_);
    return starts_[tenant];
  }
  LocalSshd::Endpoint add(int number, const std::string& tenant) {
    SshdListener made = listener_of(machine_number(number), key_);
    made.machine.tenant = tenant;
    return listeners_.add(std::move(made));
  }

  std::atomic<int> untold_ = 0;
  std::mutex mutex_;
  std::map<std::string, int> starts_;
  const Ed25519Key key_ = Ed25519Key::make();
  const LocalSshd::Options options_{.data_dir = {}, .check_interval = std::chrono::milliseconds(1)};
  const LocalSshd::Hooks hooks_{.revoked = {},
                                .listener = [](const base::Uuid&) -> base::Result<schemas::SshListenerState> {
                                  return schemas::SshListenerState::kActive;
                                },
                                .on_use = {}};
  SshListeners listeners_{options_, hooks_,
                          [this](const SshListeners::AcceptedClient& client, const CancelToken& stop) {
                            return begin(client.machine, stop);
                          }};
};

TEST_F(SshListenersTest, AListenersEndStopsEachStartWheneverItBegan) {
  for (int i = 0; i < kRounds && untold_ == 0; ++i) {
    const base::Uuid machine = machine_number(i);
    const LocalSshd::Endpoint endpoint = listeners_.add(listener_of(machine, key_));
    std::vector<base::Fd> clients;
    for (int k = 0; k <= i % 4; ++k) clients.push_back(client_of(endpoint));
    listeners_.remove(machine);
  }
  EXPECT_EQ(untold_, 0) << "a start was not cancelled when its listener was removed";
}

TEST_F(SshListenersTest, ATenantWithManyMachinesLeavesStartsToAnother) {
  constexpr int kMachines = 20;
  std::vector<base::Fd> clients;
  for (int i = 0; i < kMachines; ++i) clients.push_back(client_of(add(i, "many")));
  const int share = options_.starts_max * 3 / 4;
  ASSERT_TRUE(support::wait_until([&] { return starts_of("many") == share; }));
  clients.push_back(client_of(add(kMachines, "other")));
  EXPECT_TRUE(support::wait_until([&] { return starts_of("other") == 1; }));
  EXPECT_EQ(starts_of("many"), share);
}

}  // namespace
}  // namespace millrace::machines
