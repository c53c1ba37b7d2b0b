#include "ai/engines/host/documents/page_rules.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <qpdf/qpdf-c.h>
#include <unistd.h>

#include "ai/engines/host/documents/content_rules.h"
#include "ai/engines/host/tool.h"
#include "ai/engines/layout/direction.h"

namespace millrace::engines::host {
namespace {

constexpr int kTreeDepth = 50;
constexpr int kFormDepth = 4;
constexpr int kButtonsMost = 2000;              // of a page
constexpr int kStreamsMost = 200;               // of a page, with its forms
constexpr int kDrawsMost = 20'000;              // forms and pictures of a page
constexpr long long kPackedMost = 256LL << 10;  // bytes of a stream: it expands to a thousand times as much
constexpr std::size_t kContentMost = std::size_t{16} << 20;  // bytes of a page

struct Free {
  void operator()(unsigned char* bytes) const { std::free(bytes); }
};

// A document in qpdf's C interface, because its C++ headers do not compile with clang in C++20.
class DrawnDocument {
 public:
  explicit DrawnDocument(std::string_view pdf) : file_(qpdf_init()) {
    qpdf_silence_errors(file_);
    qpdf_set_suppress_warnings(file_, QPDF_TRUE);
    qpdf_set_attempt_recovery(file_, QPDF_FALSE);
    sound_ = (qpdf_read_memory(file_, "document", pdf.data(), pdf.size(), nullptr) & QPDF_ERRORS) == 0;
  }
  ~DrawnDocument() {
    if (qpdf_has_error(file_) != QPDF_FALSE) qpdf_get_error(file_);  // otherwise qpdf prints it
    qpdf_cleanup(&file_);
  }
  DrawnDocument(const DrawnDocument&) = delete;
  DrawnDocument& operator=(const DrawnDocument&) = delete;

  PageDrawing drawing_of(int index) {
    PageDrawing drawing;
    if (!sound_) return drawing;
    content_left_ = kContentMost;
    streams_left_ = kStreamsMost;
    draws_left_ = kDrawsMost;
    const auto page = page_at(index);
    const auto at = page ? map_of(*page) : std::nullopt;
    ContentReader reader;
    if (at) {
      reader.read(content_of(get(*page, "/Contents")), *at,
                  forms_in(inherited(*page, "/Resources"), reader, 0));
      if (content_left_ > 0 && streams_left_ > 0 && draws_left_ > 0) {
        drawing.dots = reader.dots();
        drawing.check_boxes = reader.take_check_boxes();
        drawing.rules = reader.take();
      }
      add_buttons(get(*page, "/Annots"), *at, drawing.check_boxes);
    }
    qpdf_oh_release_all(file_);
    return drawing;
  }

  bool has_form() {
    if (!sound_) return false;
    const qpdf_oh form = get(qpdf_get_root(file_), "/AcroForm");
    return is_dictionary(form) && items(get(form, "/Fields")) > 0;
  }

 private:
  qpdf_oh get(qpdf_oh from, const char* key) { return qpdf_oh_get_key_if_dict(file_, from, key); }
  bool is_dictionary(qpdf_oh object) { return qpdf_oh_is_dictionary(file_, object) != QPDF_FALSE; }
  bool is_array(qpdf_oh object) { return qpdf_oh_is_array(file_, object) != QPDF_FALSE; }
  int items(qpdf_oh array) { return is_array(array) ? qpdf_oh_get_array_n_items(file_, array) : 0; }

  std::optional<std::vector<float>> numbers(qpdf_oh array, int count) {
    std::vector<float> values;
    if (items(array) != count) return std::nullopt;
    for (int i = 0; i < count; ++i) {
      const qpdf_oh item = qpdf_oh_get_array_item(file_, array, i);
      if (qpdf_oh_is_number(file_, item) == QPDF_FALSE) return std::nullopt;
      values.push_back(static_cast<float>(qpdf_oh_get_numeric_value(file_, item)));
    }
    return values;
  }

