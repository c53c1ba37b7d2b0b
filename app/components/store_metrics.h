#pragma once
#include "ai/engines/pool/engine_pool.h"
#include "api/front/server.h"
#include "bus/bus.h"
#include "platform/base/metrics.h"
#include "storage/store.h"

namespace millrace::app {

// Metrics that are read at each scrape instead of being counted (the store, its queues, the listener, Kafka,
// engine processes), and the store's commit groups. All arguments must outlive the last scrape of `metrics`.
void add_store_metrics(base::Metrics& metrics, storage::Store& store);
void add_dispatch_metrics(base::Metrics& metrics, const bus::Dispatch& dispatch);  // Kafka dispatch
void add_server_metrics(base::Metrics& metrics, const front::Server& server);
// `engine`: the engine's name, as a label.
void add_engine_metrics(base::Metrics& metrics, const engines::EnginePool& pool, const std::string& engine);

}  // namespace millrace::app
