#include "ai/inference/chat/chat.h"

#include <algorithm>
#include <utility>

#include "ai/inference/chat/chat_run.h"
#include "ai/inference/chat/chat_shared.h"
#include "ai/inference/chat/target_request.h"
#include "ai/inference/routing/routing.h"
#include "ai/inference/schema/reply_schema.h"

namespace millrace::inference {
namespace {

constexpr std::size_t kSlugsShown = 16;

std::string known_slugs(const Registry& registry) {
  const std::vector<McpSlug>& slugs = registry.settings().mcp_slugs;
  if (slugs.empty()) return "it has none";
  std::string out = "it has ";
  for (std::size_t i = 0; i < slugs.size() && i < kSlugsShown; ++i)
    out.append(i == 0 ? "'" : ", '").append(slugs[i].slug).append("'");
  return slugs.size() > kSlugsShown ? out.append(", ...") : out;
}

base::Status check_slugs(const Registry& registry, const std::vector<schemas::McpServerRef>& servers) {
  for (const schemas::McpServerRef& each : servers) {
    if (each.slug.empty() || registry.slug(each.slug) != nullptr) continue;
    return base::error(
        base::Code::kInvalidField,
        "there is no MCP server '" + each.slug + "' in the gateway's configuration: " + known_slugs(registry),
        each.field);
  }
  return {};
}

base::Status check_servers(const schemas::ChatRequest& request) {
  for (const schemas::McpServerRef& each : request.mcp_servers) {
    const std::string& name = each.slug.empty() ? each.url : each.slug;
    const bool is_allowed = each.slug.empty() ? schemas::allows_url(request.allowed_servers, each.url)
                                              : schemas::allows(request.allowed_servers, each.slug);
    if (is_allowed) continue;
    return base::error(base::Code::kForbidden, "The API key may not use the MCP server '" + name + "'",
                       each.field);
  }
  return {};
}

// A request that no provider can get makes no job.
base::Status check_translations(const Registry& registry, std::vector<ModelPtr> models,
                                const schemas::ChatRequest& request) {
  std::optional<base::Error> first;
  schemas::ChatRequest formed;
  for (const ModelPtr& model : with_fallbacks(registry, std::move(models), request)) {
    for (const ModelRow& row : model->rows) {
      const providers::Family family = row.target.preset->family;
      if (family == providers::Family::kMock) return {};
      const bool is_formed = family == providers::Family::kOpenai || request.quick.empty();
      if (!is_formed && formed.models.empty()) {
        formed = request;
        schemas::form_body(formed);
      }
      const auto wire = translated(row.target, is_formed ? request : formed, false);
      if (wire) return {};
      if (!first) first = wire.error();
    }
  }
  return first ? base::Status(*first) : base::Status();
}

}  // namespace

Chat::Chat(Dependencies dependencies, RegistryPtr registry, ChatOptions options)
    : shared_(std::make_shared<ChatShared>(std::move(dependencies), std::move(registry), options)) {}

Chat::~Chat() { shared_->lanes->close(); }

base::Status Chat::check(const schemas::ChatRequest& request) const {
  const RegistryPtr registry = shared_->current();
  const base::Result<std::vector<ModelPtr>> models = candidates(*registry, request);
  if (!models) return models.error();
  if (base::Status known = check_slugs(*registry, request.mcp_servers); !known) return known;
  if (base::Status may = check_servers(request); !may) return may;
  for (const schemas::NamedUrl& each : request.urls) {
    if (base::Status allowed = shared_->guard.check_foreign_url(each.url, each.field); !allowed)
      return allowed;
  }
  const base::Result<ReplySchema::Ptr> schema = ReplySchema::of(request.body);
  if (!schema) return schema.error();
  if (request.deferred) {
    if (base::Status sendable = check_translations(*registry, *models, request); !sendable) return sendable;
  }
  if (!request.strict) return {};
  return check_strict(request, dropped_by(models->front()->rows.front().target, request));
}

std::string Chat::first_choice(const schemas::ChatRequest& request) const {
  const RegistryPtr registry = shared_->current();
  base::Result<std::vector<ModelPtr>> models = candidates(*registry, request);
  if (!models) return request.models.front();
  const std::vector<ModelPtr> in_order = with_fallbacks(*registry, std::move(*models), request);
  if (in_order.size() == 1) return in_order.front()->name;
  const auto answers = [&](const ModelPtr& model) {
    return std::any_of(model->rows.begin(), model->rows.end(), [&](const ModelRow& row) {
      return shared_->targets.of(row)->breaker(Work::kChat).state() != BreakerState::kOpen;
    });
  };
  const auto found = std::find_if(in_order.begin(), in_order.end(), answers);
  return found == in_order.end() ? in_order.front()->name : (*found)->name;
}

CostBound Chat::max_cost(const schemas::ChatRequest& request) const {
  CostBound bound;
  const RegistryPtr registry = shared_->current();
  base::Result<std::vector<ModelPtr>> models = candidates(*registry, request);
  if (!models) return bound;
  for (const ModelPtr& model : with_fallbacks(*registry, std::move(*models), request)) {
    for (const ModelRow& row : model->rows) widen(bound, row, inference::max_cost(row, request));
  }
  return bound;
}

std::shared_ptr<ChatRun> Chat::start(schemas::ChatRequest request, ChatSink& sink) {
  auto run = std::make_shared<ChatRunImpl>(shared_, shared_->current(), std::move(request), sink);
  run->begin();
  return run;
}

bool Chat::stop(std::chrono::milliseconds bound) {
  shared_->loop.post([shared = shared_] { shared->live.cancel_all(); });
  return shared_->live.wait(bound);
}

std::vector<TargetHealth> Chat::health() const { return shared_->targets.health(*shared_->current()); }

std::shared_ptr<Lanes> Chat::lanes() const { return shared_->lanes; }

RegistryPtr Chat::registry() const { return shared_->current(); }

void Chat::reload(RegistryPtr registry) {
  const std::lock_guard lock(shared_->mutex);
  shared_->registry = std::move(registry);
}

}  // namespace millrace::inference
