#pragma once
#include <memory>
#include <string>

#include "ai/engines/pool/engine_pool.h"
#include "platform/base/metrics.h"
#include "platform/process/spawner.h"

namespace millrace::app {

// Where `millrace-engine` lies: beside this program. It may not be there; who starts it says so.
std::string engine_program();

// The jailed children of one local engine: the spawner whose thread they follow, and their pool. What works
// with the pool goes before this does.
class EngineChildren {
 public:
  // What they are for, in metrics ("ocr", "stt", "speech"), and what cannot be done without them, in an error
  // ("documents cannot be opened").
  struct Purpose {
    std::string engine;
    std::string without;
  };
  // Blocks for the trial of the jail. Error: no form of it works here, or the program is not there; the
  // message says what to do. `options.engine_path` is this installation's.
  static base::Result<std::unique_ptr<EngineChildren>> open(engines::EnginePool::Options options,
                                                            const Purpose& purpose, base::Metrics& metrics);

  engines::EnginePool& pool() { return *pool_; }

 private:
  EngineChildren() = default;

  process::Spawner spawner_;
  std::unique_ptr<engines::EnginePool> pool_;
};

}  // namespace millrace::app
