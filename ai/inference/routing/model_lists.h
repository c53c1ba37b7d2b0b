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
  std::chrono::milliseconds keep{600'000};      // age at which a list is requested again
  std::chrono::milliseconds first_wait{2'000};  // longest wait for a provider without a list
  std::chrono::milliseconds timeout{10'000};    // of the request to one provider
};

// A cache of the model lists of the open providers. A list is requested when it is needed and missing or too
// old. If a provider does not answer, its previous list stays. Thread-safe.
class ModelLists {
 public:
  struct Dependencies {
    net::Loop& loop;
    net::HttpClient& client;
    base::Pool& pool;  // parses the responses
  };
  struct Listed {
    std::string name;  // <provider>/<id>
    std::string provider;
    providers::ListedModel model;
  };
  using List = std::shared_ptr<const std::vector<Listed>>;

  // All dependencies outlive this.
  ModelLists(Dependencies dependencies, const ModelSettings& settings, ModelListOptions options = {});
  ~ModelLists();
  ModelLists(const ModelLists&) = delete;
  ModelLists& operator=(const ModelLists&) = delete;

  // Calls `done` once, with the models in the order of the providers. Normally it is called at once with the
  // cached lists, even if they are old. If a provider has no list yet, it is called on the loop or the pool,
  // after the first answer of that provider or after `first_wait`. Not called after the destructor.
  void fetch(std::function<void(List)> done);
  // The cached lists. Sends no request.
  List known() const;
  // Replaces the providers. Lists of providers that remain are kept.
  void reload(const ModelSettings& settings);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::inference
