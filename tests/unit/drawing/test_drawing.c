/* Laws: a drawing is well-formed SVG that needs nothing else, the same bytes for the same cluster, and shows every kind of part. */
#include <ctype.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scenarios/drawing/canvas.h"
#include "scenarios/drawing/drawing.h"
#include "tests/harness/catalogue.h"

enum { ROOM = 1 << 20 };

static pw_file *open_text(int *memory) {
    pw_file *file = NULL;
    pw_error error = {0};
    *memory = memfd_create("drawing", 0);
    must(pw_file_attach(*memory, NULL, &file, &error), &error);
    return file;
}

static char *close_text(pw_file *file, int memory) {
    pw_error error = {0};
    char *text = pw_arena_alloc(arena(), ROOM);
    must(pw_file_commit(file, &error), &error);
    PW_EXPECT(pread(memory, text, ROOM - 1, 0) < ROOM - 1);
    close(memory);
    return text;
}

/* more: fields of the network and their values, ended by NULL. */
static char *draw_with(const char *server, int64_t nodes, const char *topology, double oversubscription, const char *const *more) {
    pw_cluster_desc desc;
    pw_cluster *cluster;
    pw_error error = {0};
    int memory;
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = server;
    desc.nodes = nodes;
    desc.network.oversubscription = oversubscription;
    for (desc.network.topology = 0; strcmp(pw_topology_names[desc.network.topology], topology) != 0;) desc.network.topology++;
    for (; more && *more; more += 2) must(pw_description_set_path(&pw_cluster_kind, &desc, more[0], more[1], arena(), &error), &error);
    must(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error), &error);
    pw_file *file = open_text(&memory);
    must(pw_draw_cluster(cluster, "a <pod> & more", "below", arena(), file, &error), &error);
    pw_cluster_destroy(cluster);
    return close_text(file, memory);
}

static char *draw(const char *server, int64_t nodes, const char *topology, double oversubscription) {
    return draw_with(server, nodes, topology, oversubscription, NULL);
}

static int count(const char *text, const char *what) {
    int found = 0;
    for (; (text = strstr(text, what)); text += strlen(what)) found++;
    return found;
}

/* Every tag that opens is closed, in order. */
static bool is_balanced(const char *text) {
    char open[32][16];
    int depth = 0;
    for (; (text = strchr(text, '<')); text++) {
        const char *end = strchr(text, '>');
        if (!end || depth == 31) return false;
        bool closes = text[1] == '/';
        size_t length = strcspn(text + 1 + closes, " />\n");
        if (length == 0 || length > 15) return false;
        char name[16] = "";
        memcpy(name, text + 1 + closes, length);
        if (closes) {
            if (depth == 0 || strcmp(open[--depth], name) != 0) return false;
        } else if (end[-1] != '/') {
            memcpy(open[depth++], name, sizeof name);
        }
    }
    return depth == 0;
}

static const struct {
    const char *server, *topology;
    int64_t nodes;
    int gpus, nics, spines, cores; /* boxes of each */
} cases[] = {{"DGX H100", "rail_optimized", 2, 8, 8, 1, 0},     {"DGX H100", "rail_optimized", 128, 8, 8, 9, 0},
             {"DGX H100", "fat_tree", 1024, 8, 8, 9, 9},        {"DGX-1 V100", "single_switch", 4, 8, 4, 0, 0},
             {"GB200 NVL72", "rail_optimized", 36, 4, 4, 3, 0}, {"DGX A100 640GB", "fat_tree", 1, 8, 8, 0, 0}};
enum { CASES = sizeof cases / sizeof *cases };

