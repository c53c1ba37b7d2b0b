#include "api/admin_text.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/job_text.h"
#include "storage/admin_queries.h"

namespace millrace::api {
namespace {

std::string group_json(const storage::DeadGroup& group, const std::string& public_url) {
  return schemas::JsonObject()
      .member("kind", schemas::name(group.kind))
      .member("code", group.code)
      .member("type", base::info(base::code_named(group.code)).openai_type)
      .number("jobs", group.jobs)
      .raw("newest", job_json_with_tenant(group.newest, public_url))
      .finish();
}

}  // namespace

void admin_dead(Context& context, CallPtr call) {
  const auto dead = storage::AdminQueries(context.store).dead();
  if (!dead) return call->fail(dead.error());
  JsonItems items;
  for (const storage::DeadGroup& group : *dead) items.add(group_json(group, context.options.public_url));
  call->reply(json_reply(200, schemas::JsonObject().raw("items", items.finish()).finish()));
}

}  // namespace millrace::api
