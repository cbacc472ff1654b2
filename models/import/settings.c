#include "models/import/settings.h"

#include <string.h>

pw_status pw_settings_add(pw_settings *settings, const pw_setting *setting, pw_error *error) {
    if (settings->count == settings->capacity) { /* the old array stays in the arena */
        size_t grown = settings->capacity ? 2 * settings->capacity : 64;
        pw_setting *items = pw_arena_alloc(settings->arena, grown * sizeof *items);
        if (!items) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
        if (settings->count) memcpy(items, settings->items, settings->count * sizeof *items);
        settings->items = items;
        settings->capacity = grown;
    }
    pw_setting *kept = &settings->items[settings->count];
    *kept = *setting;
    kept->name = pw_arena_text(settings->arena, setting->name);
    kept->file = pw_arena_text(settings->arena, setting->file);
    if (setting->value) kept->value = pw_arena_text(settings->arena, setting->value);
    if (!kept->name || !kept->file || (setting->value && !kept->value))
        return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    settings->count++;
    return PW_OK;
}
