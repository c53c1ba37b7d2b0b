#include <algorithm>
#include <iterator>
#include <memory>

#include "ai/inference/media/media.h"
#include "ai/inference/routing/routing.h"
#include "api/call.h"
#include "api/files/file_input.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/jobs/job_responder.h"
#include "api/model_request.h"
#include "api/routing/router.h"
#include "api/tenants/job_cost.h"
#include "api/webhooks/request_webhook.h"
#include "platform/base/base64.h"
#include "schemas/dropped.h"
#include "schemas/jobs/job_name.h"
#include "schemas/jobs/sealed_spec.h"
#include "schemas/media/document_type.h"
#include "schemas/media/ocr.h"
#include "schemas/media/ocr_request.h"
#include "storage/blobs/blobs.h"

namespace millrace::api {
namespace {

// The API's checks of a document: valid base64, size and magic bytes (docs/design/architecture.md §5).
// Errors: kInvalidField (not base64), kDocumentEmpty, kDocumentTooLarge, kDocumentUnsupported.

using base::Code;

constexpr std::size_t kPieceChars = 1u << 20;  // of base64 per step

base::Error refuse(Code code, std::string message) {
  return base::error(code, std::move(message), std::string(schemas::kDocumentField));
}

bool is_space(char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; }

std::string without_space(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return !is_space(c); });
  return out;
}

base::Error not_base64(std::string_view base64) {
  std::string message = "The data URI does not hold valid base64";
  message += base64.find_first_of("-_") == std::string_view::npos
                 ? ": encode the file with `base64 -w0 FILE`"
                 : ": it uses the URL-safe alphabet; use '+' and '/' instead of '-' and '_'";
  return refuse(Code::kInvalidField, std::move(message));
}

base::Status check_head(std::string_view head) {
  if (head.empty()) return refuse(Code::kDocumentEmpty, "The document is empty");
  if (schemas::detect_media(head)) return {};
  return refuse(Code::kDocumentUnsupported, "The document is not PDF, PNG, JPEG or WebP");
}

// The document's bytes in pieces; each piece is valid until the next call. If decoding fails because of
// whitespace, such as the line breaks of `base64 FILE`, it is repeated without the whitespace. Base64 without
// whitespace has no extra cost.
class Pieces {
 public:
  explicit Pieces(std::string_view base64)
      : rest_(base64),
        reserved_(base::Base64Decoder::capacity(std::min(base64.size(), kPieceChars)) + kTail),
        buffer_(std::make_unique<char[]>(reserved_)) {}

  bool done() const { return rest_.empty(); }
  // kInvalidField: it is not base64.
  base::Result<std::string_view> next() {
    const std::string_view piece = rest_.substr(0, kPieceChars);
    rest_.remove_prefix(piece.size());
    const auto body = decode(piece);
    if (!body) return not_base64(piece);
    const auto tail = rest_.empty() ? decoder_.finish(buffer_.get() + *body) : std::optional<std::size_t>(0);
    if (!tail) return not_base64(piece);
    return std::string_view(buffer_.get(), *body + *tail);
  }

 private:
  std::optional<std::size_t> decode(std::string_view piece) {
    const base::Base64Decoder before = decoder_;
    if (const auto body = decoder_.decode(piece, buffer_.get())) return body;
    if (std::none_of(piece.begin(), piece.end(), is_space)) return std::nullopt;
    decoder_ = before;
    return decoder_.decode(without_space(piece), buffer_.get());
  }

  static constexpr std::size_t kTail = 8;
  std::string_view rest_;
  std::size_t reserved_;
  std::unique_ptr<char[]> buffer_;
  base::Base64Decoder decoder_;
};

// The decoded size of `base64`, if it is valid; an upper bound if it has line breaks.
std::size_t decoded_size(std::string_view base64) {
  while (base64.ends_with('=')) base64.remove_suffix(1);
  return base64.size() * 3 / 4;
}

// An upper bound if that is within the limit; otherwise the exact size without whitespace.
std::int64_t size_without_space(std::string_view base64) {
  const auto size = static_cast<std::int64_t>(decoded_size(base64));
  if (size <= schemas::kDocumentBytesMax) return size;
  const auto chars =
      std::count_if(base64.begin(), base64.end(), [](char c) { return !is_space(c) && c != '='; });
  return chars * 3 / 4;
}

// The bytes of a document of at most schemas::kInlineDocumentMax. Line breaks and spaces are ignored.
base::Result<std::string> small_document(std::string_view base64) {
  if (base64.empty()) return check_head({}).error();
  Pieces pieces(base64);
  const auto bytes = pieces.next();
  if (!bytes) return bytes.error();
  if (auto good = check_head(*bytes); !good) return good.error();
  return std::string(*bytes);
}

