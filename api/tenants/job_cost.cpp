#include "api/tenants/job_cost.h"

#include <utility>

#include "ai/inference/media/media.h"
#include "ai/inference/routing/routing.h"
#include "api/jobs/job_result.h"
#include "api/model_request.h"
#include "schemas/chat/chat_request.h"
#include "schemas/jobs/sealed_spec.h"
#include "schemas/media/ocr_request.h"
#include "schemas/media/transcription_request.h"
#include "storage/jobs/job_queries.h"
#include "storage/tenants/tenants.h"

namespace millrace::api {
namespace {

using MaybeCost = std::optional<schemas::NanoUsd>;

// A chat's large images are only in its input.
base::Result<std::string> stored_request(Context& context, const std::string& tenant, schemas::Kind kind,
                                         storage::StoredInput stored) {
  if (kind == schemas::Kind::kChat && stored.input) stored.spec = {.bytes = {}, .blob = stored.input};
  auto text = read_payload(context.store, std::move(stored.spec));
  if (!text) return read_error(text.error(), "The stored request of this job cannot be read");
  return schemas::open_spec(context.secret_key, tenant, *std::move(text));
}

base::Result<MaybeCost> chat_cost_max(Context& context, const std::string& spec) {
  auto request = schemas::chat_request_from_spec(spec);
  if (!request) return request.error();
  request->cap_output = true;
  if (auto good = context.chat.check(*request); !good) return good.error();
  return amount(context.chat.max_cost(*request));
}

base::Result<MaybeCost> stored_cost_max(Context& context, schemas::Kind kind, const std::string& spec) {
  if (kind == schemas::Kind::kChat) return chat_cost_max(context, spec);
  if (kind == schemas::Kind::kOcr) {
    const auto document = schemas::unpack_ocr_spec(spec);
    return document ? base::Result<MaybeCost>(call_cost_max(context, *document)) : document.error();
  }
  if (kind == schemas::Kind::kStt) {
    const auto recording = schemas::transcription_spec_from_json(spec);
    return recording ? base::Result<MaybeCost>(call_cost_max(context, *recording)) : recording.error();
  }
  return MaybeCost(0);
}

base::Error unknown_cost(base::Error why) {
  why.message =
      "This tenant or API key has a budget, and the cost of the retry cannot be computed: " + why.message;
  return why;
}

}  // namespace

MaybeCost call_cost_max(Context& context, const schemas::OcrSpec& spec) {
  const schemas::PageList pages = spec.pages.empty() ? schemas::PageList{0} : spec.pages;
  if (!spec.by_provider) {
    const double price = context.chat.registry()->local_price(schemas::kOcrModel).page.value_or(0);
    return schemas::nano_usd(price * static_cast<double>(pages.size()));
  }
  const auto model = inference::ocr_model(*context.chat.registry(), spec.model);
  providers::OcrCall order;
  order.pages = pages;
  return amount(inference::MediaClient(context.chat, context.pool)
                    .max_cost(model.value_or(spec.model), spec.allowed_models, std::move(order)));
}

MaybeCost call_cost_max(Context& context, const schemas::TranscriptionSpec& spec) {
  const auto registry = context.chat.registry();
  if (!spec.by_provider) {
    const auto local = registry->local_price(spec.local_model);
    return schemas::nano_usd(local.audio_second.value_or(0));
  }
  const auto model = inference::transcription_model(*registry, spec.model);
  providers::TranscriptionCall order;
  order.prompt = spec.prompt;
  order.seconds_max = 1;
  return amount(inference::MediaClient(context.chat, context.pool)
                    .max_cost(model.value_or(spec.model), spec.allowed_models, std::move(order)));
}

base::Result<schemas::NanoUsd> retry_cost_max(Context& context, const storage::Owner& owner,
                                              const schemas::JobId& job) {
  const auto has_budget = storage::Tenants(context.store).has_budget(owner);
  if (!has_budget) return unknown_cost(has_budget.error());
  if (!*has_budget) return unknown_cost(base::error(base::Code::kOverloaded, "it was set just now; retry"));
  const std::string tenant(owner.tenant);
  auto stored = storage::JobQueries(context.store).input(tenant, job);
  if (!stored) return unknown_cost(stored.error());
  if (stored->cost_max) return *stored->cost_max;
  auto spec = stored_request(context, tenant, job.kind, *std::move(stored));
  if (!spec) return unknown_cost(spec.error());
  const auto cost = stored_cost_max(context, job.kind, *spec);
  if (!cost) return unknown_cost(cost.error());
  if (!*cost) return storage::no_price_error();
  return **cost;
}

}  // namespace millrace::api
