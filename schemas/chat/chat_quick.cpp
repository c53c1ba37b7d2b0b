#include "schemas/chat/chat_quick.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <utility>

#include "schemas/json/json_tree.h"
#include "schemas/json/quick_json.h"

namespace millrace::schemas {
namespace {

namespace sj = simdjson::ondemand;

constexpr std::size_t kQuickModelBytesMax = 256;  // the same limit as in the table's reader
constexpr std::size_t kQuickMembersUsual = 8;

enum class QuickKind : std::uint8_t { kModel, kMessages, kParameter, kOne, kStream, kStreamOptions };

struct QuickRow {
  std::string_view name;
  QuickKind kind = QuickKind::kParameter;
  std::string_view provider_name = {};  // the current name, if it differs
};
constexpr std::array kQuickRows{
    QuickRow{"model", QuickKind::kModel},
    QuickRow{"messages", QuickKind::kMessages},
    QuickRow{"temperature"},
    QuickRow{"top_p"},
    QuickRow{"max_completion_tokens"},
    QuickRow{"max_tokens", QuickKind::kParameter, "max_completion_tokens"},
    QuickRow{"presence_penalty"},
    QuickRow{"frequency_penalty"},
    QuickRow{"seed"},
    QuickRow{"user"},
    QuickRow{"n", QuickKind::kOne},
    QuickRow{"stream", QuickKind::kStream},
    QuickRow{"stream_options", QuickKind::kStreamOptions},
};
enum : std::size_t { kAtModel = 0, kAtMessages = 1, kAtNewMax = 4, kAtOldMax = 5, kAtOptions = 12 };
static_assert(kQuickRows[kAtOldMax].name == "max_tokens" && kQuickRows[kAtOptions].name == "stream_options");

using QuickFields = std::array<const Field*, kQuickRows.size()>;

// The request table's field of each row.
const QuickFields& quick_fields() {
  static const QuickFields fields = [] {
    QuickFields out{};
    const auto table = chat_request_fields();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = &*std::ranges::find(table, kQuickRows[i].name, &Field::name);
    return out;
  }();
  return fields;
}

std::string_view without_blanks_behind(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last + 1);
}

bool is_role(std::string_view text) {
  return text == "user" || text == "assistant" || text == "system" || text == "developer";
}

// Each function returns false for input that the tree parser must handle.
class QuickWalk {
 public:
  QuickWalk(const std::string& body, ChatRequest& out)
      : begin_(body.data()), end_(body.data() + body.size()), out_(out) {}

  bool read(sj::document& document) {
    document_ = &document;
    sj::object object;
    if (!is_good(document.get_object().get(object))) return false;
    const bool read = read_members(object, end_, [&](std::string_view name, sj::value& value) {
      const auto* const row = std::ranges::find(kQuickRows, name, &QuickRow::name);
      const auto at = static_cast<std::size_t>(row - kQuickRows.begin());
      if (row == kQuickRows.end() || seen_[at]) return false;
      return member(at, value);
    });
    return read && is_read_whole(document) && fits_together();
  }

 private:
  bool member(std::size_t at, sj::value& value) {
    const QuickKind kind = kQuickRows[at].kind;
    seen_[at] = true;
    sj::json_type type{};
    if (!is_good(value.type().get(type))) return false;
    const bool may_be_null = kind != QuickKind::kModel && kind != QuickKind::kMessages;
    if (type == sj::json_type::null && may_be_null) {
      bool null = false;
      return is_good(value.is_null().get(null)) && null;
    }
    switch (kind) {
      case QuickKind::kModel:
        return model(value);
      case QuickKind::kMessages:
        return messages(value);
      case QuickKind::kParameter:
        return parameter(at, type, value);
      case QuickKind::kOne: {
        std::int64_t count = 0;
        return type == sj::json_type::number && is_good(value.get_int64().get(count)) && count == 1;
      }
      case QuickKind::kStream:
        return is_good(value.get_bool().get(out_.stream));
      case QuickKind::kStreamOptions:
        return stream_options(value);
    }
    return false;
  }

  // The content of a string, if all its escapes are valid.
  std::optional<std::string_view> text(sj::value& value) {
    const auto inside = string_inside(value, end_);
    return inside && has_good_escapes(*inside) ? inside : std::nullopt;
  }

  bool model(sj::value& value) {
    const auto name = text(value);
    const bool plain = name && !name->empty() && name->size() <= kQuickModelBytesMax &&
                       name->find('\\') == std::string_view::npos;
    if (plain) out_.models.emplace_back(*name);
    return plain;
  }