// Decodes in pieces directly into a new blob, without a second copy of the document in memory. Line breaks
// and spaces are ignored. Blocks on the disk.
base::Result<storage::Staged> stage_document(storage::Blobs& blobs, std::string_view base64) {
  if (base64.empty()) return check_head({}).error();
  const std::int64_t size = size_without_space(base64);
  if (size > schemas::kDocumentBytesMax)
    return refuse(Code::kDocumentTooLarge, "The document is larger than 50 MB");
  Pieces pieces(base64);
  std::unique_ptr<storage::BlobWriter> blob;
  while (!pieces.done()) {
    const auto bytes = pieces.next();
    if (!bytes) return bytes.error();
    if (!blob) {
      if (auto good = check_head(*bytes); !good) return good.error();
      auto begun = blobs.begin(size);
      if (!begun) return begun.error();
      blob = std::move(*begun);
    }
    if (auto written = blob->append(*bytes); !written) return written.error();
  }
  return blob->finish();
}

// An OCR request that is being turned into a job.
struct OcrIntake {
  Context& context;
  CallPtr call;
  storage::Submission submission;
  JobResponder::ReplyOptions reply_options;
  schemas::OcrRequest request;
};

void submit(OcrIntake& intake) {
  std::make_shared<JobResponder>(intake.context, intake.call, std::move(intake.submission),
                                 std::move(intake.reply_options))
      ->submit();
}

// Small documents are stored in the spec.
void store_in_spec(OcrIntake& intake) {
  const auto document = small_document(intake.request.base64);
  if (!document) return intake.call->fail(document.error());
  intake.submission.spec = schemas::pack(intake.request.spec, *document);
  intake.call->drop_body();
  submit(intake);
}

// The worker downloads the document. The URL may be signed, so it is stored encrypted.
void store_url(OcrIntake& intake) {
  intake.submission.spec = schemas::seal_spec(intake.context.secret_key, intake.submission.tenant,
                                              schemas::Kind::kOcr, schemas::pack(intake.request.spec));
  intake.call->drop_body();
  submit(intake);
}

// Decodes the document from the body into a blob. Runs on the pool.
void store_in_blob(OcrIntake& intake) {
  auto staged = stage_document(intake.context.store.blobs(), intake.request.base64);
  if (!staged) return intake.call->fail(staged.error());
  intake.submission.spec = schemas::pack(intake.request.spec);
  intake.submission.input = std::move(*staged);
  intake.call->drop_body();
  submit(intake);
}

// The document is a file, whose content the job shares. Runs on the pool.
void take_file(OcrIntake& intake) {
  const auto file =
      file_input(intake.context, *intake.call, *intake.request.file, kDocumentRules, "document.file_id");
  if (!file && !may_be_repeat(file.error(), intake.submission)) return intake.call->fail(file.error());
  if (file && intake.request.spec.document_name.empty()) {
    intake.request.spec.document_name = schemas::job_name(file->name);
    intake.reply_options.name = intake.request.spec.document_name;
  }
  intake.submission.spec = schemas::pack(intake.request.spec);
  intake.submission.input_file = intake.request.file;
  intake.call->drop_body();
  submit(intake);
}

void store_on_pool(OcrIntake intake, void (*store)(OcrIntake&)) {
  auto later = std::make_shared<OcrIntake>(std::move(intake));
  on_pool(later->context, base::Pool::Queue::kLarge, later->call, [later, store] { store(*later); });
}

void store_document(OcrIntake intake) {
  if (intake.request.file) return store_on_pool(std::move(intake), &take_file);
  if (!intake.request.is_data_uri) return store_url(intake);
  if (decoded_size(intake.request.base64) <= schemas::kInlineDocumentMax) return store_in_spec(intake);
  if (intake.call->body().size() > kFrontBodyMax) return store_in_blob(intake);  // on the pool already
  store_on_pool(std::move(intake), &store_in_blob);
}

// What is refused by its form makes no job. The worker checks the addresses that the name leads to.
base::Status check_document_url(const Context& context, const schemas::OcrRequest& request) {
  if (request.is_data_uri || request.file || context.fetch_guard == nullptr) return {};
  const base::Status good =
      context.fetch_guard->check_foreign_url(request.spec.document_url, net::kDocumentUrl);
  if (good) return {};
  base::Error error = good.error();
  error.param = schemas::kDocumentField;
  return error;
}

using ParsedRequest = tl::expected<schemas::OcrRequest, schemas::Refusal>;
using Parse = std::function<ParsedRequest(const schemas::IsProviderModel& has_provider)>;

// nullopt: an error was sent.
std::optional<schemas::OcrRequest> read_ocr(const Context& context, Call& call, bool strict,
                                            const Parse& parse) {
  const auto snapshot = context.chat.registry();
  const inference::Registry& registry = *snapshot;
  std::string requested_model;
  auto request = parse([&](const std::string& model) {
    requested_model = model;
    return inference::ocr_model(registry, model).has_value();
  });
  if (!request) {
    call.refuse(wrong_model_error(context, requested_model, "read documents", std::move(request.error())));
    return std::nullopt;
  }
  if (const auto good = inference::check_strict(strict, request->dropped); !good) {
    call.fail(good.error());
    return std::nullopt;
  }
  const std::string& model = request->spec.model;
  const std::string name = inference::ocr_model(registry, model).value_or(std::string(schemas::kOcrModel));
  if (const auto may = check_model(call, model, name); !may) {
    call.fail(may.error());
    return std::nullopt;
  }
  if (request->spec.by_provider) request->spec.allowed_models = call.principal->access.models;
  return *std::move(request);
}

