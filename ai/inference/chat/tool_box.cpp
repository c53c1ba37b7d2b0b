#include "ai/inference/chat/tool_box.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <utility>

#include "ai/providers/json_access.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"
#include "schemas/json/url_text.h"

namespace millrace::inference {
namespace {

constexpr std::size_t kServerMax = 24;  // bytes of the server prefix, if the whole name would be too long

std::string cleaned(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    out += fits ? c : '_';
  }
  return out.empty() ? "_" : out;
}

}  // namespace

std::string ToolNames::name(std::string_view server, std::string_view tool) {
  std::string prefix = cleaned(server);
  const std::string own = cleaned(tool);
  if (prefix.size() + 2 + own.size() > kNameMax && prefix.size() > kServerMax) prefix.resize(kServerMax);
  return names_.add(prefix + "__" + own);
}

namespace {

using base::Code;
using schemas::ChatRequest;
using schemas::Json;
using schemas::McpToolResult;
using schemas::ToolCall;
using schemas::ToolReport;
using schemas::ToolResult;

std::string recommendation(Code code) {
  if (code == Code::kFetchRefused)
    return "give a public https URL, or ask the operator to allow the host with --fetch.allow-hosts";
  if (code == Code::kNotFound) return "give the server's URL, or ask the operator to add the slug";
  return "check that the server answers at its URL";
}

void add_error(ToolReport& report, const std::string& server, const base::Error& error) {
  report.errors.push_back(
      {server, error.message, std::string(base::name(error.code)), recommendation(error.code)});
}

constexpr std::size_t kLeftOutShown = 10;  // tools that the error names

// One error for all tools that a server lists and the model does not get.
void add_left_out(ToolReport& report, const std::string& server, const std::vector<McpLeftOutTool>& tools) {
  if (tools.empty()) return;
  std::string message = std::to_string(tools.size()) + (tools.size() == 1 ? " tool was" : " tools were");
  message += " left out";
  for (std::size_t i = 0; i < std::min(tools.size(), kLeftOutShown); ++i) {
    message += (i == 0 ? ": '" : "; '") + tools[i].name + "': " + tools[i].reason;
  }
  if (tools.size() > kLeftOutShown)
    message += "; and " + std::to_string(tools.size() - kLeftOutShown) + " more";
  report.errors.push_back({server, std::move(message), std::string(base::name(Code::kUpstream)),
                           "correct the server's list of tools; its other tools are used"});
}

// Numbers of the schema keep their spelling.
Json schema_of(const McpTool& tool) {
  std::string text = tool.input_schema;
  auto read = schemas::read_json(text, schemas::kJsonValuesMax, schemas::Numbers::kSpelled);
  return read ? schemas::whole(*std::move(read)) : Json{{"type", "object"}, {"properties", Json::object()}};
}

Json tool_json(const std::string& name, const McpTool& tool, Json schema) {
  Json function{{"name", name}};
  if (!tool.description.empty()) function["description"] = tool.description;
  function["parameters"] = std::move(schema);
  return Json{{"type", "function"}, {"function", std::move(function)}};
}

std::set<std::string> names_of(const Json& tools) {
  std::set<std::string> names;
  for (const Json& tool : tools) {
    for (const char* kind : {"function", "custom"}) {
      const auto found = tool.find(kind);
      if (found != tool.end() && found->is_object()) names.insert(found->value("name", ""));
    }
  }
  return names;
}

constexpr std::size_t kToolsShown = 32;  // in the error of a call of no tool

bool is_object(const std::string& text) {
  const std::optional<Json> value = providers::parse_wire(text);
  return value && value->is_object();
}

void refuse(McpToolResult& mcp_result, std::string why) {
  mcp_result.is_error = true;
  mcp_result.result = std::move(why);
  mcp_result.pictures.clear();
}

std::string too_many_bytes() {
  return "the tool results of one request may have at most " +
         std::to_string(ToolBox::kResultBytesMax >> 20) + " MiB in total (kResultBytesMax)";
}

std::string too_many_calls() {
  return "at most " + std::to_string(ToolBox::kCallsPerTurn) + " tool calls are run per turn (kCallsPerTurn)";
}

ToolResult tool_result(const ToolCall& call, McpToolResult& result) {
  return {call.id, result.is_error ? "Error: " + result.result : result.result, std::move(result.pictures)};
}

std::size_t picture_bytes(const McpToolResult& result) {
  std::size_t bytes = 0;
  for (const std::string& picture : result.pictures) bytes += picture.size();
  return bytes;
}

}  // namespace

