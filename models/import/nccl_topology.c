/* A node from the topology that NCCL and RCCL write (NCCL_TOPO_DUMP_FILE): CPUs, the PCIe tree below them, GPUs, network ports, NVLinks.
 *
 * Elements: system / cpu numaid arch / pci busid class vendor device / gpu dev gdr / nvlink target count tclass, nic / net dev speed
 * gdr. A GPU or port hangs at the innermost bridge that has a second one below it, else at the outermost bridge, else at the CPU.
 * The server of the catalogue with the same GPU, the same NVLinks and the same groups below its switches is taken; where there is
 * none, the node is described by its parts and its row of nodes.csv is given as well. */
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/import/import.h"
#include "sim/file.h"
#include "sim/registry.h"
#include "sim/text.h"

enum { LARGEST_FILE = 16 << 20, MOST_PARTS = 256, MOST_DEEP = 32, MOST_LINKS = 64, BUS = 24, ON_CPU = -1 };

typedef struct pci {
    int parent, cpu; /* -1: directly below the CPU */
    char bus[BUS], device[32];
    bool is_bridge;
    int ends; /* GPUs and ports below it */
} pci;

typedef struct end { /* a GPU, or a network port */
    int pci, cpu;    /* pci -1: none */
    int64_t number, speed_Mbps;
    bool direct; /* GPUDirect RDMA */
    int switch_at; /* index into pcis; ON_CPU */
    struct {
        char target[BUS];
        int64_t count;
        bool is_switch, is_cpu;
    } links[MOST_LINKS];
    int link_count;
} end;

typedef struct topology {
    const char *path;
    XML_Parser parser;
    pw_error *error;
    pw_status status;
    char open[MOST_DEEP][8]; /* names of open elements */
    int open_pci[MOST_DEEP];
    int depth, cpus;
    char arch[16];
    pci pcis[MOST_PARTS];
    end gpus[MOST_PARTS], ports[MOST_PARTS];
    int pci_count, gpu_count, port_count;
} topology;

static void __attribute__((format(printf, 3, 4))) fail(topology *t, const char *hint, const char *format, ...) {
    va_list arguments;
    if (t->status != PW_OK) return;
    va_start(arguments, format);
    t->status = pw_fail_v(t->error, PW_BAD_INPUT, t->path, (int)XML_GetCurrentLineNumber(t->parser), hint, format, arguments);
    va_end(arguments);
    XML_StopParser(t->parser, XML_FALSE);
}

/* ---- Reading ---- */

static const char *attribute(const XML_Char **attributes, const char *name) {
    for (int i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], name) == 0) return attributes[i + 1];
    return "";
}

static int64_t number_of(topology *t, const XML_Char **attributes, const char *name, int64_t fallback) {
    const char *text = attribute(attributes, name), *rest;
    int64_t value;
    if (!*text) return fallback;
    if (pw_text_integer(text, &rest, &value) && (!*rest || *rest == '.') && value >= 0 && value <= 1000000000) return value;
    fail(t, NULL, "%s=\"%.60s\" is no usable number", name, text);
    return fallback;
}

static int parent_pci(const topology *t) { return t->depth ? t->open_pci[t->depth - 1] : -1; }
static const char *parent_name(const topology *t) { return t->depth ? t->open[t->depth - 1] : ""; }

static end *add_end(topology *t, end *ends, int *count, const char *what) {
    if (*count == MOST_PARTS) {
        fail(t, NULL, "more than %d %s", MOST_PARTS, what);
        return NULL;
    }
    if (!t->cpus) {
        fail(t, "GPUs and network ports stand below a <cpu>", "a part of the %s belongs to no CPU", what);
        return NULL;
    }
    end *made = &ends[(*count)++];
    *made = (end){.pci = parent_pci(t), .cpu = t->cpus - 1};
    for (int p = made->pci; p >= 0; p = t->pcis[p].parent) t->pcis[p].ends++;
    return made;
}

static void read_pci(topology *t, const XML_Char **attributes) {
    if (t->pci_count == MOST_PARTS) {
        fail(t, NULL, "more than %d PCIe parts", MOST_PARTS);
        return;
    }
    pci *made = &t->pcis[t->pci_count];
    *made = (pci){.parent = parent_pci(t), .cpu = t->cpus - 1, .is_bridge = strncmp(attribute(attributes, "class"), "0x0604", 6) == 0};
    snprintf(made->bus, sizeof made->bus, "%s", attribute(attributes, "busid"));
    snprintf(made->device, sizeof made->device, "%.10s:%.10s", attribute(attributes, "vendor"), attribute(attributes, "device"));
}

