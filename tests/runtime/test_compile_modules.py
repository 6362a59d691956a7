"""Module access: what is refused, where, and what only looks like it."""

import pytest
from codemode_runtime.compile import Language, SourceError, prepare

BOTH: list[Language] = ["javascript", "typescript"]

REFUSED = [
    ("import fs from 'fs'", 1, 1),
    ("import 'side-effect'", 1, 1),
    ("import * as fs from 'node:fs';", 1, 1),
    ("import { readFile } from 'fs/promises';", 1, 1),
    ("import fs, { readFile as r } from 'fs';", 1, 1),
    ("const a = 1;\nimport x from 'y';", 2, 1),
    ("const fs = await import('fs');", 1, 18),
    ("import('fs').then((m) => m)", 1, 1),
    ("return `${await import('fs')}`", 1, 17),
    ("const f = () => import(name);", 1, 17),
    ("import.meta.url", 1, 1),
    ("const u = import.meta;", 1, 11),
    ("const m = import.source('x');", 1, 11),
    ("export const a = 1;", 1, 1),
    ("export default 1;", 1, 1),
    ("export default function f() {}", 1, 1),
    ("export { a };", 1, 1),
    ("export * from 'x';", 1, 1),
    ("const a = 1;\nexport { a as b };", 2, 1),
    ("export async function main() { return 1; }", 1, 1),
    ("export class A {}", 1, 1),
    ("export type T = 1", 1, 1),
    ("export declare const x: 1", 1, 1),
    ("export = 1", 1, 1),
    ("const a = 1; export interface A {}", 1, 14),
    ("const a = 1;\n  export as namespace A", 2, 3),
    ("const fs = require('fs');", 1, 12),
    ("require('child_process').exec('ls')", 1, 1),
    ("const { exec } = require('child_process');", 1, 18),
    ("if (true) {\n  require('x');\n}", 2, 3),
    ("function f() { return require('x'); }", 1, 23),
    ("`${require('x')}`", 1, 4),
    ("(require)('x')", 1, 2),
    ("(0, require)('x')", 1, 5),
    ("require?.('x')", 1, 1),
    ("require.resolve('x')", 1, 1),
    ("const r = require; r('fs')", 1, 11),
    ("require `fs`", 1, 1),
    ("{ const require = 1; }\nrequire('x')", 2, 1),
    ("function f(require) {}\nrequire('x')", 2, 1),
    ("const f = (require) => 1; f(require('x'))", 1, 29),
    ("(function require() {}); require('x')", 1, 26),
    ("try {} catch (require) {}\nrequire('x')", 2, 1),
    ("for (const require of []) {}\nrequire('x')", 2, 1),
    ("const x = { require: require('x') }", 1, 22),
    ("const { a = require('x') } = {}", 1, 13),
    ("[require] = [1]; require('x')", 1, 2),
    ("globalThis.require('fs')", 1, 1),
    ("module.exports = { a: 1 };", 1, 1),
    ("module.exports.f = () => 1;", 1, 1),
    ("module['exports'] = 1", 1, 1),
    ("module.require('fs')", 1, 1),
    ("exports.f = 1;", 1, 1),
    ("exports['f'] = 1;", 1, 1),
    ("exports = {};", 1, 1),
    ("Object.defineProperty(exports, '__esModule', { value: true });", 1, 23),
    ("process.binding('fs')", 1, 1),
    ("process.mainModule.require('fs')", 1, 1),
    ("process.getBuiltinModule('fs')", 1, 1),
    ("importScripts('x.js')", 1, 1),
    ("const x = (1 + ;\nconst fs = require('fs');", 2, 12),
    ("let y = ;\nimport fs from 'fs';", 2, 1),
    ("const é = '😀'; require('fs')", 1, 20),
]

REFUSED_TYPESCRIPT = [
    ("import type { A } from 'x';", 1, 1),
    ("export type A = 1;", 1, 1),
    ("export interface A {}", 1, 1),
    ("import fs = require('fs');", 1, 1),
    ("export = 1;", 1, 1),
    ("export namespace N { export const a = 1 }", 1, 1),
    ("export import A = N.B;", 1, 1),
    ("export declare const x: number;", 1, 1),
    ("export enum E { A }", 1, 1),
    ("const a: number = require('x') as number;", 1, 19),
    ("const a = <any>require('x');", 1, 16),
    ("const m = (await import('x')) as typeof import('x');", 1, 18),
    ("namespace N { export const fs = require('fs'); }", 1, 33),
    ("class A { private fs: any = require('fs'); }", 1, 29),
    ("enum E { A = require('x') }", 1, 14),
]

