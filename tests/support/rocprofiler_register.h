// The part of rocprofiler-register's interface that HIP calls.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint64_t handle;
} rocprofiler_register_library_indentifier_t;

typedef enum {
  ROCP_REG_SUCCESS = 0,
  ROCP_REG_NO_TOOLS,
  ROCP_REG_DEADLOCK,
  ROCP_REG_BAD_API_TABLE_LENGTH,
  ROCP_REG_UNSUPPORTED_API,
  ROCP_REG_INVALID_API_ADDRESS,
  ROCP_REG_ROCPROFILER_ERROR,
  ROCP_REG_EXCESS_API_INSTANCES
} rocprofiler_register_error_code_t;

rocprofiler_register_error_code_t rocprofiler_register_library_api_table(
    const char* name, int (*import)(void), uint32_t version, void** tables, uint64_t count,
    rocprofiler_register_library_indentifier_t* id);

#ifdef __cplusplus
}
#endif