  bool parameter(std::size_t at, sj::json_type type, sj::value& value) {
    const Field& field = *quick_fields()[at];
    const std::string_view token = without_blanks_behind(value.raw_json_token());
    if (field.type == FieldType::kString) {
      const auto inside = text(value);
      if (inside) add_member(at, inside->data() - 1, inside->size() + 2);
      return inside.has_value();
    }
    sj::number number;
    if (type != sj::json_type::number || !is_good(value.get_number().get(number))) return false;
    add_member(at, token.data(), token.size());
    return field.type == FieldType::kInteger ? is_within(field, number) : is_near(field, number);
  }

  static bool is_within(const Field& field, const sj::number& number) {
    return number.is_int64() && number.get_int64() >= field.min && number.get_int64() <= field.max;
  }
  static bool is_near(const Field& field, const sj::number& number) {
    const double value = number.as_double();
    return value >= static_cast<double>(field.min) && value <= static_cast<double>(field.max);
  }

  bool messages(sj::value& value) {
    const char* const from = std::string_view(value.raw_json_token()).data();
    sj::array array;
    if (!is_good(value.get_array().get(array))) return false;
    bool any = false;
    for (auto each : array) {
      sj::value item;
      if (!is_good(each.get(item)) || !message(item)) return false;
      any = true;
    }
    const char* until = nullptr;
    if (!any || !is_good(document_->current_location().get(until))) return false;
    const std::string_view list(from, static_cast<std::size_t>(until - from));
    add_member(kAtMessages, from, without_blanks_behind(list).size());
    return true;
  }

  bool message(sj::value& value) {
    sj::object object;
    if (!is_good(value.get_object().get(object))) return false;
    bool role = false, content = false, name = false;
    const bool read = read_members(object, end_, [&](std::string_view member, sj::value& node) {
      const auto inside = text(node);
      if (!inside) return false;
      if (member == "role") return !std::exchange(role, true) && is_role(*inside);
      if (member == "content") return !std::exchange(content, true) && keep_content(*inside);
      return member == "name" && !std::exchange(name, true);
    });
    return read && role && content;
  }

  bool keep_content(std::string_view inside) {
    out_.quick.contents.push_back({.name = {}, .at = place(inside.data()), .size = inside.size()});
    return true;
  }

  bool stream_options(sj::value& value) {
    sj::object object;
    if (!is_good(value.get_object().get(object))) return false;
    out_.has_stream_options = true;
    bool usage = false, obfuscation = false;
    return read_members(object, end_, [&](std::string_view member, sj::value& node) {
      if (member == "include_usage")
        return !std::exchange(usage, true) && is_good(node.get_bool().get(out_.include_usage));
      return member == "include_obfuscation" && !std::exchange(obfuscation, true) &&
             is_good(node.get_bool().get(out_.include_obfuscation));
    });
  }

  // Checks that involve more than one parameter.
  bool fits_together() const {
    const bool whole = seen_[kAtModel] && seen_[kAtMessages];
    return whole && !(seen_[kAtNewMax] && seen_[kAtOldMax]) && (!seen_[kAtOptions] || out_.stream);
  }

  std::size_t place(const char* at) const { return static_cast<std::size_t>(at - begin_); }

  void add_member(std::size_t at, const char* from, std::size_t size) {
    const QuickRow& row = kQuickRows[at];
    out_.quick.members.push_back(
        {.name = row.provider_name.empty() ? row.name : row.provider_name, .at = place(from), .size = size});
  }

  const char* const begin_;
  const char* const end_;
  ChatRequest& out_;
  sj::document* document_ = nullptr;
  std::bitset<kQuickRows.size()> seen_;
};

}  // namespace

std::optional<ChatRequest> quick_chat_request(std::string& body) {
  if (body.size() > kSharedParserMax) return std::nullopt;
  const auto text = padded(body, kJsonPadding);
  sj::document document;
  if (!is_good(shared_parser().iterate(text).get(document))) return std::nullopt;
  std::optional<ChatRequest> out(std::in_place);
  out->quick.members.reserve(kQuickMembersUsual);
  out->quick.contents.reserve(kQuickMembersUsual);
  if (!QuickWalk(body, *out).read(document)) return std::nullopt;
  out->quick.text = std::move(body);
  return out;
}

}  // namespace millrace::schemas
