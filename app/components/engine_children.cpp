#include "app/components/engine_children.h"

#include <filesystem>
#include <utility>

#include "app/components/store_metrics.h"
#include "platform/base/log.h"
#include "platform/process/jail.h"

namespace millrace::app {

std::string engine_program() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (self.parent_path() / "millrace-engine").string();
}

namespace {

void log_confinement(const std::string& engine, const process::JailProbe& probe) {
  switch (probe.confinement) {
    case process::Confinement::kNamespaces:
      return;
    case process::Confinement::kFileRules:
      return base::log_warn("jail_landlock_used", {{"engine", engine},
                                                   {"reason", probe.reason},
                                                   {"advice", probe.advice},
                                                   {"tried_again", probe.is_transient}});
    case process::Confinement::kReduced:
      return base::log_warn("jail_reduced",
                            {{"engine", engine}, {"reason", probe.reason}, {"advice", probe.advice}});
  }
}

}  // namespace

base::Result<std::unique_ptr<EngineChildren>> EngineChildren::open(engines::EnginePool::Options options,
                                                                   const Purpose& purpose,
                                                                   base::Metrics& metrics) {
  std::unique_ptr<EngineChildren> made(new EngineChildren());
  options.engine_path = engine_program();
  const process::JailProbe probe = process::Jail::probe(made->spawner_, options.jail);
  if (!probe.usable)
    return base::error(base::Code::kInternal,
                       purpose.without + " safely here: " + probe.reason + ". " + probe.advice);
  log_confinement(purpose.engine, probe);
  options.retries_namespaces = probe.is_transient;
  auto pool = engines::EnginePool::make(made->spawner_, std::move(options), probe.confinement);
  if (!pool) return pool.error();
  made->pool_ = *std::move(pool);
  add_engine_metrics(metrics, *made->pool_, purpose.engine);
  return made;
}

}  // namespace millrace::app
