/* podwright collective KIND --compat astra-sim: what ASTRA-sim's analytical networks answer, beside the cut bound and podwright. */
#ifndef PW_HOST_COLLECTIVE_COMPAT_H
#define PW_HOST_COLLECTIVE_COMPAT_H

#include "scenarios/host/command.h"

/* Its own options, for the command's table. */
#define PW_COLLECTIVE_COMPAT_OPTIONS                                                                                     \
    {0, "compat", "SIMULATOR", false, "answer as astra-sim does, with podwright's answer beside it; needs --network and --system"}, \
        {0, "network", "FILE", false, "compat: ASTRA-sim's network, a .yml"},                                            \
        {0, "system", "FILE", false, "compat: ASTRA-sim's system, a .json"}

bool pw_collective_has_compat(const pw_arguments *arguments); /* any of them is given */
pw_status pw_collective_compat(pw_host *host, const pw_arguments *arguments, pw_arena *arena, pw_error *error);

#endif
