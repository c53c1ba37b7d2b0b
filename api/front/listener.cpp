#include "api/front/listener.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <netdb.h>
#include <pistache/http.h>
#include <pistache/listener.h>
#include <pistache/peer.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/front/connection.h"
#include "api/front/transport.h"
#include "platform/base/ip_address.h"
#include "platform/base/log.h"

namespace millrace::front {
namespace {

namespace http = Pistache::Http;
namespace tcp = Pistache::Tcp;
using PeerPtr = std::shared_ptr<tcp::Peer>;

const std::string kConnectionKey = "connection";
constexpr std::chrono::seconds kStartDeadline{10};
// At most this many clients above the limit receive a 503 at the same time. Further ones are disconnected
// without a response.
constexpr std::uint64_t kRejectedConnectionsMax = 256;

// The data that Pistache stores for a peer. It is never the last owner of a Connection. Pistache may
// destroy it on the acceptor's thread, long after the last write of the reactor's thread.
// `released_` makes this order explicit, because sanitizers cannot see
// Pistache's reference count.
class PeerData {
 public:
  explicit PeerData(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~PeerData() { (void)released_.load(std::memory_order_acquire); }
  PeerData(const PeerData&) = delete;
  PeerData& operator=(const PeerData&) = delete;

  const std::shared_ptr<Connection>& connection() const { return connection_; }

  // Takes the connection out. Null if it was taken before.
  std::shared_ptr<Connection> release() {
    auto connection = std::exchange(connection_, nullptr);
    released_.store(true, std::memory_order_release);
    return connection;
  }

 private:
  std::shared_ptr<Connection> connection_;
  std::atomic<bool> released_{false};
};

// Counts the running Pistache threads, and stores one nudge function per thread.
class PistacheThreads {
 public:
  void add(std::function<void()> nudge) {
    const std::lock_guard lock(mutex_);
    nudges_.push_back(std::move(nudge));
  }

  void nudge_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& nudge : nudges_) nudge();
  }

  void on_thread_started() {
    const std::lock_guard lock(mutex_);
    ++started_;
    changed_.notify_all();
  }

  bool wait_until_started() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kStartDeadline, [this] { return started_ >= nudges_.size(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> nudges_;
  std::size_t started_ = 0;
};

// Pistache clones its handler once per thread. No exception may leave these callbacks: it would end the
// process.
class PistacheHandler : public http::Handler {
 public:
  PistacheHandler(std::shared_ptr<ServerState> state, std::shared_ptr<PistacheThreads> pistache_threads,
                  std::shared_ptr<ExtraFds> watched_fds)
      : state_(std::move(state)), threads_(std::move(pistache_threads)), extra_fds_(std::move(watched_fds)) {}

  std::shared_ptr<tcp::Handler> clone() const override {
    auto copy = std::make_shared<PistacheHandler>(state_, threads_, extra_fds_);
    threads_->add([raw = copy.get()] { raw->nudge(); });
    return copy;
  }

  void onRequest(const http::Request&, http::ResponseWriter) override {
  }  // never called, because onInput is overridden

  void onConnection(const PeerPtr& peer) override {
    try {
      accept_peer(peer);
    } catch (const std::exception& e) {
      drop(peer, e.what());
    }
  }

  void onInput(const char* bytes, std::size_t size, const PeerPtr& peer) override {
    try {
      const PeerData* data = data_of(peer);
      if (data != nullptr && data->connection()) data->connection()->on_input({bytes, size});
    } catch (const std::exception& e) {
      drop(peer, e.what());
    }
  }

  void onDisconnection(const PeerPtr& peer) override {
    try {
      PeerData* data = data_of(peer);
      if (data == nullptr) return;
      if (const auto connection = data->release()) connection->on_disconnected();
    } catch (const std::exception& e) {
      log_input_error(e.what());  // Pistache closes the peer
    }
  }

 private:
  // Returns a raw pointer that the peer owns. A shared_ptr could outlive `release`, and a sanitizer could
  // not order its destruction.
  static PeerData* data_of(const PeerPtr& peer) {
    return static_cast<PeerData*>(peer->tryGetData(kConnectionKey).get());
  }

  static void log_input_error(const char* what) {
    base::log_error("front_callback_failed", {{"error", what}});
  }

  // While reading is paused, a connection's fd number refers to the shared silent socket. Only the connection
  // has its own socket.
  static void drop(const PeerPtr& peer, const char* what) {
    log_input_error(what);
    const PeerData* data = data_of(peer);
    if (data == nullptr) {
      ::shutdown(peer->fd(), SHUT_RDWR);
    } else if (data->connection()) {
      data->connection()->drop();
    }
  }

  // Registers the fd with the same flags that Pistache used at first.
  static void rearm_read(tcp::Transport& transport, int fd) {
    using Pistache::Polling::NotifyOn;
    transport.reactor()->modifyFd(transport.key(), fd, NotifyOn::Read | NotifyOn::Shutdown,
                                  Pistache::Polling::Mode::Edge);
  }

  void accept_peer(const PeerPtr& peer) {
    if (peer->tryGetData(ParserData)) {  // a nudge; end of file follows
      extra_fds_->begin(*transport());
      return threads_->on_thread_started();
    }
    peer->putData(ParserData, idle_parser_);  // Pistache's idle check requires a parser in every peer
    const std::uint64_t id = state_->next_id();
    const std::string address = peer->address().host();
    auto connection = std::make_shared<Connection>(
        state_, id, peer->fd(), address,
        [transport = transport(), fd = peer->fd()] { rearm_read(*transport, fd); });
    state_->add(id, connection);
    state_->unauthenticated.add(id, state_->is_trusted_proxy(address) ? "" : base::client_of(address));
    const std::uint64_t open = ++state_->counters.connections_open;
    ++state_->counters.connections_total;
    peer->putData(kConnectionKey, std::make_shared<PeerData>(connection));
    const std::uint64_t most = state_->limits.connections_max;
    if (state_->stopping()) return connection->cut();
    if (open <= most || state_->evict_for(id)) return;
    open > most + kRejectedConnectionsMax ? connection->cut() : connection->refuse();
  }

  // Adds an already disconnected peer to the queue of accepted peers.
  void nudge() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return;
    ::close(ends[1]);
    const PeerPtr peer = tcp::Peer::Create(ends[0], Pistache::Address());
    peer->putData(ParserData, idle_parser_);
    transport()->handleNewPeer(peer);
  }

  std::shared_ptr<ServerState> state_;
  std::shared_ptr<PistacheThreads> threads_;
  std::shared_ptr<ExtraFds> extra_fds_;
  std::shared_ptr<http::RequestParser> idle_parser_ = std::make_shared<http::RequestParser>(0);
};

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// Null: the name cannot be resolved.
AddressList resolve_addresses(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

// Pistache aborts if it cannot resolve a name, so it only gets addresses.
std::optional<Pistache::Address> resolve(const std::string& host, std::uint16_t port) {
  const AddressList found = resolve_addresses(host, port);
  if (!found) return std::nullopt;
  return Pistache::Address(Pistache::IP(found->ai_addr), Pistache::Port(port));
}

base::Error cannot_listen(const std::string& host, std::uint16_t port, std::string_view why) {
  const bool v6 = host.find(':') != std::string::npos;
  std::string where = v6 ? "[" + host + "]" : host;
  where.append(":").append(std::to_string(port));
  return base::error(base::Code::kInternal, "Cannot listen on " + where + ": " + std::string(why) + ".",
                     "listen");
}

Pistache::Flags<tcp::Options> socket_options() {
  return Pistache::Flags<tcp::Options>(tcp::Options::ReuseAddr) | tcp::Options::NoDelay |
         tcp::Options::CloseOnExec;
}

}  // namespace

struct Listener::Impl {
  std::shared_ptr<ServerState> state;
  std::shared_ptr<PistacheThreads> pistache_threads = std::make_shared<PistacheThreads>();
  std::shared_ptr<ExtraFds> watched_fds;
  std::unique_ptr<tcp::Listener> listener;
  std::uint16_t port = 0;

