/* podwright import: what another program reads, written as a scenario. */
#include <stdio.h>
#include <string.h>

#include "scenarios/host/commands.h"
#include "scenarios/report/lua.h"
#include "sim/text.h"

static const pw_option options[] = {
    {0, "server", "NAME", false, "the server or GPU of the cluster; without it a file that returns the job alone"},
    {0, "nodes", "N", false, "nodes of the cluster (default: as the launcher says)"},
    {0, "gpu", "NAME", false, "astra-sim: the GPU that an NPU stands for"},
    {0, "model", "NAME", false, "torchtitan: a model of the catalogue or a config.json, instead of model.name and model.flavor"},
    {0, "set", "PATH=VALUE", true, "change a field of what was read: job.model.vocabulary=128256"},
    {'o', "output", "FILE", false, "write to FILE, whole or not at all"},
    PW_HELP_OPTION,
    {0}};

static void put_notes(pw_file *file, const pw_import_notes *notes) {
    for (size_t i = 0; i < notes->count; i++) pw_file_print(file, "-- note: %.900s\n", notes->items[i]);
}

/* The last part of the path, without what would end a line of comment. */
static const char *source_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_head(pw_file *file, const char *program, const char *path, const pw_import_notes *notes) {
    pw_file_print(file, "-- From %.200s (%s).\n", strpbrk(path, "\r\n") ? "a file" : source_name(path), program);
    put_notes(file, notes);
    pw_file_text(file, "local o = require \"podwright\"\nlocal u = require \"podwright.units\"\n\n");
}

static pw_status open_output(pw_host *host, const pw_arguments *arguments, pw_file **file, pw_error *error) {
    return pw_host_open(host, pw_arguments_value(arguments, "output", NULL), file, error);
}

static pw_status import_model(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                              pw_error *error) {
    static const char *const others[] = {"server", "nodes", "model", "gpu"};
    const char *path = arguments->operands[1];
    pw_model_desc model;
    pw_import_notes notes = {0};
    pw_file *file;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (pw_arguments_has(arguments, others[i]))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "--%s is for jobs; a config.json is a model", others[i]);
    if (arguments->operand_count > 2)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a config.json has no arguments like '%.100s'", arguments->operands[2]);
    PW_TRY(pw_import_huggingface(catalogue, path, &model, arena, &notes, error));
    int count = 0;
    for (const char *text; (text = pw_arguments_each(arguments, "set", count)); count++) {
        const char *sign = strchr(text, '='), *from = strncmp(text, "job.model.", 10) == 0 ? text + 10 : text;
        char field[128];
        if (!sign || sign <= from)
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "write --set vocabulary=128256", "--set takes FIELD=VALUE, not '%.100s'", text);
        snprintf(field, sizeof field, "%.*s", (int)(sign - from), from);
        PW_TRY(pw_description_set_path(&pw_model_kind, &model, field, sign + 1, arena, error));
    }
    PW_TRY(pw_description_check(&pw_model_kind, &model, path, 0, error));
    PW_TRY(open_output(host, arguments, &file, error));
    put_head(file, "HuggingFace", path, &notes);
    pw_file_print(file, "-- %.0f parameters\nreturn o.model {\n", pw_model_parameters(&model));
    pw_report_lua_fields(file, &pw_model_kind, &model, arena, "  ");
    pw_file_text(file, "}\n");
    return pw_host_close(file, PW_OK, error);
}

static void put_job(pw_file *file, const pw_import_job *job, pw_arena *arena, const char *lead, const char *indent) {
    char inner[64];
    snprintf(inner, sizeof inner, "%s  ", indent);
    pw_file_print(file, "%so.train {\n%smodel = ", lead, inner);
    if (job->preset) {
        pw_file_text(file, "o.model ");
        pw_report_lua_text(file, job->preset);
        pw_file_text(file, ",\n");
    } else {
        char deeper[64];
        snprintf(deeper, sizeof deeper, "%.40s  ", inner);
        pw_file_print(file, "o.model { -- %.0f parameters\n", pw_model_parameters(&job->model));
        pw_report_lua_fields(file, &pw_model_kind, &job->model, arena, deeper);
        pw_file_print(file, "%s},\n", inner);
    }
    pw_report_lua_fields(file, &pw_train_kind, &job->train, arena, inner);
    pw_file_print(file, "%s}", indent);
}

/* The cluster of --server and --nodes; 0 GPUs when there is none. */
static pw_status read_cluster(const pw_arguments *arguments, const pw_catalogue *catalogue, const pw_allocator *allocator,
                              pw_arena *arena, int64_t nodes, int64_t *gpus, pw_error *error) {
    pw_cluster_desc desc;
    pw_cluster *cluster;
    PW_TRY(pw_description_defaults(&pw_cluster_kind, &desc, arena, error));
    desc.nodes = nodes;
    PW_TRY(pw_field_set_text(&pw_node_kind, pw_kind_field(&pw_node_kind, "server"), &desc.node,
                             pw_arguments_value(arguments, "server", ""), arena, "--server", 0, error));
    pw_status status = pw_cluster_create(allocator, catalogue, &desc, &cluster, error);
    if (status != PW_OK) {
        if (error && !error->file[0]) snprintf(error->file, sizeof error->file, "--server");
        return status;
    }
    *gpus = pw_cluster_gpus(cluster);
    pw_cluster_destroy(cluster);
    return PW_OK;
}

