#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ai/inference/routing/registry.h"
#include "ai/providers/model_list.h"
#include "platform/base/pool.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"

namespace millrace::inference {

struct ModelListOptions {
  std::chrono::milliseconds keep{600'000};      // asked again after so long
  std::chrono::milliseconds first_wait{2'000};  // for what was never heard
  std::chrono::milliseconds timeout{10'000};    // of one provider
};

// What the open providers say that they have, asked for when somebody wants to know, and kept. A provider
// that does not answer costs nothing: what it said before stays. Thread-safe.
class ModelLists {
 public:
  struct Dependencies {
    net::Loop& loop;
    net::HttpClient& client;
    base::Pool& pool;  // reads what comes
  };
  struct Listed {
    std::string name;  // <provider>/<id>
    std::string provider;
    providers::ListedModel model;
  };
  using List = std::shared_ptr<const std::vector<Listed>>;

  // All of the ground outlives this.
  ModelLists(Dependencies dependencies, const ModelSettings& settings, ModelListOptions options = {});
  ~ModelLists();
  ModelLists(const ModelLists&) = delete;
  ModelLists& operator=(const ModelLists&) = delete;

  // `heard` once, in the order of the providers: at once with what is known, be it old; where a provider was
  // never heard, after its first answer or `first_wait`, on the loop or the pool. Not after the end of this.
  void fetch(std::function<void(List)> done);
  // What is known now. Never asks.
  List known() const;
  // Other providers; what those that stay have said is kept.
  void reload(const ModelSettings& settings);

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace millrace::inference
