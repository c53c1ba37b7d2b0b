#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "app/cli/client.h"
#include "app/cli/files/file_upload.h"

namespace millrace::cli {

// Uploads of one client that run at the same time. One thread, except where noted. The client must outlive it
// and have an interrupt.
class ConcurrentUploads {
 public:
  explicit ConcurrentUploads(Client& client);
  ~ConcurrentUploads();  // cancels what runs; it is unknown then whether the gateway has it
  ConcurrentUploads(const ConcurrentUploads&) = delete;
  ConcurrentUploads& operator=(const ConcurrentUploads&) = delete;

  // Begins to send a form, which must stay until its end. `number`: names it; no other one that runs has it.
  void start(std::size_t number, const UploadForm& form, const std::string& key);
  std::size_t running() const { return running_.size(); }
  // Waits until one ends. nullopt: interrupted. REQUIRES: some run.
  std::optional<std::pair<std::size_t, Client::Response>> next();

 private:
  struct Endings;

  Client& client_;
  std::shared_ptr<Endings> endings_;  // shared with the client's loop
  std::map<std::size_t, std::shared_ptr<net::HttpClient::Transfer>> running_;
};

}  // namespace millrace::cli