static pw_status read_nodes(const pw_arguments *arguments, int64_t *nodes, pw_error *error) {
    const char *text = pw_arguments_value(arguments, "nodes", NULL), *end;
    *nodes = 0;
    if (text && (!pw_text_integer(text, &end, nodes) || *end || *nodes < 1 || *nodes > 1048576))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "--nodes takes a whole number from 1 on, not '%.100s'", text);
    return PW_OK;
}

static pw_status import_job(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena,
                            pw_error *error) {
    pw_import_request request = {.program = arguments->operands[0],
                                 .path = arguments->operands[1],
                                 .words = arguments->operands + 2,
                                 .word_count = (size_t)arguments->operand_count - 2,
                                 .model = pw_arguments_value(arguments, "model", NULL)};
    bool has_server = pw_arguments_has(arguments, "server");
    const char **fields = pw_arena_alloc(arena, ((size_t)arguments->option_count + 1) * sizeof *fields);
    pw_import_notes notes = {0};
    pw_import_job job;
    int64_t nodes;
    pw_file *file;
    if (!fields) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    for (const char *text; (text = pw_arguments_each(arguments, "set", (int)request.field_count));) fields[request.field_count++] = text;
    request.fields = fields;
    if (request.model && strcmp(request.program, "megatron") == 0)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "use --set job.model.FIELD=VALUE", "--model is for torchtitan; Megatron's arguments hold the model");
    if (pw_arguments_has(arguments, "gpu"))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "use --server and --nodes", "--gpu is for astra-sim");
    PW_TRY(read_nodes(arguments, &nodes, error));
    if (nodes && !has_server)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "add --server NAME (`podwright catalogue servers`)", "--nodes needs --server");
    if (has_server && nodes) PW_TRY(read_cluster(arguments, catalogue, host->allocator, arena, nodes, &request.gpus, error));
    PW_TRY(pw_import_arguments(catalogue, &request, &job, arena, &notes, error));
    if (has_server && !nodes && !(nodes = job.nodes))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "--server needs --nodes, since the launcher's --nnodes is not in the file");
    if (has_server && !request.gpus)
        PW_TRY(read_cluster(arguments, catalogue, host->allocator, arena, nodes, &request.gpus, error));
    PW_TRY(open_output(host, arguments, &file, error));
    put_head(file, request.program, request.path, &notes);
    if (has_server) {
        pw_file_text(file, "return o.scenario {\n  cluster = o.cluster { node = o.node { server = ");
        pw_report_lua_text(file, pw_arguments_value(arguments, "server", ""));
        pw_file_print(file, " }, nodes = %lld },\n", (long long)nodes);
        put_job(file, &job, arena, "  job = ", "  ");
        pw_file_text(file, ",\n}\n");
    } else {
        put_job(file, &job, arena, "return ", "");
        pw_file_text(file, "\n");
    }
    return pw_host_close(file, PW_OK, error);
}

static pw_status import_topology(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena, pw_error *error) {
    static const char *const others[] = {"server", "nodes", "model", "set"};
    const char *path = arguments->operands[1];
    pw_import_topology topology;
    pw_import_notes notes = {0};
    pw_file *file;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (pw_arguments_has(arguments, others[i]))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "--%s is for jobs and models; a topology is a node", others[i]);
    if (arguments->operand_count > 2)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a topology has no arguments like '%.100s'", arguments->operands[2]);
    if (pw_arguments_has(arguments, "gpu")) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "--gpu is for astra-sim");
    PW_TRY(pw_import_nccl_topology(catalogue, path, &topology, arena, &notes, error));
    PW_TRY(pw_description_check(&pw_node_kind, &topology.node, path, 0, error));
    PW_TRY(open_output(host, arguments, &file, error));
    put_head(file, "topology of NCCL", path, &notes);
    if (topology.row) {
        pw_file_text(file, "-- ");
        pw_file_text(file, topology.row);
        pw_file_text(file, "\n");
    }
    pw_file_text(file, "return o.node {\n");
    pw_report_lua_fields(file, &pw_node_kind, &topology.node, arena, "  ");
    pw_file_text(file, "}\n");
    return pw_host_close(file, PW_OK, error);
}