  // How many pages a node of the page tree has.
  int pages_below(qpdf_oh node) {
    int count = 1;
    if (is_array(get(node, "/Kids")) &&
        qpdf_oh_get_value_as_int(file_, get(node, "/Count"), &count) == QPDF_FALSE)
      return 0;
    return count;
  }

  std::optional<qpdf_oh> page_at(int index) {
    qpdf_oh node = get(qpdf_get_root(file_), "/Pages");
    for (int depth = 0; depth < kTreeDepth && is_dictionary(node); ++depth) {
      const qpdf_oh kids = get(node, "/Kids");
      if (!is_array(kids)) return index == 0 ? std::optional(node) : std::nullopt;
      const int count = items(kids);
      const bool flat = pages_below(node) == count;  // every kid is a page
      int kid = flat ? index : 0;
      for (; !flat && kid < count; ++kid) {
        const int below = pages_below(qpdf_oh_get_array_item(file_, kids, kid));
        if (index < below) break;
        index -= below;
      }
      if (flat) index = 0;
      if (kid >= count) return std::nullopt;
      node = qpdf_oh_get_array_item(file_, kids, kid);
    }
    return std::nullopt;
  }

  qpdf_oh inherited(qpdf_oh node, const char* key) {
    qpdf_oh found = get(node, key);
    for (int depth = 0; depth < kTreeDepth && qpdf_oh_is_null(file_, found) != QPDF_FALSE; ++depth) {
      node = get(node, "/Parent");
      if (!is_dictionary(node)) break;
      found = get(node, key);
    }
    return found;
  }

  std::optional<Box> box_of(qpdf_oh page, const char* key) {
    const auto edges = numbers(inherited(page, key), 4);
    if (!edges) return std::nullopt;
    const std::vector<float>& e = *edges;
    return Box{std::min(e[0], e[2]), std::min(e[1], e[3]), std::max(e[0], e[2]), std::max(e[1], e[3])};
  }

  // From the page's units to points from the top left corner.
  std::optional<Matrix> map_of(qpdf_oh page) {
    auto box = box_of(page, "/MediaBox");
    if (!box) return std::nullopt;
    if (const auto crop = box_of(page, "/CropBox")) {
      const Box shown{std::max(box->x0, crop->x0), std::max(box->y0, crop->y0), std::min(box->x1, crop->x1),
                      std::min(box->y1, crop->y1)};
      if (shown.x0 < shown.x1 && shown.y0 < shown.y1) box = shown;
    }
    int turn = 0;
    qpdf_oh_get_value_as_int(file_, inherited(page, "/Rotate"), &turn);
    switch (((turn % 360) + 360) % 360) {
      case 0:
        return Matrix{1, 0, 0, -1, -box->x0, box->y1};
      case 90:
        return Matrix{0, 1, 1, 0, -box->y0, -box->x0};
      case 180:
        return Matrix{-1, 0, 0, 1, box->x1, -box->y0};
      case 270:
        return Matrix{0, -1, -1, 0, box->y1, box->x1};
      default:
        return std::nullopt;
    }
  }

  std::string content_of(qpdf_oh streams) {
    std::string content;
    if (!is_array(streams)) {
      append_stream(streams, content);
      return content;
    }
    for (int i = 0; i < std::min(items(streams), kStreamsMost); ++i)
      append_stream(qpdf_oh_get_array_item(file_, streams, i), content);
    return content;
  }

  // Two filters that compress could expand to a million times their size.
  bool may_expand(qpdf_oh stream) {
    const qpdf_oh head = qpdf_oh_get_dict(file_, stream);
    long long length = 0;
    if (qpdf_oh_get_value_as_longlong(file_, get(head, "/Length"), &length) == QPDF_FALSE) return false;
    const qpdf_oh filters = get(head, "/Filter");
    const int count = items(filters);
    const auto is_text = [&](int i) {
      const qpdf_oh filter = qpdf_oh_get_array_item(file_, filters, i);
      return qpdf_oh_is_name_and_equals(file_, filter, "/ASCII85Decode") != QPDF_FALSE ||
             qpdf_oh_is_name_and_equals(file_, filter, "/ASCIIHexDecode") != QPDF_FALSE;
    };
    return length <= kPackedMost && (count < 2 || (count == 2 && is_text(0)));
  }

