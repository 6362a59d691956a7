/* A first look at a program's text, so that most JavaScript needs no parser beside the engine's own.

   What runs without a second opinion must be what codemode_runtime/compile would let pass unchanged: no Markdown, no
   `#!`, none of the words of modules, and neither a shell command nor Python that happens to parse as JavaScript. The
   look errs on the side of doubt: then the host has the text checked. What the engine cannot parse at all is checked
   afterwards (nothing of it has run). tests/runtime/test_runner_source.py compares with compile. */
#include <string.h>
#include "runner.h"

#define COMMANDS_WITHIN 2000u /* foreign.py looks no further */

static const char *const module_words[] = {"import",  "importScripts", "export", "exports",
                                           "require", "module",        "process"};
/* no command is called so: a text that begins with one of them is no list of commands */
static const char *const first_words[] = {"await", "const", "let", "new", "return", "throw", "typeof", "var", "void"};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_one_of(cr_span word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == word.len && !memcmp(words[i], word.data, word.len))
            return true;
    return false;
}

#define ONE_OF(word, words) is_one_of(word, words, sizeof words / sizeof *words)

static cr_span word_at(cr_span text, size_t at)
{
    size_t end = at;
    while (end < text.len && is_word(text.data[end]))
        end++;
    return (cr_span){text.data + at, end - at};
}

static bool has_module_word(cr_span text)
{
    for (size_t at = 0; at < text.len; at++) {
        cr_span word = word_at(text, at);
        if (ONE_OF(word, module_words))
            return true;
        at += word.len;
    }
    return false;
}

static bool has_fence(cr_span text)
{
    for (size_t at = 0; at + 3 <= text.len; at++) {
        char c = text.data[at];
        if ((c == '`' || c == '~') && text.data[at + 1] == c && text.data[at + 2] == c)
            return true;
    }
    return false;
}

static cr_span without_start(cr_span text)
{
    while (text.len) {
        size_t skip = strchr(" \t\r\n", text.data[0]) && text.data[0] ? 1 : 0;
        if (text.len >= 3 && !memcmp(text.data, "\xEF\xBB\xBF", 3))
            skip = 3;
        if (!skip)
            break;
        text = (cr_span){text.data + skip, text.len - skip};
    }
    return text;
}

static bool starts_with(cr_span text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && !memcmp(text.data, prefix, len);
}

/* whether all of it is made of what commands are made of: words, paths, options, and what joins commands */
static bool may_be_commands(cr_span text)
{
    if (ONE_OF(word_at(text, 0), first_words))
        return false;
    for (size_t at = 0; at < text.len && at < COMMANDS_WITHIN; at++) {
        unsigned char c = (unsigned char)text.data[at];
        if (c > ' ' && c < 0x80 && !is_word((char)c) && !strchr("./~-&|;", c))
            return false;
    }
    return text.len > 0;
}

bool cr_source_is_doubtful(cr_span text)
{
    cr_span start = without_start(text);
    return has_fence(text) || has_module_word(text) || starts_with(start, "#!") || starts_with(start, "print(") ||
           may_be_commands(start);
}