static void read_gpu(topology *t, const XML_Char **attributes) {
    end *gpu = add_end(t, t->gpus, &t->gpu_count, "GPUs");
    if (!gpu) return;
    gpu->number = number_of(t, attributes, "dev", t->gpu_count - 1);
    gpu->direct = number_of(t, attributes, "gdr", 1) != 0;
}

static void read_link(topology *t, const XML_Char **attributes) {
    const char *kind = attribute(attributes, "tclass");
    if (!t->gpu_count || strcmp(parent_name(t), "gpu") != 0) return;
    end *gpu = &t->gpus[t->gpu_count - 1];
    if (gpu->link_count == MOST_LINKS) {
        fail(t, NULL, "more than %d kinds of NVLink on a GPU", MOST_LINKS);
        return;
    }
    snprintf(gpu->links[gpu->link_count].target, BUS, "%s", attribute(attributes, "target"));
    gpu->links[gpu->link_count].count = number_of(t, attributes, "count", 1);
    gpu->links[gpu->link_count].is_switch = strncmp(kind, "0x0680", 6) == 0;
    gpu->links[gpu->link_count++].is_cpu = strncmp(kind, "0x03", 4) != 0 && strncmp(kind, "0x0680", 6) != 0;
}

static void read_port(topology *t, const XML_Char **attributes) {
    end *port = add_end(t, t->ports, &t->port_count, "network ports");
    if (!port) return;
    port->number = number_of(t, attributes, "dev", t->port_count - 1);
    port->speed_Mbps = number_of(t, attributes, "speed", 0);
    port->direct = number_of(t, attributes, "gdr", 0) != 0;
}

static void XMLCALL element_begins(void *object, const XML_Char *name, const XML_Char **attributes) {
    topology *t = object;
    if (t->status != PW_OK) return;
    if (t->depth == MOST_DEEP) {
        fail(t, NULL, "elements are nested more than %d deep", MOST_DEEP);
        return;
    }
    if (!t->depth && strcmp(name, "system") != 0) fail(t, "it wants the file that NCCL_TOPO_DUMP_FILE names", "this is no topology of NCCL: it begins with <%.40s>", name);
    int at = parent_pci(t);
    if (strcmp(name, "cpu") == 0 && t->cpus == MOST_PARTS) {
        fail(t, NULL, "more than %d CPUs", MOST_PARTS);
    } else if (strcmp(name, "cpu") == 0) {
        if (!t->cpus++) snprintf(t->arch, sizeof t->arch, "%s", attribute(attributes, "arch"));
        at = -1;
    } else if (strcmp(name, "pci") == 0) {
        read_pci(t, attributes);
        if (t->status == PW_OK) at = t->pci_count++;
    } else if (strcmp(name, "gpu") == 0) {
        read_gpu(t, attributes);
    } else if (strcmp(name, "nvlink") == 0 || strcmp(name, "xgmi") == 0) {
        read_link(t, attributes);
    } else if (strcmp(name, "net") == 0) {
        read_port(t, attributes);
    }
    snprintf(t->open[t->depth], sizeof t->open[0], "%s", name);
    t->open_pci[t->depth++] = at;
}

static void XMLCALL element_ends(void *object, const XML_Char *name) {
    topology *t = object;
    (void)name;
    if (t->depth) t->depth--;
}

static void XMLCALL document_type(void *object, const XML_Char *name, const XML_Char *system, const XML_Char *public, int has_subset) {
    (void)name, (void)system, (void)public, (void)has_subset;
    fail(object, NULL, "a document type is not read"); /* no entities, so nothing grows */
}

