#include "unseen_kernels.hpp"

namespace ktrace {

FoundFunction find_unseen_kernel(Session& session, const HipLibrary& hip, const void* function,
                                 bool is_host_function, hipStream_t stream) {
  Registry& registry = session.registry();
  FoundFunction found;
  if (!registry.tap().is_empty() && function) {
    const char* name = nullptr;
    if (!is_host_function && hip.hipKernelNameRef)
      name = hip.hipKernelNameRef(static_cast<hipFunction_t>(const_cast<void*>(function)));
    // This also makes HIP load the code, if this is the first that is asked of the function.
    else if (is_host_function && hip.hipKernelNameRefByPtr)
      name = hip.hipKernelNameRefByPtr(function, stream);
    if (name) found = registry.find_tapped(name);
  }
  if (!found.is_known) registry.count_unread_archive();
  return found;
}

}  // namespace ktrace
