#include "ai/engines/wire.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace millrace::engines {
namespace {

using base::Code;
using nlohmann::json;

constexpr std::size_t kHeaderBytes = 4;

std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

json json_of(const EngineLimits& limits) {
  return {{"pages_max", limits.pages_max},
          {"image_pixels_max", limits.image_pixels_max},
          {"raster_side_max", limits.raster_side_max},
          {"page_cpu_ms", limits.page_cpu.count()},
          {"page_wall_ms", limits.page_wall.count()},
          {"poppler_cpu_ms", limits.poppler_cpu.count()}};
}

EngineLimits limits_of(const json& value) {
  using std::chrono::milliseconds;
  EngineLimits limits;
  limits.pages_max = value.at("pages_max").get<int>();
  limits.image_pixels_max = value.at("image_pixels_max").get<std::int64_t>();
  limits.raster_side_max = value.at("raster_side_max").get<int>();
  limits.page_cpu = milliseconds(value.at("page_cpu_ms").get<std::int64_t>());
  limits.page_wall = milliseconds(value.at("page_wall_ms").get<std::int64_t>());
  limits.poppler_cpu = milliseconds(value.at("poppler_cpu_ms").get<std::int64_t>());
  return limits;
}

json json_of(const base::Error& error) {
  return {{"code", base::name(error.code)}, {"message", error.message}};
}

base::Error error_of(const json& value) {
  return base::error(base::code_named(value.at("code").get<std::string>()),
                     value.at("message").get<std::string>());
}

json json_of(const PageOutcome& outcome) {
  json images = json::array();
  for (const PageImage& image : outcome.images) {
    images.push_back(
        {{"id", image.id}, {"box", {image.x0, image.y0, image.x1, image.y1}}, {"data", image.data_uri}});
  }
  json value{{"index", outcome.index}, {"markdown", outcome.markdown}, {"images", std::move(images)}};
  if (outcome.dimensions) {
    value["dimensions"] = {outcome.dimensions->dpi, outcome.dimensions->height, outcome.dimensions->width};
  }
  if (outcome.error) value["error"] = json_of(*outcome.error);
  return value;
}

PageOutcome outcome_of(const json& value) {
  PageOutcome outcome;
  outcome.index = value.at("index").get<int>();
  outcome.markdown = value.at("markdown").get<std::string>();
  for (const json& each : value.at("images")) {
    const json& box = each.at("box");
    outcome.images.push_back({each.at("id").get<std::string>(), box.at(0).get<int>(), box.at(1).get<int>(),
                              box.at(2).get<int>(), box.at(3).get<int>(),
                              each.at("data").get<std::string>()});
  }
  if (value.contains("dimensions")) {
    const json& all = value["dimensions"];
    outcome.dimensions = PageDimensions{all.at(0).get<int>(), all.at(1).get<int>(), all.at(2).get<int>()};
  }
  if (value.contains("error")) outcome.error = error_of(value["error"]);
  return outcome;
}

Request request_of(const json& value) {
  const auto op = value.at("op").get<std::string>();
  Request request;
  if (op == "limits") {
    request.kind = Request::Kind::kLimits;
    request.limits = limits_of(value.at("limits"));
  } else if (op == "open") {
    request.kind = Request::Kind::kOpen;
    request.media = schemas::media_named(value.at("media").get<std::string>()).value();
    request.size_bytes = value.at("bytes").get<std::uint64_t>();
  } else if (op == "recognise") {
    request.kind = Request::Kind::kRecognise;
    request.pages = value.at("pages").get<std::vector<int>>();
    request.image_data = value.at("image_data").get<bool>();
  } else if (op != "inspect") {
    throw std::invalid_argument("request");
  }
  return request;
}

Event event_of(const json& value) {
  const auto name = value.at("ev").get<std::string>();
  Event event;
  if (name == "begin") {
    event.kind = Event::Kind::kBegin;
    event.page = value.at("page").get<int>();
  } else if (name == "page") {
    event.kind = Event::Kind::kPage;
    event.outcome = outcome_of(value.at("outcome"));
  } else if (name == "info") {
    event.kind = Event::Kind::kInfo;
    event.pages = value.at("pages").get<int>();
  } else if (name == "failed") {
    event.kind = Event::Kind::kFailed;
    event.error = error_of(value.at("error"));
  } else if (name != "done") {
    throw std::invalid_argument("event");
  }
  return event;
}

void attach(msghdr& message, char* control, std::size_t control_bytes, const int& fd) {
  message.msg_control = control;
  message.msg_controllen = control_bytes;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
}

process::Fd received_fd(msghdr& message) {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return process::Fd(fd);
}

}  // namespace