  void append_stream(qpdf_oh stream, std::string& content) {
    if (qpdf_oh_is_stream(file_, stream) == QPDF_FALSE || streams_left_ == 0) return;
    --streams_left_;
    if (!may_expand(stream)) return void(content_left_ = 0);
    unsigned char* bytes = nullptr;
    std::size_t size = 0;
    QPDF_BOOL filtered = QPDF_FALSE;
    const auto read = qpdf_oh_get_stream_data(file_, stream, qpdf_dl_specialized, &filtered, &bytes, &size);
    const std::unique_ptr<unsigned char, Free> owner(bytes);
    if ((read & QPDF_ERRORS) != 0 || bytes == nullptr || filtered == QPDF_FALSE) return;
    if (size >= content_left_) return void(content_left_ = 0);
    content_left_ -= size;
    content.append(reinterpret_cast<const char*>(bytes), size);
    content += '\n';
  }

  // Reads the forms that content draws.
  ContentReader::Draw forms_in(qpdf_oh resources, ContentReader& reader, int depth) {
    return [this, resources, &reader, depth](std::string_view name, const Matrix& at) {
      if (depth == kFormDepth || content_left_ == 0 || draws_left_ == 0) return;
      --draws_left_;
      const std::string key = "/" + std::string(name);
      const qpdf_oh form = get(get(resources, "/XObject"), key.c_str());
      if (qpdf_oh_is_stream(file_, form) == QPDF_FALSE) return;
      const qpdf_oh head = qpdf_oh_get_dict(file_, form);
      if (qpdf_oh_is_name_and_equals(file_, get(head, "/Subtype"), "/Form") == QPDF_FALSE) return;
      const auto m = numbers(get(head, "/Matrix"), 6);
      const Matrix map = m ? Matrix{(*m)[0], (*m)[1], (*m)[2], (*m)[3], (*m)[4], (*m)[5]} : Matrix{};
      const qpdf_oh own = get(head, "/Resources");
      reader.read(content_of(form), map.then(at),
                  forms_in(is_dictionary(own) ? own : resources, reader, depth + 1));
    };
  }

  bool is_name(qpdf_oh object, const char* name) {
    return qpdf_oh_is_name_and_equals(file_, object, name) != QPDF_FALSE;
  }

  long long flags(qpdf_oh object) {
    long long value = 0;
    qpdf_oh_get_value_as_longlong(file_, object, &value);
    return value;
  }

  // The check boxes and radio buttons among the annotations of a page. A button to push is none.
  void add_buttons(qpdf_oh annotations, const Matrix& at, std::vector<CheckBox>& boxes) {
    constexpr long long kHidden = 0x2 | 0x20, kPush = 0x10000;
    for (int i = 0; i < std::min(items(annotations), kButtonsMost); ++i) {
      const qpdf_oh each = qpdf_oh_get_array_item(file_, annotations, i);
      if (!is_name(get(each, "/Subtype"), "/Widget") || !is_name(inherited(each, "/FT"), "/Btn")) continue;
      if ((flags(get(each, "/F")) & kHidden) != 0 || (flags(inherited(each, "/Ff")) & kPush) != 0) continue;
      const auto place = box_of(each, "/Rect");
      if (!place) continue;
      const qpdf_oh state = get(each, "/AS");
      const bool ticked = qpdf_oh_is_name(file_, state) != QPDF_FALSE && !is_name(state, "/Off");
      const Box box = mapped(*place, at);
      std::erase_if(boxes, [&](const CheckBox& drawn) { return meet(drawn.box, box); });
      boxes.push_back({box, ticked, true});
    }
  }

  static bool meet(const Box& one, const Box& other) {
    return one.x0 < other.x1 && other.x0 < one.x1 && one.y0 < other.y1 && other.y0 < one.y1;
  }

