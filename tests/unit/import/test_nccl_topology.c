/* A topology of NCCL is the server that is wired so, or its parts and a row of nodes.csv. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "models/import/import.h"
#include "tests/harness/check.h"

static pw_catalogue *catalogue;
static pw_arena *arena;
static pw_error error;
static pw_import_notes notes;

static pw_status read_path(const char *path, pw_import_topology *topology) {
    error = (pw_error){0};
    notes = (pw_import_notes){0};
    return pw_import_nccl_topology(catalogue, path, topology, arena, &notes, &error);
}

static pw_status read_text(const char *text, pw_import_topology *topology) {
    char path[64];
    int file = memfd_create("topology", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) PW_FAILED("no file");
    pw_status status = read_path(path, topology);
    close(file);
    return status;
}

static const char *note(uint32_t index) { return index < notes.count ? notes.items[index] : ""; }

PW_TEST(a_known_wiring_is_its_server) {
    pw_import_topology topology;
    PW_EXPECT_INT(read_path(PW_SOURCE_DIR "/tests/unit/import/nccl-topology/synthetic-hgx-h100.xml", &topology), PW_OK);
    PW_EXPECT_TEXT(topology.node.server, "HGX H100 8-GPU baseboard");
    PW_EXPECT(topology.row == NULL && topology.node.gpudirect);
    PW_EXPECT_CONTAINS(note(0), "ports of a quarter of the fastest rate or less are left out: 1");
}

PW_TEST(an_unknown_wiring_is_its_parts_and_a_row) {
    pw_import_topology topology;
    PW_EXPECT_INT(read_path(PW_SOURCE_DIR "/tests/unit/import/nccl-topology/synthetic-one-switch-a-socket.xml", &topology), PW_OK);
    PW_EXPECT(!topology.node.server || !*topology.node.server);
    PW_EXPECT_TEXT(topology.node.gpu, "H100-SXM5-80GB");
    PW_EXPECT_INT(topology.node.gpus, 8);
    PW_EXPECT_INT(topology.node.nics, 8);
    PW_EXPECT_NEAR(topology.node.nic_Bps, 50e9, 0);
    PW_EXPECT_TEXT(topology.row, "my server,H100-SXM5-80GB,8,x86,2,22,2,0 1,0 0 0 0 1 1 1 1,pcie,nvswitch,4,8,,yes,8,400,,0 0 0 0 1 1 1 1,,MEASURED,topology file of NCCL");
}

#define GPU(bus, dev, links) "<pci busid=\"" bus "\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b2\"><gpu dev=\"" dev "\" gdr=\"1\">" links "</gpu></pci>"
#define LINK(target, count) "<nvlink target=\"" target "\" count=\"" count "\" tclass=\"0x030200\"/>"

PW_TEST(a_mesh_and_missing_links_are_told) {
    pw_import_topology topology;
    PW_EXPECT_INT(read_text("<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\">" GPU("0:1", "0", LINK("0:2", "4")) GPU("0:2", "1", LINK("0:1", "4"))
                            "<pci busid=\"0:9\" class=\"0x020700\"><nic><net dev=\"0\" speed=\"200000\" gdr=\"0\"/></nic></pci></cpu></system>", &topology), PW_OK);
    PW_EXPECT_TEXT(error.what, "");
    PW_EXPECT_TEXT(topology.node.gpu, "A100-SXM4-80GB");
    PW_EXPECT(!topology.node.gpudirect);
    PW_EXPECT_NEAR(topology.node.nvlink_Bps, 300e9 / 3, 1e-9); /* 4 of 12 */
    PW_EXPECT_CONTAINS(topology.row, ",0,,cpu0 cpu0,pcie,mesh,0,2,0-1x4,");
    PW_EXPECT_CONTAINS(note(2), "4 of 12 NVLinks");
    PW_EXPECT_CONTAINS(note(3), "no port has GPUDirect RDMA");
}

PW_TEST(other_files_are_refused_with_their_line) {
    static const struct {
        const char *text, *what;
        pw_status status;
    } bad[] = {{"<system version=\"1\"></system>", "has no GPU", PW_BAD_INPUT},
               {"\n<graphs/>", "begins with <graphs>", PW_BAD_INPUT},
               {"<system><cpu>", "no XML", PW_BAD_INPUT},
               {"", "no XML", PW_BAD_INPUT},
               {"<!DOCTYPE s [<!ENTITY a \"b\">]><system/>", "document type", PW_BAD_INPUT},
               {"<system><cpu><pci device=\"0x1\" vendor=\"0x10de\"><gpu dev=\"0\"/></pci></cpu></system>", "no GPU '0x10de:0x1'", PW_NOT_FOUND},
               {"<system><cpu>" GPU("0:1", "x", "") "</cpu></system>", "no usable number", PW_BAD_INPUT},
               {"<system>" GPU("0:1", "0", "") "</system>", "belongs to no CPU", PW_BAD_INPUT},
               {"<system><pci class=\"0x020700\"><net dev=\"0\" speed=\"200000\"/></pci></system>", "belongs to no CPU", PW_BAD_INPUT},
               {"<system><cpu>" GPU("0:1", "0", "") "<pci class=\"0x020700\"><net dev=\"0\"/></pci></cpu></system>", "no network port has a speed", PW_BAD_INPUT},
               {"<system><cpu>" GPU("0:1", "0", LINK("0:2", "13")) "</cpu></system>", "has 13 NVLinks, but A100-SXM4-80GB has 12", PW_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pw_import_topology topology;
        PW_EXPECT_INT(read_text(bad[i].text, &topology), bad[i].status);
        PW_EXPECT_CONTAINS(error.what, bad[i].what);
    }
    pw_import_topology topology;
    read_text("<system>\n\n<cpu>\n</system>", &topology);
    PW_EXPECT_INT(error.line, 4);
}

/* The groups below CPUs are counted in an array. */
PW_TEST(no_file_has_more_cpus_than_are_counted) {
    enum { CPUS = 300 };
    static char text[CPUS * 8 + 1000];
    pw_import_topology topology;
    strcpy(text, "<system>");
    for (int i = 0; i < CPUS; i++) strcat(text, "<cpu/>");
    strcat(text, "<cpu>");
    strcat(text, GPU("0:1", "0", "") "</cpu></system>");
    PW_EXPECT_INT(read_text(text, &topology), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(error.what, "more than 256 CPUs");
}

int main(int argc, char **argv) {
    arena = pw_arena_create(NULL);
    if (!arena || pw_catalogue_load(NULL, NULL, &catalogue, &error) != PW_OK) return 1;
    int status = pw_run_tests(argc, argv);
    pw_catalogue_destroy(catalogue);
    pw_arena_destroy(arena);
    return status;
}