std::string encode(const Request& request) {
  switch (request.kind) {
    case Request::Kind::kLimits:
      return dumped({{"op", "limits"}, {"limits", json_of(request.limits)}});
    case Request::Kind::kOpen:
      return dumped({{"op", "open"}, {"media", schemas::name(request.media)}, {"bytes", request.size_bytes}});
    case Request::Kind::kInspect:
      return dumped({{"op", "inspect"}});
    case Request::Kind::kRecognise:
      return dumped({{"op", "recognise"}, {"pages", request.pages}, {"image_data", request.image_data}});
  }
  return {};
}

std::string encode(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kBegin:
      return dumped({{"ev", "begin"}, {"page", event.page}});
    case Event::Kind::kPage:
      return dumped({{"ev", "page"}, {"outcome", json_of(event.outcome)}});
    case Event::Kind::kInfo:
      return dumped({{"ev", "info"}, {"pages", event.pages}});
    case Event::Kind::kFailed:
      return dumped({{"ev", "failed"}, {"error", json_of(event.error)}});
    case Event::Kind::kDone:
      return dumped({{"ev", "done"}});
  }
  return {};
}

base::Result<Request> decode_request(std::string_view frame) {
  try {
    return request_of(json::parse(frame));
  } catch (const std::exception&) {
    return base::error(Code::kInternal, "a request to the engine does not parse");
  }
}

base::Result<Event> decode_event(std::string_view frame) {
  try {
    return event_of(json::parse(frame));
  } catch (const std::exception&) {
    return base::error(Code::kInternal, "an answer of the engine does not parse");
  }
}

bool send_frame(int socket, std::string_view payload, int fd) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  char header[kHeaderBytes];
  for (unsigned i = 0; i < kHeaderBytes; ++i) header[i] = static_cast<char>(length >> (8 * i));
  iovec parts[2]{{header, sizeof header}, {const_cast<char*>(payload.data()), payload.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)]{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (fd >= 0) attach(message, control, sizeof control, fd);
  while (parts[0].iov_len + parts[1].iov_len > 0) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    auto left = static_cast<std::size_t>(sent);
    for (iovec& part : parts) {
      const std::size_t gone = std::min(left, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + gone;
      part.iov_len -= gone;
      left -= gone;
    }
    message.msg_control = nullptr;
    message.msg_controllen = 0;
  }
  return true;
}

FrameReader::State FrameReader::read_some(int socket) {
  constexpr std::size_t kPiece = 65536;
  if (taken_ > 0) buffer_.erase(0, std::exchange(taken_, 0));
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kPiece);
  iovec part{buffer_.data() + size, kPiece};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  const bool again = count < 0 && (errno == EINTR || errno == EAGAIN);
  buffer_.resize(size + (count > 0 ? static_cast<std::size_t>(count) : 0));
  if (count <= 0) return again ? State::kOpen : State::kClosed;
  if (process::Fd fd = received_fd(message)) fd_ = std::move(fd);
  const auto length = frame_length();
  return length && *length > kFrameBytesMax ? State::kClosed : State::kOpen;
}

std::optional<std::size_t> FrameReader::frame_length() const {
  if (buffer_.size() - taken_ < kHeaderBytes) return std::nullopt;
  std::size_t length = 0;
  for (unsigned i = 0; i < kHeaderBytes; ++i) {
    length |= static_cast<std::size_t>(static_cast<unsigned char>(buffer_[taken_ + i])) << (8 * i);
  }
  return length;
}

std::optional<std::string> FrameReader::next() {
  const auto length = frame_length();
  if (!length || *length > kFrameBytesMax || buffer_.size() - taken_ - kHeaderBytes < *length)
    return std::nullopt;
  std::string frame = buffer_.substr(taken_ + kHeaderBytes, *length);
  taken_ += kHeaderBytes + *length;
  return frame;
}

}  // namespace millrace::engines
