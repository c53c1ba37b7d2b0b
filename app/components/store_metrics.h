#pragma once
#include "ai/engines/pool/engine_pool.h"
#include "api/front/server.h"
#include "bus/bus.h"
#include "platform/base/metrics.h"
#include "storage/store.h"

namespace millrace::app {

// Values that are looked up at each scrape and not counted (the store, its queues, the listener, Kafka,
// engine children), and the store's groups as they are committed. Everything given must outlive `metrics`'
// last scrape.
void add_store_metrics(base::Metrics& metrics, storage::Store& store);
void add_dispatch_metrics(base::Metrics& metrics, const bus::Dispatch& dispatch);  // of Kafka
void add_server_metrics(base::Metrics& metrics, const front::Server& server);
// `engine`: whose children they are, as a label.
void add_engine_metrics(base::Metrics& metrics, const engines::EnginePool& pool, const std::string& engine);

}  // namespace millrace::app
