#include "scenarios/host/script.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scenarios/host/api.h"
#include "scenarios/host/lua_api.h"
#include "sim/file.h"
#include "sim/random.h"
#include "sim/text.h"

#define ERROR_OBJECT "podwright.error"

enum {
    HOOK_INTERVAL = 1000,        /* instructions between two looks at the limits */
    LARGEST_FILE = 16 << 20,     /* bytes of one source file */
    GRACE_S = 1                  /* between the watchdog's flag and the end of the process */
};

typedef struct source {
    char *path, *text;
    size_t path_size, text_size;
} source;

typedef struct watchdog {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_running, is_over; /* is_over: guarded by mutex */
    double seconds;
    atomic_int expired;
    char message[1024];       /* what it prints before it ends the process */
} watchdog;

struct pw_script {
    const pw_allocator *allocator;
    pw_counting_allocator memory;
    lua_State *lua;
    const pw_kind *root;        /* NULL: a scenario */
    pw_script_limits limits;
    uint64_t spent;             /* instructions */
    pw_error stopped;           /* set once a limit was reached; sticks */
    const volatile int *interrupt;
    pw_random random;
    source *sources;
    size_t source_count, source_capacity;
    char **paths;               /* names given to lua_api_keep_path */
    size_t path_count, path_capacity;
    char *folder;
    size_t folder_size;
    const char *path;
    watchdog watchdog;
};

pw_script *lua_api_script(lua_State *L) { return *(pw_script **)lua_getextraspace(L); }
lua_State *pw_script_lua(pw_script *script) { return script->lua; }
const char *pw_script_path(const pw_script *script) { return script->path; }
size_t pw_script_peak_bytes(const pw_script *script) { return script->memory.peak_bytes; }
void pw_script_set_root(pw_script *script, const pw_kind *root) { script->root = root; }
const pw_kind *lua_api_root(lua_State *L) {
    const pw_kind *root = lua_api_script(L)->root;
    return root ? root : &pw_scenario_kind;
}
const char *lua_api_folder(lua_State *L) { return lua_api_script(L)->folder; }
double lua_api_uniform(lua_State *L) { return pw_random_uniform(&lua_api_script(L)->random); }

/* ---- Errors ---- */

void lua_api_place(lua_State *L, const char **file, int *line) {
    lua_Debug info;
    *file = "";
    *line = 0;
    for (int level = 0; lua_getstack(L, level, &info); level++) {
        lua_getinfo(L, "Sl", &info);
        if (info.source[0] != '@') continue;
        *file = info.source + 1;
        *line = info.currentline;
        return;
    }
}

void lua_api_raise(lua_State *L, pw_status status, const char *file, int line, const char *hint, const char *format,
                   ...) {
    if (line <= 0) lua_api_place(L, &file, &line);
    pw_error *error = lua_newuserdatauv(L, sizeof *error, 0);
    va_list arguments;
    va_start(arguments, format);
    pw_fail_v(error, status, file, line, hint, format, arguments);
    va_end(arguments);
    luaL_setmetatable(L, ERROR_OBJECT);
    lua_error(L);
    abort(); /* lua_error does not return */
}

static int error_to_text(lua_State *L) {
    char text[sizeof(pw_error)];
    lua_pushstring(L, pw_error_text(luaL_checkudata(L, 1, ERROR_OBJECT), text, sizeof text));
    return 1;
}

/* Skips "name:line: " when it stands at the front of a message; false when it does not. */
static bool skip_place(const char **message, const char *name, int *line) {
    size_t length = strlen(name);
    const char *at = *message + length, *end;
    int64_t number;
    if (strncmp(*message, name, length) != 0 || *at != ':' || !pw_text_integer(at + 1, &end, &number)) return false;
    if (strncmp(end, ": ", 2) != 0) return false;
    *line = (int)number;
    *message = end + 2;
    return true;
}

