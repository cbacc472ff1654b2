/* Where parameters come from: own row, architecture, kin; and what a broken table says. */
#include "models/gpu/gpu.h"
#include "tests/harness/check.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static pw_catalogue *load(const char *folder, pw_error *error) {
    pw_catalogue *catalogue = NULL;
    if (pw_catalogue_load(NULL, folder, &catalogue, error) != PW_OK) {
        char text[2048];
        printf("# %s\n", pw_error_text(error, text, sizeof text));
        return NULL;
    }
    return catalogue;
}

static void expect_provenance(const pw_catalogue *catalogue, const char *device, pw_kernel_class kind, pw_precision precision,
                              const char *part) {
    pw_gpu *gpu = NULL;
    pw_error error = {0};
    PW_EXPECT_INT(pw_gpu_create(NULL, catalogue, device, &gpu, &error), PW_OK);
    if (!gpu) return;
    PW_EXPECT_CONTAINS(pw_gpu_provenance(gpu, kind, precision), part);
    pw_gpu_destroy(gpu);
}

PW_TEST(a_device_says_where_its_parameters_come_from) {
    pw_error error = {0};
    pw_catalogue *catalogue = load(NULL, &error);
    if (!catalogue) {
        PW_EXPECT(catalogue);
        return;
    }
    expect_provenance(catalogue, "A100-SXM4-80GB", PW_KERNEL_GEMM, PW_PRECISION_BF16, "fitted on A100-SXM4-80GB bf16, 725 rows");
    expect_provenance(catalogue, "A100-SXM4-80GB", PW_KERNEL_GEMM, PW_PRECISION_FP16, "fitted on A100-SXM4-80GB bf16");
    expect_provenance(catalogue, "A100-PCIe-40GB", PW_KERNEL_GEMM, PW_PRECISION_BF16,
                      "from A100-SXM4-80GB bf16 (same architecture Ampere)");
    expect_provenance(catalogue, "H100-PCIe-80GB", PW_KERNEL_ATTENTION, PW_PRECISION_BF16, "(same architecture Hopper)");
    expect_provenance(catalogue, "GB300 (per GPU in NVL72)", PW_KERNEL_GEMM, PW_PRECISION_FP8, "from GB200 (per GPU in NVL72) fp8");
    expect_provenance(catalogue, "A100-SXM4-80GB", PW_KERNEL_GEMM, PW_PRECISION_TF32, "no tf32 measurements");
    expect_provenance(catalogue, "V100-SXM2-32GB", PW_KERNEL_GEMM, PW_PRECISION_FP16, "no measurements of architecture Volta");
    expect_provenance(catalogue, "MI300X", PW_KERNEL_GEMM, PW_PRECISION_BF16, "flop efficiency 0.51 as published");
    expect_provenance(catalogue, "TPU v4", PW_KERNEL_GEMM, PW_PRECISION_BF16, "no measurements of architecture TPU");
    expect_provenance(catalogue, "H100-SXM5-80GB", PW_KERNEL_NORM, PW_PRECISION_BF16, "fitted on H100-SXM5-80GB");
    expect_provenance(catalogue, "A100-SXM4-80GB", PW_KERNEL_GEMM, PW_PRECISION_FP8, "no unit");
    pw_catalogue_destroy(catalogue);
}

PW_TEST(every_accelerator_with_peak_and_bandwidth_has_kernels) {
    pw_error error = {0};
    pw_catalogue *catalogue = load(NULL, &error);
    if (!catalogue) {
        PW_EXPECT(catalogue);
        return;
    }
    const pw_table *table = pw_catalogue_table(catalogue, "accelerators");
    size_t made = 0;
    for (size_t row = 0; row < pw_table_rows(table); row++) {
        pw_gpu *gpu = NULL;
        pw_status status = pw_gpu_create(NULL, catalogue, pw_table_text_at(table, row, 0), &gpu, &error);
        PW_EXPECT(status == PW_OK || status == PW_UNSUPPORTED);
        if (status != PW_OK) continue;
        made++;
        for (int i = 0; i < PW_PRECISION_COUNT; i++) {
            if (!(pw_gpu_device(gpu)->peak_flops[i] > 0)) continue;
            pw_kernel kernel = {.kind = PW_KERNEL_GEMM, .precision = (pw_precision)i, .gemm = {1, 4096, 4096, 4096, 0}};
            pw_kernel_cost cost;
            PW_EXPECT_INT(pw_gpu_kernel_cost(gpu, &kernel, NULL, &cost, &error), PW_OK);
            double share = cost.flops / cost.total_s / pw_gpu_device(gpu)->peak_flops[i];
            PW_EXPECT(share > 0.02 && share < 1);
        }
        pw_gpu_destroy(gpu);
    }
    PW_EXPECT(made >= 30);
    pw_catalogue_destroy(catalogue);
}