  void serve(int threads) {
    const auto handler = std::make_shared<PistacheHandler>(state, pistache_threads, watched_fds);
    listener->init(static_cast<std::size_t>(threads), socket_options(), "front");
    listener->setTransportFactory([handler, all = state, extra_fds = watched_fds] {
      return std::make_shared<Transport>(handler, all, extra_fds);
    });
    listener->setHandler(handler);
    listener->bind();
    listener->runThreaded();
  }
};

Listener::Listener(std::shared_ptr<ServerState> state, std::vector<Server::Options::ExtraFd> extra_fds)
    : impl_(std::make_unique<Impl>()) {
  impl_->state = std::move(state);
  impl_->watched_fds = std::make_shared<ExtraFds>(std::move(extra_fds));
}

Listener::~Listener() { stop(); }

base::Status Listener::try_address(const std::string& host, std::uint16_t port) {
  if (port == 0) return {};
  const AddressList found = resolve_addresses(host, port);
  if (!found) return cannot_listen(host, port, "the name has no address");
  const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return cannot_listen(host, port, std::generic_category().message(errno));
  const int again = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
  const int failed = ::bind(socket, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  ::close(socket);
  return failed == 0 ? base::Status() : cannot_listen(host, port, std::generic_category().message(failed));
}

base::Status Listener::start(const std::string& host, std::uint16_t port, int threads) {
  try {
    const auto address = resolve(host, port);
    if (!address) return cannot_listen(host, port, "the name has no address");
    impl_->listener = std::make_unique<tcp::Listener>(*address);
    impl_->serve(threads);
    impl_->port = impl_->listener->getPort();
  } catch (const std::exception& e) {
    impl_->listener.reset();
    return cannot_listen(host, port, e.what());
  }
  impl_->pistache_threads->nudge_all();
  if (!impl_->pistache_threads->wait_until_started())
    return cannot_listen(host, port, "the server threads did not start");
  return {};
}

std::uint16_t Listener::port() const { return impl_->port; }

void Listener::nudge() { impl_->pistache_threads->nudge_all(); }

void Listener::stop() {
  if (!impl_->listener) return;
  impl_->listener->shutdown();
  impl_->listener.reset();
  impl_->watched_fds->end();
}

}  // namespace millrace::front
