#include "tests/bench/streams/client.h"

#include <array>
#include <cerrno>
#include <memory>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "tests/bench/measure/frame.h"
#include "tests/bench/measure/socket.h"
#include "tests/bench/streams/event_reader.h"

namespace millrace::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Stream {
  explicit Stream(Socket made) : socket(std::move(made)) {}
  Socket socket;
  EventReader reader;
  Clock::time_point began;
  std::uint64_t rounds = 0;      // started
  std::uint64_t next_frame = 0;  // of the current round
  bool done = false;             // [DONE] was received
};

base::Error problem(const std::string& what) { return base::error(base::Code::kInternal, what); }

class Run {
 public:
  explicit Run(const Streams& wanted) : wanted_(wanted) {
    request_ = "POST " + wanted.path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(wanted.port) + "\r\n";
    for (const std::string& header : wanted.headers) request_ += header + "\r\n";
    request_ += "Content-Length: " + std::to_string(wanted.body.size()) + "\r\n\r\n" + wanted.body;
  }
  base::Status open();
  base::Result<StreamsResult> go();

 private:
  base::Status begin(Stream& stream);
  base::Status receive(Stream& stream);
  void on_readable(Stream& stream);
  base::Status finish(Stream& stream);

  const Streams& wanted_;
  std::string request_;
  Socket epoll_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::string> events_;
  std::array<char, 64 * 1024> input_{};
  std::size_t running_ = 0;
  StreamsResult result_;
};

base::Status Run::open() {
  epoll_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
  if (epoll_.fd() < 0) return system_error("epoll");
  for (int i = 0; i < wanted_.connections; ++i) {
    auto made = connect_loopback(wanted_.port);
    if (!made) return made.error();
    streams_.push_back(std::make_unique<Stream>(std::move(*made)));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = streams_.back().get();
    if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, streams_.back()->socket.fd(), &event) != 0)
      return system_error("epoll_ctl");
  }
  return {};
}

base::Status Run::begin(Stream& stream) {
  ++stream.rounds;
  stream.next_frame = 0;
  stream.done = false;
  stream.reader.clear();
  stream.began = Clock::now();
  const ssize_t sent = ::send(stream.socket.fd(), request_.data(), request_.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(request_.size()) ? base::Status() : system_error("send");
}

base::Status Run::receive(Stream& stream) {
  const ssize_t count = ::recv(stream.socket.fd(), input_.data(), input_.size(), MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return {};
  if (count < 0) return system_error("recv");
  if (count == 0) return problem("a connection was closed; its reply: " + std::string(stream.reader.head()));
  events_.clear();
  const auto state = stream.reader.take({input_.data(), static_cast<std::size_t>(count)}, events_);
  on_readable(stream);
  switch (state) {
    case EventReader::State::kMore:
      return {};
    case EventReader::State::kBroken:
      return problem("the reply is not a stream: " + std::string(stream.reader.head()));
    case EventReader::State::kDone:
      break;
  }
  return finish(stream);
}

void Run::on_readable(Stream& stream) {
  const auto now = Clock::now();
  std::uint64_t in_this_read = 0;
  for (const std::string& event : events_) {
    if (event == "data: [DONE]") stream.done = true;
    const std::vector<Frame> frames = frames_in(event);
    if (frames.size() > 1) result_.merged += frames.size() - 1;
    for (const Frame& frame : frames) {
      if (frame.number == 0) result_.first.add(now - stream.began);
      result_.delay.add(now - frame.sent);
      if (frame.number != stream.next_frame) ++result_.lost;
      stream.next_frame = frame.number + 1;
      ++result_.frames;
      if (in_this_read++ > 0) ++result_.waited;
    }
  }
}

base::Status Run::finish(Stream& stream) {
  if (stream.next_frame < wanted_.frames) result_.lost += wanted_.frames - stream.next_frame;
  if (!stream.done) ++result_.cut_off;
  if (stream.rounds < wanted_.rounds) return begin(stream);
  --running_;
  return {};
}

base::Result<StreamsResult> Run::go() {
  const auto start = Clock::now();
  const auto end = start + wanted_.within;
  for (const auto& stream : streams_) {
    if (auto good = begin(*stream); !good) return good.error();
    ++running_;
  }
  std::array<epoll_event, 256> events{};
  while (running_ > 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return problem("the streams did not end in time");
    const int count =
        ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), static_cast<int>(left));
    if (count < 0 && errno != EINTR) return system_error("epoll_wait");
    for (int i = 0; i < count; ++i) {
      auto& stream = *static_cast<Stream*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (auto good = receive(stream); !good) return good.error();
    }
  }
  result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return std::move(result_);
}

}  // namespace

base::Result<StreamsResult> run(const Streams& streams) {
  Run run(streams);
  if (auto good = run.open(); !good) return good.error();
  return run.go();
}

}  // namespace millrace::bench
