#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace stout::inline v1 {

/// Base class of the elements of a SegmentedLru.
struct SegmentedLruElement : boost::intrusive::list_base_hook<> {
  enum class Segment : std::uint8_t { kGuest, kProbation, kProtected };

  std::size_t bytes = 0;
  Segment segment = Segment::kProbation;
};

/// The order in which the keys of a cache are evicted: segmented LRU with a segment for guests.
///
/// | segment   | its keys                      | bytes                                            |
/// |-----------|-------------------------------|--------------------------------------------------|
/// | guests    | may not enter the cache       | evicted first, while there are more than 1/64    |
/// | probation | are new                       | the rest; evicted next                           |
/// | protected | were used while on probation  | at most 1/2; then the oldest go back on probation|
///
/// A use lifts a key by one segment. The cache may requeue a guest instead. Each segment evicts its
/// least recently used key first. Keys that are used once therefore do not displace keys that are
/// used often, and guests stay long enough for the request that read them.
///
/// One half is a compromise. If more is protected, the cache follows a moving hot set too slowly.
/// If less is protected, other reads displace more of a hot set.
///
/// Owner: the owner of the elements; they are removed before they are destroyed.
/// Threads: none of its own.   Cost: constant.
/// Source: "Caching Strategies to Improve Disk System Performance" (Karedla et al., 1994).
template <typename Element>
class SegmentedLru {
 public:
  using Segment = SegmentedLruElement::Segment;

  /// `capacity`: bytes of the cache.
  explicit SegmentedLru(std::size_t capacity)
      : max_guests_(capacity / 64), max_protected_(capacity / 2) {}

  /// Adds an element as the most recently used one of its segment.
  void Insert(Element& element) {
    Part& part = PartOf(element);
    part.elements.push_back(element);
    part.bytes += element.bytes;
    Demote();
  }
  void Remove(Element& element) {
    Part& part = PartOf(element);
    part.elements.erase(part.elements.iterator_to(element));
    part.bytes -= element.bytes;
  }
  /// Lifts an element by one segment, because it is used.
  void Use(Element& element) {
    if (element.segment == Segment::kProtected) return Requeue(element);
    Remove(element);
    element.segment =
        element.segment == Segment::kGuest ? Segment::kProbation : Segment::kProtected;
    Insert(element);
  }
  /// Makes the element the most recently used one of its segment.
  void Requeue(Element& element) {
    auto& elements = PartOf(element).elements;
    elements.splice(elements.end(), elements, elements.iterator_to(element));
  }

  /// Returns the element of the same segment that was used next after this one, or null.
  [[nodiscard]] Element* After(Element& element) {
    auto& elements = PartOf(element).elements;
    const auto next = std::next(elements.iterator_to(element));
    return next == elements.end() ? nullptr : &*next;
  }
  /// Returns the element to evict next. Requires !empty().
  [[nodiscard]] Element& Next() {
    if (guests_.bytes > max_guests_) return guests_.elements.front();
    for (Part* const part : {&probation_, &protected_}) {
      if (!part->elements.empty()) return part->elements.front();
    }
    return guests_.elements.front();
  }
  /// Returns the protected element to evict next, or null.
  [[nodiscard]] Element* NextProtected() {
    return protected_.elements.empty() ? nullptr : &protected_.elements.front();
  }
  [[nodiscard]] bool empty() const {
    return guests_.elements.empty() && probation_.elements.empty() && protected_.elements.empty();
  }

 private:
  struct Part {
    boost::intrusive::list<Element> elements;  // least recently used first
    std::size_t bytes = 0;
  };

  Part& PartOf(const Element& element) {
    switch (element.segment) {
      case Segment::kGuest:
        return guests_;
      case Segment::kProbation:
        return probation_;
      case Segment::kProtected:
        return protected_;
    }
    return probation_;
  }

  void Demote() {
    while (protected_.bytes > max_protected_) {
      Element& oldest = protected_.elements.front();
      Remove(oldest);
      oldest.segment = Segment::kProbation;
      Insert(oldest);
    }
  }

  std::size_t max_guests_;
  std::size_t max_protected_;
  Part guests_;
  Part probation_;
  Part protected_;
};

}  // namespace stout::inline v1
