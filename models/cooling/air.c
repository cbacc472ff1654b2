/* Moist air. Saturation pressure: Hyland and Wexler 1983; mixing, enthalpy and the wet bulb: ASHRAE Handbook of Fundamentals, chapter
 * Psychrometrics (SI), equations of the ideal mixture. */
#include <math.h>

#include "models/cooling/weather.h"
#include "sim/math.h"

double pw_air_saturation_Pa(double temperature_C) {
    double t = temperature_C + 273.15;
    if (temperature_C < 0)
        return pw_exp(-5.6745359e3 / t + 6.3925247 + t * (-9.6778430e-3 + t * (6.2215701e-7 + t * (2.0747825e-9 + t * -9.4840240e-13))) + 4.1635019 * pw_log(t));
    return pw_exp(-5.8002206e3 / t + 1.3914993 + t * (-4.8640239e-2 + t * (4.1764768e-5 + t * -1.4452093e-8)) + 6.5459673 * pw_log(t));
}

static double moisture_of(double vapour_Pa, double pressure_Pa) { return 0.621945 * vapour_Pa / (pressure_Pa - vapour_Pa); }

double pw_air_moisture(double temperature_C, double humidity, double pressure_Pa) {
    return moisture_of(humidity * pw_air_saturation_Pa(temperature_C), pressure_Pa);
}

double pw_air_enthalpy(double temperature_C, double moisture) { return 1006 * temperature_C + moisture * (2501e3 + 1860 * temperature_C); }

double pw_air_saturated_enthalpy(double temperature_C, double pressure_Pa) {
    return pw_air_enthalpy(temperature_C, pw_air_moisture(temperature_C, 1, pressure_Pa));
}

/* Moisture of air that a wet bulb shows as wet_C: equations 33 (water) and 35 (ice) of the chapter. */
static double moisture_at(double dry_C, double wet_C, double pressure_Pa) {
    double saturated = pw_air_moisture(wet_C, 1, pressure_Pa);
    if (wet_C >= 0) return ((2501 - 2.326 * wet_C) * saturated - 1.006 * (dry_C - wet_C)) / (2501 + 1.86 * dry_C - 4.186 * wet_C);
    return ((2830 - 0.24 * wet_C) * saturated - 1.006 * (dry_C - wet_C)) / (2830 + 1.86 * dry_C - 2.1 * wet_C);
}

static pw_status check_air(double dry_C, double pressure_Pa, pw_error *error) {
    if (!(dry_C >= -90 && dry_C <= 70)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "degrees Celsius, between -90 and 70", "no weather has a dry bulb of %g", dry_C);
    if (!(pressure_Pa >= 4e4 && pressure_Pa <= 1.2e5))
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "Pa, between 40000 and 120000", "no weather has a pressure of %g", pressure_Pa);
    return PW_OK;
}

pw_status pw_weather_from_humidity(double dry_C, double humidity, double pressure_Pa, pw_weather_point *point, pw_error *error) {
    PW_TRY(check_air(dry_C, pressure_Pa, error));
    if (!(humidity >= 0 && humidity <= 1.1)) /* sensors show a little above saturation */
        return pw_fail(error, PW_BAD_INPUT, NULL, 0, "between 0 and 1 (0 and 100 %)", "no weather has a relative humidity of %g", humidity);
    humidity = humidity > 1 ? 1 : humidity < 0.001 ? 0.001 : humidity;
    double moisture = pw_air_moisture(dry_C, humidity, pressure_Pa), low = dry_C - 60, high = dry_C;
    for (int i = 0; i < 60 && high - low > 1e-11; i++) {
        double middle = (low + high) / 2;
        if (moisture_at(dry_C, middle, pressure_Pa) < moisture) low = middle;
        else high = middle;
    }
    *point = (pw_weather_point){dry_C, high, humidity, pressure_Pa};
    return PW_OK;
}

pw_status pw_weather_from_wet_bulb(double dry_C, double wet_C, double pressure_Pa, pw_weather_point *point, pw_error *error) {
    PW_TRY(check_air(dry_C, pressure_Pa, error));
    if (!(wet_C <= dry_C + 0.1)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "are the columns swapped?", "a wet bulb of %g above a dry bulb of %g", wet_C, dry_C);
    if (wet_C > dry_C) wet_C = dry_C;
    double moisture = moisture_at(dry_C, wet_C, pressure_Pa);
    if (!(moisture >= 0)) return pw_fail(error, PW_BAD_INPUT, NULL, 0, "check the columns and their units", "no air of %g degrees is so dry that its wet bulb is %g", dry_C, wet_C);
    double humidity = moisture * pressure_Pa / (0.621945 + moisture) / pw_air_saturation_Pa(dry_C);
    *point = (pw_weather_point){dry_C, wet_C, humidity > 1 ? 1 : humidity, pressure_Pa};
    return PW_OK;
}