static void fill_error(pw_error *error, const char *file, int line, const char *message) {
    const char *mark = strstr(message, "; hint: ");
    int length = mark ? (int)(mark - message) : (int)strnlen(message, sizeof error->what);
    pw_fail(error, PW_BAD_INPUT, file, line, mark ? mark + 8 : NULL, "%.*s", length, message);
}

/* The message handler: turns whatever was raised into an error object while the stack still stands. */
static int on_error(lua_State *L) {
    if (luaL_testudata(L, 1, ERROR_OBJECT)) return 1;
    const char *file, *message;
    int line;
    lua_api_place(L, &file, &line);
    char other[64];
    if (lua_type(L, 1) == LUA_TSTRING) {
        message = lua_tostring(L, 1);
        lua_Debug info;
        for (int level = 0; lua_getstack(L, level, &info); level++) {
            lua_getinfo(L, "S", &info);
            if (!skip_place(&message, info.short_src, &line)) continue;
            if (info.source[0] == '@') file = info.source + 1;
            break;
        }
    } else if (luaL_getmetafield(L, 1, "__tostring") != LUA_TNIL) {
        message = luaL_tolstring(L, 1, NULL);
    } else {
        snprintf(other, sizeof other, "the script raised %s as an error", lua_isnil(L, 1) ? "nil" : "a value that is no text");
        message = other;
    }
    pw_error *error = lua_newuserdatauv(L, sizeof *error, 0);
    fill_error(error, file, line, message);
    luaL_setmetatable(L, ERROR_OBJECT);
    return 1;
}

/* ---- Limits ---- */

static void *allocate(void *context, void *memory, size_t old_size, size_t new_size) {
    pw_script *script = context;
    const pw_allocator *allocator = &script->memory.allocator;
    if (!memory) old_size = 0; /* Lua passes the kind of object there */
    if (!memory && new_size == 0) return NULL;
    return allocator->resize(allocator->context, memory, old_size, new_size);
}

static void stop(lua_State *L, pw_script *script, pw_status status, const char *hint, const char *what) {
    const char *file;
    int line;
    lua_api_place(L, &file, &line);
    pw_fail(&script->stopped, status, file, line, hint, "%s", what);
}

static void hook(lua_State *L, lua_Debug *info) {
    (void)info;
    pw_script *script = lua_api_script(L);
    script->spent += HOOK_INTERVAL;
    if (script->stopped.status == PW_OK) {
        char text[160];
        if (script->interrupt && *script->interrupt) stop(L, script, PW_INTERRUPTED, NULL, "interrupted");
        else if (script->spent > script->limits.instructions) {
            snprintf(text, sizeof text, "the script ran for more than %.0f million instructions",
                     (double)script->limits.instructions / 1e6);
            stop(L, script, PW_LIMIT, "is this loop endless? --script-instructions sets another limit", text);
        } else if (atomic_load(&script->watchdog.expired)) {
            snprintf(text, sizeof text, "the script ran for more than %g seconds", script->limits.seconds);
            stop(L, script, PW_LIMIT, "is this loop endless? --script-seconds sets another limit", text);
        }
    }
    if (script->stopped.status == PW_OK) return;
    lua_sethook(L, hook, LUA_MASKCOUNT, 1); /* from now on nothing runs: pcall cannot swallow this */
    pw_error *error = lua_newuserdatauv(L, sizeof *error, 0);
    *error = script->stopped;
    luaL_setmetatable(L, ERROR_OBJECT);
    lua_error(L);
}

static struct timespec after(struct timespec from, double seconds) {
    int64_t whole = (int64_t)seconds;
    from.tv_sec += whole;
    from.tv_nsec += (long)((seconds - (double)whole) * 1e9);
    if (from.tv_nsec >= 1000000000) from.tv_sec++, from.tv_nsec -= 1000000000;
    return from;
}

/* True when the script came back before the deadline. */
static bool wait_until(watchdog *dog, const struct timespec *deadline) {
    while (!dog->is_over)
        if (pthread_cond_timedwait(&dog->changed, &dog->mutex, deadline) == ETIMEDOUT) break;
    return dog->is_over;
}

