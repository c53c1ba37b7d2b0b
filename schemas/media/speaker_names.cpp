#include "schemas/media/speaker_names.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace millrace::schemas {
namespace {

using Direction = std::vector<float>;

float dot(const Direction& a, const Direction& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0F);
}

// Of length 1. Empty: the embedding has no direction.
Direction direction_of(Direction embedding) {
  const float length = std::sqrt(dot(embedding, embedding));
  if (!std::isfinite(length) || length <= 0) return {};
  for (float& each : embedding) each /= length;
  return embedding;
}

constexpr double kVoiceSecondsMin = 0.1;  // a voice of less counts as much

// A voice of the recording and the person who speaks.
struct RecordedVoice {
  Direction direction;
  double seconds = 0;
  std::optional<std::size_t> person;  // index into the list of persons
};

// Joins the two most similar groups of voices until no two groups are similar. The similarity of two groups
// is the mean over their pairs of voices, weighted by the time that they speak.
class VoiceGroups {
 public:
  explicit VoiceGroups(std::span<RecordedVoice* const> voices) : size_(voices.size()) {
    similarities_.resize(size_ * size_);
    for (std::size_t a = 0; a < size_; ++a) {
      for (std::size_t b = 0; b < size_; ++b)
        similarities_[a * size_ + b] = dot(voices[a]->direction, voices[b]->direction);
      groups_.push_back({{a}, std::max(voices[a]->seconds, kVoiceSecondsMin), a});
    }
    for (std::size_t a = 0; a < size_; ++a) find_nearest(a);
  }

  // Each group: the indexes of its voices.
  std::vector<std::vector<std::size_t>> joined(double similarity_min) {
    while (const auto group = most_similar(similarity_min)) join(*group, groups_[*group].nearest);
    std::vector<std::vector<std::size_t>> all;
    for (Group& group : groups_)
      if (!group.members.empty()) all.push_back(std::move(group.members));
    return all;
  }

 private:
  struct Group {
    std::vector<std::size_t> members;  // empty: it has joined another group
    double seconds = 0;
    std::size_t nearest = 0;  // itself: there is no other group
  };
  float& similarity(std::size_t a, std::size_t b) { return similarities_[a * size_ + b]; }

  void find_nearest(std::size_t a) {
    groups_[a].nearest = a;
    float most = -std::numeric_limits<float>::infinity();
    for (std::size_t b = 0; b < size_; ++b) {
      if (b == a || groups_[b].members.empty() || similarity(a, b) <= most) continue;
      most = similarity(a, b);
      groups_[a].nearest = b;
    }
  }

  std::optional<std::size_t> most_similar(double similarity_min) {
    std::optional<std::size_t> found;
    auto most = static_cast<float>(similarity_min);
    for (std::size_t a = 0; a < size_; ++a) {
      const std::size_t b = groups_[a].nearest;
      if (groups_[a].members.empty() || b == a || similarity(a, b) < most) continue;
      if (found && similarity(a, b) == most) continue;
      most = similarity(a, b);
      found = a;
    }
    return found;
  }

  void join(std::size_t into, std::size_t other) {
    Group& to = groups_[into];
    Group& from = groups_[other];
    const auto part = static_cast<float>(from.seconds / (to.seconds + from.seconds));
    for (std::size_t c = 0; c < size_; ++c) {
      similarity(into, c) += part * (similarity(other, c) - similarity(into, c));
      similarity(c, into) = similarity(into, c);
    }
    to.members.insert(to.members.end(), from.members.begin(), from.members.end());
    to.seconds += from.seconds;
    from.members.clear();
    for (std::size_t c = 0; c < size_; ++c) {
      const bool is_outdated = c == into || groups_[c].nearest == into || groups_[c].nearest == other;
      if (!groups_[c].members.empty() && is_outdated) find_nearest(c);
    }
  }

  const std::size_t size_;
  std::vector<float> similarities_;  // of all pairs
  std::vector<Group> groups_;
};

// The persons whom the voices belong to, each with the mean of their voices.
class Persons {
 public:
  explicit Persons(std::vector<RecordedVoice>& voices) {
    std::vector<RecordedVoice*> long_voices, others;
    for (RecordedVoice& each : voices) {
      if (each.direction.empty()) continue;
      (each.seconds >= kShortVoiceSeconds ? long_voices : others).push_back(&each);
    }
    std::stable_sort(long_voices.begin(), long_voices.end(),
                     [](const RecordedVoice* a, const RecordedVoice* b) { return a->seconds > b->seconds; });
    const std::size_t compared = std::min(long_voices.size(), kComparedVoicesMax);
    others.insert(others.begin(), long_voices.begin() + static_cast<std::ptrdiff_t>(compared),
                  long_voices.end());
    long_voices.resize(compared);
    for (const auto& group : VoiceGroups(long_voices).joined(kSameSpeakerSimilarity)) {
      persons_.push_back({Direction(long_voices[group.front()]->direction.size())});
      for (const std::size_t member : group) add(*long_voices[member], persons_.size() - 1);
    }
    for (RecordedVoice* each : others) join_nearest(*each);
  }

