#include "app/cli/job_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

namespace millrace::cli {
using nlohmann::json;
namespace {

constexpr std::array<std::string_view, 12> kFieldsInOrder = {
    "id",           "kind",       "status",  "model",    "created_at", "started_at",
    "completed_at", "expires_at", "attempt", "progress", "error",      "retry_of"};
constexpr std::size_t kNameColumns = 16;
constexpr std::size_t kTypeColumns = 9;  // of an event

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string plain(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// "MESSAGE (CODE)" of {code, message}; of anything else, all of it.
std::string error_text(const json& error) {
  if (!error.is_object() || !error.contains("message")) return plain(error);
  const std::string code = error.contains("code") ? plain(error["code"]) : "";
  return plain(error["message"]) + (code.empty() ? "" : " (" + code + ")");
}

std::string share_text(const json& share) {
  if (!share.is_object() || !share.contains("done") || !share.contains("total")) return plain(share);
  return plain(share["done"]) + "/" + plain(share["total"]);
}

std::string field_text(std::string_view name, const json& value) {
  if (name == "error") return error_text(value);
  return name == "progress" ? share_text(value) : plain(value);
}

std::string line(const std::string& name, const std::string& value) {
  return padded(name, kNameColumns) + " " + value + "\n";
}

std::string links_text(const json& links) {
  if (!links.is_object()) return line("links", plain(links));
  std::string out;
  for (const auto& [name, url] : links.items()) out += line("link " + name, plain(url));
  return out;
}

// The members that no sentence has been made of, by name.
std::string rest_text(const json& data) {
  std::string out;
  for (const auto& [name, value] : data.items())
    out += (out.empty() ? "" : ", ") + name + " " + field_text(name, value);
  return out;
}

// Of an event: an error or a share of the whole first, then the rest.
std::string what(json data) {
  std::string out;
  if (!data.is_object()) return plain(data);
  if (data.contains("message")) {
    out = error_text(data);
    data.erase("message"), data.erase("code");
  } else if (data.contains("done") && data.contains("total")) {
    out = share_text(data);
    data.erase("done"), data.erase("total");
  }
  const std::string rest = rest_text(data);
  return out.empty() || rest.empty() ? out + rest : out + ", " + rest;
}

}  // namespace

std::string progress_text(const json& job) {
  const auto progress = job.find("progress");
  return progress == job.end() ? "-" : share_text(*progress);
}

std::string job_text(const json& job) {
  std::string out;
  json rest = job;
  for (const std::string_view name : kFieldsInOrder) {
    const auto found = rest.find(name);
    if (found == rest.end()) continue;
    out += line(std::string(name), field_text(name, *found));
    rest.erase(found);
  }
  const json links = rest.value("links", json::object());
  rest.erase("links");
  for (const auto& [name, value] : rest.items()) out += line(name, field_text(name, value));
  return out + links_text(links);
}

std::string event_text(const json& event) {
  if (!event.is_object()) return plain(event);
  const auto text = [&](const char* name) { return event.contains(name) ? plain(event[name]) : ""; };
  const std::string said = event.contains("data") ? what(event["data"]) : "";
  const std::string type = text("type");
  return text("at") + "  " + (said.empty() ? type : padded(type, kTypeColumns) + "  " + said);
}

}  // namespace millrace::cli
