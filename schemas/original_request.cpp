#include "schemas/original_request.h"

#include <algorithm>
#include <utility>

#include "schemas/chat/chat_request.h"
#include "schemas/json/json_body.h"
#include "schemas/json/url_text.h"
#include "schemas/machines/execution.h"
#include "schemas/machines/machine.h"
#include "schemas/media/audio_format.h"
#include "schemas/media/document_type.h"
#include "schemas/media/ocr.h"
#include "schemas/media/transcription.h"

namespace millrace::schemas {
namespace {

using LeftOut = std::vector<std::string>;

// Removes what may be secret: the signature of a signed URL, a token in the fragment, a user's password.
void cut_query(std::string& url, const std::string& place, LeftOut& left_out) {
  if (!has_scheme(url, "https://") && !has_scheme(url, "http://")) return;
  const std::size_t end = std::min(url.find_first_of("?#"), url.size());
  const bool is_whole = end == url.size() && !has_credentials(url);
  if (is_whole) return;
  url.resize(end);
  if (has_credentials(url)) {
    const std::size_t host = url.find("://") + 3;
    url.erase(host, url.rfind('@', url.find('/', host)) + 1 - host);
  }
  left_out.push_back(place);
}

// Removes secrets from every URL at any depth of a message part or of search parameters.
void cut_queries(Json& value, const std::string& place, LeftOut& left_out) {
  if (auto* text = value.get_ptr<std::string*>()) return cut_query(*text, place, left_out);
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      cut_queries(value[i], place + "." + std::to_string(i), left_out);
  }
  if (!value.is_object()) return;
  for (auto& [name, inner] : value.items()) {
    const bool is_text = name == "text" || name == "refusal";
    if (!is_text) cut_queries(inner, std::string(place).append(".").append(name), left_out);
  }
}

void leave_out(Json& holder, const char* name, const std::string& place, LeftOut& left_out) {
  if (holder.is_object() && holder.erase(name) > 0) left_out.push_back(place + "." + name);
}

// Omits the bytes of files and recordings, which the client has.
void leave_bytes_out(Json& part, const std::string& place, LeftOut& left_out) {
  if (!part.is_object()) return;
  if (const auto file = part.find("file"); file != part.end())
    leave_out(*file, "file_data", place + ".file", left_out);
  if (const auto sound = part.find("input_audio"); sound != part.end())
    leave_out(*sound, "data", place + ".input_audio", left_out);
  for (const char* name : {"audio_url", "video_url"}) {
    const auto media = part.find(name);
    if (media == part.end() || !media->is_object()) continue;
    const auto url = media->find("url");
    const bool is_data =
        url != media->end() && url->is_string() && has_scheme(url->get_ref<const std::string&>(), "data:");
    if (is_data) leave_out(*media, "url", std::string(place).append(".").append(name), left_out);
  }
}

// Omits the credentials of provider tools.
void leave_tool_secrets_out(Json& body, LeftOut& left_out) {
  const auto tools = body.find("tools");
  if (tools == body.end() || !tools->is_array()) return;
  for (std::size_t i = 0; i < tools->size(); ++i) {
    for (const char* secret : {"headers", "authorization", "api_key"})
      leave_out((*tools)[i], secret, "tools." + std::to_string(i), left_out);
  }
}

void cut_search_queries(Json& body, LeftOut& left_out) {
  for (const char* name : {"search_parameters", "web_search_options", "tool_config", "generation_config"}) {
    if (const auto found = body.find(name); found != body.end()) cut_queries(*found, name, left_out);
  }
}

// True: the part replaces an image that was too large to be stored (drop_large_images).
bool is_unkept_picture(const Json& part) {
  constexpr std::string_view kBegin = "[an image of ", kEnd = " bytes, not kept]";
  if (!part.is_object() || part.value("type", Json()) != "text") return false;
  const auto text = part.find("text");
  if (text == part.end() || !text->is_string()) return false;
  const auto& content = text->get_ref<const std::string&>();
  if (!content.starts_with(kBegin) || !content.ends_with(kEnd)) return false;
  return content.find_first_not_of("0123456789", kBegin.size()) == content.size() - kEnd.size();
}

void leave_out_of_part(Json& part, const std::string& place, LeftOut& left_out) {
  if (is_unkept_picture(part)) return left_out.push_back(place);
  leave_bytes_out(part, place, left_out);
  cut_queries(part, place, left_out);
}

void leave_out_of_messages(Json& body, LeftOut& left_out) {
  const auto messages = body.find("messages");
  if (messages == body.end() || !messages->is_array()) return;
  for (std::size_t m = 0; m < messages->size(); ++m) {
    Json& message = (*messages)[m];
    const auto content = message.is_object() ? message.find("content") : message.end();
    if (content == message.end() || !content->is_array()) continue;
    const std::string place = "messages." + std::to_string(m) + ".content.";
    for (std::size_t p = 0; p < content->size(); ++p)
      leave_out_of_part((*content)[p], place + std::to_string(p), left_out);
  }
}

Json original_servers(std::vector<McpServerRef> servers, LeftOut& left_out) {
  Json out = Json::array();
  for (McpServerRef& each : servers) {
    cut_query(each.url, "mcp_servers." + std::to_string(out.size()) + ".url", left_out);
    Json server = Json::object();
    if (!each.slug.empty()) server["slug"] = each.slug;
    if (!each.version.empty()) server["version"] = each.version;
    if (!each.url.empty()) server["url"] = each.url;
    if (!each.name.empty()) server["name"] = each.name;
    out.push_back(std::move(server));
  }
  return out;
}

// Adds the gateway's own chat parameters, which are not sent to models.
void add_own(ChatRequest& request, OriginalRequest& out) {
  Json& body = out.body;
  body["deferred"] = true;
  body["model"] = request.models.size() == 1 ? Json(request.models.front()) : Json(request.models);
  if (request.priority != 0) body["priority"] = request.priority;
  if (!request.execute_tools) body["auto_execute_tools"] = false;
  if (request.max_turns != kChatTurnsDefault) body["max_turns"] = request.max_turns;
  if (!request.model_attributes.empty()) body["model_attributes"] = request.model_attributes;
  if (!request.agent_attributes.empty()) body["agent_attributes"] = request.agent_attributes;
  if (!request.mcp_servers.empty())
    body["mcp_servers"] = original_servers(std::move(request.mcp_servers), out.left_out);
}

base::Result<OriginalRequest> original_chat(std::string_view spec) {
  auto request = chat_request_from_spec(spec);
  if (!request) return request.error();
  OriginalRequest out{.path = "/v1/chat/completions", .body = std::move(request->body), .left_out = {}};
  for (const std::string& name : request->unknown) {
    out.body.erase(name);
    out.left_out.push_back(name);
  }
  leave_out_of_messages(out.body, out.left_out);
  cut_search_queries(out.body, out.left_out);
  leave_tool_secrets_out(out.body, out.left_out);
  add_own(*request, out);
  return out;
}

std::string media_of_document(std::string_view head) {
  const auto media = detect_media(head);
  return media ? std::string(mime(*media)) : std::string();
}

std::string media_of_recording(std::string_view head) {
  const auto format = detect_audio(head);
  return format ? std::string(mime(*format)) : std::string();
}

base::Result<OriginalRequest> original_ocr(std::string_view spec, std::string_view head) {
  auto request = unpack_ocr_spec(spec);
  if (!request) return request.error();
  OriginalRequest out{.path = "/v1/ocr", .body = {{"model", request->model}}, .left_out = {}};
  Json document = Json::object();
  if (request->document_url.empty()) {
    out.left_out.push_back("document.document_url");
    const std::string& small = request->inline_document;
    out.file = OriginalFile{request->document_name, media_of_document(small.empty() ? head : small)};
  } else {
    cut_query(request->document_url, "document.document_url", out.left_out);
    document["document_url"] = request->document_url;
  }
  out.body["document"] = std::move(document);
  if (!request->document_name.empty()) out.body["document_name"] = request->document_name;
  if (!request->pages.empty()) out.body["pages"] = request->pages;
  if (request->include_image_base64) out.body["include_image_base64"] = true;
  if (!request->options.empty()) out.body.update(Json::parse(request->options, nullptr, false));
  return out;
}

Json granularities(const TranscriptStyle& style) {
  Json out = Json::array();
  if (style.segments) out.push_back("segment");
  if (style.words) out.push_back("word");
  return out;
}

base::Result<OriginalRequest> original_transcription(std::string_view spec, std::string_view head) {
  auto request = transcription_spec_from_json(spec);
  if (!request) return request.error();
  const TranscriptStyle& style = request->style;
  OriginalRequest out{.path = style.translate ? "/v1/audio/translations" : "/v1/audio/transcriptions",
                      .is_form = true,
                      .body = {{"model", request->model}, {"response_format", name(style.form)}},
                      .left_out = {"file"},
                      .file = OriginalFile{request->file_name, media_of_recording(head)}};
  if (!request->language.empty()) out.body["language"] = request->language;
  if (!request->prompt.empty()) out.body["prompt"] = request->prompt;
  if (request->temperature) out.body["temperature"] = *request->temperature;
  if (style.words) out.body["timestamp_granularities[]"] = granularities(style);
  if (request->speakers.chunking) {
    for (auto& [field, value] : form_fields(*request->speakers.chunking)) out.body[field] = std::move(value);
  }
  if (!request->speakers.names.empty()) out.body["known_speaker_names[]"] = request->speakers.names;
  if (!request->speakers.references.empty()) out.left_out.push_back("known_speaker_references[]");
  return out;
}

Json file_json(const OriginalFile& file) {
  Json out = Json::object();
  if (!file.name.empty()) out["name"] = file.name;
  if (!file.media_type.empty()) out["media_type"] = file.media_type;
  return out;
}

base::Result<OriginalRequest> original_execution(std::string_view spec, bool has_input) {
  auto request = execution_spec_from_json(spec);
  if (!request) return request.error();
  if (request->file)
    return base::error(base::Code::kInvalidState,
                       "A file that was copied has no request that can be repeated");
  OriginalRequest out{.path = "/v1/machines/" + machine_id(request->machine) + "/executions",
                      .body = {{"command", request->command}},
                      .left_out = {}};
  if (!request->cwd.empty()) out.body["cwd"] = request->cwd;
  if (request->timeout != kTimeoutDefault) out.body["timeout_ms"] = request->timeout.count();
  for (const std::string& each : request->env_names) out.left_out.push_back("env." + each);
  if (has_input || request->has_input) out.left_out.push_back("stdin");
  return out;
}

}  // namespace

