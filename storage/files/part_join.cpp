#include "storage/files/part_join.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "storage/blobs/blob_files.h"

namespace millrace::storage {

PartJoin::PartJoin(Blobs& blobs, std::vector<BlobRef> parts, std::string md5_hex)
    : blobs_(blobs), parts_(std::move(parts)), md5_hex_(std::move(md5_hex)) {}

base::Result<bool> PartJoin::step() {
  if (!writer_) {
    if (auto begun = begin(); !begun) return begun.error();
  }
  for (int i = 0; i < kPiecesOfStep; ++i) {
    auto done = copy_piece();
    if (!done || *done) return done;
  }
  return false;
}

base::Result<Staged> PartJoin::finish() { return writer_->finish(); }

base::Status PartJoin::begin() {
  std::int64_t bytes = 0;
  for (const BlobRef& part : parts_) bytes += part.bytes;
  auto writer = blobs_.begin(bytes);
  if (!writer) return writer.error();
  writer_ = *std::move(writer);
  piece_.resize(kPieceBytes);
  if (!md5_hex_.empty()) md5_.emplace();
  return {};
}

base::Result<bool> PartJoin::copy_piece() {
  if (!is_open_) {
    if (auto opened = open_part(); !opened) return opened.error();
  }
  const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(left_, kPieceBytes));
  const ssize_t got = ::read(file_.fd(), piece_.data(), wanted);
  if (got < 0 && errno == EINTR) return false;
  if (got <= 0) return file_error(got < 0 ? errno : EIO, "read a blob");
  const std::string_view bytes(piece_.data(), static_cast<std::size_t>(got));
  hash_.update(bytes);
  if (md5_) md5_->update(bytes);
  if (auto written = writer_->append(bytes); !written) return written.error();
  left_ -= got;
  if (left_ > 0) return false;
  if (auto ended = end_part(); !ended) return ended.error();
  if (at_ < parts_.size()) return false;
  if (auto same = check_md5(); !same) return same.error();
  return true;
}

base::Status PartJoin::open_part() {
  auto file = blobs_.open(parts_[at_]);
  if (!file) return file.error();
  file_ = *std::move(file);
  hash_ = base::Sha256();
  left_ = parts_[at_].bytes;
  is_open_ = true;
  return {};
}

base::Status PartJoin::end_part() {
  if (base::hex(hash_.finish()) != parts_[at_].sha256_hex)
    return damaged_blob(parts_[at_], "its content has changed");
  file_ = OpenFile();
  is_open_ = false;
  ++at_;
  return {};
}

base::Status PartJoin::check_md5() {
  if (!md5_) return {};
  const std::string md5 = md5_->finish();
  if (md5 == md5_hex_) return {};
  return base::error(base::Code::kBadRequest,
                     "The parts in this order have the MD5 " + md5 + ", not " + md5_hex_ +
                         ": check the order of `part_ids`, or upload the damaged part again",
                     "md5");
}

}  // namespace millrace::storage