ToolBox::~ToolBox() {
  for (const Server& server : servers_) server.client->close();
}

base::Result<McpEndpoint> ToolBox::endpoint_of(const schemas::McpServerRef& ref) const {
  McpEndpoint endpoint;
  endpoint.version = ref.version;
  if (!ref.url.empty()) {
    endpoint.name = ref.name.empty() ? std::string(schemas::url_host(ref.url)) : ref.name;
    endpoint.url = ref.url;
    return endpoint;
  }
  const McpSlug* slug = registry_.slug(ref.slug);
  if (slug == nullptr)
    return base::error(Code::kNotFound, "there is no MCP server '" + ref.slug + "' in the configuration");
  endpoint.name = ref.name.empty() ? slug->slug : ref.name;
  endpoint.url = slug->url;
  if (endpoint.version.empty()) endpoint.version = slug->version;
  endpoint.headers = slug->headers;
  endpoint.guarded = false;
  return endpoint;
}

std::string ToolBox::unique_name(std::string name) const {
  const auto taken = [&](const std::string& candidate) {
    return std::any_of(servers_.begin(), servers_.end(),
                       [&](const Server& s) { return s.name == candidate; });
  };
  if (!taken(name)) return name;
  int number = 2;
  while (taken(name + "_" + std::to_string(number))) ++number;
  return name + "_" + std::to_string(number);
}

void ToolBox::connect(const schemas::McpServerRef& ref, ToolReport& report) {
  base::Result<McpEndpoint> endpoint = endpoint_of(ref);
  if (endpoint && !shared_.make_tool_server)
    endpoint = base::error(Code::kInvalidState, "this gateway does not run server-side tools");
  if (!endpoint)
    return add_error(report, ref.slug.empty() ? std::string(schemas::url_host(ref.url)) : ref.slug,
                     endpoint.error());
  endpoint->name = unique_name(endpoint->name);
  std::string name = endpoint->name;
  servers_.push_back({std::move(name), shared_.make_tool_server(std::move(*endpoint))});
}

net::Task<void> ToolBox::list(Server& server) {
  base::Result<McpTools> tools = co_await server.client->list_tools(cancel_);
  if (tools) {
    server.listed = std::move(*tools);
  } else {
    server.list_status = tools.error();
  }
}

net::Task<void> ToolBox::open(ChatRequest& request, ToolReport& report) {
  for (const schemas::McpServerRef& ref : request.mcp_servers) connect(ref, report);
  std::vector<net::Task<void>> tasks;
  tasks.reserve(servers_.size());
  for (Server& server : servers_) tasks.push_back(list(server));
  net::Task<void> all = net::all(std::move(tasks), schemas::kMcpServersMax);
  co_await all;
  add_tools(request, report);
}

void ToolBox::add_tools(ChatRequest& request, ToolReport& report) {
  Json tools = request.body.value("tools", Json::array());
  ToolNames names;
  client_tools_ = names_of(tools);
  for (const std::string& name : client_tools_) names.reserve(name);
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& server = servers_[i];
    if (!server.list_status) add_error(report, server.name, server.list_status.error());
    add_left_out(report, server.name, server.listed.left_out);
    std::ranges::sort(server.listed.tools, {}, &McpTool::name);
    for (const McpTool& tool : server.listed.tools) {
      const std::string name = names.name(server.name, tool.name);
      tools.push_back(tool_json(name, tool, schema_of(tool)));
      tools_.emplace(name, Tool{i, tool.name});
    }
  }
  if (!tools.empty()) request.body["tools"] = std::move(tools);
}