  std::size_t size() const { return persons_.size(); }
  Direction direction(std::size_t person) const { return direction_of(persons_[person].sum); }

 private:
  struct Person {
    Direction sum;
    float length = 0;  // of `sum`
  };

  void add(RecordedVoice& voice, std::size_t number) {
    voice.person = number;
    Person& person = persons_[number];
    for (std::size_t at = 0; at < person.sum.size(); ++at)
      person.sum[at] += voice.direction[at] * static_cast<float>(std::max(voice.seconds, kVoiceSecondsMin));
    person.length = std::sqrt(dot(person.sum, person.sum));
  }

  static float similarity(const Person& person, const RecordedVoice& voice) {
    return person.length > 0 ? std::max(-1.0F, dot(person.sum, voice.direction) / person.length) : -1;
  }

  void join_nearest(RecordedVoice& voice) {
    std::optional<std::size_t> nearest;
    auto most = static_cast<float>(persons_.size() < kSpeakersMax ? kShortVoiceSimilarity : -1);
    for (std::size_t number = 0; number < persons_.size(); ++number) {
      const float similar = similarity(persons_[number], voice);
      if (similar < most) continue;
      most = similar;
      nearest = number;
    }
    if (!nearest) persons_.push_back({Direction(voice.direction.size())});
    add(voice, nearest.value_or(persons_.size() - 1));
  }

  std::vector<Person> persons_;
};

std::string label_of(std::size_t number) {
  constexpr std::size_t kLetters = 26;
  std::string label;
  for (++number; number > 0; number = (number - 1) / kLetters)
    label.insert(label.begin(), static_cast<char>('A' + (number - 1) % kLetters));
  return label;
}

// Names persons: those who are known, and the others by labels that no known speaker has.
class Names {
 public:
  Names(const std::vector<KnownSpeaker>& known, const Persons& persons) : names_(persons.size()) {
    std::vector<Match> matches;
    for (const KnownSpeaker& each : known) {
      taken_.insert(each.name);
      add_matches(each, persons, matches);
    }
    std::ranges::stable_sort(matches, std::ranges::greater(), &Match::similarity);
    std::set<std::string> given;
    for (const Match& match : matches) {
      // What one person says can form two groups, which are then as similar as any voices of one person.
      const double similarity_min =
          given.contains(match.name) ? kSameSpeakerSimilarity : kKnownSpeakerSimilarity;
      if (!names_[match.person].empty() || match.similarity < static_cast<float>(similarity_min)) continue;
      names_[match.person] = match.name;
      given.insert(match.name);
    }
  }

  const std::string& of(std::size_t person) {
    if (names_[person].empty()) names_[person] = next_label();
    return names_[person];
  }

 private:
  // How similar a person is to a known speaker.
  struct Match {
    float similarity;
    std::string name;
    std::size_t person;
  };

  static void add_matches(const KnownSpeaker& known, const Persons& persons, std::vector<Match>& matches) {
    const Direction voice = direction_of(known.embedding);
    for (std::size_t person = 0; person < persons.size(); ++person) {
      const Direction direction = persons.direction(person);
      if (!voice.empty() && direction.size() == voice.size())
        matches.push_back({dot(voice, direction), known.name, person});
    }
  }

  std::string next_label() {
    std::string label = label_of(labels_++);
    while (taken_.contains(label)) label = label_of(labels_++);
    return label;
  }

  std::vector<std::string> names_;  // by person; empty: not yet named
  std::set<std::string> taken_;
  std::size_t labels_ = 0;
};

}  // namespace

void name_speakers(std::vector<TranscriptPiece>& pieces, const std::vector<KnownSpeaker>& known) {
  std::vector<RecordedVoice> voices;
  std::size_t dimensions = 0;
  for (const TranscriptPiece& piece : pieces) {
    for (const Voice& voice : piece.voices) {
      if (dimensions == 0) dimensions = voice.embedding.size();
      const bool fits = voice.embedding.size() == dimensions;
      voices.push_back({fits ? direction_of(voice.embedding) : Direction(), voice.seconds, std::nullopt});
    }
  }
  const Persons persons(voices);
  Names names(known, persons);
  std::size_t first = 0;
  for (TranscriptPiece& piece : pieces) {
    for (TranscriptSegment& segment : piece.segments) {
      if (segment.voice < 0 || static_cast<std::size_t>(segment.voice) >= piece.voices.size()) continue;
      const auto person = voices[first + static_cast<std::size_t>(segment.voice)].person;
      if (person) segment.speaker = names.of(*person);
    }
    first += piece.voices.size();
  }
}

}  // namespace millrace::schemas
