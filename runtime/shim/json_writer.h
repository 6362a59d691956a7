/* What json.c, json_forms.c, lossy.c and outline.c share: one writer on its way through one value. Private to them. */
#pragma once
#include "shim.h"

/* One step of the way from the root to the value being written. */
typedef struct {
    void *object;   /* borrowed: the object that is left by this step, or NULL */
    JSAtom key;     /* borrowed; JS_ATOM_NULL for an index */
    uint32_t index; /* where there is no key */
} cm_step;

/* A part of an outline: where it has to end, and what was written there of a container. */
typedef struct {
    cm_buf *text; /* borrowed; NULL: nothing is written */
    size_t end;
    int level; /* containers around it */
    bool is_list, is_shut, is_full;
    uint32_t count, seen, shown; /* children: said, met, written */
} cm_outline;

typedef struct {
    JSContext *ctx;
    cm_buf *out, *lossy; /* borrowed; lossy may be NULL */
    cm_outline *outline; /* borrowed; NULL where nothing is outlined */
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

/* open a container on the way of the outline, a child in it, and end both; see outline.c */
cm_outline cm_outline_open(cm_writer *w, bool is_list, uint32_t count);
void cm_outline_child(cm_writer *w, cm_outline *inside, cm_outline *part, JSAtom key);
void cm_outline_primitive(cm_writer *w, JSValueConst v);
void cm_outline_object(cm_writer *w, const cm_buf *before, size_t outlined);
void cm_outline_close(cm_writer *w, cm_outline *inside);

int cm_json_forms_init(JSContext *ctx);
