// What names mean, as far as enums, namespaces and aliases need it: which scope binds a name, and what all parts of a
// namespace export. Declarations may come after uses, so names are resolved when the whole program has been read.

// Type syntax; the names in it are no uses. The other nodes of TypeScript's own hold expressions.
const HOLDS_EXPRESSIONS = new Set([
  "TSAsExpression", "TSSatisfiesExpression", "TSTypeAssertion", "TSNonNullExpression", "TSInstantiationExpression",
  "TSParameterProperty", "TSEnumDeclaration", "TSEnumMember", "TSModuleDeclaration", "TSModuleBlock",
]);
const BLOCKS = new Set([
  "BlockStatement", "ForStatement", "ForInStatement", "ForOfStatement", "SwitchStatement", "CatchClause",
]);
const EMBEDS = new Set([
  "IfStatement", "WhileStatement", "DoWhileStatement", "ForStatement", "ForInStatement", "ForOfStatement", "LabeledStatement",
]);

// All parts of one namespace, or of one enum, together.
class Merged {
  constructor() {
    this.exports = new Map(); // name -> "variable", "alias" or "local", where each part that declares it has a variable
    this.children = new Map(); // name -> Merged, for exported namespaces
    this.types = new Set();
    this.aliases = new Map(); // name -> Alias, for exported ones
    this.members = new Set(); // of an enum
    this.exists = false; // at run time
  }
}

class Scope {
  constructor(parent, kind, merged = null, target = "") {
    this.parent = parent;
    this.kind = kind; // "function", "block", "namespace" or "enum"
    this.owner = kind === "block" || kind === "enum" ? parent.owner : this; // takes what `var` declares
    this.names = new Map(); // name -> "plain", "callable" (a class or function), "variable" or "alias" (exported ones)
    this.merged = merged;
    this.target = target; // the variable that holds the object of a namespace or enum
    this.namespaces = new Map(); // name -> Merged
    this.enums = new Map();
    this.aliases = new Map();
    this.types = new Set();
    this.declared = new Set(); // names that need no variable any more
  }

  declare(name, kind = "plain") {
    if (!this.names.has(name) || kind !== "plain") this.names.set(name, kind);
  }

  declareType(name) {
    this.types.add(name);
  }
}

const memberOf = (map, name, Kind = Merged) => {
  let found = map.get(name);
  if (!found) map.set(name, (found = new Kind()));
  return found;
};

// Whether a namespace is more than types. TypeScript counts what it would emit, and ambient values too.
const instantiated = new WeakMap();
function isInstantiated(node) {
  if (instantiated.has(node)) return instantiated.get(node);
  let result = false;
  if (node.body?.type === "TSModuleDeclaration") result = isInstantiated(node.body);
  else if (node.body) {
    result = node.body.body.some((statement) => {
      const inner = statement.type === "ExportNamedDeclaration" && statement.declaration ? statement.declaration : statement;
      switch (inner.type) {
        case "TSInterfaceDeclaration":
        case "TSTypeAliasDeclaration":
          return false;
        case "TSImportEqualsDeclaration":
          return inner.isExport;
        case "TSModuleDeclaration":
          return isInstantiated(inner);
        default:
          return true;
      }
    });
  }
  instantiated.set(node, result);
  return result;
}

class Reader {
  constructor(fresh) {
    this.fresh = fresh;
    this.uses = []; // { node, scope, shorthand }
    this.enums = []; // { node, scope, inner, exported, statement }
    this.namespaces = []; // { node, scope, parts: [{ name, scope }], body, exported, statement }
    this.aliases = []; // { node, scope, exported, name, path, wanted }
    this.exports = []; // { node, scope }: other exports of namespaces
    this.bound = new Set();
  }

