/* Numbers and units from any text: what is read can be written and read again as the same value. */
#include <stdlib.h>
#include <string.h>

#include "sim/registry.h"
#include "sim/text.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char text[256], written[PW_NUMBER_TEXT];
    if (size >= sizeof text) size = sizeof text - 1;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    double value, back;
    const char *end;
    if (pw_text_number(text, &end, &value)) {
        if (end == text || end > text + size) abort();
        pw_number_text(value, written, sizeof written);
        if (!pw_text_number(written, &end, &back) || *end || memcmp(&value, &back, sizeof value) != 0) abort();
    }
    for (int wanted = 0; wanted < PW_UNIT_COUNT; wanted++) {
        bool has_unit;
        pw_unit unit;
        pw_error error;
        pw_status status = pw_unit_parse(text, (pw_unit)wanted, &value, &has_unit, &unit, &error);
        if (status == PW_OK ? has_unit != (unit != PW_UNIT_NONE) : !error.what[0]) abort();
    }
    return 0;
}
