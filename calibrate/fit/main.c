/* podwright-fit: measured kernels to the kernel parameters of the catalogue. It never links CUDA. */
#include <getopt.h>
#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/tables.h"

static const char usage[] =
    "Usage: podwright-fit [options] gemm|traffic|attention|collectives|node-power|power ...\n"
    "\n"
    "Fits the parameters of the kernel equations to measured kernels, prints the error of the rows that shaped the fit\n"
    "(fit) and of those that did not (check), and writes kernel-*-parameters.csv and kernel-*-covariance.csv.\n"
    "collectives fits the times of collectives, and writes collective-parameters.csv, network-stacks.csv and\n"
    "collective-launch.csv.\n"
    "power fits what GPUs draw, and writes gpu-power-parameters.csv and gpu-activities.csv.\n"
    "node-power fits what the power of all servers shares, and writes node-power-parameters.csv.\n"
    "Fit gemm before attention: attention takes the achievable memory bandwidth from it.\n"
    "\n"
    "  --data FOLDER       kernel-gemm.csv, kernel-attention.csv, attention-published.csv\n"
    "                      (default tests/validation/data)\n"
    "  --split FOLDER      split-gemm.csv, split-attention.csv (default tests/validation)\n"
    "  --out FOLDER        where the tables go (default: the catalogue's folder)\n"
    "  --catalogue FOLDER  catalogue with the devices (default: as podwright finds it)\n"
    "  --stack NAME        fit rows whose stack begins so (default trtllm); others are judged\n"
    "  --help\n";

static const struct {
    const char *name;
    pw_status (*run)(const pw_catalogue *, const pw_fit_paths *, FILE *, pw_error *);
} fits[] = {{"gemm", pw_fit_gemm}, {"traffic", pw_fit_traffic}, {"attention", pw_fit_attention},
            {"collectives", pw_fit_collectives}, {"node-power", pw_fit_node_power}, {"power", pw_fit_power}};
enum { FITS = sizeof fits / sizeof *fits };

static int fail(const pw_error *error) {
    char text[2048];
    fprintf(stderr, "podwright-fit: %s\n", pw_error_text(error, text, sizeof text));
    return error->status == PW_NO_MEMORY || error->status == PW_IO ? 1 : 2;
}

int main(int argc, char **argv) {
    static const struct option options[] = {{"data", required_argument, NULL, 'd'},
                                            {"split", required_argument, NULL, 's'},
                                            {"out", required_argument, NULL, 'o'},
                                            {"catalogue", required_argument, NULL, 'c'},
                                            {"stack", required_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    gsl_set_error_handler_off(); /* by default it ends the process */
    pw_fit_paths paths = {.data = "tests/validation/data", .split = "tests/validation", .stack = "trtllm"};
    const char *folder = NULL;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'd': paths.data = optarg; break;
        case 's': paths.split = optarg; break;
        case 'o': paths.folder = optarg; break;
        case 'c': folder = optarg; break;
        case 't': paths.stack = optarg; break;
        case 'h': fputs(usage, stdout); return 0;
        default: fputs(usage, stderr); return 2;
        }
    if (optind == argc) {
        fputs(usage, stderr);
        return 2;
    }
    pw_fit_report_header(stdout);
    for (int i = optind; i < argc; i++) {
        size_t which = 0;
        while (which < FITS && strcmp(fits[which].name, argv[i])) which++;
        if (which == FITS) {
            fprintf(stderr, "podwright-fit: there is no fit \"%s\"\n%s", argv[i], usage);
            return 2;
        }
        /* read anew each time: a fit may need what the one before it wrote */
        pw_error error = {0};
        pw_catalogue *catalogue;
        if (pw_catalogue_load(NULL, folder, &catalogue, &error) != PW_OK) return fail(&error);
        if (!paths.folder) paths.folder = pw_catalogue_folder(catalogue);
        char out[1024];
        snprintf(out, sizeof out, "%s", paths.folder);
        pw_fit_paths these = paths;
        these.folder = out;
        pw_status status = fits[which].run(catalogue, &these, stdout, &error);
        bool own_folder = paths.folder == pw_catalogue_folder(catalogue);
        pw_catalogue_destroy(catalogue);
        if (own_folder) paths.folder = NULL;
        if (status != PW_OK) return fail(&error);
    }
    return 0;
}