  enter(frame) {
    const { node, parent, key } = frame;
    const scope = parent ? (key === "key" ? parent.outer : parent.inner) : null;
    frame.outer = frame.inner = scope;
    if (node.type.startsWith("TS") && !HOLDS_EXPRESSIONS.has(node.type)) {
      this.typeNode(frame);
      return false;
    }
    if (isFunction(node)) this.functionLike(frame);
    else if (BLOCKS.has(node.type)) this.block(frame);
    else {
      const rule = Reader.rules[node.type];
      if (rule) return rule.call(this, node, frame);
    }
  }

  typeNode({ node, outer: scope, parent }) {
    switch (node.type) {
      case "TSInterfaceDeclaration":
      case "TSTypeAliasDeclaration":
        scope.declareType(node.id.name);
        if (isExport(parent, scope)) scope.merged.types.add(node.id.name);
        break;
      case "TSDeclareFunction":
        if (node.id) scope.declare(node.id.name);
        if (isExport(parent, scope)) scope.merged.exports.set(node.id.name, "local");
        break;
      case "TSImportEqualsDeclaration":
        this.alias(node, scope);
    }
  }

  functionLike(frame) {
    const { node, outer } = frame;
    const inner = (frame.inner = new Scope(outer, "function"));
    if (node.type === "FunctionDeclaration" && node.id) {
      outer.declare(node.id.name, "callable");
      this.exportLocal(frame, node.id.name);
    } else if (node.id) inner.declare(node.id.name);
    for (const parameter of node.params) this.bind(parameter, inner);
  }

  block(frame) {
    const { node, outer, parent } = frame;
    if (node.type === "BlockStatement" && isFunction(parent.node)) return;
    frame.inner = new Scope(outer, "block");
    if (node.type === "CatchClause") this.bind(node.param, frame.inner);
  }

  bind(pattern, scope, kind) {
    for (const { node } of boundIn(pattern)) {
      this.bound.add(node);
      scope.declare(node.name, kind);
    }
  }

  exportLocal({ node, outer: scope, parent }, name) {
    if (!isExport(parent, scope)) return;
    scope.merged.exports.set(name, "local");
    if (!node.declare) this.exports.push({ node: parent.node, scope });
  }

  variable(node, frame) {
    const { outer: scope, parent } = frame;
    const exported = isExport(parent, scope);
    for (const { id } of node.declarations) {
      this.bind(id, node.kind === "var" && !exported ? scope.owner : scope, exported ? "variable" : undefined);
      if (exported) for (const { node: name } of boundIn(id)) scope.merged.exports.set(name.name, "variable");
    }
    if (exported && !node.declare) this.exports.push({ node: parent.node, scope });
    if (node.declare) return false;
  }

  classLike(node, frame) {
    if (node.type === "ClassDeclaration") {
      if (node.id) frame.outer.declare(node.id.name, node.declare ? undefined : "callable");
      this.exportLocal(frame, node.id?.name);
      if (node.declare) return false;
    } else if (node.id) {
      frame.inner = new Scope(frame.outer, "block");
      frame.inner.declare(node.id.name);
    }
  }

  enum(node, frame) {
    const { outer: scope, parent } = frame;
    const { name } = node.id;
    const exported = isExport(parent, scope);
    scope.declare(name);
    if (exported) scope.merged.exports.set(name, "local");
    const merged = memberOf(scope.enums, name);
    for (const { id } of node.members) merged.members.add(id.name ?? id.value);
    if (node.declare) return false;
    frame.inner = new Scope(scope, "enum", merged, this.fresh());
    this.enums.push({ node, scope, inner: frame.inner, exported, statement: statementOf(frame) });
  }

