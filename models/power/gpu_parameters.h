/* Parameters of a GPU's power: reading a row of gpu-power-parameters, and choosing the row for a device that may have none.
 *
 * Order of choice: the device's own row; the row of the most alike device of its architecture (least |log ratio| of SM count);
 * the same for the architecture's kin (table kernel-fallback), and for the kin of any architecture. A borrowed row is scaled:
 * static and active watts by SM count and boost clock, idle by TDP. Energy per operation stays: it is the process's.
 */
#ifndef PW_MODELS_POWER_GPU_PARAMETERS_H
#define PW_MODELS_POWER_GPU_PARAMETERS_H

#include "models/catalogue/catalogue.h"
#include "models/power/gpu_power.h"

/* X(field, column, low, high, text); SI units */
#define PW_GPU_POWER_MAP(X)                                                                                             \
    X(static_W, "static", 0, 1000, "watts with a context loaded, at boost voltage and reference temperature, above idle")         \
    X(active_W, "active", 0, 1000, "watts while a kernel is resident, at boost voltage and clock, whatever it does")             \
    X(tensor_J[PW_PRECISION_FP32], "energy_fp32", 0, 1e-10, "per flop of a multiply in fp32, at boost voltage")            \
    X(tensor_J[PW_PRECISION_TF32], "energy_tf32", 0, 1e-10, "the same in tf32")                                           \
    X(tensor_J[PW_PRECISION_BF16], "energy_16", 0, 1e-10, "the same in fp16 and bf16")                                    \
    X(tensor_J[PW_PRECISION_FP8], "energy_8", 0, 1e-10, "the same in fp8 and int8")                                       \
    X(tensor_J[PW_PRECISION_FP4], "energy_4", 0, 1e-10, "the same in fp4")                                                \
    X(vector_J, "energy_vector", 0, 1e-9, "per flop of other kernels, at boost voltage")                                   \
    X(memory_J, "energy_memory", 0, 1e-9, "per byte of HBM traffic")                                                       \
    X(chip_J, "energy_chip", 0, 1e-9, "per byte of the same traffic on the die, at boost voltage")                               \
    X(link_J, "energy_link", 0, 1e-9, "per byte over NVLink and PCIe")                                                     \
    X(voltage_floor, "voltage_floor", 0.3, 1, "least voltage, to that at boost")                                          \
    X(voltage_slope, "voltage_slope", 0, 2, "fall of voltage per fall of clock, both to boost")                           \
    X(held, "held", 0.8, 1, "power that the controller holds, to the cap")                                                \
    X(load_Hz, "load_clock", 1e8, 1e10, "highest clock with kernels on it")                                               \
    X(memory_Hz, "memory_clock", 1e8, 1e10, "the same with kernels that saturate the memory")                              \
    X(memory_from, "memory_from", 0.01, 1, "share of the memory bandwidth from which they do")                             \
    X(min_Hz, "min_clock", 1e7, 1e10, "lowest clock")                                                                     \
    X(step_Hz, "clock_step", 1e6, 1e9, "between two clocks")                                                              \
    X(reference_C, "reference_temperature", 0, 100, "at which static holds")                                              \
    X(leakage_per_K, "leakage", 0, 0.1, "logarithm of static per kelvin")                                                 \
    X(sigma_still, "sigma_still", 0, 0.2, "die spread of idle and static")                                                \
    X(sigma_dynamic, "sigma_dynamic", 0, 0.2, "die spread of what switches")                                              \
    X(slowdown, "slowdown", 0.05, 1, "what the hardware slowdown and the power brake leave of the boost clock")

typedef struct pw_gpu_power_parameters {
    double idle_W;
    double static_W, active_W, tensor_J[PW_PRECISION_COUNT], vector_J, memory_J, chip_J, link_J;
    double voltage_floor, voltage_slope, held, load_Hz, memory_Hz, min_Hz, step_Hz, reference_C, leakage_per_K, sigma_still, sigma_dynamic, memory_from, slowdown;
} pw_gpu_power_parameters;

/* Row by row; file:line on a bad cell. idle_W is left alone. */
pw_status pw_gpu_power_parameters_read(const pw_table *table, size_t row, pw_gpu_power_parameters *parameters,
                                       pw_error *error);
/* Another die of the same architecture: static and active watts go with SMs and clock. */
void pw_gpu_power_parameters_scale(pw_gpu_power_parameters *parameters, const pw_device *device, const pw_device *from);
/* The parameters that serve a device, scaled; text[size] says where they come from. */
pw_status pw_gpu_power_parameters_choose(const pw_catalogue *catalogue, const pw_device *device,
                                         pw_gpu_power_parameters *parameters, char *text, size_t size, pw_error *error);

/* Takes the place of the parameters of a model that nobody else uses: for fits. */
void pw_gpu_power_set(pw_gpu_power *model, const pw_gpu_power_parameters *parameters);

#endif
