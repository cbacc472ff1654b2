/* Nodes from parts: sums, bounds, monotony, the cubic law of fans, supplies, the energy law. */
#include "models/power/node_power.h"
#include "tests/harness/catalogue.h"

static pw_node_power *node_of(const char *server) {
    pw_node_power *model = NULL;
    pw_error error = {0};
    must(pw_node_power_create(NULL, catalogue(), server, &model, &error), &error);
    return model;
}

static pw_node_load busy(double gpu_W) { return (pw_node_load){.gpu_W = gpu_W, .host = PW_NODE_HOST_FEEDS, .fan_speed = NAN}; }

PW_TEST(every_server_on_file_can_be_built_and_draws_more_at_work_than_idle) {
    const pw_table *table = pw_catalogue_table(catalogue(), PW_TABLE_NODE_POWER);
    PW_EXPECT(pw_table_rows(table) >= 25);
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        pw_node_power *model = node_of(pw_table_text_at(table, row, 0));
        const pw_device *gpu;
        pw_error error = {0};
        must(pw_catalogue_device(catalogue(), pw_node_power_gpu(model), &gpu, &error), &error);
        double full = pw_node_power_gpus(model) * gpu->tdp_W;
        pw_node_load idle = {.gpu_W = 0.1 * full, .fan_speed = NAN}, work = busy(full);
        pw_node_watts low = pw_node_power_at(model, &idle), high = pw_node_power_at(model, &work);
        PW_EXPECT(low.wall_W > 0.1 * full);
        PW_EXPECT(high.wall_W > full && high.wall_W > low.wall_W);
        PW_EXPECT(high.wall_W < 1.6 * pw_node_power_rated_W(model));
        pw_node_power_destroy(model);
    }
}

PW_TEST(parts_at_their_most_add_up_to_what_makers_rate) {
    static const char *const servers[] = {"DGX-1 V100", "DGX-2", "DGX A100 640GB", "DGX H100", "DGX B200", "MI300X 8-OAM platform",
                                          "Frontier node (Cray EX235a)"};
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        pw_node_power *model = node_of(servers[i]);
        const pw_device *gpu;
        pw_error error = {0};
        must(pw_catalogue_device(catalogue(), pw_node_power_gpu(model), &gpu, &error), &error);
        pw_node_load most = {.gpu_W = pw_node_power_gpus(model) * gpu->tdp_W, .host = 1, .scaleup = 1, .network = 1, .drives = 1, .fan_speed = 1};
        PW_EXPECT_NEAR(pw_node_power_at(model, &most).wall_W, pw_node_power_rated_W(model), 0.12);
        pw_node_power_destroy(model);
    }
}

PW_TEST(no_node_draws_less_than_its_parts) {
    pw_node_power *model = node_of("DGX H100");
    pw_node_load load = busy(5600);
    pw_node_watts watts = pw_node_power_at(model, &load);
    double sum = 0;
    for (int kind = 0; kind < PW_NODE_PART_COUNT; kind++) {
        PW_EXPECT(watts.part[kind] >= 0);
        sum += watts.part[kind];
    }
    PW_EXPECT_NEAR(watts.output_W, sum, 1e-14);
    PW_EXPECT_NEAR(watts.wall_W, sum + watts.supply_loss_W, 1e-12);
    PW_EXPECT(watts.part[PW_NODE_PART_CPU] > 0 && watts.part[PW_NODE_PART_SWITCH] > 0 && watts.part[PW_NODE_PART_NIC] > 0);
    PW_EXPECT(watts.supply_loss_W > 0.02 * watts.wall_W && watts.supply_loss_W < 0.1 * watts.wall_W);
    pw_node_power_destroy(model);
}

PW_TEST(fans_draw_the_cube_of_their_speed) {
    pw_node_power *model = node_of("DGX H100");
    pw_node_load load = busy(5600);
    double full = pw_node_power_fans_W(model);
    PW_EXPECT(full > 800 && full < 3000);
    for (double speed = 0.1; speed <= 1; speed += 0.1) {
        load.fan_speed = speed;
        PW_EXPECT_NEAR(pw_node_power_at(model, &load).part[PW_NODE_PART_FAN], full * speed * speed * speed, 1e-12);
    }
    pw_node_power_destroy(model);
}

PW_TEST(the_steady_fan_speed_is_a_fixed_point_of_the_heat) {
    pw_node_power *model = node_of("DGX B200");
    double rest = pw_node_power_parameters(model)->fan_rest, before = 0;
    for (double gpu_W = 0; gpu_W < 8000; gpu_W += 500) {
        pw_node_load load = busy(gpu_W);
        pw_node_watts watts = pw_node_power_at(model, &load);
        PW_EXPECT_NEAR(watts.fan_speed, rest + (1 - rest) * fmin(1, watts.output_W / pw_node_power_rated_W(model)), 1e-9);
        PW_EXPECT(watts.fan_speed > before);
        before = watts.fan_speed;
    }
    pw_node_power_destroy(model);
}

PW_TEST(a_bath_has_no_fans) {
    pw_node_power *model = node_of("SMC HyperCube H100 node");
    pw_node_load load = busy(5600);
    PW_EXPECT_NEAR(pw_node_power_at(model, &load).part[PW_NODE_PART_FAN], 0, 0);
    pw_node_power_destroy(model);
}

