/* podwright calibrate import: logs of collective benchmarks as one CSV of measurements; calibrate judge: what such tables may be
 * ill of. */
#ifndef PW_HOST_CALIBRATE_IMPORT_H
#define PW_HOST_CALIBRATE_IMPORT_H

#include "models/catalogue/catalogue.h"
#include "scenarios/host/command.h"

/* Its own options, for the command's table. */
#define PW_CALIBRATE_IMPORT_OPTIONS                                                                                      \
    {0, "source", "TEXT", false, "import: where the logs come from (default: the file's name)"},                         \
        {0, "gpu", "NAME", false, "import: the GPU, where the catalogue does not know the name in the log"},             \
        {0, "nodes", "N", false, "import: nodes of one group, where the log lists no devices"},                          \
        {0, "gpus-per-node", "N", false, "import: ranks on a node, where the log lists no devices"},                     \
        {0, "collective", "NAME", false, "import: which one it is, where the log does not say"},                         \
        {0, "library-version", "TEXT", false, "import: of NCCL or RCCL, where the log does not say"},                    \
        {0, "intra", "TEXT", false, "import: the links inside a node, as in \"NVLink4+NVSwitch\""},                       \
        {0, "inter", "TEXT", false, "import: the network between nodes, as in \"8x NDR400 IB\""}

pw_status pw_calibrate_import(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                              pw_error *error);
/* Of the file named, or of the measurements that ship; a CSV when the output's name ends so. */
pw_status pw_calibrate_judge(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena, pw_error *error);
/* Fails when one of those options is given. */
pw_status pw_calibrate_no_import_options(const pw_arguments *arguments, pw_error *error);

#endif