/* The same relative parameters on a part with half the machine. */
PW_TEST(a_borrowed_fit_scales_with_the_data_sheet) {
    pw_error error = {0};
    pw_catalogue *catalogue = load(NULL, &error);
    pw_gpu *sxm = NULL, *pcie = NULL;
    PW_EXPECT(catalogue);
    if (!catalogue) return;
    PW_EXPECT_INT(pw_gpu_create(NULL, catalogue, "A100-SXM4-80GB", &sxm, &error), PW_OK);
    PW_EXPECT_INT(pw_gpu_create(NULL, catalogue, "A100-SXM4-40GB", &pcie, &error), PW_OK);
    pw_kernel stream = {.kind = PW_KERNEL_OPTIMIZER, .precision = PW_PRECISION_FP32, .memory = {4e9, 0}};
    pw_kernel_cost a, b;
    PW_EXPECT_INT(pw_gpu_kernel_cost(sxm, &stream, NULL, &a, &error), PW_OK);
    PW_EXPECT_INT(pw_gpu_kernel_cost(pcie, &stream, NULL, &b, &error), PW_OK);
    PW_EXPECT_NEAR(b.memory_s / a.memory_s, pw_gpu_device(sxm)->memory_Bps / pw_gpu_device(pcie)->memory_Bps, 1e-9);
    PW_EXPECT_NEAR(b.start_s, a.start_s, 1e-12);
    pw_gpu_destroy(sxm);
    pw_gpu_destroy(pcie);
    pw_catalogue_destroy(catalogue);
}

/* The fallback table may state an efficiency of its own, and whose memory is most alike. */
PW_TEST(a_fallback_says_whose_memory_is_alike) {
    pw_error error = {0};
    pw_catalogue *catalogue = load(NULL, &error);
    pw_gpu *volta = NULL, *gddr = NULL, *lent = NULL;
    PW_EXPECT(catalogue);
    if (!catalogue) return;
    PW_EXPECT_INT(pw_gpu_create(NULL, catalogue, "V100-SXM2-16GB", &volta, &error), PW_OK);
    PW_EXPECT_INT(pw_gpu_create(NULL, catalogue, "RTX A6000", &gddr, &error), PW_OK);
    PW_EXPECT_INT(pw_gpu_create(NULL, catalogue, "L40S", &lent, &error), PW_OK);
    pw_kernel stream = {.kind = PW_KERNEL_OPTIMIZER, .precision = PW_PRECISION_FP32, .memory = {4e9, 0}};
    pw_kernel_cost a, b;
    int row = pw_table_find_row(pw_catalogue_table(catalogue, "kernel-fallback"), "Volta");
    double stated = pw_table_number_of(pw_catalogue_table(catalogue, "kernel-fallback"), (size_t)row, "memory_efficiency");
    PW_EXPECT_INT(pw_gpu_kernel_cost(volta, &stream, NULL, &a, &error), PW_OK);
    PW_EXPECT_NEAR(a.memory_s, 4e9 / (stated * pw_gpu_device(volta)->memory_Bps), 1e-12);
    PW_EXPECT_INT(pw_gpu_kernel_cost(gddr, &stream, NULL, &a, &error), PW_OK);
    PW_EXPECT_INT(pw_gpu_kernel_cost(lent, &stream, NULL, &b, &error), PW_OK);
    PW_EXPECT_NEAR(a.memory_s / b.memory_s, pw_gpu_device(lent)->memory_Bps / pw_gpu_device(gddr)->memory_Bps, 1e-9);
    PW_EXPECT_CONTAINS(pw_gpu_provenance(gddr, PW_KERNEL_OPTIMIZER, PW_PRECISION_FP32), "L40S");
    PW_EXPECT_CONTAINS(pw_gpu_provenance(gddr, PW_KERNEL_GEMM, PW_PRECISION_FP16), "A100");
    pw_gpu_destroy(volta);
    pw_gpu_destroy(gddr);
    pw_gpu_destroy(lent);
    pw_catalogue_destroy(catalogue);
}

