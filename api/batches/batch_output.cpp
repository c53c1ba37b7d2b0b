#include "api/batches/batch_output.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "api/jobs/job_result.h"
#include "api/media/file_stream.h"
#include "storage/batches/batches.h"

namespace millrace::api {
namespace {

constexpr int kOutputsPerRead = 500;

// In place of a line whose stored bytes have changed.
constexpr std::string_view kDamagedLine =
    R"({"id":null,"custom_id":null,"response":null,"error":{"code":"result_damaged",)"
    R"("message":"The stored reply to this request is damaged"}})"
    "\n";

bool is_damaged(const base::Error& error) {
  return error.code == base::Code::kResultDamaged || error.code == base::Code::kStoredDamaged;
}

base::Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return storage::file_error(errno, "a partial output of a batch");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

base::Status each_output_line(storage::Store& store, const base::Uuid& batch, bool is_error,
                              const std::function<base::Status(std::string_view line)>& take) {
  storage::Batches batches(store);
  for (std::int64_t after = 0;;) {
    auto lines = batches.outputs(batch, is_error, after, kOutputsPerRead);
    if (!lines) return lines.error();
    if (lines->empty()) return {};
    for (auto& line : *lines) {
      after = line.sequence;
      const auto bytes = read_payload(store, std::move(line.payload));
      if (!bytes && !is_damaged(bytes.error())) return bytes.error();
      if (base::Status taken = take(bytes ? std::string_view(*bytes) : kDamagedLine); !taken) return taken;
    }
  }
}

// The lines are copied to a file without a name, because the batch may end while a slow client reads.
bool send_partial_output(Context& context, const CallPtr& call, const base::Uuid& file) {
  const auto output = storage::Batches(context.store).open_output(call->tenant(), file);
  if (!output) {
    call->fail(output.error());
    return true;
  }
  if (!*output) return false;
  auto permit = context.join_permits.take(call->tenant());
  if (!permit) {
    call->fail(
        base::error(base::Code::kOverloaded, "Too many growing outputs are being read at once; retry"));
    return true;
  }
  storage::OpenFile copy(
      ::open(context.store.options().data_dir.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (copy.fd() < 0) {
    call->fail(storage::file_error(errno, "a partial output of a batch"));
    return true;
  }
  std::int64_t size = 0;
  const base::Status copied =
      each_output_line(context.store, (*output)->batch, (*output)->is_error, [&](std::string_view line) {
        size += static_cast<std::int64_t>(line.size());
        return write_all(copy.fd(), line);
      });
  if (!copied) {
    call->fail(read_error(copied.error(), "The output of the batch cannot be read"));
    return true;
  }
  const auto now = storage::Batches(context.store).open_output(call->tenant(), file);
  if (now && !*now) return false;  // the batch has ended meanwhile: the file is whole
  front::Reply head{.status = 200,
                    .content_type = "application/octet-stream",
                    .headers = {{"cache-control", "no-store"}, {"x-content-type-options", "nosniff"}},
                    .body = {}};
  head.reservation = std::make_shared<KeyedSemaphore::Permit>(std::move(permit));  // until it has been sent
  FileStream::start(context, call, std::move(copy), {0, size}, std::move(head));
  return true;
}

}  // namespace millrace::api
