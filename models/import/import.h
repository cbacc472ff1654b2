/* Descriptions from what other programs read: a model from a config.json of HuggingFace Transformers, a training job from the
 * arguments of Megatron-LM or the settings of torchtitan.
 *
 * Which key of an architecture means what is a row of the catalogue's table huggingface-models; what a key that shapes no
 * field does to speed is one of huggingface-keys. What is in the file and not in the description is either said in a note
 * or refused; nothing is dropped in silence.
 */
#ifndef PW_MODELS_IMPORT_H
#define PW_MODELS_IMPORT_H

#include "models/node/cluster.h"
#include "models/workload/train.h"

/* What a reader should know about an imported description: one sentence each, in the arena. */
typedef struct pw_import_notes {
    const char **items;
    size_t count, capacity;
} pw_import_notes;
pw_status pw_import_note(pw_import_notes *notes, pw_arena *arena, pw_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fills *model (defaults included) from the file at path. Fails with PW_UNSUPPORTED where podwright cannot describe the
 * architecture. */
pw_status pw_import_huggingface(const pw_catalogue *catalogue, const char *path, pw_model_desc *model, pw_arena *arena,
                                pw_import_notes *notes, pw_error *error);

/* A training job from the arguments of another program. */
typedef struct pw_import_job {
    pw_train_desc train;
    pw_model_desc model;         /* train.model points here */
    const char *preset;          /* the row of models that the model is; NULL: its fields are its own */
    int64_t nodes, gpus_per_node; /* as the launcher says; 0: it does not */
} pw_import_job;

typedef struct pw_import_request {
    const char *program;        /* "megatron", "torchtitan" */
    const char *path;           /* arguments (megatron: text or shell script; torchtitan: TOML, or ".sh"/".txt" as those) */
    const char *const *words;   /* more arguments, which count after those of the file */
    size_t word_count;
    int64_t gpus;               /* of the cluster; 0: not known */
    const char *const *fields;  /* "job.model.vocabulary=128256": fields set by hand, last of all */
    size_t field_count;
    const char *model;          /* torchtitan: preset or config.json instead of model.name and model.flavor; or NULL */
} pw_import_request;

/* What an argument means is a row of the table import-arguments. One that changes speed and is not modelled is an error or a
 * note, one that no row knows an error. The job has passed its checks, except those that need a cluster. */
pw_status pw_import_arguments(const pw_catalogue *catalogue, const pw_import_request *request, pw_import_job *job,
                              pw_arena *arena, pw_import_notes *notes, pw_error *error);

/* A node from the topology that NCCL writes. */
typedef struct pw_import_topology {
    pw_node_desc node;
    const char *row; /* the row of nodes.csv that is this node, where no server of the catalogue is wired so; else NULL */
} pw_import_topology;

/* The file of NCCL_TOPO_DUMP_FILE. GPUs are found by their PCI device (table pci-devices), the server by GPU, NVLinks, ports and what
 * hangs together below its PCIe switches. */
pw_status pw_import_nccl_topology(const pw_catalogue *catalogue, const char *path, pw_import_topology *topology, pw_arena *arena,
                                  pw_import_notes *notes, pw_error *error);

/* A cluster from a network file of ASTRA-sim; its NPUs become GPUs of the type named. PW_UNSUPPORTED: podwright has no network of that
 * shape. */
pw_status pw_import_astra_network(const pw_catalogue *catalogue, const char *path, const char *gpu, pw_cluster_desc *desc, pw_arena *arena,
                                  pw_import_notes *notes, pw_error *error);
/* A cluster from a topology file of SimAI. */
pw_status pw_import_simai_topology(const pw_catalogue *catalogue, const char *path, pw_cluster_desc *desc, pw_arena *arena,
                                   pw_import_notes *notes, pw_error *error);

#endif