static void *watch(void *object) {
    watchdog *dog = object;
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline = after(deadline, dog->seconds);
    pthread_mutex_lock(&dog->mutex);
    bool is_over = wait_until(dog, &deadline);
    if (!is_over) {
        atomic_store(&dog->expired, 1);
        deadline = after(deadline, GRACE_S);
        is_over = wait_until(dog, &deadline);
    }
    pthread_mutex_unlock(&dog->mutex);
    if (is_over) return NULL;
    if (write(STDERR_FILENO, dog->message, strlen(dog->message)) < 0) _exit(1);
    _exit(1);
}

static void start_watchdog(pw_script *script) {
    watchdog *dog = &script->watchdog;
    dog->seconds = script->limits.seconds;
    if (dog->seconds < 0) return;
    snprintf(dog->message, sizeof dog->message,
             "%s: the script ran for more than %g seconds and is held up inside a library function\n"
             "hint: patterns of string.find and the like can take for ever; --script-seconds sets another limit\n",
             script->path, dog->seconds);
    dog->is_over = false;
    sigset_t all, old; /* signals belong to the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    dog->is_running = pthread_create(&dog->thread, NULL, watch, dog) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void stop_watchdog(watchdog *dog) {
    if (!dog->is_running) return;
    pthread_mutex_lock(&dog->mutex);
    dog->is_over = true;
    pthread_cond_signal(&dog->changed);
    pthread_mutex_unlock(&dog->mutex);
    pthread_join(dog->thread, NULL);
    dog->is_running = false;
}

/* ---- Source files ---- */

const char *lua_api_keep_path(lua_State *L, const char *path) {
    pw_script *script = lua_api_script(L);
    for (size_t i = 0; i < script->path_count; i++)
        if (strcmp(script->paths[i], path) == 0) return script->paths[i];
    char *copy = pw_alloc(script->allocator, strlen(path) + 1);
    if (!copy || pw_grow(script->allocator, (void **)&script->paths, &script->path_capacity, script->path_count + 1,
                         sizeof *script->paths) != 0) {
        pw_free(script->allocator, copy, strlen(path) + 1);
        lua_api_raise(L, PW_NO_MEMORY, path, 0, NULL, "no memory left");
    }
    strcpy(copy, path);
    return script->paths[script->path_count++] = copy;
}

const char *pw_script_source(const pw_script *script, const char *path) {
    for (size_t i = 0; i < script->source_count; i++)
        if (strcmp(script->sources[i].path, path) == 0) return script->sources[i].text;
    return NULL;
}

/* Line (from 1) of the first byte that is no text, 0 when all is. */
static int line_of_bad_byte(const char *text, size_t size) {
    int line = 1;
    for (size_t i = 0, length; i < size; i += length) {
        unsigned char first = (unsigned char)text[i];
        if (first == '\n') line++;
        length = pw_text_character(text + i);
        if (length == 0 || (first < 0x20 && (!first || !strchr("\n\t\r\f\v", first)))) return line;
    }
    return 0;
}

void lua_api_load(lua_State *L, const char *path) {
    pw_script *script = lua_api_script(L);
    if (pw_grow(script->allocator, (void **)&script->sources, &script->source_capacity, script->source_count + 1,
                sizeof *script->sources) != 0)
        lua_api_raise(L, PW_NO_MEMORY, path, 0, NULL, "no memory left");
    source *file = &script->sources[script->source_count];
    memset(file, 0, sizeof *file);
    file->path_size = strlen(path) + 1;
    file->path = pw_alloc(script->allocator, file->path_size);
    if (!file->path) lua_api_raise(L, PW_NO_MEMORY, path, 0, NULL, "no memory left");
    strcpy(file->path, path);
    script->source_count++;
    pw_error error = {0};
    const char *given = strcmp(path, "-") == 0 ? "stdin" : path;
    pw_status status = pw_file_read(given == path ? path : "/dev/stdin", LARGEST_FILE, script->allocator, &file->text,
                                    &file->text_size, &error);
    int line = 0;
    if (status == PW_OK) line = line_of_bad_byte(file->text, file->text_size);
    if (line) pw_fail(&error, PW_BAD_INPUT, given, line, "save the file as UTF-8", "the line holds bytes that are no UTF-8 text");
    if (status == PW_IO || status == PW_LIMIT) error.status = PW_BAD_INPUT; /* the user named this file */
    if (error.status != PW_OK) {
        pw_error *raised = lua_newuserdatauv(L, sizeof *raised, 0);
        *raised = error;
        luaL_setmetatable(L, ERROR_OBJECT);
        lua_error(L);
    }
    const char *text = file->text;
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0) text += 3;
    if (*text == '#') text += strcspn(text, "\n"); /* #!/usr/bin/env podwright */
    lua_pushfstring(L, "@%s", given);
    if (luaL_loadbufferx(L, text, strlen(text), lua_tostring(L, -1), "t") != LUA_OK) {
        const char *message = lua_tostring(L, -1), *at = message;
        line = 0;
        if (!message) lua_error(L);
        while ((at = strchr(at, ':')) && line == 0) {
            const char *end;
            int64_t number;
            if (pw_text_integer(at + 1, &end, &number) && strncmp(end, ": ", 2) == 0) line = (int)number, message = end + 2;
            at++;
        }
        const char *hint = strstr(message, "'}' expected near") ? "is a comma missing between two fields, or a '}'?" : NULL;
        lua_api_raise(L, PW_BAD_INPUT, given, line, hint, "%s", message);
    }
    lua_remove(L, -2);
}

