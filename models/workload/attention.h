/* How much slower a stack's fused attention is than the kernel that was fitted: table `attention-kernels`. */
#ifndef PW_MODELS_WORKLOAD_ATTENTION_H
#define PW_MODELS_WORKLOAD_ATTENTION_H

#include "models/catalogue/catalogue.h"

/* Ratios of times, arithmetic only, on the device's architecture; 1 where the table has no row or device is NULL. */
typedef struct pw_attention_slowdown {
    double forward, backward;
} pw_attention_slowdown;
/* Fails with file:line on a ratio out of range. */
pw_status pw_attention_slowdown_read(const pw_catalogue *catalogue, const char *stack, const pw_device *device,
                                     pw_attention_slowdown *slowdown, pw_error *error);

#endif
