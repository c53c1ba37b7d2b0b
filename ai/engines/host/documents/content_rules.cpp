#include "ai/engines/host/documents/content_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

namespace millrace::engines::host {
namespace {

// In points.
constexpr float kRuleThick = 3;             // a thicker area is not a rule
constexpr float kSlant = 0.5F;              // how far the ends of a rule may lie apart across it
constexpr float kShortest = 2;              // a shorter piece belongs to a letter
constexpr float kOneLine = 1;               // pieces this close to each other belong to one line
constexpr float kLongShape = 3;             // a filled area must be this many times as long as wide
constexpr float kWhiteFrom = 0.97F;         // brighter colours are not seen
constexpr float kLightFrom = 0.75F;         // a brighter area is the background of what stands on it
constexpr float kBoxMin = 5, kBoxMax = 24;  // the side of a box to tick
constexpr float kBoxLong = 1.3F;            // its longer side, of the shorter one
constexpr float kTickMin = 2;
constexpr float kDotMax = 6;
constexpr std::size_t kCurvesOfCircle = 4;
constexpr std::size_t kPiecesMost = 20'000;
constexpr std::size_t kFillsMost = 2000;
constexpr std::size_t kPointsMost = 10'000;  // of a path
constexpr std::size_t kSavedMost = 64;       // nested graphics states
constexpr std::size_t kOperandsMost = 32;

struct Token {
  enum class Kind { kEnd, kNumber, kName, kOperator, kOther };
  Kind kind = Kind::kEnd;
  std::string_view text;
  float number = 0;
};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == '\0'; }

bool is_delimiter(char c) { return std::string_view("()<>[]{}/%").find(c) != std::string_view::npos; }

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Token next() {
    skip_space();
    if (at_ >= text_.size()) return {};
    const char c = text_[at_];
    if (c == '(') return skip_string();
    if (c == '<' && at_ + 1 < text_.size() && text_[at_ + 1] != '<') return skip_to('>');
    if (c == '/') return {Token::Kind::kName, regular(++at_)};
    if (is_delimiter(c)) return {Token::Kind::kOther, text_.substr(at_++, 1)};
    return number_or_operator(regular(at_));
  }

  // Behind the data of an inline image, which ends with EI as a word of its own.
  void skip_image() {
    while (true) {
      const std::size_t end = text_.find("EI", at_);
      if (end == std::string_view::npos) return void(at_ = text_.size());
      at_ = end + 2;
      if (end > 0 && is_space(text_[end - 1]) && (at_ == text_.size() || is_space(text_[at_]))) return;
    }
  }