/* Lists of numbers and of records. */
static void put_lists(pw_file *file, const pw_kind *kind, const void *description, pw_arena *arena) {
    for (const pw_field *field = kind->fields; field->name; field++) {
        if (field->type != PW_FIELD_LIST) continue;
        pw_list list = pw_field_list(field, description);
        if (!list.count) continue;
        pw_file_print(file, "    %s = {", field->name);
        for (uint32_t i = 0; i < list.count; i++) {
            if (field->item->type == PW_FIELD_INTEGER) {
                pw_file_print(file, " %lld,", (long long)((const int64_t *)list.items)[i]);
                continue;
            }
            const pw_one_of *record = &((const pw_one_of *)list.items)[i];
            pw_file_print(file, "\n      o.%s {\n", record->kind->name);
            pw_report_lua_fields(file, record->kind, record->record, arena, "        ");
            pw_file_text(file, "      },");
        }
        pw_file_text(file, field->item->type == PW_FIELD_INTEGER ? " },\n" : "\n    },\n");
    }
}

static pw_status import_cluster(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena, pw_error *error) {
    static const char *const others[] = {"server", "nodes", "model", "set"};
    const char *path = arguments->operands[1], *gpu = pw_arguments_value(arguments, "gpu", NULL);
    bool is_astra = strcmp(arguments->operands[0], "astra-sim") == 0;
    pw_cluster_desc desc;
    pw_import_notes notes = {0};
    pw_file *file;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (pw_arguments_has(arguments, others[i]))
            return pw_fail(error, PW_BAD_INPUT, NULL, 0, "leave it out", "--%s is for jobs and models; a network is a cluster", others[i]);
    if (arguments->operand_count > 2)
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, NULL, "a network has no arguments like '%.100s'", arguments->operands[2]);
    if (is_astra != (gpu != NULL))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, is_astra ? "write --gpu H100" : "leave it out",
                       is_astra ? "astra-sim's NPUs have no type: --gpu says which GPU they stand for" : "--gpu is for astra-sim: SimAI's file names the GPU");
    if (is_astra) PW_TRY(pw_import_astra_network(catalogue, path, gpu, &desc, arena, &notes, error));
    else PW_TRY(pw_import_simai_topology(catalogue, path, &desc, arena, &notes, error));
    PW_TRY(pw_description_check(&pw_cluster_kind, &desc, path, 0, error));
    PW_TRY(open_output(host, arguments, &file, error));
    put_head(file, is_astra ? "network of ASTRA-sim" : "topology of SimAI", path, &notes);
    pw_file_text(file, "return o.cluster {\n  node = o.node {\n");
    pw_report_lua_fields(file, &pw_node_kind, &desc.node, arena, "    ");
    pw_file_text(file, "  },\n  network = o.network {\n");
    pw_report_lua_fields(file, &pw_network_kind, &desc.network, arena, "    ");
    put_lists(file, &pw_network_kind, &desc.network, arena);
    pw_file_text(file, "  },\n");
    pw_report_lua_fields(file, &pw_cluster_kind, &desc, arena, "  ");
    pw_file_text(file, "}\n");
    return pw_host_close(file, PW_OK, error);
}

static pw_status import(pw_host *host, const pw_arguments *arguments, pw_catalogue *catalogue, pw_arena *arena, pw_error *error) {
    static const char *const programs[] = {"huggingface", "megatron", "torchtitan", "nccl-topology", "astra-sim", "simai", NULL};
    const char *program = arguments->operands[0], *near = pw_nearest(programs, program);
    pw_status status;
    if (strcmp(program, "huggingface") == 0) status = import_model(host, arguments, catalogue, arena, error);
    else if (strcmp(program, "nccl-topology") == 0) status = import_topology(host, arguments, catalogue, arena, error);
    else if (strcmp(program, "astra-sim") == 0 || strcmp(program, "simai") == 0) status = import_cluster(host, arguments, catalogue, arena, error);
    else if (strcmp(program, "megatron") == 0 || strcmp(program, "torchtitan") == 0)
        status = import_job(host, arguments, catalogue, arena, error);
    else {
        char hint[100];
        snprintf(hint, sizeof hint, near ? "did you mean '%s'?" : "it is huggingface, megatron, torchtitan, nccl-topology, astra-sim or simai", near);
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, hint, "import does not know '%.100s'", program);
    }
    if (status == PW_IO && error) error->status = status = PW_BAD_INPUT; /* the user named this file */
    return status;
}

static int run(pw_host *host, const pw_arguments *arguments) {
    return pw_command_with_catalogue(host, arguments, import);
}

const pw_command pw_command_import = {
    "import", "PROGRAM FILE", "writes the model, job or topology of another program as Lua, ready to run or to change",
    "  podwright import huggingface config.json >model.lua\n"
    "  podwright import megatron train.sh --server \"DGX H100\" --nodes 16 >job.lua\n"
    "  podwright import torchtitan llama3_8b.toml --server \"DGX H100\" --nodes 1 -- --training.seq_len 4096 >job.lua\n"
    "  podwright import nccl-topology topo.xml >node.lua\n"
    "  podwright import astra-sim network.yml --gpu H100 >cluster.lua\n"
    "  podwright import simai Spectrum-X_128g_8gps_100Gbps_A100 >cluster.lua\n"
    "An argument that changes the speed and is not modelled is an error, or a note at the head of the file. Nothing is run.\n",
    options, 2, 100000, run};
