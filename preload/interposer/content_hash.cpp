#include "content_hash.hpp"

namespace ktrace {
namespace {

// Of finalizers that are known to mix well; any odd numbers would do.
constexpr std::uint64_t multiplier = 0xff51afd7ed558ccdu;
constexpr std::uint64_t start = 0x9e3779b97f4a7c15u;
constexpr std::size_t lanes = 4;  // independent chains: one would wait for each multiplication

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * multiplier;
  return hash ^ hash >> 32;
}

std::uint64_t word_at(Bytes bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data + at, bytes.size - at < 8 ? bytes.size - at : 8);
  return word;
}

}  // namespace

std::uint64_t content_hash(Bytes bytes, std::uint64_t seed) {
  std::uint64_t chain[lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) chain[lane] = start * (lane + 1) ^ seed ^ bytes.size;
  std::size_t at = 0;
  for (; bytes.size - at >= 8 * lanes; at += 8 * lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      chain[lane] = mix(chain[lane], word_at(bytes, at + 8 * lane));
  for (; at < bytes.size; at += 8) chain[0] = mix(chain[0], word_at(bytes, at));
  std::uint64_t hash = chain[0];
  for (std::size_t lane = 1; lane < lanes; ++lane) hash = mix(hash, chain[lane]);
  return hash;
}

}  // namespace ktrace