PW_TEST(a_drawing_is_well_formed_and_stands_alone) {
    for (int i = 0; i < CASES; i++) {
        const char *text = draw(cases[i].server, cases[i].nodes, cases[i].topology, 1);
        PW_EXPECT(strncmp(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1200 ", 58) == 0);
        PW_EXPECT(is_balanced(text) && strcmp(text + strlen(text) - 7, "</svg>\n") == 0);
        PW_EXPECT(count(text, "<script") == 0 && count(text, "href") == 0 && count(text, "http") == 1 && count(text, "url(") == 0);
        PW_EXPECT(count(text, "prefers-color-scheme:dark") == 1);
        PW_EXPECT(count(text, "a &lt;pod&gt; &amp; more") == 2 && count(text, "nan") == 0 && count(text, "inf") == 0);
    }
}

PW_TEST(a_drawing_shows_every_kind_of_part) {
    for (int i = 0; i < CASES; i++) {
        const char *text = draw(cases[i].server, cases[i].nodes, cases[i].topology, 1);
        PW_EXPECT(count(text, "<rect class=\"gpu\"") == cases[i].gpus);
        PW_EXPECT(count(text, "<rect class=\"nic\"") == cases[i].nics);
        PW_EXPECT(count(text, "<rect class=\"spine\"") == cases[i].spines);
        PW_EXPECT(count(text, "<rect class=\"core\"") == cases[i].cores);
        PW_EXPECT((count(text, ">Network<") == 1) == (cases[i].nodes > 1));
        PW_EXPECT(count(text, "<rect class=\"cpu\"") == 2);
    }
    const char *mesh = draw("DGX-1 V100", 1, "single_switch", 1);
    PW_EXPECT(count(mesh, "<path class=\"l-nvlink\"") == 16); /* pairs of the hybrid cube mesh */
    PW_EXPECT(count(draw("DGX H100", 64, "fat_tree", 4), "3.88 : 1 oversubscribed") == 1);
}

PW_TEST(equal_clusters_give_equal_bytes) {
    const char *a = draw("DGX H100", 128, "rail_optimized", 1), *b = draw("DGX H100", 128, "rail_optimized", 1);
    PW_EXPECT(strcmp(a, b) == 0);
    PW_EXPECT(strcmp(a, draw("DGX H100", 129, "rail_optimized", 1)) != 0);
}

/* Boxes that are no ground and no part of a stack lie apart, within the page. */
static void check_boxes(const char *text, int least) {
    struct { double x, y, w, h; } boxes[256];
    int found = 0;
    for (const char *at = text; (at = strstr(at, "<rect class=\"")) && found < 256; at++) {
        char class[16];
        double x, y, w, h;
        if (sscanf(at, "<rect class=\"%15[a-z]\" x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", class, &x, &y, &w, &h) != 5) continue;
        if (strcmp(class, "panel") == 0 || strcmp(class, "fold") == 0 || strcmp(class, "nvswitch") == 0) continue;
        for (int other = 0; other < found; other++)
            PW_EXPECT(x >= boxes[other].x + boxes[other].w || boxes[other].x >= x + w || y >= boxes[other].y + boxes[other].h ||
                      boxes[other].y >= y + h);
        PW_EXPECT(x >= 24 && x + w <= 1176 && w > 8 && h > 8);
        boxes[found].x = x, boxes[found].y = y, boxes[found].w = w, boxes[found].h = h;
        found++;
    }
    PW_EXPECT(found > least);
}

PW_TEST(no_box_lies_on_another) {
    for (int i = 0; i < CASES; i++) check_boxes(draw(cases[i].server, cases[i].nodes, cases[i].topology, 1), 12);
}

PW_TEST(switches_of_one_tier_stand_in_a_grid_in_groups_or_on_a_circle) {
    static const char *const square[] = {"network.dims", "8,8", NULL}, *const cube[] = {"network.dims", "16,3,5", NULL};
    static const char *const groups[] = {"network.group_switches", "8", "network.global_links", "4", "network.nodes_per_switch", "4", NULL};
    const struct {
        const char *topology;
        const char *const *more;
        int64_t nodes;
        int switches, groups, spines, curves, lines; /* boxes of each; lines of trunks */
    } networks[] = {{"torus", square, 64, 64, 0, 0, 16, 112},     /* 2 x 8 rings of 7 lines and a curve */
                    {"torus", cube, 240, 96, 0, 0, -1, -1},       /* 12 columns, 8 rows of them */
                    {"hyperx", square, 64, 64, 0, 0, 2 * 8 * 21, 112},
                    {"ring", NULL, 24, 24, 0, 0, 0, 24},
                    {"hypercube", NULL, 16, 16, 0, 0, 0, 32},
                    {"fully_connected", NULL, 12, 12, 0, 0, 0, 66},
                    {"dragonfly", groups, 288, 8, 9, 0, 0, 28},
                    {"dragonfly_plus", groups, 288, 8, 9, 8, 0, 64}};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const char *text = draw_with("DGX H100", networks[i].nodes, networks[i].topology, 1, networks[i].more);
        PW_EXPECT(is_balanced(text) && count(text, "nan") == 0);
        PW_EXPECT(count(text, "<rect class=\"leaf\"") == networks[i].switches);
        PW_EXPECT(count(text, "<rect class=\"core\"") == networks[i].groups);
        PW_EXPECT(count(text, "<rect class=\"spine\"") == networks[i].spines);
        PW_EXPECT(networks[i].curves < 0 || count(text, "<path class=\"l-port\"") == networks[i].curves);
        PW_EXPECT(networks[i].lines < 0 || count(text, "<line class=\"l-trunk\"") == networks[i].lines);
        check_boxes(text, 12);
    }
}

PW_TEST(layers_lie_in_order_however_they_came) {
    pw_error error = {0};
    int memory;
    canvas *c = canvas_create(arena());
    canvas_text(c, "note", 'e', 1, 2, "words");
    canvas_box(c, "gpu", 1, 2, 3, 4, "label", "sub", true);
    canvas_line(c, "l-pcie", 1, true, 1, 2, 3, 4);
    canvas_panel(c, 0, 0, 9, 9);
    pw_file *file = open_text(&memory);
    must(canvas_write(c, "t", 10, 10, file, &error), &error);
    const char *text = close_text(file, memory);
    const char *panel = strstr(text, "\"panel\""), *line = strstr(text, "<line"), *box = strstr(text, "\"gpu\""), *words = strstr(text, "words");
    PW_EXPECT(panel && line && box && words && panel < line && line < box && box < words);
    PW_EXPECT(count(text, "<rect class=\"gpu\"") == 2 && is_balanced(text));
}

int main(int argc, char **argv) {
    return pw_run_tests(argc, argv);
}
