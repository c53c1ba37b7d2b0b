#include "app/models/model_download.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <future>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include "app/cli/client.h"
#include "app/models/partial_download.h"
#include "platform/net/fetch.h"

namespace millrace::app {
namespace {

constexpr int kFullStatus = 200, kRangeStatus = 206, kNoRangeStatus = 416;
constexpr int kTooManyStatus = 429, kServerErrorStatus = 500;
constexpr std::chrono::seconds kStallTimeout{30};
constexpr std::chrono::milliseconds kFirstByteTimeout{60'000}, kRetryAfter{1'000};
constexpr std::size_t kErrorPageBytes = std::size_t{1} << 20;

base::Error interrupted() { return base::error(base::Code::kJobCancelled, "interrupted"); }

// Of the server; trying again may help.
base::Error failed_now(const std::string& url, const std::string& why) {
  return base::error(base::Code::kFetchFailed, url + ": " + why);
}
base::Error failed_for_good(const std::string& url, const std::string& why) {
  base::Error error = failed_now(url, why);
  error.is_permanent = true;
  return error;
}

// `kept`: bytes of earlier replies, which may be those of the listed file.
base::Error other_file(const CatalogueFile& file, const std::string& why, std::int64_t kept = 0) {
  const std::string end = kept == 0 ? "; it was not kept" : "; what had arrived before is kept";
  base::Error error = base::error(base::Code::kUpstream, file.url + " is not the listed file: " + why + end);
  error.is_permanent = true;
  return error;
}

std::string of_bytes(std::int64_t have, std::int64_t all) {
  return std::to_string(have) + " of " + std::to_string(all) + " bytes";
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// True for "bytes 100-199/200" with that first byte.
bool begins_at(std::string_view range, std::int64_t first) {
  return range.starts_with("bytes " + std::to_string(first) + "-");
}

// The result of one transfer, with a descriptor that becomes readable at its end.
struct TransferEnd {
  TransferEnd() = default;
  ~TransferEnd() { ::close(fd); }
  TransferEnd(const TransferEnd&) = delete;
  TransferEnd& operator=(const TransferEnd&) = delete;

  std::promise<base::Result<net::HttpReply>> reply;
  int fd = ::eventfd(0, EFD_CLOEXEC);
};

}  // namespace

// One request for a file, or for the rest of it. Used on the loop's thread while it runs.
struct ModelDownload::Transfer {
  const CatalogueFile& file;
  PartialDownload& part;
  const OnProgress& on_progress;
  bool has_content = false;
  bool is_other_range = false;  // than the requested one
  std::optional<base::Error> fault = {};

  void take_head(const net::HttpReply& head) {
    has_content = head.status == kFullStatus || head.status == kRangeStatus;
    if (!has_content) return;
    if (head.status == kRangeStatus && !begins_at(head.header("content-range"), part.bytes())) {
      fault = failed_now(file.url, "the server sent another range than the requested one");
      is_other_range = true;
      return;
    }
    const std::int64_t first = head.status == kRangeStatus ? part.bytes() : 0;
    const auto declared = number_of(head.header("content-length"));
    if (declared && *declared != file.bytes - first) {
      fault = other_file(
          file,
          "it has " + std::to_string(first + *declared) + " bytes instead of " + std::to_string(file.bytes),
          part.bytes());
      return;
    }
    if (head.status == kFullStatus && part.bytes() > 0) part.restart();  // it does not support ranges
  }

