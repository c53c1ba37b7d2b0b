#include "ai/inference/routing.h"
#include "api/call.h"
#include "api/document.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/job_answer.h"
#include "schemas/dropped.h"
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
using OcrIntakePtr = std::shared_ptr<OcrIntake>;

void submit(OcrIntake& intake) {
  std::make_shared<JobAnswer>(intake.context, intake.call, std::move(intake.order), std::move(intake.terms))
      ->submit();
}

// Large documents go to a blob, decoded as they stand in the body. Pool.
void stage_and_submit(OcrIntake& intake) {
  auto staged = stage_document(intake.context.store.blobs(), intake.request.base64);
  if (!staged) return intake.call->fail(staged.error());
  intake.order.input = std::move(*staged);
  intake.call->drop_body();
  submit(intake);
}

void place_document(const OcrIntakePtr& intake) {
  Call& call = *intake->call;
  schemas::OcrRequest& request = intake->request;
  const bool small = decoded_size(request.base64) <= schemas::kInlineDocumentMax;
  if (request.is_data_uri && small) {
    if (auto good = check_small_document(request.base64); !good) return call.fail(good.error());
    request.spec.inline_document = request.base64;
  }
  intake->order.spec = schemas::to_json(request.spec);
  if (!request.is_data_uri || small) {
    call.drop_body();
    return submit(*intake);
  }
  if (call.body().size() > kFrontBodyMax) return stage_and_submit(*intake);  // on the pool already
  on_pool(intake->context, base::Pool::Lane::kLarge, intake->call, [intake] { stage_and_submit(*intake); });
}

}  // namespace

void create_ocr(Context& context, CallPtr call) {
  auto order = order_of(*call, [&call] { return base::sha256(call->body()); });
  if (!order) return call->fail(order.error());
  auto request = schemas::parse_ocr_request(call->body(), [&context](const std::string& model) {
    return inference::ocr_model(*context.chat.registry(), model).has_value();
  });
  if (!request) return call->refuse(request.error());
  order->model = request->spec.model;
  JobAnswer::Terms terms{.kind = schemas::Kind::kOcr,
                         .subject = "The document",
                         .wait = context.options.sync_wait,
                         .respond_async = request->deferred || prefer(call->head()).respond_async,
                         .dropped = schemas::dropped_text(request->dropped)};
  place_document(std::make_shared<OcrIntake>(
      OcrIntake{context, std::move(call), *std::move(order), std::move(terms), *std::move(request)}));
}

}  // namespace millrace::api