base::Result<OriginalRequest> original_request(Kind kind, std::string_view spec, bool has_input,
                                               std::string_view head) {
  switch (kind) {
    case Kind::kOcr:
      return original_ocr(spec, head);
    case Kind::kStt:
      return original_transcription(spec, head);
    case Kind::kChat:
      return original_chat(spec);
    case Kind::kExec:
      return original_execution(spec, has_input);
    case Kind::kMachine:
      break;
  }
  return base::error(base::Code::kInternal, "Jobs of this kind have no original request");
}

std::string to_json(const JobId& job, OriginalRequest original) {
  Json out{{"job_id", job.str()},
           {"kind", name(job.kind)},
           {"method", "POST"},
           {"path", original.path},
           {"content_type", original.is_form ? "multipart/form-data" : "application/json"},
           {"body", std::move(original.body)},
           {"left_out", original.left_out}};
  if (original.file) out["file"] = file_json(*original.file);
  return dump(out);
}

std::size_t reply_bytes(std::size_t spec_bytes) {
  constexpr std::size_t kValueBytes = 128;    // an empty object as a member: its node, its name and itself
  constexpr std::size_t kValueTextBytes = 2;  // "0,"
  const std::size_t values = std::min(spec_bytes / kValueTextBytes, kJsonValuesMax);
  return 2 * spec_bytes + values * kValueBytes;
}

}  // namespace millrace::schemas