/* ---- Life ---- */

static int open_state(lua_State *L) {
    luaL_newmetatable(L, ERROR_OBJECT);
    lua_pushcfunction(L, error_to_text);
    lua_setfield(L, -2, "__tostring");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
    lua_api_open_quantities(L);
    lua_api_open_records(L);
    lua_api_open_sandbox(L);
    return 0;
}

static pw_status protect(pw_script *script, lua_CFunction function, void *object, int results, pw_error *error) {
    lua_State *L = script->lua;
    int base = lua_gettop(L);
    if (!lua_checkstack(L, 20)) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    lua_pushcfunction(L, on_error);
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, object);
    int code = lua_pcall(L, 1, results, base + 1);
    if (code == LUA_OK && script->stopped.status == PW_OK) {
        lua_remove(L, base + 1);
        return PW_OK;
    }
    pw_error raised = {0};
    if (script->stopped.status != PW_OK) {
        raised = script->stopped;
    } else if (code == LUA_ERRMEM) {
        pw_fail(&raised, PW_LIMIT, script->path, 0, "is a table growing without end? --script-memory sets another limit",
                "the script needs more than %.0f MB of memory", (double)script->limits.memory_bytes / 1e6);
    } else {
        const pw_error *known = luaL_testudata(L, -1, ERROR_OBJECT);
        if (known) raised = *known;
        else pw_fail(&raised, PW_BAD_INPUT, script->path, 0, NULL, "the script failed, and handling its error failed too");
    }
    lua_settop(L, base);
    if (error) *error = raised;
    return raised.status;
}

pw_status pw_script_protect(pw_script *script, lua_CFunction function, void *object, pw_error *error) {
    return protect(script, function, object, 0, error);
}

static pw_status open_watchdog(watchdog *dog, pw_error *error) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&dog->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&dog->mutex, NULL);
    return PW_OK;
}

