#include "tests/unit/machines/local_sshd_fixture.h"

#include <array>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "tests/support/wait_until.h"

namespace millrace::machines {
namespace {

base::WallTime now() { return base::SystemClock().wall(); }

}  // namespace

void LocalSshdTest::SetUp() {
  ::chmod(data_.str().c_str(), 0711);
  auto sandbox = Sandbox::open({.data_dir = data_.str()}, spawner_);
  if (!sandbox) GTEST_SKIP() << sandbox.error().message;
  sandbox_ = std::move(*sandbox);
  machine_.id = *base::Uuid::parse("01890000-0000-7000-8000-0000000000cd");
  machine_.number = 9;
  machine_.name = "test";
  machine_.storage_gib = 1;
  const auto started = sandbox_->start(machine_, {});
  ASSERT_TRUE(started) << started.error().message;
  auto authority = SshAuthority::open(data_.str());
  ASSERT_TRUE(authority) << authority.error().message;
  authority_ = *authority;
  host_ca_ = authority_->host_ca();
  const std::string key = dir_.write("id", pair_.private_key).string();
  ::chmod(key.c_str(), 0600);
  open({.data_dir = data_.str()});
}

void LocalSshdTest::open(LocalSshd::Options options) {
  sshd_.reset();
  auto opened =
      LocalSshd::open(std::move(options), *sandbox_, authority_,
                      {.revoked =
                           [this] {
                             const std::lock_guard lock(mutex_);
                             return revoked_;
                           },
                       .listener = [this](const base::Uuid& machine) { return listener_of(machine); },
                       .on_use =
                           [this](const base::Uuid& machine) {
                             const std::lock_guard lock(mutex_);
                             if (machine == machine_.id) ++uses_;
                           },
                       .key_of = [](std::int64_t serial) { return key_of(serial); },
                       .ended =
                           [this](const std::vector<std::string>&) {
                             const std::lock_guard lock(mutex_);
                             return base::Result<std::vector<std::string>>(ended_);
                           }});
  ASSERT_TRUE(opened) << opened.error().message;
  sshd_ = std::move(*opened);
  const auto endpoint = sshd_->listen(machine_, 0);
  ASSERT_TRUE(endpoint) << endpoint.error().message;
  endpoint_ = *endpoint;
}

base::Result<schemas::SshListenerState> LocalSshdTest::listener_of(const base::Uuid& machine) {
  std::unique_lock lock(mutex_);
  if (machine != machine_.id) return schemas::SshListenerState::kActive;
  ++held_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !holds_; });
  --held_;
  return listener_;
}

LocalSshd::Endpoint LocalSshdTest::neighbour() {
  schemas::Machine other = machine_;
  other.id = *base::Uuid::parse("01890000-0000-7000-8000-0000000000ce");
  other.number = 10;
  EXPECT_TRUE(sandbox_->start(other, {}));
  const auto endpoint = sshd_->listen(other, endpoint_.port);
  EXPECT_TRUE(endpoint) << endpoint.error().message;
  return endpoint.value_or(LocalSshd::Endpoint());
}

std::string LocalSshdTest::certificate(const std::function<void(UserCertificate&)>& change) const {
  UserCertificate certificate;
  certificate.key = pair_.public_key;
  certificate.serial = 7;
  certificate.key_id = "ssh-test";
  certificate.principal = schemas::machine_id(machine_.id);
  certificate.valid_from = now() - std::chrono::minutes(1);
  certificate.valid_until = now() + std::chrono::minutes(15);
  if (change) change(certificate);
  return authority_->sign(certificate);
}

std::vector<std::string> LocalSshdTest::trust(const std::string& certificate) {
  const std::string hosts =
      "@cert-authority [" + endpoint_.host + "]:" + std::to_string(endpoint_.port) + " ";
  const std::string known = dir_.write("known_hosts", hosts + host_ca_ + "\n").string();
  std::vector<std::string> words{"-F", "none", "-i", dir_.str() + "/id"};
  for (const std::string& option :
       {"UserKnownHostsFile=" + known, std::string("GlobalKnownHostsFile=/dev/null"),
        std::string("StrictHostKeyChecking=yes"), std::string("IdentitiesOnly=yes"),
        std::string("BatchMode=yes"), std::string("ConnectTimeout=20")}) {
    words.insert(words.end(), {"-o", option});
  }
  if (certificate.empty()) return words;
  const std::string path = dir_.write("login-cert.pub", certificate + "\n").string();
  words.insert(words.end(), {"-o", "CertificateFile=" + path});
  return words;
}

process::Captured LocalSshdTest::ssh(const std::string& certificate, const std::string& command,
                                     std::vector<std::string> options) {
  std::vector<std::string> words = trust(certificate);
  words.insert(words.begin(), "ssh");
  words.insert(words.end(), {"-p", std::to_string(endpoint_.port), "-l", user_});
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {endpoint_.host, command});
  return ran(std::move(words));
}

std::string LocalSshdTest::inside(const std::string& command, std::vector<std::string> options) {
  const process::Captured captured = ssh(certificate(), command, std::move(options));
  EXPECT_TRUE(captured.exit.ok()) << captured.exit.code << ": " << captured.err;
  return captured.out;
}

void LocalSshdTest::end_key_of(std::int64_t serial) {
  const std::lock_guard lock(mutex_);
  ended_.push_back(key_of(serial));
}

void LocalSshdTest::revoke(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  revoked_->push_back(serial);
}

void LocalSshdTest::set_listener_state(base::Result<schemas::SshListenerState> state) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(state);
}

void LocalSshdTest::hold() {
  const std::lock_guard lock(mutex_);
  holds_ = true;
}

void LocalSshdTest::let_go() {
  const std::lock_guard lock(mutex_);
  holds_ = false;
  changed_.notify_all();
}

bool LocalSshdTest::is_held() {
  std::unique_lock lock(mutex_);
  return support::wait_until(changed_, lock, [&] { return held_ > 0; });
}

int LocalSshdTest::uses() const {
  const std::lock_guard lock(mutex_);
  return uses_;
}

std::string LocalSshdTest::machine_file(const std::string& name) const {
  return data_.str() + "/machines/" + schemas::machine_id(machine_.id) + "/" + name;
}

IdleClient::IdleClient(const LocalSshd::Endpoint& endpoint, std::string_view sent)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(endpoint.port));
  ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr);
  connected_ = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  if (connected_) ::send(socket_.get(), sent.data(), sent.size(), MSG_NOSIGNAL);
}

bool IdleClient::readable(std::chrono::milliseconds within) const {
  pollfd fd{socket_.get(), POLLIN, 0};
  return ::poll(&fd, 1, static_cast<int>(within.count())) == 1;
}

std::string IdleClient::receive() {
  std::array<char, 256> buffer;
  const ssize_t count = readable() ? ::recv(socket_.get(), buffer.data(), buffer.size(), 0) : -1;
  return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : std::string();
}

bool IdleClient::closed() {
  std::array<char, 256> buffer;
  while (readable()) {
    if (::recv(socket_.get(), buffer.data(), buffer.size(), 0) <= 0) return true;
  }
  return false;
}

}  // namespace millrace::machines
