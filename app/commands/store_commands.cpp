#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "api/admission/keys.h"
#include "api/openapi/openapi.h"
#include "app/cli/cut_off.h"
#include "app/cli/program.h"
#include "app/commands/commands.h"
#include "app/commands/limit_arguments.h"
#include "app/commands/with_store.h"
#include "app/config/settings.h"
#include "app/config/settings_text.h"
#include "platform/base/bytes.h"
#include "schemas/access.h"
#include "schemas/admin_request.h"
#include "storage/admin/api_keys.h"

namespace millrace::app {
namespace {

using nlohmann::json;

std::string scopes_text(const std::vector<std::string>& scopes) {
  std::string out;
  for (const std::string& scope : scopes) out += (out.empty() ? "" : ",") + scope;
  return out;
}

// `millrace keys ACT ID`, for messages, with the options that name the store.
std::string key_command(const std::string& act, const std::string& id, const Flags& flags) {
  std::string out = cli::program() + " keys " + act;
  for (const char* name : {"config", "data"}) {
    if (const auto given = flags.find(name); given != flags.end())
      out += " --" + given->first + " " + cli::shell_word(given->second);
  }
  return out + " " + id;
}

std::string time_text(const std::optional<base::WallTime>& time) { return time ? base::rfc3339(*time) : "-"; }

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  std::stringstream in(text);
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

json key_json(const storage::ApiKeyRow& row) {
  json out = {{"id", row.id},
              {"name", row.name},
              {"tenant", row.tenant},
              {"scopes", row.scopes},
              {"created_at", base::rfc3339(row.created_at)}};
  if (row.expires_at) out["expires_at"] = base::rfc3339(*row.expires_at);
  if (row.revoked_at) out["revoked_at"] = base::rfc3339(*row.revoked_at);
  if (row.last_used_at) out["last_used_at"] = base::rfc3339(*row.last_used_at);
  if (row.access.ip_ranges) out["ip_ranges"] = *row.access.ip_ranges;
  if (row.access.models) out["models"] = *row.access.models;
  if (row.access.mcp_servers) out["mcp_servers"] = *row.access.mcp_servers;
  if (!row.rotated_to.empty()) out["rotated_to"] = row.rotated_to;
  return out;
}

base::Result<schemas::ScopeSet> scopes_in(const std::string& text) {
  const std::vector<std::string> names = words(text);
  if (names.empty())
    return base::error(base::Code::kInvalidField,
                       "--scopes is empty; omit it for all scopes except metrics, tenant:admin and admin");
  auto scopes = schemas::ScopeSet::parse(names);
  if (!scopes) return base::error(base::Code::kInvalidField, "--scopes: " + scopes.error().message);
  return scopes;
}

base::Result<base::WallTime> expiry_in(const std::string& text) {
  const auto duration = base::parse_duration(text);
  if (!duration || duration->count() <= 0)
    return base::error(base::Code::kInvalidField, "--expires needs a duration: 90d, 12h");
  return base::SystemClock().wall() + *duration;
}

// Absent: no change. "all": no list.
std::optional<schemas::AllowList> list_in(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  if (*text == "all") return schemas::AllowList();
  return schemas::AllowList(words(*text));
}

// The line that names the configuration file.
base::Config::EffectiveValue config_line(const LoadedSettings& loaded, const Flags& flags) {
  constexpr const char* kVariable = "MILLRACE_CONFIG";
  const bool is_named = environment().contains(kVariable);
  return {"config", loaded.file.empty() ? "-" : loaded.file,
          flags.contains("config") ? "--config"
          : is_named               ? kVariable
                                   : "default"};
}

int key_failure(const base::Error& error) {
  if (error.code == base::Code::kInvalidField) return usage("--" + error.message);
  if (error.code != base::Code::kNotFound) return fail(error.message);
  fail(error.message + "; `" + cli::program() + " keys ls` lists them");
  return cli::kNotFound;
}

}  // namespace

namespace {

base::Status apply_limits(const std::string& arguments, schemas::Limits& limits,
                          std::optional<schemas::Budget>& budget) {
  for (const std::string& argument : words(arguments)) {
    if (auto set = apply_limit(argument, limits, budget); !set) return set;
  }
  remove_empty(budget);
  return {};
}

}  // namespace

int keys_create(const KeyArguments& request, const Flags& flags) {
  schemas::KeyRequest requested;
  requested.name = request.name;
  requested.tenant = request.tenant;
  if (request.scopes) {
    const auto scopes = scopes_in(*request.scopes);
    if (!scopes) return usage(scopes.error().message);
    requested.scopes = *scopes;
  }
  if (request.expires) {
    const auto expires_at = expiry_in(*request.expires);
    if (!expires_at) return usage(expires_at.error().message);
    requested.expires_at = *expires_at;
  }
  if (request.ip_ranges) requested.access.ip_ranges = words(*request.ip_ranges);
  if (request.models) requested.access.models = words(*request.models);
  if (request.mcp_servers) requested.access.mcp_servers = words(*request.mcp_servers);
  if (request.limits) {
    if (const auto set = apply_limits(*request.limits, requested.limits, requested.budget); !set)
      return usage(set.error().message);
  }
  return with_store(flags, [&](OpenedStore& opened) {
    const auto made = api::create_key(*opened.store, opened.pepper, requested, kCliActor);
    if (!made) return key_failure(made.error());
    return cli::print_made(made->text + '\n', "the key was created, but its text is lost: revoke it with `" +
                                                  key_command("revoke", made->row.id, flags) + "`");
  });
}

int keys_list(bool as_json, const Flags& flags) {
  return with_store(flags, [&](OpenedStore& opened) {
    const auto rows = api::list_keys(*opened.store);
    if (!rows) return fail(rows.error().message);
    if (!as_json) {
      std::printf("%-8s  %-16s  %-12s  %-8s  %-24s  %s\n", "ID", "NAME", "TENANT", "STATE", "LAST USED",
                  "SCOPES");
    }
    for (const storage::ApiKeyRow& row : *rows) {
      if (as_json) {
        std::cout << key_json(row).dump() << '\n';
        continue;
      }
      const bool expired = row.expires_at && *row.expires_at <= base::SystemClock().wall();
      const char* state = row.revoked_at ? "revoked" : expired ? "expired" : "active";
      std::printf("%-8s  %-16s  %-12s  %-8s  %-24s  %s\n", row.id.c_str(), row.name.c_str(),
                  row.tenant.c_str(), state, time_text(row.last_used_at).c_str(),
                  scopes_text(row.scopes).c_str());
    }
    return static_cast<int>(cli::kOk);
  });
}

int keys_set(const std::string& id, const KeyChangeArguments& request, const Flags& flags) {
  schemas::KeyChange change;
  change.name = request.name;
  if (request.scopes) {
    const auto scopes = scopes_in(*request.scopes);
    if (!scopes) return usage(scopes.error().message);
    change.scopes = *scopes;
  }
  if (request.expires == "never") {
    change.expires_at.emplace();
  } else if (request.expires) {
    const auto expires_at = expiry_in(*request.expires);
    if (!expires_at) return usage(expires_at.error().message);
    change.expires_at = *expires_at;
  }
  change.ip_ranges = list_in(request.ip_ranges);
  change.models = list_in(request.models);
  change.mcp_servers = list_in(request.mcp_servers);
  return with_store(flags, [&](OpenedStore& opened) {
    if (request.limits) {
      const auto before = storage::ApiKeys(*opened.store).find(id);
      if (!before) return fail(before.error().message);
      change.limits = *before ? (*before)->limits : schemas::Limits();
      change.budget = *before ? (*before)->budget : std::nullopt;
      if (const auto set = apply_limits(*request.limits, *change.limits, *change.budget); !set)
        return usage(set.error().message);
    }
    const base::Status done = api::change_key(*opened.store, id, change, kCliActor);
    if (!done) return key_failure(done.error());
    const auto key = storage::ApiKeys(*opened.store).find(id);
    if (!key) return fail(key.error().message);
    if (*key) std::cout << key_json(**key).dump() << '\n';
    return static_cast<int>(cli::kOk);
  });
}

int keys_revoke(const std::string& id, const Flags& flags) {
  return with_store(flags, [&](OpenedStore& opened) {
    const base::Status revoked = api::revoke_key(*opened.store, id, kCliActor);
    return revoked ? static_cast<int>(cli::kOk) : key_failure(revoked.error());
  });
}

int keys_rotate(const std::string& id, const std::string& overlap, const Flags& flags) {
  const auto duration = base::parse_duration(overlap);
  if (!duration || *duration > schemas::kOverlapMax)
    return usage("--overlap needs a duration of at most 30d: 24h, 0s");
  return with_store(flags, [&](OpenedStore& opened) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*duration);
    const auto made = api::rotate_key(*opened.store, opened.pepper, id, seconds, kCliActor);
    if (!made) return key_failure(made.error());
    return cli::print_made(made->text + '\n',
                           "the key was replaced, but the text of the new one is lost: make another with `" +
                               key_command("rotate", made->row.id, flags) + "`");
  });
}

int keys_accept_secrets(const Flags& flags) {
  return with_store(
      flags,
      [](OpenedStore& opened) {
        const base::Status accepted = api::accept_secrets(*opened.store, kCliActor);
        return accepted ? static_cast<int>(cli::kOk) : fail(accepted.error().message);
      },
      Secrets::kUnchecked);
}

int config_check(bool all, const Flags& flags) {
  const LoadedSettings loaded = load_settings(flags);
  const int code = print_mistakes(loaded);
  if (code != cli::kOk && !all) return code;
  std::vector<base::Config::EffectiveValue> lines = effective_settings(loaded);
  lines.insert(lines.begin(), config_line(loaded, flags));
  std::cout << settings_text(lines) << std::flush;
  return code;
}

int print_openapi() {
  std::cout << api::openapi_document() << '\n';
  return cli::kOk;
}

}  // namespace millrace::app
