#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/crypto.h"
#include "platform/base/md5.h"
#include "storage/blobs/blobs.h"

namespace millrace::storage {

// Joins blobs into a new one, piece by piece: 2 MiB are in memory at once, however large they are. One thread
// at a time; every method blocks on the disk, and with S3 on the network: for pool threads. A join that is
// destroyed before `finish` leaves nothing.
class PartJoin {
 public:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  static constexpr int kPiecesOfStep = 16;

  // In this order. `md5_hex`: what the joined bytes must have, in lower case; empty: any.
  PartJoin(Blobs& blobs, std::vector<BlobRef> parts, std::string md5_hex);

  // Copies up to kPiecesOfStep pieces. True: all are copied. Errors of Blobs; kStoredDamaged if the content
  // of a part has changed; kBadRequest (`md5`) after the last piece.
  base::Result<bool> step();
  base::Result<Staged> finish();

 private:
  base::Result<bool> copy_piece();
  base::Status begin();
  base::Status open_part();
  base::Status end_part();
  base::Status check_md5();

  Blobs& blobs_;
  const std::vector<BlobRef> parts_;
  const std::string md5_hex_;
  std::unique_ptr<BlobWriter> writer_;
  std::string piece_;
  std::size_t at_ = 0;     // the index of the part
  OpenFile file_;          // its content
  base::Sha256 hash_;      // of what was copied of it
  std::int64_t left_ = 0;  // bytes of it
  bool is_open_ = false;
  std::optional<base::Md5> md5_;  // if it is checked
};

}  // namespace millrace::storage
