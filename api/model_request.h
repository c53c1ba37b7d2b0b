#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "ai/inference/routing/price.h"
#include "ai/inference/routing/registry.h"
#include "api/call.h"
#include "schemas/error_body.h"
#include "schemas/field.h"

// What the handlers of all model endpoints share.
namespace millrace::api {

// The bound as a job's Submission::cost_max: absent if a model has no price.
std::optional<schemas::NanoUsd> amount(const inference::CostBound& bound);

// The query fields of the model endpoints.
std::span<const schemas::Field> model_query_fields();
// kForbidden: the key may use a model neither by the name that it sent nor by the model's own.
base::Status check_model(const Call& call, std::string_view requested, std::string_view name);

// `?strict` of the model endpoints; nullopt: an error was sent.
std::optional<bool> read_strict(Call& call);

// Replaces the error "there is no model `model`" if that model exists but does something else. The result is
// 400 with the message that provider models get. `work`: the requested operation, such as "transcribe
// recordings". Any other error is returned unchanged.
schemas::Refusal wrong_model_error(const Context& context, std::string_view model, std::string_view work,
                                   schemas::Refusal refusal);
base::Error wrong_model_error(const Context& context, std::string_view model, std::string_view work,
                              base::Error error);

}  // namespace millrace::api