PW_TEST(launch_costs_more_on_grace_and_unknown_hosts_are_named) {
    pw_error error = {0};
    pw_catalogue *catalogue = load(NULL, &error);
    PW_EXPECT(catalogue);
    if (!catalogue) return;
    double x86 = 0, grace = 0, other;
    PW_EXPECT_INT(pw_gpu_launch_s(catalogue, "x86", &x86, &error), PW_OK);
    PW_EXPECT_INT(pw_gpu_launch_s(catalogue, "grace", &grace, &error), PW_OK);
    PW_EXPECT(x86 > 1e-6 && x86 < grace && grace < 1e-4);
    PW_EXPECT_INT(pw_gpu_launch_s(catalogue, "sparc", &other, &error), PW_NOT_FOUND);
    PW_EXPECT_CONTAINS(error.what, "sparc");
    PW_EXPECT_CONTAINS(error.hint, "grace");
    pw_catalogue_destroy(catalogue);
}

/* A copy of the catalogue in which `from` in `file` became `to`. */
static void broken_copy(const char *file, const char *from, const char *to, char *folder, size_t size) {
    char source[4096];
    pw_error error = {0};
    snprintf(folder, size, "/tmp/podwright-parameters-XXXXXX");
    if (!mkdtemp(folder) || pw_catalogue_find(source, sizeof source, &error) != PW_OK) exit(1);
    DIR *directory = opendir(source);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[4500], copy[4500];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", source, entry->d_name);
        snprintf(copy, sizeof copy, "%s/%s", folder, entry->d_name);
        FILE *in = fopen(path, "r"), *out = fopen(copy, "w");
        static char text[1 << 20];
        size_t length = in ? fread(text, 1, sizeof text - 1, in) : 0;
        text[length] = 0;
        char *place = !strcmp(entry->d_name, file) ? strstr(text, from) : NULL;
        if (place) fprintf(out, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
        else if (out) fwrite(text, 1, length, out);
        if (in) fclose(in);
        if (out) fclose(out);
    }
    if (directory) closedir(directory);
}

static void remove_copy(const char *folder) {
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[4500];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (directory) closedir(directory);
    rmdir(folder);
}

static void expect_broken(const char *file, const char *from, const char *to, pw_status status, int line, const char *what) {
    char folder[128];
    pw_error error = {0};
    broken_copy(file, from, to, folder, sizeof folder);
    pw_catalogue *catalogue = load(folder, &error);
    pw_gpu *gpu = NULL;
    if (catalogue) PW_EXPECT_INT(pw_gpu_create(NULL, catalogue, "A100-SXM4-80GB", &gpu, &error), status);
    PW_EXPECT(!gpu);
    PW_EXPECT_CONTAINS(error.file, file);
    PW_EXPECT_INT(error.line, line);
    PW_EXPECT_CONTAINS(error.what, what);
    pw_gpu_destroy(gpu);
    if (catalogue) pw_catalogue_destroy(catalogue);
    remove_copy(folder);
}

PW_TEST(a_broken_table_is_named_with_its_line) {
    expect_broken("kernel-gemm-parameters.csv", ",flop_efficiency,", ",flop_efficiencies,", PW_BAD_INPUT, 1, "flop_efficiency");
    expect_broken("kernel-gemm-parameters.csv", "trtllm 1.0.0\",1410,", "trtllm 1.0.0\",1410,-", PW_BAD_INPUT, 2, "start");
    expect_broken("kernel-attention-parameters.csv", "trtllm 1.0.0\",1410,", "trtllm 1.0.0\",1410,9", PW_BAD_INPUT, 2, "start");
}

/* Each cell is within its limits, but they do not go together. */
PW_TEST(parameters_that_contradict_each_other_are_refused) {
    pw_error error = {0};
    pw_catalogue *whole = load(NULL, &error);
    const pw_table *attention = pw_catalogue_table(whole, "kernel-attention-parameters");
    const pw_table *gemm = pw_catalogue_table(whole, "kernel-gemm-parameters");
    char from[256], to[256];
    size_t column = (size_t)pw_table_find_column(attention, "backward_efficiency");
    snprintf(from, sizeof from, ",%s,", pw_table_text_at(attention, 0, column));
    expect_broken("kernel-attention-parameters.csv", from, ",2.9,", PW_BAD_INPUT, 2, "beat peak");
    column = (size_t)pw_table_find_column(gemm, "split_traffic"); /* cast and cast_traffic follow, empty */
    snprintf(from, sizeof from, ",%s,,,", pw_table_text_at(gemm, 0, column));
    snprintf(to, sizeof to, ",%s,,5,", pw_table_text_at(gemm, 0, column));
    expect_broken("kernel-gemm-parameters.csv", from, to, PW_BAD_INPUT, 2, "both numbers or both empty");
    pw_catalogue_destroy(whole);
}

int main(int argc, char **argv) { return pw_run_tests(argc, argv); }
