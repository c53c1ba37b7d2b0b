#include "ai/inference/mcp/client.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "ai/inference/mcp/messages.h"
#include "ai/inference/mcp/session.h"
#include "platform/base/log.h"
#include "schemas/json/broken_json.h"
#include "schemas/json/json_body.h"

namespace millrace::inference {
namespace {

using schemas::Json;
using ListResult = base::Result<McpTools>;
using CallResult = base::Result<McpOutcome>;
using JsonResult = base::Result<Json>;

McpDeadline deadline_after(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

base::Result<Json> read_arguments(std::string text) {
  if (!schemas::is_valid_utf8_json(text)) text = schemas::repair_utf8_json(text);
  text.reserve(text.size() + schemas::kJsonPadding);
  base::Result<schemas::JsonBody> read =
      schemas::read_json(text, schemas::kJsonValuesMax, schemas::Numbers::kSpelled);
  if (!read)
    return base::error(base::Code::kInvalidField, "the arguments of the call: " + read.error().message);
  return schemas::whole(*std::move(read));
}

// Collects the tools of a server, page by page.
class ToolListReader {
 public:
  explicit ToolListReader(const McpLimits& limits) : limits_(limits) {}

  // False: another page follows.
  base::Result<bool> add(McpToolPage page) {
    if (page.ttl) ttl_ = std::min(*page.ttl, ttl_.value_or(*page.ttl));
    for (McpListedTool& listed : page.tools) {
      bytes_ += listed.tool.description.size() + listed.tool.input_schema.size();
      if (bytes_ > limits_.reply_bytes_max) return limit_error("bytes of tools", limits_.reply_bytes_max);
      if (names_.insert(listed.tool.name).second) {
        list_.tools.push_back(std::move(listed));
      } else {
        page.left_out.push_back(mcp_left_out(listed.tool.name, "another tool has its name"));
      }
    }
    std::ranges::move(page.left_out, std::back_inserter(list_.left_out));
    if (std::cmp_greater(list_.tools.size() + list_.left_out.size(), limits_.tools_max))
      return limit_error("tools", static_cast<std::size_t>(limits_.tools_max));
    cursor_ = std::move(page.cursor);
    if (cursor_.empty()) return true;
    if (!cursors_.insert(cursor_).second) return mcp_fault("repeats a page cursor in its list of tools");
    if (std::cmp_greater_equal(cursors_.size(), limits_.pages_max))
      return limit_error("pages of tools", static_cast<std::size_t>(limits_.pages_max));
    return false;
  }

  McpCall next_page() const {
    McpCall tool_request;
    tool_request.method = "tools/list";
    if (!cursor_.empty()) tool_request.params["cursor"] = cursor_;
    return tool_request;
  }

  McpToolListPtr tools() { return std::make_shared<const McpToolList>(std::move(list_)); }
  std::optional<std::chrono::milliseconds> ttl() const { return ttl_; }

 private:
  static base::Error limit_error(const std::string& what, std::size_t most) {
    return mcp_fault("lists more than " + std::to_string(most) + " " + what);
  }

  const McpLimits& limits_;
  std::size_t bytes_ = 0;
  std::string cursor_;
  std::set<std::string> cursors_, names_;
  McpToolList list_;
  std::optional<std::chrono::milliseconds> ttl_;  // the shortest lifetime of all pages
};

// The result of `read`, which reads what a server has sent, in a coroutine: those may not throw.
template <class Read>
auto read_safely(Read&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::exception& fault) {
    base::log_error("mcp_reply_failed", {{"error", fault.what()}});
    return mcp_fault("sent a reply that cannot be read");
  }
}

McpTools tools_of(const McpToolList& list) {
  McpTools tools;
  tools.left_out = list.left_out;
  tools.tools.reserve(list.tools.size());
  for (const McpListedTool& each : list.tools) tools.tools.push_back(each.tool);
  return tools;
}

std::vector<McpParam> params_of(const McpToolList& list, const std::string& name) {
  const auto found =
      std::ranges::find_if(list.tools, [&](const auto& each) { return each.tool.name == name; });
  return found == list.tools.end() ? std::vector<McpParam>() : found->params;
}

McpCall call_of(std::string name, Json arguments, const McpToolList& list) {
  McpCall tool_request;
  tool_request.method = "tools/call";
  tool_request.name = name;
  tool_request.headers = mcp_param_headers(params_of(list, name), arguments);
  tool_request.params["name"] = std::move(name);
  tool_request.params["arguments"] = std::move(arguments);
  tool_request.not_idempotent = true;
  return tool_request;
}

}  // namespace

struct McpClient::Impl {
  Impl(const Dependencies& dependencies, McpEndpoint endpoint, McpLimits bounds)
      : limits(bounds),
        cache(dependencies.cache),
        url(endpoint.url),
        server(McpCache::server_of(endpoint)),
        version(endpoint.version),
        channel(dependencies.loop, dependencies.client, dependencies.guard, std::move(endpoint), limits,
                [this] { on_tools_changed(); }),
        session(dependencies.loop, channel, limits, version, cache.transport(url)) {}