const ToolBox::Tool& ToolBox::describe(const ToolCall& call, McpToolResult& mcp_result) const {
  const Tool& tool = tools_.at(call.name);
  mcp_result.server_name = servers_[tool.server].name;
  mcp_result.tool_name = tool.name;
  mcp_result.arguments = call.arguments.empty() ? "{}" : call.arguments;
  return tool;
}

net::Task<void> ToolBox::call_one(const ToolCall& call, McpToolResult& mcp_result) {
  const Tool& tool = describe(call, mcp_result);
  const Server& server = servers_[tool.server];
  if (!is_object(mcp_result.arguments)) co_return refuse(mcp_result, "the arguments are not a JSON object");
  if (result_bytes_ >= kResultBytesMax) co_return refuse(mcp_result, too_many_bytes());
  const auto began = std::chrono::steady_clock::now();
  net::Task<base::Result<McpOutcome>> wait =
      server.client->call_tool(tool.name, mcp_result.arguments, cancel_);
  base::Result<McpOutcome> outcome = co_await wait;
  const auto took = std::chrono::steady_clock::now() - began;
  mcp_result.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  mcp_result.is_error = !outcome || outcome->is_error;
  if (outcome) mcp_result.pictures = std::move(outcome->pictures);
  mcp_result.result = outcome ? std::move(outcome->text) : outcome.error().message;
  bound_bytes(mcp_result);
}

// A picture that does not fit is only described in the text.
void ToolBox::bound_bytes(McpToolResult& mcp_result) {
  const bool fits = mcp_result.result.size() <= kResultBytesMax - std::min(result_bytes_, kResultBytesMax);
  if (!fits) refuse(mcp_result, too_many_bytes());
  result_bytes_ += mcp_result.result.size();
  const bool pictures_fit = picture_bytes(mcp_result) <= kPictureBytesMax - picture_bytes_;
  if (!fits || !pictures_fit) mcp_result.pictures.clear();
  picture_bytes_ += picture_bytes(mcp_result);
}

void ToolBox::refuse_call(const ToolCall& call, std::string_view why, McpToolResult& mcp_result) const {
  describe(call, mcp_result);
  refuse(mcp_result, std::string(why));
}

void ToolBox::skip(const std::vector<ToolCall>& calls, std::string_view reason, ToolReport& report) const {
  for (const ToolCall& call : calls) {
    if (has(call.name)) refuse_call(call, reason, report.results.emplace_back());
  }
}

std::string ToolBox::no_tool(const std::string& name) const {
  std::string text = "there is no tool '" + std::string(schemas::cut_text(name, ToolNames::kNameMax)) + "'";
  if (tools_.empty()) return text;
  text += "; the tools are ";
  std::size_t shown = 0;
  for (const auto& [known, tool] : tools_) {
    if (shown++ == kToolsShown) return text += ", ...";
    text.append(shown == 1 ? "'" : ", '").append(known).append("'");
  }
  return text;
}

net::Task<std::vector<ToolResult>> ToolBox::call(std::vector<ToolCall> calls, ToolReport& report) {
  std::vector<McpToolResult> mcp_result(calls.size());
  std::vector<net::Task<void>> tasks;
  tasks.reserve(std::min(calls.size(), kCallsPerTurn));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!has(calls[i].name)) {
      refuse(mcp_result[i], no_tool(calls[i].name));
    } else if (tasks.size() == kCallsPerTurn) {
      refuse_call(calls[i], too_many_calls(), mcp_result[i]);
    } else {
      tasks.push_back(call_one(calls[i], mcp_result[i]));
    }
  }
  net::Task<void> all = net::all(std::move(tasks), kCallsAtOnce);
  co_await all;
  std::vector<ToolResult> results;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    results.push_back(tool_result(calls[i], mcp_result[i]));
    if (!has(calls[i].name)) continue;
    report.executed.push_back(calls[i].name);
    report.results.push_back(std::move(mcp_result[i]));
  }
  co_return results;
}

}  // namespace millrace::inference
