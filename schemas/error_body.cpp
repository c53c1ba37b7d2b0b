#include "schemas/error_body.h"

#include <algorithm>

#include "platform/base/result.h"
#include "schemas/json/json_body.h"

namespace millrace::schemas {
namespace {

bool machine_path(std::string_view path) {
  constexpr std::string_view kRoot = "/v1/machines";
  return path.starts_with(kRoot) && (path.size() == kRoot.size() || path[kRoot.size()] == '/');
}

// Parses JSON that this module has written.
Json parsed(const std::string& text) { return Json::parse(text, nullptr, false); }

Json detail(const Problems& problems) {
  Json list = Json::array();
  for (const FieldProblem& each : problems) {
    Json row = {{"loc", each.loc}, {"msg", each.msg}, {"type", each.type}};
    if (!each.input.empty()) row["input"] = parsed(each.input);
    if (!each.ctx.empty()) row["ctx"] = parsed(each.ctx);
    list.push_back(std::move(row));
  }
  return list;
}

// What every error has, whatever its format.
Json common(const base::Error& error) {
  const base::CodeInfo& info = base::info(error.code);
  return {{"message", error.message},
          {"type", info.openai_type},
          {"param", error.param.empty() ? Json() : Json(error.param)},
          {"code", info.name}};
}

ErrorBody openai(const base::Error& error, const Problems& problems) {
  const base::CodeInfo& info = base::info(error.code);
  Json body;
  body["error"] = common(error);
  if (info.http_status == 422) body["detail"] = detail(problems);
  return {"application/json", dump(body)};
}

ErrorBody problem(int status, const base::Error& error, const Problems& problems) {
  Json body = {{"type", "about:blank"},
               {"title", base::http_phrase(status)},
               {"status", status},
               {"detail", error.message}};
  Json errors = Json::array();
  for (const FieldProblem& each : problems) {
    Json row = {{"location", dotted(each.loc, 0)}, {"message", each.msg}};
    if (!each.input.empty()) row["value"] = parsed(each.input);
    errors.push_back(std::move(row));
  }
  if (!errors.empty()) body["errors"] = std::move(errors);
  body["error"] = common(error);
  return {"application/problem+json", dump(body)};
}

ErrorBody machine(const base::Error& error, const Problems& problems) {
  const base::CodeInfo& info = base::info(error.code);
  if (info.machine_name.empty()) return problem(info.http_status, error, problems);
  Json body = {{"error_code", info.machine_name},
               {"message", error.message},
               {"retryable", info.retry != base::RetryClass::kPermanent}};
  if (error.retry_after.count() > 0) body["retry_after_ms"] = error.retry_after.count();
  if (!error.details.empty()) body["details"] = parsed(error.details);
  body["error"] = common(error);
  return {"application/json", dump(body)};
}

// The reverse of `dotted`.
void append_dotted(std::vector<std::string>& loc, std::string_view param) {
  while (!param.empty()) {
    const std::size_t end = std::min(param.find('.'), param.size());
    loc.emplace_back(param.substr(0, end));
    param.remove_prefix(std::min(end + 1, param.size()));
  }
}

base::Code code_of(int status) {
  switch (status) {
    case 401:
      return base::Code::kKeyInvalid;
    case 404:
      return base::Code::kNotFound;
    case 405:
      return base::Code::kMethodNotAllowed;
    case 408:
      return base::Code::kRequestTimeout;
    case 413:
      return base::Code::kTooLarge;
    case 431:
      return base::Code::kHeadTooLarge;
    case 503:
      return base::Code::kOverloaded;
    default:
      return status >= 500 ? base::Code::kInternal : base::Code::kBadRequest;
  }
}

}  // namespace

std::string dotted(const std::vector<std::string>& loc, std::size_t from) {
  std::string out;
  for (std::size_t i = from; i < loc.size(); ++i) out.append(out.empty() ? "" : ".").append(loc[i]);
  return out;
}

Refusal invalid(Problems problems) {
  const FieldProblem& first = problems.front();
  std::string param = dotted(first.loc, 1);
  std::string message = param.empty() ? first.msg : param + ": " + first.msg;
  base::Error error = base::error(base::Code::kInvalidField, std::move(message), std::move(param));
  return {std::move(error), std::move(problems)};
}

ErrorBody error_body(std::string_view path, const base::Error& error, const Problems& problems) {
  if (machine_path(path)) return machine(error, problems);
  if (base::info(error.code).http_status != 422 || !problems.empty()) return openai(error, problems);
  FieldProblem only{.loc = {"body"},
                    .msg = error.message,
                    .type = std::string(base::name(error.code)),
                    .input = {},
                    .ctx = {}};
  append_dotted(only.loc, error.param);
  return openai(error, {std::move(only)});
}

ErrorBody error_body(std::string_view path, int status, std::string_view message) {
  const base::Error error = base::error(code_of(status), std::string(message));
  if (machine_path(path) && base::info(error.code).machine_name.empty()) return problem(status, error, {});
  return error_body(path, error);
}

}  // namespace millrace::schemas
