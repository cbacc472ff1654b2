/* GSL's mixed-radix real transform of bin means. Its sines come from the platform, so the last bits of a line may differ between
 * machines: amplitudes are rounded to a billionth of the largest, far below what anybody reads. */
#include "models/power/meter_spectrum.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_fft_real.h>
#include <math.h>

enum { BINS_PER_PERIOD = 16, MOST_BINS = 1 << 24 };
static const double pi = 3.14159265358979323846;

void pw_spectrum_free(pw_spectrum *spectrum) {
    pw_free(spectrum->allocator, spectrum->amplitude_W, spectrum->count * sizeof(double));
    *spectrum = (pw_spectrum){.allocator = spectrum->allocator};
}

static pw_status transform(double *bins, size_t count, pw_error *error) {
    gsl_fft_real_wavetable *table = gsl_fft_real_wavetable_alloc(count);
    gsl_fft_real_workspace *work = gsl_fft_real_workspace_alloc(count);
    int failed = !table || !work || gsl_fft_real_transform(bins, 1, count, table, work) != GSL_SUCCESS;
    if (table) gsl_fft_real_wavetable_free(table);
    if (work) gsl_fft_real_workspace_free(work);
    return failed ? pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a spectrum") : PW_OK;
}

/* Half-complex order of GSL: real part 0, then real and imaginary parts in turn, and of an even count the real Nyquist line last. */
static double square_of_line(const double *bins, size_t count, size_t line) {
    if (2 * line == count) return bins[count - 1] * bins[count - 1];
    return bins[2 * line - 1] * bins[2 * line - 1] + bins[2 * line] * bins[2 * line];
}

static pw_status check_parseval(const double *bins, size_t count, double variance_W2, double mean_W, pw_error *error) {
    double sum = 0;
    for (size_t line = 1; 2 * line <= count; line++) sum += (2 * line == count ? 1 : 2) * square_of_line(bins, count, line);
    double lines_W2 = sum / ((double)count * (double)count);
    if (fabs(lines_W2 - variance_W2) <= 1e-9 * variance_W2 + 1e-18 * mean_W * mean_W) return PW_OK;
    return pw_fail(error, PW_LAW, NULL, 0, "this is an error in a model; please report it with the input",
                   "Parseval's law: the lines of a spectrum hold %.12g W^2, the signal %.12g", lines_W2, variance_W2);
}

static void take_lines(const double *bins, pw_spectrum *spectrum) {
    double largest = 0;
    for (size_t k = 0; k < spectrum->count; k++) {
        size_t line = spectrum->first + k;
        double x = pi * (double)line / (double)spectrum->bins; /* pi x frequency x bin */
        spectrum->amplitude_W[k] = 2 * sqrt(square_of_line(bins, spectrum->bins, line)) / (double)spectrum->bins * x / sin(x);
        largest = fmax(largest, spectrum->amplitude_W[k]);
    }
    for (size_t k = 0; largest > 0 && k < spectrum->count; k++)
        spectrum->amplitude_W[k] = floor(spectrum->amplitude_W[k] / largest * 1e9 + 0.5) * (largest / 1e9);
}

pw_status pw_spectrum_make(const pw_signal *signal, double from_Hz, double to_Hz, pw_spectrum *spectrum, pw_error *error) {
    double length_s = signal->end_s, wanted = BINS_PER_PERIOD * to_Hz * length_s;
    *spectrum = (pw_spectrum){.allocator = signal->allocator, .spacing_Hz = 1 / length_s, .bins = 2 * BINS_PER_PERIOD};
    if (!(from_Hz > 0) || !(to_Hz >= from_Hz) || from_Hz * length_s < 1 - 1e-9)
        return pw_fail(error, PW_OUT_OF_RANGE, NULL, 0, "a longer signal shows slower swings", "a spectrum from %g Hz needs a signal of %g s; this one has %g s",
                       from_Hz, 1 / from_Hz, length_s);
    while (spectrum->bins < wanted && spectrum->bins < MOST_BINS) spectrum->bins *= 2;
    if (spectrum->bins < wanted)
        return pw_fail(error, PW_LIMIT, NULL, 0, "look at a shorter part of it", "a spectrum up to %g Hz of %g s takes %.3g bins of at most %d", to_Hz, length_s,
                       wanted, MOST_BINS);
    const pw_instrument bin = {"bin", length_s / (double)spectrum->bins, length_s / (double)spectrum->bins};
    double *bins = pw_alloc(signal->allocator, spectrum->bins * sizeof *bins);
    spectrum->first = (size_t)ceil(from_Hz * length_s * (1 - 1e-12));
    spectrum->count = (size_t)floor(to_Hz * length_s * (1 + 1e-12)) - spectrum->first + 1;
    spectrum->amplitude_W = pw_alloc(signal->allocator, spectrum->count * sizeof *spectrum->amplitude_W);
    pw_status status = bins && spectrum->amplitude_W ? PW_OK : pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory for a spectrum");
    if (status == PW_OK) {
        PW_CHECK(pw_signal_readings(signal, &bin) == spectrum->bins);
        pw_signal_read(signal, &bin, bins);
        double mean_W = pw_signal_mean_W(signal), sum = 0;
        for (size_t i = 0; i < spectrum->bins; i++) {
            bins[i] -= mean_W;
            sum += bins[i] * bins[i];
        }
        spectrum->variance_W2 = sum / (double)spectrum->bins;
        status = transform(bins, spectrum->bins, error);
        if (status == PW_OK) status = check_parseval(bins, spectrum->bins, spectrum->variance_W2, mean_W, error);
        if (status == PW_OK) take_lines(bins, spectrum);
    }
    if (bins) pw_free(signal->allocator, bins, spectrum->bins * sizeof *bins);
    if (status != PW_OK) {
        if (!spectrum->amplitude_W) spectrum->count = 0;
        pw_spectrum_free(spectrum);
    }
    return status;
}

pw_band pw_spectrum_band(const pw_spectrum *spectrum, double from_Hz, double to_Hz) {
    pw_band band = {0};
    double sum = 0;
    for (size_t k = 0; k < spectrum->count; k++) {
        double frequency = (double)(spectrum->first + k) * spectrum->spacing_Hz, amplitude = spectrum->amplitude_W[k];
        if (frequency < from_Hz * (1 - 1e-12) || frequency > to_Hz * (1 + 1e-12)) continue;
        sum += amplitude * amplitude;
        if (amplitude > band.strongest_W) band.strongest_W = amplitude, band.strongest_Hz = frequency;
    }
    band.amplitude_W = sqrt(sum);
    return band;
}
