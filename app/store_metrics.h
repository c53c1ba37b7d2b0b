#pragma once
#include "ai/engines/ocr_engine.h"
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
void add_engine_metrics(base::Metrics& metrics, const engines::OcrEngine& engine);

}  // namespace millrace::app
