#pragma once
#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace::schemas {

inline constexpr std::size_t kIndexedFrom = 17;  // members; smaller objects are searched one by one

// The object type of `Json` (ADR 48): a map that keeps its members in the order of insertion. A new value for
// an existing name keeps the name's place. References and iterators stay valid until their member is erased,
// also when the object is moved. A look-up costs O(log n). Comparison does not depend on the order.
template <class Key, class Value, class Less = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, Value>>>
class OrderedObject {
  using List = std::list<std::pair<const Key, Value>, Allocator>;

 public:
  // The names that nlohmann::basic_json expects of an object type.
  using key_type = Key;
  using mapped_type = Value;
  using value_type = std::pair<const Key, Value>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using key_compare = Less;
  using allocator_type = Allocator;
  using reference = value_type&;
  using const_reference = const value_type&;
  using iterator = typename List::iterator;
  using const_iterator = typename List::const_iterator;

  OrderedObject() = default;
  ~OrderedObject() = default;
  OrderedObject(const OrderedObject& other) : members_(other.members_) { build_index(); }
  OrderedObject(OrderedObject&& other) noexcept = default;
  OrderedObject& operator=(const OrderedObject& other) { return *this = OrderedObject(other); }
  OrderedObject& operator=(OrderedObject&& other) noexcept = default;
  template <class Iterator>
  OrderedObject(Iterator first, Iterator last) {
    insert(first, last);
  }
  OrderedObject(std::initializer_list<value_type> members) { insert(members.begin(), members.end()); }

  iterator begin() noexcept { return members_.begin(); }
  iterator end() noexcept { return members_.end(); }
  const_iterator begin() const noexcept { return members_.begin(); }
  const_iterator end() const noexcept { return members_.end(); }
  const_iterator cbegin() const noexcept { return members_.begin(); }
  const_iterator cend() const noexcept { return members_.end(); }
  bool empty() const noexcept { return members_.empty(); }
  size_type size() const noexcept { return members_.size(); }
  size_type max_size() const noexcept { return members_.max_size(); }

  template <class Name>
  iterator find(const Name& name) {
    const std::string_view wanted(name);
    if (!index_) return std::find_if(begin(), end(), [&](const auto& each) { return each.first == wanted; });
    const auto at = index_->find(wanted);
    return at == index_->end() ? end() : at->second;
  }
  template <class Name>
  const_iterator find(const Name& name) const {
    return const_cast<OrderedObject*>(this)->find(name);
  }
  template <class Name>
  size_type count(const Name& name) const {
    return find(name) == end() ? 0 : 1;
  }

  // Does nothing if the name exists.
  template <class Name, class From>
  std::pair<iterator, bool> emplace(Name&& name, From&& value) {
    if (const auto at = find(name); at != end()) return {at, false};
    members_.emplace_back(Key(std::forward<Name>(name)), std::forward<From>(value));
    const auto added = std::prev(end());
    if (index_) {
      index_->emplace(added->first, added);
    } else {
      build_index();
    }
    return {added, true};
  }
  std::pair<iterator, bool> insert(const value_type& member) { return emplace(member.first, member.second); }
  std::pair<iterator, bool> insert(value_type&& member) {
    return emplace(member.first, std::move(member.second));
  }
  template <class Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }
  template <class Name>
  Value& operator[](Name&& name) {
    return emplace(std::forward<Name>(name), Value()).first->second;
  }

  iterator erase(const_iterator at) {
    if (index_) index_->erase(at->first);
    return members_.erase(at);
  }
  iterator erase(iterator at) { return erase(const_iterator(at)); }
  iterator erase(const_iterator first, const_iterator last) {
    while (first != last) first = erase(first);
    return members_.erase(last, last);  // the same place as an iterator
  }
  template <class Name, class = std::enable_if_t<std::is_convertible_v<const Name&, std::string_view>>>
  size_type erase(const Name& name) {
    const auto at = find(name);
    if (at == end()) return 0;
    erase(at);
    return 1;
  }
  // Gives a member a name that no other member has. It keeps its place.
  void rename(iterator at, Key name) {
    const auto renamed = members_.emplace(at, std::move(name), std::move(at->second));
    erase(at);
    if (index_) index_->emplace(renamed->first, renamed);
  }
  void clear() noexcept {
    index_.reset();
    members_.clear();
  }

  friend bool operator==(const OrderedObject& a, const OrderedObject& b) {
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const value_type& member) {
             const auto same = b.find(member.first);
             return same != b.end() && same->second == member.second;
           });
  }
  // Compares the members in the order of their names, as std::map does.
  friend std::partial_ordering operator<=>(const OrderedObject& a, const OrderedObject& b) {
    const auto left = a.by_name(), right = b.by_name();
    return std::lexicographical_compare_three_way(
        left.begin(), left.end(), right.begin(), right.end(), [](const auto* x, const auto* y) {
          const std::partial_ordering names = x->first <=> y->first;
          return std::is_eq(names) ? std::partial_ordering(x->second <=> y->second) : names;
        });
  }

 private:
  void build_index() {
    if (size() < kIndexedFrom) return;
    index_ = std::make_unique<Index>();
    for (auto at = begin(); at != end(); ++at) index_->emplace(at->first, at);
  }

  std::vector<const value_type*> by_name() const {
    std::vector<const value_type*> sorted;
    sorted.reserve(size());
    for (const value_type& member : members_) sorted.push_back(&member);
    std::sort(sorted.begin(), sorted.end(), [](const auto* x, const auto* y) { return x->first < y->first; });
    return sorted;
  }

  // A sorted map: names come from clients, who can choose names of one hash value.
  using Index = std::map<std::string_view, iterator>;  // views of the names in `members_`

  List members_;
  std::unique_ptr<Index> index_;  // null: fewer than kIndexedFrom members were ever there
};

}  // namespace millrace::schemas
