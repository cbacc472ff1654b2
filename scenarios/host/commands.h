/* The rows of the command table. */
#ifndef PW_HOST_COMMANDS_H
#define PW_HOST_COMMANDS_H

#include "scenarios/host/command.h"
#include "scenarios/host/scenario.h"

extern const pw_command pw_command_run, pw_command_collective, pw_command_describe, pw_command_catalogue, pw_command_explain,
    pw_command_validate, pw_command_calibrate, pw_command_import, pw_command_version, pw_command_help;

/* Options that every command which loads a scenario shares, for its table. */
#define PW_SCENARIO_OPTIONS                                                                                              \
    {0, "set", "PATH=VALUE", true, "change a field: job.tensor_parallel=4, cluster.network.port_rate=\"200 Gbps\""},           \
        {0, "seed", "N", false, "seed of all random numbers (default 1)"},                                               \
        {0, "script-memory", "SIZE", false, "memory that the script may use (default 512 MB)"},                          \
        {0, "script-instructions", "N", false, "instructions that the script may run (default 500000000)"},              \
        {0, "script-seconds", "N", false, "seconds that the script may run (default 30)"}
/* A cluster without a file, or changes to that of a file. */
#define PW_CLUSTER_OPTIONS                                                                                               \
    {0, "server", "NAME", false, "the server of the cluster: \"DGX H100\"; `podwright catalogue nodes` lists them"},        \
        {0, "nodes", "N", false, "nodes of the cluster"}, {0, "gpus-per-node", "N", false, "GPUs of a node"}
#define PW_HELP_OPTION {'h', "help", NULL, false, "show this help"}

/* Loads the catalogue and the scenario named by the first operand, with those options. */
pw_status pw_command_load(const pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                          pw_scenario *scenario, pw_error *error);
/* The same for who calls the scenario's hooks, and pw_scenario_end when it is done; also after a failure. */
pw_status pw_command_load_with_hooks(const pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                                     pw_scenario *scenario, pw_error *error);
/* The same with a file (NULL: none, the options describe the cluster) and the options --server, --nodes and --gpus-per-node,
 * which change its cluster before --set does. */
pw_status pw_command_load_cluster(const pw_host *host, const pw_arguments *arguments, const char *file, pw_catalogue *catalogue,
                                  pw_arena *arena, pw_scenario *scenario, pw_error *error);
/* Loads the catalogue, runs body, prints its error; returns the exit code. */
typedef pw_status pw_command_body(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                                  pw_error *error);
int pw_command_with_catalogue(pw_host *host, const pw_arguments *arguments, pw_command_body *body);
/* Gives a model's message the line of the field it speaks of. */
void pw_command_place(const pw_scenario *scenario, pw_error *error);
/* The same for the record at a path: "jobs[2].job". */
void pw_command_place_at(const pw_scenario *scenario, const pw_kind *kind, const char *path, const void *record, pw_error *error);
/* Value of --seed. */
pw_status pw_command_seed(const pw_arguments *arguments, uint64_t *seed, pw_error *error);

/* The number of what --algorithm names, with --pieces, --dimensions and --imbalance: of the table, or a variant made in
 * collectives. Algorithms of the scenario live in arena. */
pw_status pw_command_algorithm(const pw_arguments *arguments, const pw_scenario *scenario, pw_collectives *collectives, pw_arena *arena,
                               int *algorithm, pw_error *error);

#endif