  // Drops the cached list. A list that is being fetched is not cached.
  void on_tools_changed() {
    ++changes;
    cache.forget_tools(server);
  }

  // A server without sessions gives the lifetime of a list. If it gives none, the list is not kept.
  void cache_list(const McpToolListPtr& list, std::optional<std::chrono::milliseconds> ttl) {
    const bool gives_lifetime = session.transport() == McpTransport::kStateless;
    if (gives_lifetime && !ttl) ttl = std::chrono::milliseconds(0);
    if (version.empty()) cache.remember_transport(url, session.transport());
    cache.keep(server, list, ttl, std::chrono::steady_clock::now());
  }

  static net::Task<base::Status> list(std::shared_ptr<Impl> self, net::Cancel& cancel) {
    self->tool_list = self->cache.tools(self->server, std::chrono::steady_clock::now());
    if (self->tool_list) co_return base::Status();
    const McpDeadline deadline = deadline_after(self->limits.list_timeout);
    const int changes = self->changes;
    ToolListReader reader(self->limits);
    while (true) {
      net::Task<JsonResult> wait = self->session.call(reader.next_page(), deadline, cancel);
      const JsonResult result = co_await wait;
      if (!result) co_return result.error();
      base::Result<McpToolPage> page =
          read_safely([&] { return read_mcp_tools(*result, self->limits.schema_depth_max); });
      if (!page) co_return page.error();
      const base::Result<bool> done = reader.add(*std::move(page));
      if (!done) co_return done.error();
      if (*done) break;
    }
    self->tool_list = reader.tools();
    if (self->changes == changes) self->cache_list(self->tool_list, reader.ttl());
    co_return base::Status();
  }

  static net::Task<ListResult> tools(std::shared_ptr<Impl> self, net::Cancel& cancel) {
    net::Task<base::Status> wait = list(self, cancel);
    const base::Status listed = co_await wait;
    if (!listed) co_return listed.error();
    co_return tools_of(*self->tool_list);
  }

  // The headers of a call come from the tool's schema. After a failed call or a renewed session, the cached
  // list may be outdated.
  static net::Task<CallResult> call(std::shared_ptr<Impl> self, std::string name, std::string arguments,
                                    net::Cancel& cancel) {
    if (!self->tool_list) {
      net::Task<base::Status> wait = list(self, cancel);
      const base::Status listed = co_await wait;
      if (!listed) co_return listed.error();
    }
    JsonResult read = read_arguments(std::move(arguments));
    if (!read) co_return read.error();
    McpCall tool_request = call_of(std::move(name), *std::move(read), *self->tool_list);
    net::Task<JsonResult> wait =
        self->session.call(std::move(tool_request), deadline_after(self->limits.call_timeout), cancel);
    const JsonResult result = co_await wait;
    if (result ? self->session.was_renewed() : !cancel.requested()) self->on_tools_changed();
    if (!result) co_return result.error();
    CallResult outcome =
        read_safely([&] { return read_mcp_outcome(*result, self->limits.result_bytes_max); });
    co_return outcome;
  }

  const McpLimits limits;
  McpCache& cache;
  const std::string url, server, version;
  McpChannel channel;
  McpSession session;
  McpToolListPtr tool_list;
  int changes = 0;  // reported changes of the server's list
};

McpClient::McpClient(const Dependencies& dependencies, McpEndpoint endpoint, McpLimits limits)
    : impl_(std::make_shared<Impl>(dependencies, std::move(endpoint), limits)) {}
McpClient::~McpClient() = default;

net::Task<ListResult> McpClient::list_tools(net::Cancel& cancel) { return Impl::tools(impl_, cancel); }

net::Task<CallResult> McpClient::call_tool(std::string name, std::string arguments, net::Cancel& cancel) {
  return Impl::call(impl_, std::move(name), std::move(arguments), cancel);
}

void McpClient::close() { impl_->session.close(); }

}  // namespace millrace::inference