 private:
  void skip_space() {
    while (at_ < text_.size()) {
      if (text_[at_] == '%') {
        at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
      } else if (is_space(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  Token skip_string() {
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '(') {
        ++depth;
      } else if (text_[at_] == ')' && --depth == 0) {
        break;
      }
    }
    at_ = std::min(at_ + 1, text_.size());
    return {Token::Kind::kOther, {}};
  }

  Token skip_to(char end) {
    at_ = std::min(text_.find(end, at_), text_.size() - 1) + 1;
    return {Token::Kind::kOther, {}};
  }

  std::string_view regular(std::size_t from) {
    at_ = from;
    while (at_ < text_.size() && !is_space(text_[at_]) && !is_delimiter(text_[at_])) ++at_;
    return text_.substr(from, at_ - from);
  }

  static Token number_or_operator(std::string_view text) {
    const bool numeric = text.find_first_not_of("+-.0123456789") == std::string_view::npos;
    if (!numeric) return {Token::Kind::kOperator, text};
    float value = 0;
    const std::size_t from = text.starts_with('+') ? 1 : 0;
    std::from_chars(text.data() + from, text.data() + text.size(), value);
    return {Token::Kind::kNumber, text, value};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct Point {
  float x = 0, y = 0;
};

Point mapped(const Matrix& at, float x, float y) {
  return {at.a * x + at.c * y + at.e, at.b * x + at.d * y + at.f};
}

struct State {
  Matrix at;
  float line_width = 1;
  bool strokes_are_white = false;
  bool fills_are_white = false, fills_are_light = false;
  std::vector<float> fill;  // its colour, as the operands say
};

// Lines that are connected to each other; `straight[i]`: point i is reached by a straight line.
struct Subpath {
  std::vector<Point> points;
  std::vector<bool> straight;
};

Box around(const std::vector<Point>& points) {
  Box box{points[0].x, points[0].y, points[0].x, points[0].y};
  for (const Point& point : points) {
    box = {std::min(box.x0, point.x), std::min(box.y0, point.y), std::max(box.x1, point.x),
           std::max(box.y1, point.y)};
  }
  return box;
}

// Joins the pieces of each line. `from` and `to`: the ends of a rule in its direction.
void join_pieces(std::vector<Box>& rules, float Box::*from, float Box::*to, float Box::*low,
                 float Box::*high) {
  const auto place = [=](const Box& rule) { return rule.*low + rule.*high; };
  std::ranges::sort(rules, {}, place);
  std::vector<Box> joined;
  for (std::size_t first = 0, end = 0; first < rules.size(); first = end) {
    while (end < rules.size() && place(rules[end]) - place(rules[first]) <= 2 * kOneLine) ++end;
    const auto begin = rules.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, rules.begin() + static_cast<std::ptrdiff_t>(end),
              [=](const Box& a, const Box& b) { return a.*from < b.*from; });
    const std::size_t line = joined.size();
    for (std::size_t i = first; i < end; ++i) {
      if (joined.size() > line && rules[i].*from <= joined.back().*to + kOneLine) {
        joined.back().*to = std::max(joined.back().*to, rules[i].*to);
      } else {
        joined.push_back(rules[i]);
      }
    }
  }
  rules = std::move(joined);
}

}  // namespace

Matrix Matrix::then(const Matrix& next) const {
  return {next.a * a + next.c * b, next.b * a + next.d * b,          next.a * c + next.c * d,
          next.b * c + next.d * d, next.a * e + next.c * f + next.e, next.b * e + next.d * f + next.f};
}

// Of one content stream.
class ContentReader::Reading {
 public:
  Reading(ContentReader& reader, const Matrix& at, const Draw& draw) : reader_(reader), draw_(draw) {
    state_.at = at;
  }

  void read(std::string_view content) {
    Tokens tokens(content);
    while (reader_.pieces_ <= kPiecesMost) {
      const Token token = tokens.next();
      if (token.kind == Token::Kind::kEnd) return;
      if (token.kind == Token::Kind::kNumber && operands_.size() < kOperandsMost) {
        operands_.push_back(token.number);
      } else if (token.kind == Token::Kind::kName) {
        name_ = token.text;
      } else if (token.kind == Token::Kind::kOperator) {
        if (token.text == "ID") tokens.skip_image();
        apply(token.text);
        operands_.clear();
      }
    }
  }

 private:
  float operand(std::size_t i) const { return i < operands_.size() ? operands_[i] : 0; }
  Point point(std::size_t i) const { return mapped(state_.at, operand(i), operand(i + 1)); }

  void apply(std::string_view name) {
    if (name.size() == 1) {
      apply_letter(name[0]);
    } else if (name == "re") {
      add_rectangle();
    } else if (name == "cm") {
      const Matrix map{operand(0), operand(1), operand(2), operand(3), operand(4), operand(5)};
      state_.at = map.then(state_.at);
    } else if (name == "f*") {
      paint(false, true);
    } else if (name == "B*" || name == "b*") {
      paint(true, true);
    } else if (name == "RG" || name == "SC" || name == "SCN" || name == "CS") {
      state_.strokes_are_white = white(false);
    } else if (name == "rg" || name == "sc" || name == "scn" || name == "cs") {
      set_fill(false);
    } else if (name == "Do") {
      draw_(name_, state_.at);
    }
  }

  void apply_letter(char name) {
    switch (name) {
      case 'q':
        if (saved_.size() < kSavedMost) return saved_.push_back(state_);
        return void(++unsaved_);
      case 'Q':
        return restore();
      case 'w':
        return void(state_.line_width = operand(0));
      case 'm':
        return begin(point(0));
      case 'l':
        return add(point(0), true);
      case 'c':
        return add(point(4), false);
      case 'v':
      case 'y':
        return add(point(2), false);
      case 'h':
        return close();
      case 's':
      case 'b':
        close();
        return paint(true, name == 'b');
      case 'S':
      case 'B':
        return paint(true, name == 'B');
      case 'f':
      case 'F':
        return paint(false, true);
      case 'n':
        return drop_path();
      case 'G':
      case 'K':
        return void(state_.strokes_are_white = white(name == 'G'));
      case 'g':
      case 'k':
        return set_fill(name == 'g');
      default:
        return;
    }
  }

  // `gray`: a single number is a brightness. Otherwise it may be the amount of any ink.
  bool white(bool gray) const {
    const auto bright = [](float value) { return value >= kWhiteFrom; };
    const auto dark = [](float value) { return value <= 1 - kWhiteFrom; };
    if (operands_.size() == 4) return std::ranges::all_of(operands_, dark);
    const bool light = operands_.size() == 3 || (operands_.size() == 1 && gray);
    return light && std::ranges::all_of(operands_, bright);
  }

  // How bright the colour is; patterns count as black.
  float brightness(bool gray) const {
    if (operands_.size() == 4)
      return 1 - std::min(1.0F, 0.3F * operand(0) + 0.59F * operand(1) + 0.11F * operand(2) + operand(3));
    if (operands_.size() == 3) return 0.3F * operand(0) + 0.59F * operand(1) + 0.11F * operand(2);
    return operands_.size() == 1 && gray ? operand(0) : 0;
  }

  void set_fill(bool gray) {
    state_.fills_are_white = white(gray);
    state_.fills_are_light = brightness(gray) >= kLightFrom;
    state_.fill = operands_;
  }

  void restore() {
    if (unsaved_ > 0) return void(--unsaved_);
    if (saved_.empty()) return;
    state_ = saved_.back();
    saved_.pop_back();
  }

  void begin(Point from) {
    if (points_ < kPointsMost) path_.push_back({{from}, {false}});
    ++points_;
  }

  void add(Point to, bool straight) {
    if (path_.empty() || points_ >= kPointsMost) return;
    ++points_;
    path_.back().points.push_back(to);
    path_.back().straight.push_back(straight);
  }

  void close() {
    if (!path_.empty()) add(path_.back().points.front(), true);
  }

  void add_rectangle() {
    const float x = operand(0), y = operand(1), w = operand(2), h = operand(3);
    begin(mapped(state_.at, x, y));
    for (const auto& [across, down] : {std::pair{w, 0.0F}, {w, h}, {0.0F, h}, {0.0F, 0.0F}})
      add(mapped(state_.at, x + across, y + down), true);
  }

  void paint(bool stroke, bool fill) {
    const Matrix& at = state_.at;
    const float width = state_.line_width * std::sqrt(std::abs(at.a * at.d - at.b * at.c));
    if (stroke && !state_.strokes_are_white && width <= kRuleThick) {
      for (const Subpath& part : path_) add_strokes(part);
    }
    if (fill && !state_.fills_are_white) {
      for (const Subpath& part : path_) add_thin_area(part);
    }
    const bool stroked = stroke && !state_.strokes_are_white, filled = fill && !state_.fills_are_white;
    for (const Subpath& part : path_) add_shape(part, stroked, filled);
    drop_path();
  }

  void drop_path() {
    path_.clear();
    points_ = 0;
  }

  void add_strokes(const Subpath& part) {
    for (std::size_t i = 1; i < part.points.size(); ++i) {
      if (part.straight[i]) add_rule(around({part.points[i - 1], part.points[i]}), kSlant);
    }
  }

  void add_thin_area(const Subpath& part) {
    const bool curved =
        std::find(part.straight.begin() + 1, part.straight.end(), false) != part.straight.end();
    if (curved || part.points.size() < 3) return;
    const Box box = around(part.points);
    const float across = std::min(box.width(), box.height()), along = std::max(box.width(), box.height());
    if (along >= kLongShape * across) add_rule(box, kRuleThick);
  }

  // Four straight sides along the axes, or a circle of curves.
  static bool is_box_to_tick(const Subpath& part, const Box& box) {
    const float low = std::min(box.width(), box.height()), high = std::max(box.width(), box.height());
    if (low < kBoxMin || high > kBoxMax || high > kBoxLong * low) return false;
    const auto curves =
        static_cast<std::size_t>(std::count(part.straight.begin() + 1, part.straight.end(), false));
    if (curves >= kCurvesOfCircle) return true;
    std::size_t sides = 0;
    for (std::size_t i = 1; i < part.points.size(); ++i) {
      const Box side = around({part.points[i - 1], part.points[i]});
      const float along = std::max(side.width(), side.height());
      if (std::min(side.width(), side.height()) > kSlant) return false;
      if (along > low / 2) ++sides;
    }
    return curves == 0 && sides == 4;
  }

  void add_shape(const Subpath& part, bool stroked, bool filled) {
    if (part.points.size() < 2 || (!stroked && !filled)) return;
    const Box box = around(part.points);
    if (!std::isfinite(box.width() + box.height()) || std::max(box.width(), box.height()) > kBoxMax) return;
    const bool light = filled && !stroked && state_.fills_are_light;
    const bool is_box = is_box_to_tick(part, box);
    const bool hollow = stroked && (!filled || state_.fills_are_light) && is_box;
    if (filled && is_box && reader_.fills_.size() < kFillsMost)
      reader_.fills_.push_back({box, state_.fill, state_.fills_are_light});
    std::vector<Box>& all = hollow ? reader_.hollow_ : light ? reader_.light_ : reader_.painted_;
    if (all.size() > kPiecesMost || std::min(box.width(), box.height()) < kTickMin) return;
    all.push_back(box);
  }

  void add_rule(const Box& box, float thick) {
    ++reader_.pieces_;
    if (!std::isfinite(box.width() + box.height()) || reader_.pieces_ > kPiecesMost) return;
    if (std::max(box.width(), box.height()) < kShortest) return;
    if (box.height() <= thick && box.height() < box.width()) {
      reader_.rules_.across.push_back(box);
    } else if (box.width() <= thick && box.width() < box.height()) {
      reader_.rules_.down.push_back(box);
    }
  }

  ContentReader& reader_;
  const Draw& draw_;
  State state_;
  std::vector<State> saved_;
  std::size_t unsaved_ = 0;
  std::vector<float> operands_;
  std::string_view name_;
  std::vector<Subpath> path_;
  std::size_t points_ = 0;
};

void ContentReader::read(std::string_view content, const Matrix& at, const Draw& draw) {
  Reading(*this, at, draw).read(content);
}

Rules ContentReader::take() {
  Rules rules = std::exchange(rules_, {});
  if (std::exchange(pieces_, 0) > kPiecesMost) return {};
  join_pieces(rules.across, &Box::x0, &Box::x1, &Box::y0, &Box::y1);
  join_pieces(rules.down, &Box::y0, &Box::y1, &Box::x0, &Box::x1);
  if (rules.across.size() + rules.down.size() > kRulesMost) return {};
  return rules;
}

namespace {

constexpr float kSameBox = 1;  // points

bool are_same(const Box& one, const Box& other) {
  return std::abs(one.x0 - other.x0) < kSameBox && std::abs(one.y0 - other.y0) < kSameBox &&
         std::abs(one.x1 - other.x1) < kSameBox && std::abs(one.y1 - other.y1) < kSameBox;
}

bool touch_each_other(const Box& one, const Box& other) {
  return one.x0 < other.x1 + kSameBox && other.x0 < one.x1 + kSameBox && one.y0 < other.y1 + kSameBox &&
         other.y0 < one.y1 + kSameBox;
}

bool is_within(const Box& mark, const Box& box) {
  return mark.middle_x() > box.x0 && mark.middle_x() < box.x1 && mark.middle_y() > box.y0 &&
         mark.middle_y() < box.y1 && mark.width() <= box.width();
}

}  // namespace

std::vector<Box> ContentReader::dots() const {
  std::vector<Box> found;
  for (const std::vector<Box>* shapes : {&painted_, &light_}) {
    for (const Box& shape : *shapes) {
      const float low = std::min(shape.width(), shape.height());
      const float high = std::max(shape.width(), shape.height());
      if (high > kDotMax || high > kBoxLong * low) continue;
      if (std::ranges::any_of(hollow_, [&](const Box& box) { return is_within(shape, box); })) continue;
      found.push_back(shape);
      if (found.size() > kShapesMost) return {};
    }
  }
  return found;
}

// Whether a square is filled, and another of its size with another colour.
bool ContentReader::has_other_colours(const Box& box, const std::vector<Fill>& fills) {
  const auto own = std::ranges::find_if(fills, [&](const Fill& fill) { return are_same(fill.box, box); });
  return own != fills.end() && std::ranges::any_of(fills, [&](const Fill& other) {
           return other.colour != own->colour && !are_same(other.box, box) &&
                  std::abs(other.box.width() - box.width()) < kSameBox &&
                  std::abs(other.box.height() - box.height()) < kSameBox;
         });
}

std::vector<CheckBox> ContentReader::take_check_boxes() {
  const std::vector<Box> hollow = std::exchange(hollow_, {}), painted = std::exchange(painted_, {});
  std::vector<Fill> fills = std::exchange(fills_, {});
  light_.clear();
  std::vector<Box> boxes;
  for (const Box& box : hollow) {
    if (boxes.size() > kShapesMost) return {};
    if (std::ranges::none_of(boxes, [&](const Box& other) { return are_same(box, other); }))
      boxes.push_back(box);
  }
  std::erase_if(fills, [&](const Fill& fill) {  // it ticks a box
    return !fill.is_light &&
           std::ranges::any_of(boxes, [&](const Box& box) { return is_within(fill.box, box); });
  });
  std::vector<CheckBox> found;
  for (const Box& box : boxes) {
    const auto beside = [&](const Box& other) { return &other != &box && touch_each_other(box, other); };
    if (std::ranges::any_of(boxes, beside) || has_other_colours(box, fills)) continue;
    found.push_back(
        {box, std::ranges::any_of(painted, [&](const Box& mark) { return is_within(mark, box); })});
  }
  return found;
}

}  // namespace millrace::engines::host
