/* What json.c, json_forms.c and lossy.c share: one writer on its way through one value. Private to them. */
#pragma once
#include "shim.h"

/* One step of the way from the root to the value being written. */
typedef struct {
    void *object;   /* borrowed: the object that is left by this step, or NULL */
    JSAtom key;     /* borrowed; JS_ATOM_NULL for an index */
    uint32_t index; /* where there is no key */
} cm_step;

typedef struct {
    JSContext *ctx;
    cm_buf *out, *lossy; /* borrowed; lossy may be NULL */
    bool strict;
    unsigned lossy_count;
    int depth; /* steps on the path */
    cm_step path[CM_MAX_DEPTH + 1];
} cm_writer;

/* Each writes one borrowed value, or says with CM_JSON_INTERRUPTED that the program is being stopped. */
enum cm_json cm_json_primitive(cm_writer *w, JSValueConst v);
enum cm_json cm_json_string(cm_writer *w, JSValueConst v);
/* writes what the program threw while it was read: takes the pending exception */
enum cm_json cm_json_thrown(cm_writer *w);
/* writes a borrowed text in place of a value that has no JSON form */
enum cm_json cm_json_note(cm_writer *w, const char *text, const char *kind);
/* writes an object whose kind decides its form, or returns false if it is to be written as it is */
bool cm_json_form(cm_writer *w, JSValueConst v, enum cm_json *r);
/* writes an object of the prelude's classes, or returns false if it is not one */
bool cm_json_instance(cm_writer *w, JSValueConst v, enum cm_json *r);

/* records that the value at the end of the path loses something; `kind` is a borrowed word */
void cm_lossy_note(cm_writer *w, const char *kind);

int cm_json_forms_init(JSContext *ctx);