  bool take(std::string_view bytes) {
    if (fault) return false;
    if (!has_content) return true;  // a page about an error
    if (part.bytes() + static_cast<std::int64_t>(bytes.size()) > file.bytes) {
      fault = other_file(file, "it has more than " + std::to_string(file.bytes) + " bytes");
      part.restart();
      return false;
    }
    if (!part.write(bytes)) return false;
    if (on_progress) on_progress(file, part.bytes());
    return true;
  }
};

ModelDownload::ModelDownload(cli::Interrupt& interrupt, OnProgress on_progress)
    : interrupt_(interrupt), on_progress_(std::move(on_progress)) {}

base::Result<base::Fd> ModelDownload::lock_folder(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  base::Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened)
    return base::error(base::Code::kInternal,
                       "cannot create " + folder + ": " + std::generic_category().message(errno));
  if (::flock(opened.get(), LOCK_EX | LOCK_NB) == 0) return opened;
  if (errno != EWOULDBLOCK)
    return base::error(base::Code::kInternal,
                       "cannot lock " + folder + ": " + std::generic_category().message(errno));
  return base::error(base::Code::kInvalidState,
                     "another `models pull` writes to " + folder + ": wait until it ends");
}

std::int64_t ModelDownload::missing_bytes(const CatalogueModel& model, const std::string& folder) {
  std::int64_t sum = 0;
  for (const CatalogueFile& file : model.files) {
    std::error_code missing;
    const std::filesystem::path path = std::filesystem::path(folder) / file.name;
    const auto whole = std::filesystem::file_size(path, missing);
    if (!missing && static_cast<std::int64_t>(whole) == file.bytes) continue;
    const auto part = std::filesystem::file_size(path.string() + ".part", missing);
    const std::int64_t have = missing ? 0 : static_cast<std::int64_t>(part);
    sum += have < file.bytes ? file.bytes - have : 0;
  }
  return sum;
}

base::Status ModelDownload::fetch(const CatalogueFile& file, const std::string& folder) {
  if (is_downloaded(folder, file)) return {};
  auto part = PartialDownload::open(folder, file);
  if (!part) return part.error();
  for (;;) {
    if (base::Status filled = fill(file, *part); !filled) {
      if (part->bytes() == 0) part->remove();
      return filled;
    }
    const bool was_resumed = part->is_from_before();
    if (part->is_correct()) return part->finish();
    if (!was_resumed) {
      part->remove();
      return other_file(file, "its SHA-256 is not " + file.sha256);
    }
    part->restart();  // the bytes of the earlier run were those of another file
  }
}

// Requests the file until all bytes are there.
base::Status ModelDownload::fill(const CatalogueFile& file, PartialDownload& part) {
  int tries = 0;
  while (part.bytes() < file.bytes) {
    const std::int64_t before = part.bytes();
    const base::Status status = request(file, part);
    if (!status && (status.error().is_permanent || status.error().code != base::Code::kFetchFailed))
      return status;
    if (part.bytes() == file.bytes) break;
    base::Error error =
        status ? failed_now(file.url, "the connection ended after " + of_bytes(part.bytes(), file.bytes))
               : status.error();
    tries = part.bytes() > before ? 0 : tries + 1;
    if (tries == kDownloadTriesMax) {
      error.message += "; run the command again to continue after " + of_bytes(part.bytes(), file.bytes);
      return error;
    }
    const auto wait = error.retry_after.count() > 0 ? error.retry_after : kRetryAfter;
    if (tries > 0 && interrupt_.wait(wait)) return interrupted();
  }
  return part.problem();
}

// Follows redirects. The digest makes it unimportant who sends the bytes.
base::Status ModelDownload::request(const CatalogueFile& file, PartialDownload& part) {
  std::string url = file.url;
  bool with_range = part.bytes() > 0;
  for (int hop = 0; hop <= kDownloadRedirectsMax; ++hop) {
    net::HttpRequest request;
    request.url = url;
    if (with_range) request.headers.emplace_back("Range", "bytes=" + std::to_string(part.bytes()) + "-");
    request.total_timeout = std::chrono::milliseconds(0);
    request.stall_timeout = kStallTimeout;
    request.first_byte_timeout = kFirstByteTimeout;
    request.body_bytes_max = static_cast<std::size_t>(file.bytes) + kErrorPageBytes;
    Transfer transfer{file, part, on_progress_};
    net::HttpClient::Handlers handlers;
    handlers.on_head = [&transfer](const net::HttpReply& head) { transfer.take_head(head); };
    handlers.on_data = [&transfer](std::string_view bytes) { return transfer.take(bytes); };
    const auto reply = send(std::move(request), std::move(handlers));
    if (!reply) return interrupted();
    if (base::Status disk = part.problem(); !disk) return disk;
    if (transfer.is_other_range && with_range) {
      with_range = false;
      continue;
    }
    if (transfer.fault) return *transfer.fault;
    if (!*reply) return failed_now(url, reply->error().message);
    const int status = (*reply)->status;
    if (status == kFullStatus || status == kRangeStatus) return {};
    if (status == kNoRangeStatus && with_range) {
      with_range = false;
      continue;
    }
    if (!net::is_redirect(status)) {
      const std::string why = "the server answered " + std::to_string(status);
      const bool may_pass = status == kTooManyStatus || status >= kServerErrorStatus;
      if (!may_pass) return failed_for_good(url, why);
      base::Error error = failed_now(url, why);
      error.retry_after = cli::retry_after(**reply);
      return error;
    }
    const std::string next = net::resolve_location(url, (*reply)->header("location"));
    const bool is_downgrade = url.starts_with("https://") && !next.starts_with("https://");
    if (!is_download_url(next) || is_downgrade)
      return failed_for_good(url, "it redirects to \"" + next + "\", which is not https");
    url = next;
  }
  return failed_for_good(file.url, "more than " + std::to_string(kDownloadRedirectsMax) + " redirects");
}

std::optional<base::Result<net::HttpReply>> ModelDownload::send(net::HttpRequest request,
                                                                net::HttpClient::Handlers handlers) {
  const auto end = std::make_shared<TransferEnd>();
  handlers.on_done = [end](base::Result<net::HttpReply> reply) {
    end->reply.set_value(std::move(reply));
    ::eventfd_write(end->fd, 1);
  };
  const auto transfer = http_.start(std::move(request), std::move(handlers));
  if (!interrupt_.wait_on_thread(end->fd)) return end->reply.get_future().get();
  http_.cancel(transfer);
  std::promise<void> cancelled;  // no handler runs after the loop has passed this point
  loop_.post([&cancelled] { cancelled.set_value(); });
  cancelled.get_future().wait();
  return std::nullopt;
}

}  // namespace millrace::app
