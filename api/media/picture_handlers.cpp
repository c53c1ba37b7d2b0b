#include <atomic>
#include <charconv>
#include <chrono>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "api/call.h"
#include "api/handlers.h"
#include "api/jobs/job_result.h"
#include "api/jobs/job_text.h"
#include "api/media/page_pictures.h"
#include "schemas/jobs/sealed_spec.h"
#include "schemas/media/ocr.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {
namespace {

using base::Code;
using storage::OpenFile;

constexpr std::chrono::seconds kPictureAgain{2};

base::Error no_such_page() { return base::error(Code::kNotFound, "There is no such page"); }

// All tenants share the engine's slots; no tenant may occupy all of them.
base::Error too_many_at_once(const Context& context) {
  base::Error error =
      base::error(Code::kRateLimited, "This tenant has " + std::to_string(context.picture_permits.most()) +
                                          " page pictures in progress, the limit of "
                                          "pictures.per_tenant; retry");
  error.retry_after = kPictureAgain;
  return error;
}

// One of the tenant's permits. It is released when the picture is ready or the client disconnects, whichever
// is first. The engine does not count disconnected clients. Thread-safe.
class PermitWaiter {
 public:
  explicit PermitWaiter(KeyedSemaphore::Permit permit) : permit_(std::move(permit)) {}
  void give_back() {
    if (!given_back_.exchange(true)) permit_.reset();
  }

 private:
  std::atomic<bool> given_back_{false};
  KeyedSemaphore::Permit permit_;
};

constexpr int kPagesShown = 1000;  // documents with more pages are rejected

// nullopt: not a valid page number.
std::optional<int> page_named(std::string_view text) {
  int page = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), page);
  if (failure != std::errc{} || end != text.data() + text.size() || page < 0 || page >= kPagesShown)
    return std::nullopt;
  return page;
}

// A small document that is stored in its job's spec.
base::Result<OpenFile> inline_file(const std::string& bytes) {
  OpenFile file(::memfd_create("document", MFD_CLOEXEC));
  const bool written =
      file.fd() >= 0 && ::write(file.fd(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  if (!written) return base::error(Code::kOverloaded, "Not enough memory for the document; retry later");
  return file;
}

// The stored document of a job.
base::Result<OpenFile> document_of(Context& context, const std::string& tenant, const schemas::JobId& job) {
  auto input = storage::JobQueries(context.store).input(tenant, job);
  if (!input) return std::move(input.error());
  if (input->spec.damaged) return storage::damaged_payload(*input->spec.damaged);
  if (input->input) return context.store.blobs().open(*input->input);
  auto text = read_payload(context.store, std::move(input->spec));
  if (text) text = schemas::open_spec(context.secret_key, tenant, *std::move(text));
  if (!text) return text.error();
  const auto spec = schemas::unpack_ocr_spec(*text);
  if (!spec) return spec.error();
  if (!spec->inline_document.empty()) return inline_file(spec->inline_document);
  return base::error(Code::kResultExpired,
                     "The document is not available: it has not been downloaded yet, or it has been deleted");
}

// The engine's output comes from an untrusted document, so browsers may only show it as a picture.
front::Reply picture_reply(std::string jpeg) {
  front::Reply reply{.status = 200, .content_type = "image/jpeg", .headers = {}, .body = std::move(jpeg)};
  add_header(reply, "cache-control", "private, no-store");
  add_header(reply, "x-content-type-options", "nosniff");
  add_header(reply, "content-security-policy", "sandbox; default-src 'none'");
  return reply;
}

void send_picture(Context& context, Call& call, base::Result<std::string> jpeg) {
  if (!jpeg) return call.fail(jpeg.error().code == Code::kInvalidField ? no_such_page() : jpeg.error());
  std::shared_ptr<void> reservation;
  if (jpeg->size() > kSmallReply) {
    auto taken = context.replies.take(jpeg->size());
    if (!taken) return call.fail(reply_budget_exhausted());
    reservation = std::make_shared<ByteBudget::Reservation>(std::move(*taken));
  }
  front::Reply reply = picture_reply(*std::move(jpeg));
  reply.reservation = std::move(reservation);
  call.reply(std::move(reply));
}

}  // namespace

void page_picture(Context& context, CallPtr call) {
  const auto id = shown_job_id(call->params.at(0));
  if (!id || id->kind != schemas::Kind::kOcr)
    return call->fail(base::error(Code::kNotFound, "There is no such job"));
  call->set_job_id(id->str());
  const auto page = page_named(call->params.at(1));
  if (!page) return call->fail(no_such_page());
  auto taken = context.picture_permits.take(call->tenant());
  if (!taken) return call->fail(too_many_at_once(context));
  const auto permit = std::make_shared<PermitWaiter>(std::move(taken));
  auto document = document_of(context, call->tenant(), *id);
  if (!document) return call->fail(document.error());
  if (!context.pictures.draw) return call->fail(base::error(Code::kOverloaded, context.pictures.off));
  auto begun = context.pictures.draw(call->tenant(), std::move(*document), *page,
                                     [&context, call, permit](base::Result<std::string> jpeg) {
                                       permit->give_back();
                                       send_picture(context, *call, std::move(jpeg));
                                     });
  if (!begun) return call->fail(begun.error());
  call->on_gone([permit, stop = *std::move(begun)] {
    stop();
    permit->give_back();
  });
}

}  // namespace millrace::api
