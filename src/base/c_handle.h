// pure: one owner per C object.
#pragma once

#include <memory>

namespace agentbox {

/// Owns a C object freed by FREE; costs one pointer.
template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <typename T, auto Free>
using CHandle = std::unique_ptr<T, FreeWith<Free>>;

}  // namespace agentbox
