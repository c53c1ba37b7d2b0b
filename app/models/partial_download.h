#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "app/models/model_catalogue.h"
#include "platform/base/crypto.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::app {

// A file while it is downloaded, under the name NAME.part, with the digest of the bytes so far.
class PartialDownload {
 public:
  // Opens or creates it and reads what an earlier run has left. kInternal: it cannot be opened or read.
  static base::Result<PartialDownload> open(const std::string& folder, const CatalogueFile& file);

  std::int64_t bytes() const { return bytes_; }
  bool is_from_before() const { return is_from_before_; }  // begins with bytes of an earlier run
  // False: the disk failed; `problem` has the error.
  bool write(std::string_view bytes);
  base::Status problem() const;
  // Begins again without a byte.
  void restart();
  // True: the bytes have the listed size and digest. Nothing may be written after this call, except after
  // `restart`.
  bool is_correct();
  // Renames the complete file, when it is on the disk.
  base::Status finish();
  void remove();

 private:
  PartialDownload(base::Fd file, std::string folder, const CatalogueFile& listed);
  base::Status read_existing();

  base::Fd file_;
  std::string folder_;
  const CatalogueFile* listed_;
  base::Sha256 hash_;
  std::int64_t bytes_ = 0;
  bool is_from_before_ = false;
  int problem_ = 0;  // errno of the first failure
};

// True if the folder has the file with its size and digest. Reads all of it.
bool is_downloaded(const std::string& folder, const CatalogueFile& file);

}  // namespace millrace::app
