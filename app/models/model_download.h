#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/interrupt.h"
#include "app/models/model_catalogue.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/net/http/http_client.h"
#include "platform/net/loop.h"

namespace millrace::app {

// The requests for one file that fail without a byte before the download gives up.
inline constexpr int kDownloadTriesMax = 3;
inline constexpr int kDownloadRedirectsMax = 5;

// The partial download of a file: NAME.part in the model's folder. A later run continues it.
class PartialDownload;

// Downloads the files of models. One thread; blocks.
class ModelDownload {
 public:
  // Called on another thread, about once for each piece, with the bytes of the file that are there.
  using OnProgress = std::function<void(const CatalogueFile& file, std::int64_t bytes)>;
  // Create `interrupt` first. It ends a download.
  ModelDownload(cli::Interrupt& interrupt, OnProgress on_progress);

  // Holds the folder's lock, so that two runs do not write the same files. Creates the folder. kInvalidState:
  // another run has it.
  static base::Result<base::Fd> lock_folder(const std::string& folder);
  // The bytes of `model` that are not in the folder yet.
  static std::int64_t missing_bytes(const CatalogueModel& model, const std::string& folder);

  // Makes the file exist in the folder with its size and digest. A file that is there and correct is kept.
  // The file gets its name only when all of it is correct and on the disk. Errors: kFetchFailed (the server;
  // what has arrived is kept), kJobCancelled (interrupted; likewise), kUpstream (the server sends another
  // file than the listed one; nothing is kept), kInternal (the file cannot be written).
  base::Status fetch(const CatalogueFile& file, const std::string& folder);

 private:
  struct Transfer;
  base::Status fill(const CatalogueFile& file, PartialDownload& part);
  base::Status request(const CatalogueFile& file, PartialDownload& part);
  // nullopt: interrupted.
  std::optional<base::Result<net::HttpReply>> send(net::HttpRequest request,
                                                   net::HttpClient::Handlers handlers);

  cli::Interrupt& interrupt_;
  OnProgress on_progress_;
  net::Loop loop_{"models"};
  net::HttpClient http_{loop_};
};

}  // namespace millrace::app