pw_status pw_script_create(const pw_allocator *allocator, const pw_script_limits *limits, uint64_t seed,
                           const volatile int *interrupt, pw_script **created, pw_error *error) {
    *created = NULL;
    pw_script *script = pw_alloc_zero(allocator, sizeof *script);
    if (!script) return pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left");
    script->allocator = allocator;
    if (limits) script->limits = *limits;
    if (script->limits.memory_bytes == 0) script->limits.memory_bytes = 512000000;
    if (script->limits.instructions == 0) script->limits.instructions = 500000000;
    if (script->limits.seconds == 0) script->limits.seconds = 30;
    script->interrupt = interrupt;
    script->path = "";
    script->random = pw_random_stream(seed, "script", 0);
    pw_counting_allocator_init(&script->memory);
    script->memory.limit_bytes = script->limits.memory_bytes;
    pw_status status = open_watchdog(&script->watchdog, error);
    if (status == PW_OK) {
        script->lua = lua_newstate(allocate, script);
        if (!script->lua) status = pw_fail(error, PW_NO_MEMORY, NULL, 0, NULL, "no memory left for the script");
    }
    if (status == PW_OK) {
        *(pw_script **)lua_getextraspace(script->lua) = script;
        status = protect(script, open_state, NULL, 0, error);
    }
    if (status != PW_OK) {
        pw_script_destroy(script);
        return status;
    }
    *created = script;
    return PW_OK;
}

void pw_script_destroy(pw_script *script) {
    if (!script) return;
    stop_watchdog(&script->watchdog);
    if (script->lua) {
        lua_sethook(script->lua, NULL, 0, 0);
        lua_close(script->lua);
    }
    for (size_t i = 0; i < script->source_count; i++) {
        pw_free(script->allocator, script->sources[i].path, script->sources[i].path_size);
        if (script->sources[i].text)
            pw_free(script->allocator, script->sources[i].text, script->sources[i].text_size + 1);
    }
    pw_free(script->allocator, script->sources, script->source_capacity * sizeof *script->sources);
    for (size_t i = 0; i < script->path_count; i++)
        pw_free(script->allocator, script->paths[i], strlen(script->paths[i]) + 1);
    pw_free(script->allocator, script->paths, script->path_capacity * sizeof *script->paths);
    pw_free(script->allocator, script->folder, script->folder_size);
    pthread_cond_destroy(&script->watchdog.changed);
    pthread_mutex_destroy(&script->watchdog.mutex);
    pw_free(script->allocator, script, sizeof *script);
}

static int run_file(lua_State *L) {
    pw_script *script = lua_touserdata(L, 1);
    lua_settop(L, 0);
    lua_api_load(L, script->path);
    lua_call(L, 0, LUA_MULTRET);
    const char *shown = strcmp(script->path, "-") == 0 ? "stdin" : script->path;
    const char *hint = "end the file with: return o.scenario { cluster = ..., job = ... }";
    pw_error *error = lua_newuserdatauv(L, sizeof *error, 0);
    lua_insert(L, 1);
    luaL_getmetatable(L, ERROR_OBJECT);
    lua_setmetatable(L, 1);
    if (lua_gettop(L) == 2) return 1;
    if (lua_gettop(L) < 2) pw_fail(error, PW_BAD_INPUT, shown, 0, hint, "the file returns nothing");
    else pw_fail(error, PW_BAD_INPUT, shown, 0, hint, "the file returns %d values, not one", lua_gettop(L) - 1);
    lua_settop(L, 1);
    return lua_error(L);
}

static pw_status run_limited(pw_script *script, lua_CFunction function, void *object, int results, pw_error *error) {
    lua_sethook(script->lua, hook, LUA_MASKCOUNT, HOOK_INTERVAL);
    start_watchdog(script);
    pw_status status = protect(script, function, object, results, error);
    stop_watchdog(&script->watchdog);
    lua_sethook(script->lua, NULL, 0, 0);
    return status;
}

pw_status pw_script_run(pw_script *script, const char *path, pw_error *error) {
    script->path = path;
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    script->folder_size = length + 1;
    script->folder = pw_alloc_zero(script->allocator, script->folder_size);
    if (!script->folder) return pw_fail(error, PW_NO_MEMORY, path, 0, NULL, "no memory left");
    memcpy(script->folder, path, length);
    return run_limited(script, run_file, script, 1, error);
}

pw_status pw_script_call(pw_script *script, lua_CFunction function, void *object, pw_error *error) {
    script->spent = 0;
    return run_limited(script, function, object, 0, error);
}