FINE = [
    "const s = \"import x from 'y'\";",
    "const s = 'require(\"fs\")';",
    "const s = `import('x') and export default`;",
    "// import x from 'y'\nreturn 1",
    "/* require('fs'); export const a = 1 */ return 1",
    "return /import\\(.*require/.test('x')",
    "o.require('x')",
    "const o = { require() { return 1 } }; return o.require();",
    "tools.import({ path: 'x' })",
    "tools.export({})",
    "o.export = 1",
    "o\n  .export = 1",
    "tools['import']({})",
    "MCP.github.import({ a: 1 })",
    "o?.require?.('x')",
    "a.b.c.require('x')",
    "const o = { import: 1, export: 2, require: 3, module: 4, exports: 5 };",
    "const o = { import() {}, export() {}, get require() { return 1 } };",
    "class A { import() {} export() {} static require() {} #require = 1 }",
    "const require = (x) => x; return require('x');",
    "let require; require = (x) => x; require('x');",
    "var require = 1; { require; }",
    "function require(x) { return x } return require('x');",
    "return require('x'); function require(x) { return x }",
    "const f = (require) => require('x');",
    "const f = require => require('x');",
    "function f(require) { return require('x') }",
    "function f({ require }) { return require('x') }",
    "function f([require]) { return () => require('x') }",
    "function f({ a: { require } = {} }) { return require('x') }",
    "function f(...require) { return require[0] }",
    "function f(require = 1) { return require }",
    "const { require } = o; require('x')",
    "const { a: require } = o; require('x')",
    "const [require] = o; require('x')",
    "const { require = 1 } = o; require('x')",
    "class require {} new require()",
    "const C = class require { m() { return require } }",
    "const f = function require(n) { return n ? require(n - 1) : 0 };",
    "try { x() } catch (require) { require('x') }",
    "try { x() } catch ({ require }) { require('x') }",
    "for (const require of xs) require('x')",
    "for (let require = 0; require < 2; require++) {}",
    "for (const [require] of xs) { require('x') }",
    "if (a) { var require = f } require('x')",
    "require: for (;;) { break require }",
    "return typeof require",
    "typeof module !== 'undefined'",
    "const module = { exports: {} }; module.exports = 1;",
    "const exports = {}; exports.a = 1;",
    "const process = { binding() {} }; process.binding('x')",
    "process.env.HOME",
    "module.list()",
    "return exports.length",
    "const { data: { exports } } = r; exports.a = 1",
    "const importer = 1, exported = 2, required = 3, modules = 4, processing = 5;",
    "const $require = 1, require_ = 2; $require; require_;",
    "return { ...{ require: 1 } }.require",
    "return `${'import'} ${o.import}`",
    "const a = <div>import x</div>",
    "return 'a'.replace(/export/g, 'import')",
    "return importScriptsOf(x)",
    "switch (1) { case 1: const require = f; require('x') }",
]

FINE_TYPESCRIPT = [
    "namespace N { export const a = 1; export function f() {} }",
    "namespace A.B { export namespace C { export class D {} } }",
    "namespace Allman\n{\n  export const a = 1;\n}",
    "module M { export const a = 1 }",
    "namespace N { export import A = B.C; }",
    "import A = N.B; const x: A = 1;",
    "let a: import('x').T;",
    "let a: typeof import('x');",
    "type A = import('x').B | typeof import('y');",
    "const a = b as import('x').T;",
    "function f(a: import('x').T): import('y').U { return a as any }",
    "declare const require: (x: string) => any;",
    "declare module 'x' { export const a: number; import b from 'c'; export default b; }",
    "declare global { interface Window { require: any } }",
    "const f = (require: (x: string) => string): string => require('x');",
    "class A { constructor(private require: Function) { require('x') } }",
    "function f(require?: Function) { return require!('x') }",
    "interface A { import(): void; export: number; require(x: string): any }",
    "enum E { import, export, require }",
    "function require<T>(x: T): T { return x } return require<string>('x');",
    "class require<T> {} const r = new require<number>();",
    "abstract class A { abstract import(): void; abstract export(): void }",
]


def refusal(text: str, language: Language) -> SourceError:
    with pytest.raises(SourceError) as refused:
        prepare(text, language)
    return refused.value


@pytest.mark.parametrize("language", BOTH)
@pytest.mark.parametrize(("text", "line", "column"), REFUSED)
def test_module_access_is_refused_where_it_stands(
    text: str, line: int, column: int, language: Language
) -> None:
    error = refusal(text, language)
    assert (error.code, error.line, error.column) == ("module_access_denied", line, column)
    assert error.source_line == text.split("\n")[line - 1]


@pytest.mark.parametrize(("text", "line", "column"), REFUSED_TYPESCRIPT)
def test_module_access_in_typescript_is_refused(text: str, line: int, column: int) -> None:
    error = refusal(text, "typescript")
    assert (error.code, error.line, error.column) == ("module_access_denied", line, column)


@pytest.mark.parametrize("text", FINE)
def test_what_only_looks_like_module_access_passes_unchanged(text: str) -> None:
    assert prepare(text, "javascript").code == text


@pytest.mark.parametrize("text", [text for text in FINE if "<div>" not in text])
def test_what_only_looks_like_module_access_passes_as_typescript(text: str) -> None:
    assert prepare(text, "typescript").language == "typescript"


@pytest.mark.parametrize("text", FINE_TYPESCRIPT)
def test_typescript_that_only_looks_like_module_access_passes(text: str) -> None:
    assert prepare(text, "typescript").language == "typescript"


def test_the_first_of_several_accesses_is_named() -> None:
    error = refusal("const a = 1;\nmodule.exports = require('x');\nimport('y');", "javascript")
    assert (error.line, error.column) == (2, 1)
    assert error.message.startswith("`module.exports` is not available:")


def test_javascript_that_does_not_parse_is_left_to_the_engine() -> None:
    assert prepare("const important = (1 + ;", "javascript").code == "const important = (1 + ;"