JobResponder::ReplyOptions reply_options_of(const Context& context, const Call& call,
                                            const schemas::OcrRequest& request) {
  JobResponder::ReplyOptions out{.kind = schemas::Kind::kOcr,
                                 .subject = "The document",
                                 .name = schemas::job_name(request.spec.document_name),
                                 .dropped = schemas::dropped_text(request.dropped)};
  apply_prefer(out, call.head(), request.deferred, context.options.sync_wait);
  return out;
}

// Sets what the request says about its job.
void describe(Context& context, schemas::OcrRequest& request, storage::Submission& submission) {
  submission.model = request.spec.model;
  submission.cost_max = call_cost_max(context, request.spec);
  submission.metadata = std::move(request.metadata);
  submission.start = request.start;
  submission.run_at_max = context.options.run_at_max;
}

// Of a form, or of the document itself with its parameters in the query.
base::Sha256Digest fingerprint(const Form& form, bool is_form, std::string_view query) {
  if (is_form) return form.fingerprint;
  base::Sha256 hash;
  hash.update(base::hex(form.fingerprint));
  hash.update(query);
  return hash.finish();
}

// The document has been uploaded. Runs on the pool.
void submit_uploaded(Context& context, CallPtr call, bool strict, bool is_form, Form form) {
  const std::string query = call->head().query;
  auto submission = submission_of(*call, [&] { return fingerprint(form, is_form, query); });
  if (!submission) return call->fail(submission.error());
  if (const auto good = add_request_webhook(context, *call, *submission); !good)
    return call->fail(good.error());
  auto request = read_ocr(context, *call, strict, [&](const schemas::IsProviderModel& has_provider) {
    if (!is_form) return schemas::parse_ocr_query(query_pairs(query), has_provider);
    return schemas::parse_ocr_form(form.fields, form.file != nullptr, has_provider);
  });
  if (!request) return;
  for (std::string& name : form.dropped) request->dropped.push_back({.name = std::move(name)});
  if (request->spec.document_name.empty()) request->spec.document_name = schemas::job_name(form.file_name);
  describe(context, *request, *submission);
  submission->spec = schemas::pack(request->spec);
  submission->input = std::move(form.file);
  auto reply_options = reply_options_of(context, *call, *request);
  std::make_shared<JobResponder>(context, std::move(call), *std::move(submission), std::move(reply_options))
      ->submit();
}

// Parameters in the query belong to a body that is the document itself.
void note_unused_query(Call& call) {
  if (call.head().query.empty()) return;
  const auto fields = schemas::ocr_query_fields();
  for (const auto& [name, text] : query_pairs(call.head().query)) {
    const auto has_name = [&name = name](const schemas::Field& field) { return field.name == name; };
    const bool is_named = std::ranges::find(call.ignored, name) != call.ignored.end();
    if (!is_named && std::any_of(fields.begin(), fields.end(), has_name)) call.ignored.push_back(name);
  }
}

// A body that is the document itself, without a byte.
bool is_empty_document(Call& call) {
  const auto type = call.head().header("content-type");
  return call.body().empty() && type && !is_json_type(*type);
}

}  // namespace

void create_ocr(Context& context, CallPtr call) {
  const auto strict = read_strict(*call);
  if (!strict) return;
  const std::shared_ptr<Upload> upload = call->upload;
  if (!upload || upload->is_form()) note_unused_query(*call);
  if (!upload && is_empty_document(*call)) return call->fail(check_head({}).error());
  if (upload) {
    return upload->finish([&context, call, strict = *strict, is_form = upload->is_form()](auto form) {
      call->drop_body();
      if (!form) return call->refuse(form.error());
      if (!is_form && !form->file) return call->fail(check_head({}).error());
      submit_uploaded(context, call, strict, is_form, *std::move(form));
    });
  }
  auto submission = submission_of(*call, [&call] { return base::sha256(call->body()); });
  if (!submission) return call->fail(submission.error());
  if (const auto good = add_request_webhook(context, *call, *submission); !good)
    return call->fail(good.error());
  auto request = read_ocr(context, *call, *strict, [&call](const auto& has_provider) {
    return schemas::read_ocr_request(call->body(), has_provider);
  });
  if (!request) return;
  if (const auto good = check_document_url(context, *request); !good) return call->fail(good.error());
  describe(context, *request, *submission);
  auto reply_options = reply_options_of(context, *call, *request);
  store_document(
      {context, std::move(call), *std::move(submission), std::move(reply_options), *std::move(request)});
}

}  // namespace millrace::api
