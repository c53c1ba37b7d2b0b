#include "machines/sshd/connection_relay.h"

#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "machines/sshd/sshd_starts.h"
#include "tests/support/wait_until.h"

namespace millrace::machines {
namespace {

constexpr std::size_t kMuch = std::size_t{1} << 20;  // more than pipes and sockets buffer

void write_all(int fd, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (count <= 0) return;
    at += static_cast<std::size_t>(count);
  }
}

// Reads until the end of file, at most `most` bytes.
std::string read_bytes(int fd, std::size_t most = SIZE_MAX) {
  std::string bytes;
  char buffer[4096];
  while (bytes.size() < most) {
    const ssize_t count = ::read(fd, buffer, std::min(sizeof buffer, most - bytes.size()));
    if (count <= 0) break;
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  return bytes;
}

// A client with a TCP connection, and the jail's ends of its relay.
class ConnectionRelayTest : public ::testing::Test {
 protected:
  ConnectionRelayTest() { connect(); }

  void connect(std::string_view received = {}) {
    relay_.reset();
    auto listener = *listening_socket("127.0.0.1", 0);
    client_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    ::getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    EXPECT_EQ(::connect(client_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    base::Fd accepted;
    EXPECT_TRUE(support::wait_until([&] {
      accepted.reset(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      return static_cast<bool>(accepted);
    }));
    auto started = ConnectionRelay::start(std::move(accepted), received);
    relay_ = std::move(started->relay);
    jail_ = std::move(started->jail);
  }
  bool ends() const {
    return support::wait_until([&] { return relay_->is_over(); });
  }

  base::Fd client_;
  std::unique_ptr<ConnectionRelay> relay_;
  ConnectionRelay::JailPipes jail_;
};

TEST_F(ConnectionRelayTest, CarriesBytesBothWaysAtOnce) {
  const std::string there(kMuch, 'a'), back(kMuch, 'b');
  std::jthread client_writes([&] { write_all(client_.get(), there); });
  std::jthread jail_writes([&] { write_all(jail_.output.get(), back); });
  std::string received;
  std::jthread client_reads([&] { received = read_bytes(client_.get(), kMuch); });
  EXPECT_EQ(read_bytes(jail_.input.get(), kMuch), there);
  client_reads.join();
  EXPECT_EQ(received, back);
}

TEST_F(ConnectionRelayTest, TheJailGetsFirstWhatWasReadBefore) {
  connect("first, ");
  write_all(client_.get(), "then the rest");
  ::shutdown(client_.get(), SHUT_WR);
  EXPECT_EQ(read_bytes(jail_.input.get()), "first, then the rest");
}

TEST_F(ConnectionRelayTest, AClientThatHasSentAllStillReceives) {
  write_all(client_.get(), "all");
  ::shutdown(client_.get(), SHUT_WR);
  EXPECT_EQ(read_bytes(jail_.input.get()), "all");
  write_all(jail_.output.get(), "an answer");
  jail_ = {};
  EXPECT_EQ(read_bytes(client_.get()), "an answer");
  EXPECT_TRUE(ends());
}

TEST_F(ConnectionRelayTest, WhatTheJailHasLeftIsSentBeforeTheEnd) {
  const std::string last(kMuch, 'z');
  std::jthread jail_writes([&] {
    write_all(jail_.output.get(), last);
    jail_ = {};
  });
  write_all(client_.get(), "never read");
  EXPECT_EQ(read_bytes(client_.get()), last);
  client_.reset();
  EXPECT_TRUE(ends());
}

TEST_F(ConnectionRelayTest, AClientThatKeepsItsEndIsLeftAfterAWhile) {
  jail_ = {};
  EXPECT_EQ(read_bytes(client_.get()), "");
  EXPECT_FALSE(relay_->is_over());
  EXPECT_TRUE(ends());
}

TEST_F(ConnectionRelayTest, AClientThatGoesOnSendingIsLeftAsWell) {
  jail_ = {};
  std::jthread sends([&] {
    while (::send(client_.get(), "x", 1, MSG_NOSIGNAL) == 1) {
    }
  });
  EXPECT_TRUE(ends());
}

TEST_F(ConnectionRelayTest, AClientThatBreaksOffEndsTheJailsInput) {
  const linger at_once{1, 0};
  ::setsockopt(client_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  client_.reset();
  EXPECT_EQ(read_bytes(jail_.input.get()), "");
  EXPECT_TRUE(ends());
}

TEST_F(ConnectionRelayTest, ItsOwnEndClosesTheConnectionAtOnce) {
  relay_.reset();
  EXPECT_EQ(read_bytes(client_.get()), "");
  EXPECT_EQ(read_bytes(jail_.input.get()), "");
}

// From within the jail, a socket of the host's network could be connected to another address.
TEST_F(ConnectionRelayTest, TheJailHasPipesAlone) {
  EXPECT_GT(::fcntl(jail_.input.get(), F_GETPIPE_SZ), 0);
  EXPECT_GT(::fcntl(jail_.output.get(), F_GETPIPE_SZ), 0);
}

}  // namespace
}  // namespace millrace::machines