static pw_status parse(topology *t, const char *text, size_t size) {
    t->parser = XML_ParserCreate(NULL);
    if (!t->parser) return pw_fail(t->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    XML_SetUserData(t->parser, t);
    XML_SetElementHandler(t->parser, element_begins, element_ends);
    XML_SetStartDoctypeDeclHandler(t->parser, document_type);
    if (XML_Parse(t->parser, text, (int)size, XML_TRUE) != XML_STATUS_OK && t->status == PW_OK)
        t->status = XML_GetErrorCode(t->parser) == XML_ERROR_NO_MEMORY
                        ? pw_fail(t->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left")
                        : pw_fail(t->error, PW_BAD_INPUT, t->path, (int)XML_GetCurrentLineNumber(t->parser), NULL, "this is no XML: %s",
                                  XML_ErrorString(XML_GetErrorCode(t->parser)));
    XML_ParserFree(t->parser);
    return t->status;
}

/* ---- Meaning ---- */

static int by_number(const void *a, const void *b) {
    const end *x = a, *y = b;
    int order = (x->number > y->number) - (x->number < y->number);
    return order ? order : (x->pci > y->pci) - (x->pci < y->pci); /* the same number twice: as they stand in the file */
}

/* The innermost bridge with another end below it, else the outermost one. */
static int find_switch(const topology *t, const end *of) {
    int outermost = ON_CPU;
    for (int p = of->pci; p >= 0; p = t->pcis[p].parent) {
        if (!t->pcis[p].is_bridge) continue;
        if (t->pcis[p].ends > 1) return p;
        outermost = p;
    }
    return outermost;
}

static int find_gpu(const topology *t, const char *bus) {
    for (int g = 0; g < t->gpu_count; g++)
        if (t->gpus[g].pci >= 0 && strcmp(t->pcis[t->gpus[g].pci].bus, bus) == 0) return g;
    return -1;
}

static bool has_rate(const topology *t) {
    for (int i = 0; i < t->port_count; i++)
        if (t->ports[i].speed_Mbps > 0) return true;
    return false;
}

/* Ports that are a quarter of the fastest or less are for management. */
static void drop_slow_ports(topology *t, pw_import_notes *notes, pw_arena *arena) {
    int64_t fastest = 0;
    int kept = 0;
    for (int i = 0; i < t->port_count; i++)
        if (t->ports[i].speed_Mbps > fastest) fastest = t->ports[i].speed_Mbps;
    for (int i = 0; i < t->port_count; i++)
        if (t->ports[i].speed_Mbps * 4 > fastest) t->ports[kept++] = t->ports[i];
    if (kept < t->port_count)
        pw_import_note(notes, arena, t->error, "ports of a quarter of the fastest rate or less are left out: %d", t->port_count - kept);
    t->port_count = kept;
}

typedef struct meaning {
    const pw_device *device;
    const char *scaleup; /* "nvswitch", "mesh", "none" */
    int64_t links;       /* NVLinks of a GPU */
    int planes, switches[MOST_PARTS], switch_count; /* PCIe switches: indices into pcis */
} meaning;

static int number_switch(meaning *m, int at) {
    for (int i = 0; i < m->switch_count; i++)
        if (m->switches[i] == at) return i;
    m->switches[m->switch_count] = at;
    return m->switch_count++;
}

static pw_status find_device(topology *t, const pw_catalogue *catalogue, meaning *m) {
    const pw_table *table;
    const char *id = t->gpus[0].pci >= 0 ? t->pcis[t->gpus[0].pci].device : "";
    PW_TRY(pw_catalogue_need(catalogue, "pci-devices", &table, t->error));
    for (int g = 1; g < t->gpu_count; g++)
        if (t->gpus[g].pci >= 0 && strcmp(t->pcis[t->gpus[g].pci].device, id) != 0)
            return pw_fail(t->error, PW_UNSUPPORTED, t->path, 0, NULL, "the node has GPUs of several types: %s and %s", id, t->pcis[t->gpus[g].pci].device);
    int row = pw_table_find_row(table, id);
    if (row < 0) return pw_fail(t->error, PW_NOT_FOUND, t->path, 0, "add a row to pci-devices.csv of the catalogue", "the table pci-devices has no GPU '%s'", id);
    return pw_catalogue_device(catalogue, pw_table_text_of(table, (size_t)row, "device"), &m->device, t->error);
}

static void find_scaleup(const topology *t, meaning *m) {
    char planes[MOST_LINKS][BUS];
    m->scaleup = "none";
    for (int i = 0; i < t->gpus[0].link_count; i++) {
        if (t->gpus[0].links[i].is_cpu) continue;
        m->links += t->gpus[0].links[i].count;
        m->scaleup = t->gpus[0].links[i].is_switch ? "nvswitch" : "mesh";
        int p = 0;
        while (p < m->planes && strcmp(planes[p], t->gpus[0].links[i].target) != 0) p++;
        if (p == m->planes) snprintf(planes[m->planes++], BUS, "%s", t->gpus[0].links[i].target);
    }
}

/* ---- The catalogue's servers ---- */

typedef struct group { /* of a PCIe switch or CPU */
    int gpus, ports;
} group;

static int by_group(const void *a, const void *b) {
    const group *x = a, *y = b;
    return x->gpus != y->gpus ? x->gpus - y->gpus : x->ports - y->ports;
}

/* Counts the words "0", "cpu1" of a cell into groups: PCIe switches first, then CPUs. */
static void count_words(const char *text, int switches, int most, group *groups, bool is_gpu) {
    for (const char *at = text; *at;) {
        int64_t index = 0;
        bool on_cpu = strncmp(at, "cpu", 3) == 0;
        if (on_cpu) at += 3;
        if (!pw_text_integer(at, &at, &index)) return;
        index += on_cpu ? switches : 0;
        if (index >= 0 && index < most) *(is_gpu ? &groups[index].gpus : &groups[index].ports) += 1;
        while (*at == ' ') at++;
    }
}

static bool same_server(const topology *t, const meaning *m, const pw_table *table, size_t row) {
    group theirs[MOST_PARTS + 1] = {{0, 0}}, ours[MOST_PARTS + 1] = {{0, 0}};
    int switches = (int)pw_table_number_of(table, row, "pcie_switches"), sockets = (int)pw_table_number_of(table, row, "sockets");
    const pw_device *device = m->device;
    if (strcmp(pw_table_text_of(table, row, "gpu"), device->name) != 0 || strcmp(pw_table_text_of(table, row, "scaleup"), m->scaleup) != 0 ||
        (int)pw_table_number_of(table, row, "gpus") != t->gpu_count || (int)pw_table_number_of(table, row, "nics") != t->port_count ||
        switches + sockets > MOST_PARTS || m->switch_count + t->cpus > MOST_PARTS)
        return false;
    if (t->port_count && (int64_t)(pw_table_number_of(table, row, "nic_rate") * 8 / 1e6 + 0.5) != t->ports[0].speed_Mbps) return false;
    count_words(pw_table_text_of(table, row, "gpu_attach"), switches, MOST_PARTS, theirs, true);
    count_words(pw_table_text_of(table, row, "nic_attach"), switches, MOST_PARTS, theirs, false);
    for (int g = 0; g < t->gpu_count; g++) ours[t->gpus[g].switch_at == ON_CPU ? m->switch_count + t->gpus[g].cpu : t->gpus[g].switch_at].gpus++;
    for (int p = 0; p < t->port_count; p++) ours[t->ports[p].switch_at == ON_CPU ? m->switch_count + t->ports[p].cpu : t->ports[p].switch_at].ports++;
    qsort(theirs, MOST_PARTS, sizeof *theirs, by_group); /* empty ones come first in both */
    qsort(ours, MOST_PARTS, sizeof *ours, by_group);
    return memcmp(theirs, ours, sizeof theirs) == 0;
}

static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static void put_attach(char *text, size_t size, const end *ends, int count) {
    for (int i = 0; i < count; i++)
        append(text, size, ends[i].switch_at == ON_CPU ? "%scpu%d" : "%s%d", i ? " " : "", ends[i].switch_at == ON_CPU ? ends[i].cpu : ends[i].switch_at);
}

/* What the file does not tell is taken from a server with the same GPU and kind of NVLink. */
static const char *borrowed(const pw_table *table, const meaning *m, const char *column) {
    for (size_t row = 0; row < pw_table_rows(table); row++)
        if (strcmp(pw_table_text_of(table, row, "gpu"), m->device->name) == 0 && strcmp(pw_table_text_of(table, row, "scaleup"), m->scaleup) == 0)
            return pw_table_text_of(table, row, column);
    return "";
}

/* The row that nodes.csv would have for this node; cut off at ROW_SIZE - 1 letters. */
enum { ROW_SIZE = 1 << 16 };
static const char *write_row(const topology *t, const meaning *m, const pw_catalogue *catalogue, pw_arena *arena) {
    enum { SIZE = ROW_SIZE };
    char *text = pw_arena_alloc(arena, SIZE);
    const pw_table *table = pw_catalogue_table(catalogue, "nodes");
    if (!text || !table) return NULL;
    for (size_t c = 0; c < pw_table_columns(table); c++) {
        const char *name = pw_table_column_name(table, c);
        append(text, SIZE, "%s", c ? "," : "");
        if (strcmp(name, "name") == 0) append(text, SIZE, "my server");
        else if (strcmp(name, "gpu") == 0) append(text, SIZE, "%s", m->device->name);
        else if (strcmp(name, "gpus") == 0) append(text, SIZE, "%d", t->gpu_count);
        else if (strcmp(name, "host") == 0) append(text, SIZE, "%s", strcmp(t->arch, "arm64") == 0 ? "grace" : "x86");
        else if (strcmp(name, "sockets") == 0) append(text, SIZE, "%d", t->cpus);
        else if (strcmp(name, "pcie_switches") == 0) append(text, SIZE, "%d", m->switch_count);
        else if (strcmp(name, "switch_socket") == 0)
            for (int i = 0; i < m->switch_count; i++) append(text, SIZE, "%s%d", i ? " " : "", t->pcis[m->switches[i]].cpu);
        else if (strcmp(name, "gpu_attach") == 0) put_attach(text, SIZE, t->gpus, t->gpu_count);
        else if (strcmp(name, "host_link") == 0) append(text, SIZE, "%s", *borrowed(table, m, name) ? borrowed(table, m, name) : "pcie");
        else if (strcmp(name, "scaleup") == 0) append(text, SIZE, "%s", m->scaleup);
        else if (strcmp(name, "scaleup_planes") == 0) append(text, SIZE, "%d", strcmp(m->scaleup, "nvswitch") == 0 ? m->planes : 0);
        else if (strcmp(name, "scaleup_domain") == 0) append(text, SIZE, "%d", strcmp(m->scaleup, "none") == 0 ? 1 : t->gpu_count);
        else if (strcmp(name, "scaleup_pairs") == 0) {
            bool first = true;
            for (int g = 0; strcmp(m->scaleup, "mesh") == 0 && g < t->gpu_count; g++)
                for (int l = 0; l < t->gpus[g].link_count; l++) {
                    int other = find_gpu(t, t->gpus[g].links[l].target);
                    if (other <= g) continue;
                    append(text, SIZE, "%s%d-%d", first ? "" : " ", g, other);
                    if (t->gpus[g].links[l].count > 1) append(text, SIZE, "x%lld", (long long)t->gpus[g].links[l].count);
                    first = false;
                }
        } else if (strcmp(name, "multicast") == 0) append(text, SIZE, "%s", *borrowed(table, m, name) ? borrowed(table, m, name) : "no");
        else if (strcmp(name, "socket_link") == 0) append(text, SIZE, "%s", borrowed(table, m, name));
        else if (strcmp(name, "nics") == 0) append(text, SIZE, "%d", t->port_count);
        else if (strcmp(name, "nic_rate") == 0 && t->port_count) append(text, SIZE, "%lld", (long long)t->ports[0].speed_Mbps / 1000);
        else if (strcmp(name, "nic_attach") == 0) put_attach(text, SIZE, t->ports, t->port_count);
        else if (strcmp(name, "provenance") == 0) append(text, SIZE, "MEASURED");
        else if (strcmp(name, "source") == 0) append(text, SIZE, "topology file of NCCL");
    }
    return text;
}

static pw_status note_ports(const topology *t, pw_node_desc *node, pw_import_notes *notes, pw_arena *arena) {
    bool direct = false, mixed = false;
    for (int p = 0; p < t->port_count; p++) {
        direct |= t->ports[p].direct;
        mixed |= t->ports[p].speed_Mbps != t->ports[0].speed_Mbps;
    }
    if (mixed) PW_TRY(pw_import_note(notes, arena, t->error, "ports have several rates; that of the first, %lld Mb/s, is taken for all", (long long)t->ports[0].speed_Mbps));
    if (t->port_count && !direct) {
        node->gpudirect = false;
        PW_TRY(pw_import_note(notes, arena, t->error, "no port has GPUDirect RDMA (gdr=\"0\"): data pass through host memory"));
    }
    if (!t->port_count) PW_TRY(pw_import_note(notes, arena, t->error, "the file lists no network port: NCCL leaves them out when it runs on one node"));
    return PW_OK;
}

static pw_status describe(topology *t, const pw_catalogue *catalogue, pw_import_topology *made, pw_arena *arena, pw_import_notes *notes) {
    meaning m = {0};
    pw_node_desc *node = &made->node;
    const pw_table *table;
    int found = -1;
    if (!t->gpu_count) return pw_fail(t->error, PW_BAD_INPUT, t->path, 0, NULL, "the topology has no GPU");
    PW_TRY(find_device(t, catalogue, &m));
    if (t->port_count && !has_rate(t))
        return pw_fail(t->error, PW_BAD_INPUT, t->path, 0, "NCCL writes speed=\"400000\" (Mb/s)", "no network port has a speed");
    drop_slow_ports(t, notes, arena);
    qsort(t->gpus, (size_t)t->gpu_count, sizeof *t->gpus, by_number);
    qsort(t->ports, (size_t)t->port_count, sizeof *t->ports, by_number);
    for (int i = 0; i < t->gpu_count; i++) t->gpus[i].switch_at = find_switch(t, &t->gpus[i]);
    for (int i = 0; i < t->port_count; i++) t->ports[i].switch_at = find_switch(t, &t->ports[i]);
    for (int i = 0; i < t->gpu_count; i++)
        if (t->gpus[i].switch_at != ON_CPU) t->gpus[i].switch_at = number_switch(&m, t->gpus[i].switch_at);
    for (int i = 0; i < t->port_count; i++)
        if (t->ports[i].switch_at != ON_CPU) t->ports[i].switch_at = number_switch(&m, t->ports[i].switch_at);
    find_scaleup(t, &m);
    PW_TRY(pw_description_defaults(&pw_node_kind, node, arena, t->error));
    PW_TRY(pw_catalogue_need(catalogue, "nodes", &table, t->error));
    for (size_t row = 0; row < pw_table_rows(table) && found < 0; row++)
        if (same_server(t, &m, table, row)) found = (int)row;
    if (found >= 0) {
        node->server = pw_table_text_at(table, (size_t)found, 0);
    } else {
        node->gpu = m.device->name;
        node->gpus = t->gpu_count;
        node->nics = t->port_count;
        if (t->port_count) node->nic_Bps = (double)t->ports[0].speed_Mbps * 1e6 / 8;
        if (!(made->row = write_row(t, &m, catalogue, arena))) return pw_fail(t->error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        if (strlen(made->row) == ROW_SIZE - 1)
            return pw_fail(t->error, PW_UNSUPPORTED, t->path, 0, "no node has so many NVLinks between pairs", "the wiring does not fit into a row of nodes.csv");
        PW_TRY(pw_import_note(notes, arena, t->error, "no server of the catalogue is wired so: this node has the wiring that podwright gives to parts"));
        PW_TRY(pw_import_note(notes, arena, t->error, "with the row below in nodes.csv, node = o.node { server = \"my server\" } has its own"));
    }
    if (m.device->scaleup_links > 0 && (double)m.links > m.device->scaleup_links)
        return pw_fail(t->error, PW_UNSUPPORTED, t->path, 0, NULL, "GPU 0 has %lld NVLinks, but %s has %.0f", (long long)m.links, m.device->name, m.device->scaleup_links);
    if (m.links && m.device->scaleup_links > 0 && (double)m.links < m.device->scaleup_links) {
        node->nvlink_Bps = m.device->scaleup_Bps * (double)m.links / m.device->scaleup_links;
        PW_TRY(pw_import_note(notes, arena, t->error, "a GPU has %lld of %.0f NVLinks", (long long)m.links, m.device->scaleup_links));
    }
    if (!m.links && m.device->scaleup_links > 0) PW_TRY(pw_import_note(notes, arena, t->error, "the file lists no NVLink for %s", m.device->name));
    return note_ports(t, node, notes, arena);
}

pw_status pw_import_nccl_topology(const pw_catalogue *catalogue, const char *path, pw_import_topology *made, pw_arena *arena,
                                  pw_import_notes *notes, pw_error *error) {
    char *text;
    size_t size;
    *made = (pw_import_topology){0};
    topology *t = pw_arena_alloc(arena, sizeof *t);
    if (!t) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    *t = (topology){.path = path, .error = error};
    PW_TRY(pw_file_read(path, LARGEST_FILE, NULL, &text, &size, error));
    pw_status status = parse(t, text, size);
    pw_free(NULL, text, size + 1);
    if (status != PW_OK) return status;
    return describe(t, catalogue, made, arena, notes);
}
