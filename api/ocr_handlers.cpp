#include "ai/inference/routing.h"
#include "api/call.h"
#include "api/document.h"
#include "api/handlers.h"
#include "api/job_answer.h"
#include "api/wrong_model.h"
#include "schemas/dropped.h"
#include "schemas/job_name.h"
#include "schemas/ocr_request.h"

namespace millrace::api {
namespace {

// An OCR request on its way to a job.
struct OcrIntake {
  Context& context;
  CallPtr call;
  jobs::Order order;
  JobAnswer::Terms terms;
  schemas::OcrRequest request;
};

void submit(OcrIntake& intake) {
  std::make_shared<JobAnswer>(intake.context, intake.call, std::move(intake.order), std::move(intake.terms))
      ->submit();
}

// It travels in the spec.
void place_in_spec(OcrIntake& intake) {
  const auto document = small_document(intake.request.base64);
  if (!document) return intake.call->fail(document.error());
  intake.order.spec = schemas::pack(intake.request.spec, *document);
  intake.call->drop_body();
  submit(intake);
}

// To be fetched.
void place_url(OcrIntake& intake) {
  intake.order.spec = schemas::pack(intake.request.spec);
  intake.call->drop_body();
  submit(intake);
}

// To a blob, decoded as it stands in the body. Pool.
void place_in_blob(OcrIntake& intake) {
  auto staged = stage_document(intake.context.store.blobs(), intake.request.base64);
  if (!staged) return intake.call->fail(staged.error());
  intake.order.spec = schemas::pack(intake.request.spec);
  intake.order.input = std::move(*staged);
  intake.call->drop_body();
  submit(intake);
}

void place_document(OcrIntake intake) {
  if (!intake.request.is_data_uri) return place_url(intake);
  if (decoded_size(intake.request.base64) <= schemas::kInlineDocumentMax) return place_in_spec(intake);
  if (intake.call->body().size() > kFrontBodyMax) return place_in_blob(intake);  // on the pool already
  auto later = std::make_shared<OcrIntake>(std::move(intake));
  on_pool(later->context, base::Pool::Lane::kLarge, later->call, [later] { place_in_blob(*later); });
}

// nullopt: the call has been answered.
std::optional<schemas::OcrRequest> read_ocr(const inference::Registry& registry, Call& call) {
  const auto strict = read_strict(call);
  if (!strict) return std::nullopt;
  std::string asked;
  auto request = schemas::read_ocr_request(call.body(), [&](const std::string& model) {
    asked = model;
    return inference::ocr_model(registry, model).has_value();
  });
  if (!request) {
    call.refuse(of_wrong_model(registry, asked, "read documents", std::move(request.error())));
    return std::nullopt;
  }
  if (const auto good = inference::check_strict(*strict, request->dropped); !good) {
    call.fail(good.error());
    return std::nullopt;
  }
  return *std::move(request);
}

}  // namespace

void create_ocr(Context& context, CallPtr call) {
  auto order = order_of(*call, [&call] { return base::sha256(call->body()); });
  if (!order) return call->fail(order.error());
  auto request = read_ocr(*context.chat.registry(), *call);
  if (!request) return;
  order->model = request->spec.model;
  JobAnswer::Terms terms{.kind = schemas::Kind::kOcr,
                         .subject = "The document",
                         .name = schemas::job_name(request->spec.document_name),
                         .dropped = schemas::dropped_text(request->dropped)};
  set_patience(terms, call->head(), request->deferred, context.options.sync_wait);
  place_document({context, std::move(call), *std::move(order), std::move(terms), *std::move(request)});
}

}  // namespace millrace::api
