#include "ai/engines/host/pdf_objects.h"

#include <array>
#include <set>

#include "ai/engines/host/pdf_data.h"

namespace millrace::engines::host {
namespace {

constexpr std::size_t kTailBytes = 1024;  // startxref stands in these

std::optional<std::size_t> offset_in(const PdfDict& dict, std::string_view name) {
  const auto number = number_in(dict, name);
  return number && *number >= 0 ? std::optional(static_cast<std::size_t>(*number)) : std::nullopt;
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// The three widths of an entry of a cross-reference stream.
std::optional<std::array<std::size_t, 3>> widths_of(const PdfDict& dict) {
  const PdfValue* value = entry(dict, "W");
  const auto* array = value == nullptr ? nullptr : value->as<PdfArray>();
  if (array == nullptr || array->size() != 3) return std::nullopt;
  std::array<std::size_t, 3> widths{};
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto* width = (*array)[i].as<std::int64_t>();
    if (width == nullptr || *width < 0 || *width > 8) return std::nullopt;
    widths[i] = static_cast<std::size_t>(*width);
  }
  return widths[1] == 0 ? std::nullopt : std::optional(widths);
}

// Runs of numbers: first, count, first, count …
std::optional<std::vector<std::int64_t>> runs_in(const PdfDict& dict) {
  const PdfValue* value = entry(dict, "Index");
  if (value == nullptr) return std::vector<std::int64_t>{0, number_in(dict, "Size").value_or(0)};
  const auto* array = value->as<PdfArray>();
  if (array == nullptr || array->size() % 2 != 0) return std::nullopt;
  std::vector<std::int64_t> runs;
  for (const PdfValue& each : *array) {
    const auto* number = each.as<std::int64_t>();
    if (number == nullptr || *number < 0) return std::nullopt;
    runs.push_back(*number);
  }
  return runs;
}

}  // namespace

std::optional<PdfObjects> PdfObjects::read(std::string_view file) {
  const std::size_t tail = file.size() - std::min(file.size(), kTailBytes);
  const std::size_t last = file.rfind("startxref");
  if (!file.starts_with("%PDF-") || last == std::string_view::npos || last < tail) return std::nullopt;
  PdfScanner scanner(file, last + 9);
  const auto at = scanner.number();
  PdfObjects objects(file);
  if (!at || !objects.read_sections(static_cast<std::size_t>(*at))) return std::nullopt;
  return objects;
}

// From the newest section to the oldest: the first word about an object holds.
bool PdfObjects::read_sections(std::size_t at) {
  std::set<std::size_t> seen;
  for (int section = 0; section < kSectionsMax; ++section) {
    if (at >= file_.size() || !seen.insert(at).second) return false;
    auto trailer = read_section(at);
    if (!trailer) return false;
    const bool more = entry(*trailer, "Prev") != nullptr;
    const auto before = offset_in(*trailer, "Prev");
    if (section == 0) trailer_ = std::move(*trailer);
    if (!more) return true;
    if (!before) return false;
    at = *before;
  }
  return false;
}

std::optional<PdfDict> PdfObjects::read_section(std::size_t at) {
  PdfScanner scanner(file_, at);
  return scanner.take("xref") ? read_table(scanner.at()) : read_stream_section(at);
}

// A table may have a stream beside it, for readers that know of streams; that one speaks first.
std::optional<PdfDict> PdfObjects::read_table(std::size_t at) {
  PdfScanner scanner(file_, at);
  std::vector<std::pair<std::int64_t, Place>> found;
  while (!scanner.take("trailer")) {
    const auto first = scanner.number();
    const auto count = scanner.number();
    if (!first || !count || static_cast<std::size_t>(*first) > kObjectsMax) return std::nullopt;
    for (std::int64_t i = 0; i < *count; ++i) {
      const auto where = scanner.number();
      if (!where || *where > UINT32_MAX || !scanner.number()) return std::nullopt;
      const bool used = scanner.take("n");
      if (!used && !scanner.take("f")) return std::nullopt;
      const auto kind = used ? Place::Kind::kAt : Place::Kind::kFree;
      found.emplace_back(*first + i, Place{kind, static_cast<std::uint32_t>(*where)});
      if (found.size() > kObjectsMax) return std::nullopt;
    }
  }
  auto value = spend(scanner.at() - at) ? scanned(scanner) : std::nullopt;
  auto* dict = value ? std::get_if<PdfDict>(&value->is) : nullptr;
  if (dict == nullptr) return std::nullopt;
  const auto beside = offset_in(*dict, "XRefStm");
  if (beside && !read_stream_section(*beside)) return std::nullopt;
  for (const auto& [number, where] : found) {
    if (!place(number, where)) return std::nullopt;
  }
  return std::move(*dict);
}

std::optional<PdfDict> PdfObjects::read_stream_section(std::size_t at) {
  auto stream = indirect(at);
  auto* dict = stream ? std::get_if<PdfDict>(&stream->value.is) : nullptr;
  // Its length must stand in it: to look up another object is what it is needed for.
  if (dict == nullptr || !is_name(entry(*dict, "Type"), "XRef") || !number_in(*dict, "Length")) {
    return std::nullopt;
  }
  const auto rows = data_of(*stream);
  if (!rows || !read_rows(*dict, *rows)) return std::nullopt;
  return std::move(*dict);
}

bool PdfObjects::read_rows(const PdfDict& dict, std::string_view rows) {
  const auto widths = widths_of(dict);
  const auto runs = runs_in(dict);
  if (!widths || !runs) return false;
  const auto& [kind_bytes, where_bytes, more_bytes] = *widths;
  const std::size_t row_bytes = kind_bytes + where_bytes + more_bytes;
  for (std::size_t run = 0; run + 1 < runs->size(); run += 2) {
    for (std::int64_t i = 0; i < (*runs)[run + 1]; ++i) {
      if (rows.size() < row_bytes) return false;
      const std::uint64_t kind = kind_bytes == 0 ? 1 : big_endian(rows.substr(0, kind_bytes));
      const std::uint64_t where = big_endian(rows.substr(kind_bytes, where_bytes));
      rows.remove_prefix(row_bytes);
      if (kind > 2 || where > UINT32_MAX) return false;
      constexpr std::array kKinds{Place::Kind::kFree, Place::Kind::kAt, Place::Kind::kInStream};
      if (!place((*runs)[run] + i, {kKinds[kind], static_cast<std::uint32_t>(where)})) return false;
    }
  }
  return true;
}

bool PdfObjects::place(std::int64_t number, Place place) {
  const auto index = static_cast<std::size_t>(number);
  if (number < 0 || index >= kObjectsMax) return false;
  if (index >= places_.size()) places_.resize(index + 1);
  if (places_[index].kind == Place::Kind::kUnknown) places_[index] = place;
  return true;
}

bool PdfObjects::spend(std::size_t bytes) {
  scanned_left_ -= std::min(scanned_left_, bytes);
  return scanned_left_ > 0;
}

std::optional<PdfValue> PdfObjects::scanned(PdfScanner& scanner) {
  const std::size_t begin = scanner.at();
  auto value = scanner.value();
  return spend(scanner.at() - begin) ? std::move(value) : std::nullopt;
}

std::optional<PdfObjects::Indirect> PdfObjects::indirect(std::size_t at) {
  if (at >= file_.size()) return std::nullopt;
  PdfScanner scanner(file_, at);
  const auto number = scanner.number();
  if (!number || !scanner.number() || !scanner.take("obj") || !spend(scanner.at() - at)) return std::nullopt;
  auto value = scanned(scanner);
  if (!value) return std::nullopt;
  Indirect found{*number, std::move(*value), std::nullopt};
  if (!scanner.take("stream")) return found;
  std::size_t data = scanner.at();
  if (file_.substr(data, 1) == "\r") ++data;
  if (file_.substr(data, 1) == "\n") ++data;
  found.data_at = data;
  return found;
}

// A length in another object is looked up where that stands by itself: in an object stream, whose own length
// might be in this one, it would never end.
std::optional<std::int64_t> PdfObjects::length_of(const PdfDict& stream) {
  const PdfValue* value = entry(stream, "Length");
  const auto* ref = value == nullptr ? nullptr : value->as<PdfRef>();
  if (ref == nullptr) return number_in(stream, "Length");
  const auto index = static_cast<std::size_t>(ref->number);
  if (index >= places_.size() || places_[index].kind != Place::Kind::kAt) return std::nullopt;
  const auto found = indirect(places_[index].where);
  const auto* bytes = found && found->number == ref->number ? found->value.as<std::int64_t>() : nullptr;
  return bytes == nullptr ? std::nullopt : std::optional(*bytes);
}

std::optional<std::string> PdfObjects::data_of(const Indirect& stream) {
  const auto* dict = stream.value.as<PdfDict>();
  if (dict == nullptr || !stream.data_at) return std::nullopt;
  const auto bytes = length_of(*dict);
  if (!bytes || *bytes < 0) return std::nullopt;
  const std::string_view rest = file_.substr(*stream.data_at);
  if (static_cast<std::size_t>(*bytes) > rest.size()) return std::nullopt;
  auto data = unpacked(*dict, rest.substr(0, static_cast<std::size_t>(*bytes)), inflated_left_);
  if (data) inflated_left_ -= data->size();
  return data;
}

const PdfObjects::Members* PdfObjects::members_of(std::int64_t number) {
  if (const auto known = streams_.find(number); known != streams_.end()) return &known->second;
  const auto index = static_cast<std::size_t>(number);
  if (index >= places_.size() || places_[index].kind != Place::Kind::kAt) return nullptr;
  const auto stream = indirect(places_[index].where);
  const auto* dict = stream ? stream->value.as<PdfDict>() : nullptr;
  if (dict == nullptr || stream->number != number || !is_name(entry(*dict, "Type"), "ObjStm")) return nullptr;
  const auto count = offset_in(*dict, "N");
  const auto first = offset_in(*dict, "First");
  auto text = data_of(*stream);
  if (!count || !first || !text || *count > members_left_) return nullptr;
  members_left_ -= *count;
  Members members{std::move(*text), {}};
  PdfScanner head(members.text);
  for (std::size_t i = 0; i < *count; ++i) {
    const auto member = head.number();
    const auto offset = head.number();
    if (!member || !offset) return nullptr;
    members.at.emplace(*member, *first + static_cast<std::size_t>(*offset));
  }
  return &streams_.emplace(number, std::move(members)).first->second;
}

std::optional<PdfValue> PdfObjects::member(std::int64_t stream, std::int64_t number) {
  const Members* members = members_of(stream);
  if (members == nullptr) return std::nullopt;
  const auto at = members->at.find(number);
  if (at == members->at.end()) return std::nullopt;
  PdfScanner scanner(members->text, at->second);
  return scanned(scanner);
}

std::optional<PdfValue> PdfObjects::object(std::int64_t number) {
  const auto index = static_cast<std::size_t>(number);
  if (index >= places_.size()) return PdfValue{};
  const Place place = places_[index];
  switch (place.kind) {
    case Place::Kind::kUnknown:
    case Place::Kind::kFree:
      return PdfValue{};
    case Place::Kind::kAt: {
      auto found = indirect(place.where);
      if (!found || found->number != number) return std::nullopt;
      return std::move(found->value);
    }
    case Place::Kind::kInStream:
      return member(place.where, number);
  }
  return std::nullopt;
}

std::optional<PdfValue> PdfObjects::resolved(const PdfValue& value) {
  const auto* ref = value.as<PdfRef>();
  return ref == nullptr ? value : object(ref->number);
}

}  // namespace millrace::engines::host
