// A growing array of plain rows that are not set before they are written.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace ktrace::reader {

template <typename T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>, "rows are moved as bytes");

 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(m_rows); }

  void clear() { m_size = 0; }

  // Make room for `capacity` rows in all, so that `add` need not look.
  void reserve(std::size_t capacity) {
    if (capacity > m_capacity) grow(capacity);
  }

  // There is room.
  T& add() { return m_rows[m_size++]; }

  void push(const T& row) {
    const T copy = row;  // it may be one of ours
    if (m_size == m_capacity) grow(m_size + 1);
    m_rows[m_size++] = copy;
  }

  void pop() { --m_size; }
  void resize(std::size_t size) {
    reserve(size);
    m_size = size;
  }

  std::size_t size() const { return m_size; }
  bool empty() const { return m_size == 0; }
  T& back() { return m_rows[m_size - 1]; }
  T& operator[](std::size_t index) { return m_rows[index]; }
  const T& operator[](std::size_t index) const { return m_rows[index]; }
  T* begin() { return m_rows; }
  T* end() { return m_rows + m_size; }
  const T* begin() const { return m_rows; }
  const T* end() const { return m_rows + m_size; }

  void swap(Buffer& other) {
    std::swap(m_rows, other.m_rows);
    std::swap(m_size, other.m_size);
    std::swap(m_capacity, other.m_capacity);
  }

 private:
  void grow(std::size_t at_least) {
    std::size_t capacity = m_capacity + m_capacity / 2 + 16;
    if (capacity < at_least) capacity = at_least;
    void* rows = capacity > static_cast<std::size_t>(-1) / sizeof(T)
                     ? nullptr
                     : std::realloc(static_cast<void*>(m_rows), capacity * sizeof(T));
    if (rows == nullptr) throw std::bad_alloc();
    m_rows = static_cast<T*>(rows);
    m_capacity = capacity;
  }

  T* m_rows = nullptr;
  std::size_t m_size = 0;
  std::size_t m_capacity = 0;
};

}  // namespace ktrace::reader
