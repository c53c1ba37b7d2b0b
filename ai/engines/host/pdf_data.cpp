#include "ai/engines/host/pdf_data.h"

#include <zlib.h>

namespace millrace::engines::host {
namespace {

constexpr std::int64_t kFirstPngPredictor = 10;

// The only element of an array of one, or the value itself; nullptr: there is none.
const PdfValue* only(const PdfValue* value) {
  const auto* array = value == nullptr ? nullptr : value->as<PdfArray>();
  if (array == nullptr) return value;
  return array->size() == 1 ? &array->front() : nullptr;
}

struct Inflater {
  z_stream stream{};
  bool ready = ::inflateInit(&stream) == Z_OK;
  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { ::inflateEnd(&stream); }
};

std::optional<std::string> inflated(std::string_view raw, std::size_t bytes_max) {
  Inflater inflater;
  if (!inflater.ready) return std::nullopt;
  z_stream& stream = inflater.stream;
  // zlib reads through this pointer alone; it is not const for history's sake.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.data()));
  stream.avail_in = static_cast<uInt>(raw.size());
  std::string out;
  char piece[16384];
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    const int state = ::inflate(&stream, Z_NO_FLUSH);
    out.append(piece, sizeof piece - stream.avail_out);
    if (out.size() > bytes_max) return std::nullopt;
    if (state == Z_STREAM_END) return out;
    if (state != Z_OK) return std::nullopt;
  }
}

std::optional<std::string> rows_restored(const std::string& data, std::size_t columns) {
  const std::size_t row_bytes = columns + 1;
  if (data.size() % row_bytes != 0) return std::nullopt;
  std::string out;
  std::string last(columns, '\0');
  for (std::size_t at = 0; at < data.size(); at += row_bytes) {
    if (data[at] != 0 && data[at] != 2) return std::nullopt;
    const bool up = data[at] == 2;
    for (std::size_t i = 0; i < columns; ++i) {
      const auto above = static_cast<unsigned char>(up ? last[i] : 0);
      last[i] = static_cast<char>(static_cast<unsigned char>(data[at + 1 + i]) + above);
    }
    out += last;
  }
  return out;
}

}  // namespace

std::optional<std::string> unpacked(const PdfDict& dict, std::string_view raw, std::size_t bytes_max) {
  const PdfValue* filter = entry(dict, "Filter");
  if (filter == nullptr) return raw.size() <= bytes_max ? std::optional(std::string(raw)) : std::nullopt;
  if (!is_name(only(filter), "FlateDecode")) return std::nullopt;
  auto data = inflated(raw, bytes_max);
  const PdfValue* parameters = only(entry(dict, "DecodeParms"));
  const auto* how = parameters == nullptr ? nullptr : parameters->as<PdfDict>();
  if (!data || how == nullptr) return data;
  const std::int64_t predictor = number_in(*how, "Predictor").value_or(1);
  if (predictor == 1) return data;
  const std::int64_t columns = number_in(*how, "Columns").value_or(1);
  const bool plain =
      number_in(*how, "Colors").value_or(1) == 1 && number_in(*how, "BitsPerComponent").value_or(8) == 8;
  if (predictor < kFirstPngPredictor || !plain || columns < 1 || columns > 4096) return std::nullopt;
  return rows_restored(*data, static_cast<std::size_t>(columns));
}

}  // namespace millrace::engines::host
