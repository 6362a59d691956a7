// JavaScript for the TypeScript that cannot be erased: enums, namespaces and aliases, as TypeScript's own compiler
// means them. What a namespace exports as a variable is a property of its object wherever it is named.

class Lowering {
  constructor(program, source, edits, gaps) {
    this.program = program;
    this.source = source;
    this.edits = edits;
    this.gaps = gaps;
    let used = 0;
    for (const [, digits] of source.matchAll(/_cm(\d{1,9})/g)) used = Math.max(used, Number(digits));
    this.fresh = () => `_cm${++used}`; // no name of the program starts so
  }

  run() {
    const reader = new Reader(this.fresh);
    walk(this.program, (frame) => reader.enter(frame));
    for (const { node, scope } of reader.exports) this.export(node, scope);
    for (const item of reader.namespaces) this.namespace(item);
    for (const item of reader.enums) this.enum(item);
    for (const { node, scope, shorthand } of reader.uses) this.qualify(node, qualifierOf(node.name, scope), shorthand);
    this.aliases(reader.aliases);
  }

  qualify(node, qualifier, shorthand) {
    if (qualifier) this.edits.open(node.start, shorthand ? `${node.name}:${qualifier}` : qualifier);
  }

  enum({ node, scope, inner, exported, statement }) {
    const { edits, gaps } = this;
    const { target } = inner;
    const last = `${target}l`;
    const add = `${target}m`;
    const body = gaps.after(node.id.end) + 1;
    edits.blank(statement.start, body);
    const helper = `const ${add}=(k,v)=>{${target}[k]=${last}=v;typeof v==="string"||(${target}[v]=k)};`;
    edits.open(statement.start, `${this.declaration(node.id.name, scope, statement)}(function(${target}){let ${last}=-1;${helper}`);
    for (const member of node.members) this.enumMember(member, add, last);
    edits.close(node.end - 1, `})(${ownerOf(node.id.name, scope, exported)});${statement.isEmbedded ? "}" : ""}`, node.start);
    edits.blank(node.end - 1, node.end);
  }

  enumMember({ id, initializer, start, end }, add, last) {
    const { edits, gaps, source } = this;
    const key = id.type === "Identifier" ? JSON.stringify(id.name) : source.slice(id.start, id.end);
    edits.open(start, `${add}(${key},${initializer ? "" : `typeof ${last}==="number"?${last}+1:void 0`}`);
    edits.blank(start, initializer ? initializer.start : end);
    edits.close(end, ");", start);
    const comma = gaps.after(end);
    if (source[comma] === ",") edits.blank(comma, comma + 1);
  }

  // An immediately called function that fills the namespace's object; dotted names nest.
  namespace({ scope, parts, body, exported, statement }) {
    const { edits } = this;
    const [first, ...rest] = parts;
    let head = `${this.declaration(first.name, scope, statement)}(function(${first.scope.target}){`;
    let foot = `})(${ownerOf(first.name, scope, exported)});${statement.isEmbedded ? "}" : ""}`;
    let outer = first.scope;
    for (const { name, scope: inner } of rest) {
      head += `${keywordIn(scope, false)} ${name};(function(${inner.target}){`;
      foot = `})(${ownerOf(name, outer, true)});${foot}`;
      outer = inner;
    }
    edits.blank(statement.start, body.start + 1);
    edits.open(statement.start, head);
    edits.close(body.end - 1, foot, body.start);
    edits.blank(body.end - 1, body.end);
  }

  // Drops `export` and puts what is declared on the namespace's object.
  export({ start, declaration }, { target }) {
    const { edits } = this;
    if (declaration.type !== "VariableDeclaration") {
      const { name } = declaration.id;
      edits.blank(start, start + "export".length);
      edits.close(declaration.end, `;${target}.${name}=${name};`, start);
      return;
    }
    const { declarations } = declaration;
    edits.overwrite(start, declarations[0].start, ";");
    for (const { id, init, start: from, end } of declarations) {
      if (!init) {
        edits.open(from, "0");
        edits.blank(from, from + id.name.length);
        continue;
      }
      const isPattern = id.type !== "Identifier";
      if (isPattern) edits.open(from, "(");
      for (const { node, shorthand } of boundIn(id)) this.qualify(node, `${target}.`, shorthand);
      if (isPattern) edits.close(end, ")", from);
    }
    edits.close(declarations[declarations.length - 1].end, ";", start);
  }

  // `import A = N.B` is a variable if it names a value that is used or could be; else nothing is left of it.
  aliases(all) {
    for (const alias of all) {
      alias.exists = isValue(alias);
      if (alias.exported || !alias.scope.parent) alias.wanted = true;
    }
    const emitted = new Set();
    for (let before = -1; before !== emitted.size; ) {
      before = emitted.size;
      for (const alias of all) {
        if (!alias.wanted || !alias.exists || emitted.has(alias)) continue;
        emitted.add(alias);
        this.qualify(alias.root, qualifierOf(alias.root.name, rootScope(alias)), false);
      }
    }
    for (const alias of all) this.alias(alias, emitted.has(alias));
  }

  alias({ node, scope, exported }, isEmitted) {
    const { edits } = this;
    if (!isEmitted) {
      edits.blankStatement(node);
    } else if (exported) {
      edits.overwrite(node.start, node.id.start, ";");
      edits.open(node.id.start, `${scope.target}.`);
      edits.close(node.end, ";", node.start);
    } else {
      edits.overwrite(node.start, node.start + "import".length, "var");
      edits.close(node.end, ";", node.start);
    }
  }

  // `var N;` or `let N;`, or only `;` where the name is merged into.
  declaration(name, scope, { isEmbedded }) {
    const opening = isEmbedded ? "{" : ";";
    if (scope.names.get(name) === "callable" || scope.declared.has(name)) return opening;
    scope.declared.add(name);
    return `${opening}${keywordIn(scope, isEmbedded)} ${name};`;
  }
}

// As TypeScript does it: what is used before it stands there is an error, but not on the top level.
const keywordIn = (scope, isEmbedded) => (scope.parent && !isEmbedded ? "let" : "var");

// An alias may have the name of what it stands for: `import A = A.B` means an outer A.
const rootScope = ({ scope, name, path }) => (name === path[0] ? scope.parent : scope);

const ownerOf = (name, scope, exported) =>
  exported ? `${name}=${scope.target}.${name}||(${scope.target}.${name}={})` : `${name}||(${name}={})`;