  // The map turns by quarters.
  static Box mapped(const Box& box, const Matrix& at) {
    const float x0 = at.a * box.x0 + at.c * box.y0 + at.e, y0 = at.b * box.x0 + at.d * box.y0 + at.f;
    const float x1 = at.a * box.x1 + at.c * box.y1 + at.e, y1 = at.b * box.x1 + at.d * box.y1 + at.f;
    return {std::min(x0, x1), std::min(y0, y1), std::max(x0, x1), std::max(y0, y1)};
  }

  qpdf_data file_;
  bool sound_ = false;
  std::size_t content_left_ = 0;
  int streams_left_ = 0, draws_left_ = 0;
};

enum class DrawnKind : std::int32_t { kAcross, kDown, kBox, kTickedBox, kButton, kTickedButton, kDot };

struct Record {
  std::int32_t page = 0;
  DrawnKind kind = DrawnKind::kAcross;
  Box box;
};

constexpr std::size_t kBytesMost = std::size_t{64} << 20;

void write_all(std::string_view bytes, int to) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(to, bytes.data(), bytes.size());
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string_view raw_bytes(const std::vector<Record>& records) {
  return {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)};
}

DrawnKind kind_of(const CheckBox& box) {
  if (box.button) return box.ticked ? DrawnKind::kTickedButton : DrawnKind::kButton;
  return box.ticked ? DrawnKind::kTickedBox : DrawnKind::kBox;
}

std::vector<Record> records_of(const PageDrawing& drawing, int page) {
  std::vector<Record> records;
  for (const Box& rule : drawing.rules.across) records.push_back({page, DrawnKind::kAcross, rule});
  for (const Box& rule : drawing.rules.down) records.push_back({page, DrawnKind::kDown, rule});
  for (const CheckBox& each : drawing.check_boxes) records.push_back({page, kind_of(each), each.box});
  for (const Box& dot : drawing.dots) records.push_back({page, DrawnKind::kDot, dot});
  return records;
}

void add(const Record& record, PageDrawing& drawing) {
  switch (record.kind) {
    case DrawnKind::kAcross:
      return drawing.rules.across.push_back(record.box);
    case DrawnKind::kDown:
      return drawing.rules.down.push_back(record.box);
    case DrawnKind::kBox:
    case DrawnKind::kTickedBox:
      return drawing.check_boxes.push_back({record.box, record.kind == DrawnKind::kTickedBox});
    case DrawnKind::kButton:
    case DrawnKind::kTickedButton:
      return drawing.check_boxes.push_back({record.box, record.kind == DrawnKind::kTickedButton, true});
    case DrawnKind::kDot:
      return drawing.dots.push_back(record.box);
  }
}

}  // namespace

void turn_drawing(PageDrawing& drawing, float height) {
  std::swap(drawing.rules.across, drawing.rules.down);
  for (std::vector<Box>* boxes : {&drawing.rules.across, &drawing.rules.down, &drawing.dots}) {
    for (Box& box : *boxes) box = quarter_turned(box, height);
  }
  for (CheckBox& each : drawing.check_boxes) each.box = quarter_turned(each.box, height);
}

std::map<int, PageDrawing> drawings_of(std::string_view pdf, const std::vector<int>& pages,
                                       std::chrono::milliseconds cpu) {
  std::map<int, PageDrawing> all;
  if (pages.empty()) return all;
  const std::string bytes = output_of_copy(cpu, kBytesMost, [&](int to) {
    DrawnDocument document(pdf);
    for (const int page : pages) write_all(raw_bytes(records_of(document.drawing_of(page), page)), to);
  });
  for (std::size_t at = 0; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
    Record record;
    std::memcpy(&record, bytes.data() + at, sizeof(Record));
    add(record, all[record.page]);
  }
  return all;
}

bool has_form(std::string_view pdf, std::chrono::milliseconds cpu) {
  if (pdf.find("/AcroForm") == std::string_view::npos && pdf.find("/ObjStm") == std::string_view::npos)
    return false;
  const std::string answer = output_of_copy(cpu, 1, [&](int to) {
    if (DrawnDocument(pdf).has_form()) write_all("1", to);
  });
  return answer == "1";
}

}  // namespace millrace::engines::host