PW_TEST(each_activity_raises_its_own_parts_only) {
    pw_node_power *model = node_of("DGX H100");
    pw_node_load base = {.gpu_W = 3000, .fan_speed = 0.5};
    static const struct { size_t field; uint32_t parts; } cases[] = {
        {offsetof(pw_node_load, host), 1u << PW_NODE_PART_CPU | 1u << PW_NODE_PART_MEMORY},
        {offsetof(pw_node_load, scaleup), 1u << PW_NODE_PART_SWITCH | 1u << PW_NODE_PART_PCIE},
        {offsetof(pw_node_load, network), 1u << PW_NODE_PART_NIC | 1u << PW_NODE_PART_PCIE},
        {offsetof(pw_node_load, drives), 1u << PW_NODE_PART_DRIVE},
        {offsetof(pw_node_load, optics_W), 1u << PW_NODE_PART_OPTICS}};
    pw_node_watts low = pw_node_power_at(model, &base);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pw_node_load load = base;
        *(double *)((char *)&load + cases[i].field) = 1;
        pw_node_watts high = pw_node_power_at(model, &load);
        for (int kind = 0; kind < PW_NODE_PART_COUNT; kind++) {
            if (kind == PW_NODE_PART_CONVERSION) PW_EXPECT(high.part[kind] > low.part[kind]);
            else if (cases[i].parts >> kind & 1) PW_EXPECT(high.part[kind] > low.part[kind]);
            else PW_EXPECT_NEAR(high.part[kind], low.part[kind], 0);
        }
    }
    pw_node_power_destroy(model);
}

PW_TEST(lost_supplies_cost_efficiency_and_all_lost_is_dark) {
    pw_node_power *model = node_of("DGX H100");
    pw_node_load load = busy(5600);
    double whole = pw_node_power_at(model, &load).wall_W;
    load.supplies.feeds_lost = 1;
    PW_EXPECT(fabs(pw_node_power_at(model, &load).wall_W - whole) > 1);
    load.supplies.feeds_lost = 3;
    pw_node_watts dark = pw_node_power_at(model, &load);
    PW_EXPECT(dark.wall_W == 0 && dark.output_W == 0 && dark.part[PW_NODE_PART_GPU] == 0);
    pw_node_power_destroy(model);
}

PW_TEST(energy_at_the_wall_is_that_of_parts_and_losses) {
    pw_node_power *model = node_of("DGX A100 640GB");
    pw_sim *sim;
    PW_EXPECT(pw_sim_create(NULL, &sim, NULL) == PW_OK);
    pw_node_energy energy = {0};
    double wall = 0;
    for (int i = 0; i < 100000; i++) {
        pw_node_load load = busy(400 + 2800 * (i * 7919 % 1000) / 1000.0);
        pw_node_watts watts = pw_node_power_at(model, &load);
        pw_node_energy_add(sim, &energy, &watts, 0.001 * (1 + i % 7), 64);
        wall += 64 * watts.wall_W * 0.001 * (1 + i % 7);
    }
    PW_EXPECT(pw_node_energy_gap(&energy) < 1e-11);
    PW_EXPECT_NEAR(energy.wall_J, wall, 1e-12);
    energy.part_J[PW_NODE_PART_FAN] *= 1.001;
    PW_EXPECT(pw_node_energy_gap(&energy) > 1e-9);
    pw_sim_destroy(sim);
    pw_node_power_destroy(model);
}

PW_TEST(a_rack_is_the_sum_of_its_nodes_and_switches) {
    pw_node_power *model = node_of("DGX H100");
    pw_node_load load = busy(5000);
    pw_node_watts node = pw_node_power_at(model, &load);
    double low, high;
    pw_error error = {0};
    must(pw_node_switch_W(catalogue(), "Quantum-2 QM9700", 0, &low, &error), &error);
    must(pw_node_switch_W(catalogue(), "Quantum-2 QM9700", 1, &high, &error), &error);
    PW_EXPECT_NEAR(low, 747, 1e-12);
    PW_EXPECT_NEAR(high, 1720, 1e-12);
    pw_rack_watts rack = pw_rack_sum(&node, 4, low, 2);
    PW_EXPECT_NEAR(rack.wall_W, 4 * node.wall_W + 2 * 747, 1e-12);
    pw_node_power_destroy(model);
}

PW_TEST(bad_servers_and_parts_are_refused_with_a_hint) {
    pw_node_power *model;
    pw_error error = {0};
    double watts;
    char text[2048];
    PW_EXPECT_INT(pw_node_power_create(NULL, catalogue(), "DGX H1OO", &model, &error), PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(pw_error_text(&error, text, sizeof text), "DGX H100");
    PW_EXPECT_INT(pw_node_switch_W(catalogue(), "Quantum-X800 Q3400", 0, &watts, &error), PW_UNSUPPORTED);
    pw_node_part parts[PW_NODE_PARTS];
    int count;
    PW_EXPECT_INT(pw_node_parts_read(catalogue(), "two EPYC 7742", "x.csv", 3, parts, &count, &error), PW_BAD_INPUT);
    PW_EXPECT_CONTAINS(pw_error_text(&error, text, sizeof text), "x.csv:3");
    PW_EXPECT_INT(pw_node_parts_read(catalogue(), "2 EPYC 7743", "x.csv", 3, parts, &count, &error), PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(pw_error_text(&error, text, sizeof text), "EPYC 77");
    must(pw_node_parts_read(catalogue(), " 2 EPYC 7742 ;1 NVMe drive;", "x.csv", 3, parts, &count, &error), &error);
    PW_EXPECT_INT(count, 2);
    PW_EXPECT_INT(parts[0].count, 2);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
