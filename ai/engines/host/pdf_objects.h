#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ai/engines/host/pdf_syntax.h"

namespace millrace::engines::host {

// The objects of a sound PDF by their numbers: cross-reference tables and streams, updates, object streams.
// It repairs nothing: what is not as it should be is nullopt, and means that nothing can be said about the
// document. Borrows the bytes. Not thread-safe.
class PdfObjects {
 public:
  static constexpr std::size_t kObjectsMax = 1'000'000;
  static constexpr std::size_t kInflatedBytesMax = std::size_t{64} << 20;  // of all streams together
  static constexpr std::size_t kScannedBytesMax = std::size_t{256} << 20;  // the same byte may count again
  static constexpr int kSectionsMax = 1'000;                               // updates of one document

  static std::optional<PdfObjects> read(std::string_view file);

  // An object that is free or was never there is null.
  std::optional<PdfValue> object(std::int64_t number);
  // What stands behind a value that may be a reference; one step.
  std::optional<PdfValue> resolved(const PdfValue& value);
  const PdfDict& trailer() const { return trailer_; }  // of the newest section

 private:
  struct Place {
    enum class Kind : std::uint8_t { kUnknown, kFree, kAt, kInStream };
    Kind kind = Kind::kUnknown;
    std::uint32_t where = 0;  // kAt: offset in the file; kInStream: number of the object stream
  };
  struct Indirect {
    std::int64_t number = 0;
    PdfValue value;
    std::optional<std::size_t> data_at;  // of a stream: where its bytes begin
  };
  struct Members {
    std::string text;
    std::map<std::int64_t, std::size_t> at;  // number → offset in `text`
  };

  explicit PdfObjects(std::string_view file) : file_(file) {}
  bool read_sections(std::size_t at);
  std::optional<PdfDict> read_section(std::size_t at);
  std::optional<PdfDict> read_table(std::size_t at);
  std::optional<PdfDict> read_stream_section(std::size_t at);
  bool read_rows(const PdfDict& dict, std::string_view rows);
  bool place(std::int64_t number, Place place);
  bool spend(std::size_t bytes);
  std::optional<PdfValue> scanned(PdfScanner& scanner);
  std::optional<Indirect> indirect(std::size_t at);
  std::optional<std::int64_t> length_of(const PdfDict& stream);
  std::optional<std::string> data_of(const Indirect& stream);
  const Members* members_of(std::int64_t stream);
  std::optional<PdfValue> member(std::int64_t stream, std::int64_t number);

  std::string_view file_;
  PdfDict trailer_;
  std::vector<Place> places_;
  std::map<std::int64_t, Members> streams_;
  std::size_t inflated_left_ = kInflatedBytesMax;
  std::size_t scanned_left_ = kScannedBytesMax;
  std::size_t members_left_ = kObjectsMax;
};

}  // namespace millrace::engines::host
