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

static char *draw(const char *server, int64_t nodes, const char *topology, double oversubscription) {
    pw_cluster_desc desc;
    pw_cluster *cluster;
    pw_error error = {0};
    int memory;
    must(pw_description_defaults(&pw_cluster_kind, &desc, arena(), &error), &error);
    desc.node.server = server;
    desc.nodes = nodes;
    desc.network.oversubscription = oversubscription;
    for (desc.network.topology = 0; strcmp(pw_topology_names[desc.network.topology], topology) != 0;) desc.network.topology++;
    must(pw_cluster_create(NULL, catalogue(), &desc, &cluster, &error), &error);
    pw_file *file = open_text(&memory);
    must(pw_draw_cluster(cluster, "a <pod> & more", "below", arena(), file, &error), &error);
    pw_cluster_destroy(cluster);
    return close_text(file, memory);
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

PW_TEST(no_box_of_a_row_lies_on_another) {
    for (int i = 0; i < CASES; i++) {
        const char *text = draw(cases[i].server, cases[i].nodes, cases[i].topology, 1);
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
        PW_EXPECT(found > 12);
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
