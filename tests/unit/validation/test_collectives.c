/* Laws: a row of nccl-tests is a group on its cluster; the two baselines are what a hand computes; odd rows say why. */
#include "tests/unit/validation/scratch.h"

static void words(scratch *s) {
    scratch_file(s, "collective-systems.csv", "gpu,nodes,intra,inter,server,device,ports,port_gbps,domain,stack,why\n"
                                              "odd,,,,,,,,,,it is odd\n"
                                              "H100,,,,DGX H100,,,,,,\n");
    scratch_file(s, "split-collectives.csv", "family,health,side\na,healthy,fit\nb,healthy,check\n");
}

PW_TEST(rows_are_groups_and_baselines_are_those_of_a_hand) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    words(&s);
    /* Two fit rows on the line 10 us + bus bytes / 100 GB/s. Bus bytes of 8 ranks: 7/4 of the size. */
    scratch_file(&s, "data/collectives-measured.csv", "family,gpu,nodes,gpus_per_node,intra,inter,collective,size_bytes,time_us,health\n"
                                                      "a,H100,1,8,,,all_reduce,1000000,27.5,healthy\n"
                                                      "a,H100,1,8,,,all_reduce,100000000,1760,healthy\n"
                                                      "b,H100,1,8,,,all_reduce,8,20,healthy\n"
                                                      "b,H100,1,8,,,alltoall,4000000,50,healthy\n"
                                                      "b,H100,1,8,,,all_reduce,1024,9000,degraded\n"
                                                      "b,odd,1,8,,,all_reduce,1024,20,healthy\n"
                                                      "b,H9,1,8,,,all_reduce,1024,20,healthy\n"
                                                      "b,H100,1,9,,,all_reduce,1024,20,healthy\n"
                                                      "b,H100,1,8,,,all_mix,1024,20,healthy\n"
                                                      "b,H100,1,8,,,all_reduce,1024,,healthy\n"
                                                      "b,H100,one,8,,,all_reduce,1024,20,healthy\n");
    static const char *const reasons[] = {"not healthy: degraded", "it is odd", "no server on file", "9 ranks in a node of 8",
                                          "'all_mix' is not modelled", "no time", "'one' is no number", NULL};
    PW_EXPECT(pw_validation_run(&pw_suite_collectives, s.catalogue, &(pw_validation_options){0}, s.arena, &v, &s.error) == PW_OK);
    PW_EXPECT_TEXT(v.predictions[0].side, "fit");
    PW_EXPECT_TEXT(v.predictions[2].side, "check");
    PW_EXPECT_NEAR(v.predictions[1].measured, 1760e-6, 1e-12);
    PW_EXPECT_NEAR(v.predictions[2].second, 10e-6 + 14e-11, 1e-9);
    PW_EXPECT_NEAR(v.predictions[3].second, 10e-6 + 3.5e6 / 100e9, 1e-9);
    PW_EXPECT_NEAR(v.predictions[2].baseline, 15e-6, 1e-3); /* NCCL: 6.6 us + 14 hops of 0.6 us */
    PW_EXPECT(isnan(v.predictions[3].baseline));
    PW_EXPECT(v.predictions[0].ran && v.predictions[0].plain > 1e-6 && v.predictions[1].plain > 3 * v.predictions[0].plain);
    for (uint32_t i = 0; reasons[i]; i++) {
        PW_EXPECT(!v.predictions[4 + i].ran);
        PW_EXPECT_CONTAINS(v.predictions[4 + i].why, reasons[i]);
    }
    scratch_end(&s);
}

PW_TEST(class_and_decade_are_columns_for_groups_and_choices) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    words(&s);
    scratch_file(&s, "data/collectives-measured.csv", "family,gpu,nodes,gpus_per_node,intra,inter,collective,size_bytes,time_us,health\n"
                                                      "b,H100,1,8,,,all_reduce,1024,20,healthy\n"
                                                      "b,H100,1,8,,,all_gather,100000000,200,healthy\n"
                                                      "b,H100,2,8,,,all_gather,100000000,400,healthy\n");
    const char *only[] = {"decade=4: from 100 MB"};
    PW_EXPECT(pw_validation_run(&pw_suite_collectives, s.catalogue, &(pw_validation_options){.only = only, .only_count = 1}, s.arena, &v,
                                &s.error) == PW_OK);
    PW_EXPECT(!v.predictions[0].ran && v.predictions[1].ran && v.predictions[2].ran);
    PW_EXPECT_TEXT(pw_suite_text(v.suite, v.input, 2, "class"), "InfiniBand RoCE");
    PW_EXPECT_TEXT(pw_suite_text(v.suite, v.input, 1, "class"), "one domain: gather and scatter");
    PW_EXPECT_TEXT(pw_suite_text(v.suite, v.input, 1, "family"), "b");
    scratch_end(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
