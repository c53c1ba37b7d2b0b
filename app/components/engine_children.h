#pragma once
#include <memory>
#include <string>

#include "ai/engines/pool/engine_pool.h"
#include "platform/base/metrics.h"
#include "platform/process/spawner.h"

namespace millrace::app {

// The path of `millrace-engine`: next to this program. It may not exist; whoever starts it reports that.
std::string engine_program();

// The sandboxed child processes of one local engine: their spawner, whose thread they depend on, and their
// pool. Destroy everything that uses the pool first.
class EngineChildren {
 public:
  // The engine's name in metrics ("ocr", "stt", "speech"), and the consequence of its absence for an error
  // text ("documents cannot be opened").
  struct Purpose {
    std::string engine;
    std::string without;
  };
  // Blocks while it tests the sandbox. Error: no form of the sandbox works here, or the program is missing;
  // the message says what to do. `options.engine_path` is set by this function.
  static base::Result<std::unique_ptr<EngineChildren>> open(engines::EnginePool::Options options,
                                                            const Purpose& purpose, base::Metrics& metrics);

  engines::EnginePool& pool() { return *pool_; }

 private:
  EngineChildren() = default;

  process::Spawner spawner_;
  std::unique_ptr<engines::EnginePool> pool_;
};

}  // namespace millrace::app
