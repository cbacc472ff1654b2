/* Rows of convolutional networks: their own jobs, formats and baseline. */
#include "scenarios/validation/training.h"
#include "tests/unit/validation/steps.h"

static const char columns[] = "id,source,task,model,layers,hidden,heads,vocab,seq_len,gpu,n_gpus,gpus_per_node,tp,pp,dp,mbs,gbs,precision,"
                              "software,step_time_s,complete\n";

static void rows_of(scratch *s, const char *rows) {
    char text[4096];
    step_files(s, NULL, 0);
    snprintf(text, sizeof text, "%s%s", columns, rows);
    scratch_file(s, "data/training-measured.csv", text);
}

static void run(scratch *s, pw_validation *v) {
    PW_EXPECT_INT(pw_validation_run(&pw_suite_training, s->catalogue, &(pw_validation_options){0}, s->arena, v, &s->error), PW_OK);
}

PW_TEST(a_row_of_images_runs_as_the_job_that_it_says) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    rows_of(&s, "a,fit-a,cnn-train,resnet50-v1.5,,,,,,A100-80,8,8,,,8,256,2048,amp,NGC,0.1,1\n"
                "b,fit-a,cnn-train,resnet50-v1.5,,,,,,A100-80,8,8,,,8,256,2048,amp,NCHW,0.1,1\n"
                "c,check,cnn-train,resnet50-v1.5,,,,,,A100-80,8,8,,,8,256,2048,fp32/tf32,NGC,0.2,1\n"
                "d,check,cnn-train,resnet50-v1.5,,,,,,A100-80,8,8,,,8,256,2047,amp,NGC,0.1,1\n"
                "e,check,cnn-train,resnet51,,,,,,A100-80,8,8,,,8,256,2048,amp,NGC,0.1,1\n"
                "f,check,cnn-train,resnet50-v1.5,,,,,,A100-80,8,8,,,8,256,2048,fp8,NGC,0.1,1\n"
                "g,check,cnn-train,resnet50-v1.5,,,,,,A100-80,8,8,,,8,256,2048,amp,TensorFlow 9,0.1,1\n");
    run(&s, &v);
    for (int i = 0; i < 3; i++) PW_EXPECT_TEXT(v.predictions[i].why, "");
    PW_EXPECT(v.predictions[0].plain > 0.05 && v.predictions[0].plain < 0.2);
    PW_EXPECT(v.predictions[1].plain > 1.1 * v.predictions[0].plain); /* the recipe's layout */
    PW_EXPECT(v.predictions[2].plain > 1.5 * v.predictions[0].plain); /* tf32 moves twice the bytes */
    PW_EXPECT_CONTAINS(v.predictions[3].why, "global batch");
    PW_EXPECT_CONTAINS(v.predictions[4].why, "resnet51");
    PW_EXPECT_CONTAINS(v.predictions[5].why, "convnet.precision");
    PW_EXPECT_CONTAINS(v.predictions[6].why, "TensorFlow 9");
    scratch_end(&s);
}

/* Same network and GPU: a step of twice the batch at the fit row's MFU takes twice as long. */
PW_TEST(the_baseline_of_images_is_an_mfu_of_images) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    rows_of(&s, "a,fit-a,cnn-train,resnet50-v1.5,,,,,,A100-80,1,8,,,1,256,256,amp,NGC,0.1,1\n"
                "t,fit-b,pretrain,gpt,24,2048,16,51200,2048,A100-80,8,8,1,1,8,1,8,fp16,Megatron,1,1\n"
                "b,check,cnn-train,resnet50-v1.5,,,,,,A100-80,1,8,,,1,512,512,amp,NGC,0.3,1\n");
    run(&s, &v);
    PW_EXPECT_NEAR(v.predictions[2].baseline, 0.2, 1e-12);
    scratch_end(&s);
}

PW_TEST(a_row_of_a_recommender_runs_too) {
    scratch s;
    pw_validation v;
    scratch_begin(&s);
    rows_of(&s, "a,fit-a,recsys-train,dlrm-small,,,,,,A100-80,1,8,,,1,65536,65536,tf32,DLRM,0.02,1\n"
                "b,check,recsys-train,dlrm-huge,,,,,,A100-80,1,8,,,1,65536,65536,tf32,DLRM,0.02,1\n"
                "c,check,recsys-train,dlrm-small,,,,,,A100-80,1,8,,,1,65536,65536,int8,DLRM,0.02,1\n");
    run(&s, &v);
    PW_EXPECT_TEXT(v.predictions[0].why, "");
    PW_EXPECT(v.predictions[0].plain > 0.005 && v.predictions[0].plain < 0.08);
    PW_EXPECT_CONTAINS(v.predictions[1].why, "dlrm-huge");
    PW_EXPECT_CONTAINS(v.predictions[2].why, "precision 'int8'");
    scratch_end(&s);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