  namespace(node, frame) {
    const { outer: scope, parent } = frame;
    if (parent.node.type === node.type) {
      frame.inner = frame.parent.parts.get(node);
      frame.parts = frame.parent.parts;
      return;
    }
    if (node.id.type !== "Identifier") return false;
    const exported = isExport(parent, scope);
    const exists = isInstantiated(node);
    frame.parts = new Map();
    const parts = [];
    let outer = scope;
    let body = node;
    for (; body.type === "TSModuleDeclaration"; body = body.body) {
      const { name } = body.id;
      const shared = parts.length || exported;
      const merged = memberOf(shared ? outer.merged.children : outer.namespaces, name);
      merged.exists ||= exists;
      if (exists) outer.declare(name);
      if (exists && shared) outer.merged.exports.set(name, "local");
      outer = new Scope(outer, "namespace", merged, this.fresh());
      outer.ambient = node.declare || scope.ambient;
      parts.push({ name, scope: outer });
      frame.parts.set(body.body, outer);
      if (!body.body) return false;
    }
    frame.inner = parts[0].scope;
    if (exists && !outer.ambient) {
      this.namespaces.push({ node, scope, parts, body, exported, statement: statementOf(frame) });
    }
  }

  alias(node, scope) {
    const exported = node.isExport || (scope.ambient ?? false);
    const path = [];
    let reference = node.moduleReference;
    for (; reference.type === "TSQualifiedName"; reference = reference.left) path.unshift(reference.right.name);
    path.unshift(reference.name);
    const { name } = node.id;
    const alias = { node, scope, exported, name, path, root: reference, wanted: false, isType: node.importKind === "type" };
    scope.aliases.set(name, alias);
    scope.declare(name, exported ? "alias" : "plain");
    if (exported && scope.merged) {
      scope.merged.aliases.set(name, alias);
      scope.merged.exports.set(name, "alias");
    }
    if (!scope.ambient) this.aliases.push(alias);
  }

  identifier(node, frame) {
    if (this.bound.has(node) || !isUse(frame)) return;
    const holder = frame.parent.node.type === "AssignmentPattern" && frame.key === "left" ? frame.parent : frame;
    const place = holder.parent.node;
    const shorthand = place.type === "ObjectProperty" && place.shorthand && holder.key === "value";
    this.uses.push({ node, scope: frame.outer, shorthand });
  }
}

Reader.rules = {
  __proto__: null,
  Program(_, frame) {
    frame.inner = new Scope(null, "function");
  },
  StaticBlock(_, frame) {
    frame.inner = new Scope(frame.outer, "function");
  },
  VariableDeclaration: Reader.prototype.variable,
  ClassDeclaration: Reader.prototype.classLike,
  ClassExpression: Reader.prototype.classLike,
  TSEnumDeclaration: Reader.prototype.enum,
  TSModuleDeclaration: Reader.prototype.namespace,
  TSModuleBlock(node, frame) {
    frame.inner = frame.parent.parts.get(node);
  },
  Identifier: Reader.prototype.identifier,
};

// Whether a declaration is exported from the namespace in whose block it stands; all of an ambient one is.
const isExport = (parent, scope) =>
  scope?.kind === "namespace" && (parent.node.type === "ExportNamedDeclaration" || scope.ambient === true);

// The statement that a declaration is, and whether it stands alone behind `if (…)` or a label.
function statementOf(frame) {
  const outer = frame.parent.node.type === "ExportNamedDeclaration" ? frame.parent : frame;
  return { start: outer.node.start, isEmbedded: EMBEDS.has(outer.parent.node.type) };
}

const KEYED = new Set([
  "ObjectProperty", "ObjectMethod", "ClassMethod", "ClassProperty", "ClassAccessorProperty", "TSEnumMember",
]);

// Whether an identifier stands for the value of a variable, or is assigned to.
function isUse({ key, parent: { node: parent } }) {
  switch (key) {
    case "property":
      return !parent.type.endsWith("MemberExpression") || parent.computed;
    case "key":
      return !KEYED.has(parent.type) || parent.computed;
    case "id":
      return false; // of a function, class, enum, namespace, private name; those of variables are bound
    case "label":
    case "meta":
      return false;
    default:
      return true;
  }
}
