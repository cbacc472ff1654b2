/* Lua sources of scenarios/lib, built into the program (cmake/podwright.cmake makes the definitions).
 */
#ifndef PW_HOST_EMBEDDED_H
#define PW_HOST_EMBEDDED_H

#include <stddef.h>

extern const char pw_embedded_prelude[];
extern const size_t pw_embedded_prelude_size;

#endif
