/* The spectrum of a power signal: how much of it swings at which frequency.
 *
 * The signal is averaged over equal bins (exactly, from its energies), transformed by GSL's FFT, and each line is divided by what
 * averaging took from it (sinc of frequency x bin). Bins are short beside the shortest period asked for (a 16th at most), so what folds
 * back from above the Nyquist frequency is at least 15 times weaker than it was. Parseval's law is asserted on the bins.
 */
#ifndef PW_MODELS_POWER_METER_SPECTRUM_H
#define PW_MODELS_POWER_METER_SPECTRUM_H

#include "models/power/meter_signal.h"

/* Line k, from 0, has frequency (first + k) x spacing_Hz and the amplitude (half of peak to peak) of a sine in W. */
typedef struct pw_spectrum {
    const pw_allocator *allocator;
    double *amplitude_W;
    size_t first, count;
    double spacing_Hz; /* 1 / length of the signal */
    size_t bins;
    double variance_W2; /* of the bins: half the sum of all squared amplitudes (Parseval) */
} pw_spectrum;

/* Lines from from_Hz to to_Hz. The signal must hold one period of from_Hz at least; a signal with more than 2^24 bins is refused. The
 * caller frees the spectrum. A broken law is PW_LAW. */
pw_status pw_spectrum_make(const pw_signal *signal, double from_Hz, double to_Hz, pw_spectrum *spectrum, pw_error *error);
void pw_spectrum_free(pw_spectrum *spectrum);

typedef struct pw_band {
    double amplitude_W; /* of one sine with the power of all lines in the band: root of the sum of their squares */
    double strongest_W, strongest_Hz; /* line */
} pw_band;
pw_band pw_spectrum_band(const pw_spectrum *spectrum, double from_Hz, double to_Hz);

#endif
