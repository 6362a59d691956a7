// Type syntax becomes spaces. Where a type held a line break or a bracket apart that JavaScript would read on over,
// a `;`, `(` or `)` takes the place of a blanked character. Enums, namespaces and aliases are left to `lower`.

const STATEMENT_LIKE = /\{|(?:function|class|async|let)(?![\w$])/y;
const SAFE_PLACES = new Set([
  "CallExpression", "OptionalCallExpression", "NewExpression", "ArrayExpression", "AssignmentExpression",
  "ObjectProperty", "ParenthesizedExpression", "ClassProperty", "ReturnStatement", "VariableDeclarator",
]);
const MODULE_STATEMENTS = {
  ImportDeclaration: "import",
  ExportAllDeclaration: "export",
  ExportDefaultDeclaration: "export",
  TSExportAssignment: "export",
  TSNamespaceExportDeclaration: "export",
};

class Eraser {
  constructor(source, comments) {
    this.source = source;
    this.edits = new Edits(source);
    this.gaps = new Gaps(source, comments);
    this.needsLowering = false;
    this.done = new Set(); // nodes that their parent has dealt with
  }

  enter(frame) {
    const { node } = frame;
    if (this.done.has(node)) return false;
    if (node.type === "Identifier" || node.type.endsWith("Pattern") || node.type === "RestElement") this.dropMark(node, "optional", "?");
    const rule = Eraser.rules[node.type];
    return rule ? rule.call(this, node, frame) : undefined;
  }

  blank(node) {
    this.edits.blank(node.start, node.end);
    return false;
  }

  blankStatement(node) {
    this.edits.blankStatement(node);
    return false;
  }

  // `x?` and `x!`: the mark stands before the type, or it is the last character.
  dropMark(node, flag, mark, type = node.typeAnnotation) {
    if (!node[flag]) return;
    const at = type ? this.gaps.before(type.start) : node.end - 1;
    if (this.source[at] === mark) this.edits.blank(at, at + 1);
  }

  // `x as T`. The type ended the statement if a line starts with a bracket next; the value would go on. And it ended
  // the operand: `a + b as T * c` is a product.
  cast(node, frame) {
    const { edits, gaps, source } = this;
    const keyword = gaps.after(node.expression.end);
    const following = gaps.after(node.end);
    const ends = "([`".includes(source[following] ?? " ") && gaps.isBroken(node.end, following);
    const apart = bindsLooser(node.expression, frame);
    if (apart) edits.open(node.start, "(");
    edits.overwrite(keyword, node.end, ends ? ";" : apart ? ")" : " ");
    this.done.add(node.typeAnnotation);
  }

  // `<T>x`, with parentheses where a line break after `return` or a brace after `=>` would matter.
  assertion(node, frame) {
    const { edits, gaps, source } = this;
    const { start } = node.expression;
    STATEMENT_LIKE.lastIndex = start;
    const close = gaps.before(start) + 1; // behind the `>`
    if (gaps.isBroken(node.start, start) || (STATEMENT_LIKE.test(source) && !isSafePlace(frame))) {
      edits.overwrite(node.start, close, "(");
      edits.close(node.end, ")", node.start);
    } else edits.blank(node.start, close);
    this.done.add(node.typeAnnotation);
  }

  // Keeps `(` on the line where an arrow function starts and `)` on the line of its `=>`.
  arrow(node) {
    const { edits, gaps } = this;
    const { typeParameters: generics, returnType: returns } = node;
    if (generics) {
      const bracket = gaps.after(generics.end);
      if (gaps.isBroken(generics.start, bracket)) {
        edits.overwrite(generics.start, generics.end, "(");
        edits.blank(bracket, bracket + 1);
        this.done.add(generics);
      }
    }
    if (returns) {
      const bracket = gaps.before(returns.start);
      if (gaps.isBroken(bracket, returns.end)) {
        edits.blank(bracket, bracket + 1);
        edits.overwriteEnd(returns.start, returns.end, ")");
        this.done.add(returns);
      }
    }
    this.parameters(node);
  }

  parameters(node) {
    const first = node.params[0];
    if (!first || !isIdentifier(first, "this")) return;
    const following = this.gaps.after(first.end);
    this.edits.blank(first.start, this.source[following] === "," ? following + 1 : first.end);
    this.done.add(first);
  }

  functionLike(node) {
    this.parameters(node);
  }

  variable(node) {
    if (node.declare) return this.blankStatement(node);
    for (const declarator of node.declarations) this.dropMark(declarator, "definite", "!", declarator.id.typeAnnotation);
  }

  classLike(node) {
    const { edits, gaps } = this;
    if (node.declare) return this.blankStatement(node);
    if (node.abstract) edits.blank(node.start, node.start + "abstract".length);
    if (node.implements?.length) {
      const head = [node.id, node.typeParameters, node.superClass, node.superTypeParameters];
      const before = Math.max(...head.map((part) => part?.end ?? 0), node.start);
      let keyword = gaps.after(before);
      if (gaps.wordAt(keyword) === "class") keyword = gaps.after(keyword + "class".length);
      edits.blank(keyword, node.implements[node.implements.length - 1].end);
      for (const item of node.implements) this.done.add(item);
    }
    lowerParameterProperties(node, edits);
  }

  // A field or method: modifiers go; a `;` guards what stood alone only thanks to its modifier or type.
  member(node) {
    const { edits, gaps, source } = this;
    const isField = node.type === "ClassProperty" || node.type === "ClassPrivateProperty";
    if (isField && (node.declare || node.abstract)) return this.blankStatement(node);
    const key = node.computed ? gaps.before(node.key.start) : node.key.start;
    this.modifiers(node, key);
    const keyEnd = node.computed ? gaps.after(node.key.end) + 1 : node.key.end;
    let erased = -1;
    if (node.optional || node.definite) {
      erased = gaps.after(keyEnd);
      edits.overwrite(erased, erased + 1, " ");
    }
    if (!isField) {
      this.parameters(node);
      return;
    }
    if (node.value) return;
    const type = node.typeAnnotation;
    if (erased < 0 && !type) return;
    const following = source[gaps.after(node.end)];
    if (source[node.end - 1] === ";" || following === "}" || following === ";") return;
    if (type) {
      edits.overwrite(type.start, type.end, ";");
      this.done.add(type);
    } else edits.open(erased + 1, ";");
  }

  modifiers(node, key) {
    const { edits, gaps } = this;
    for (let at = node.start; at < key; ) {
      const word = gaps.wordAt(at);
      const end = at + Math.max(word.length, 1);
      if (word === node.accessibility || (word === "readonly" && node.readonly) || (word === "override" && node.override)) {
        edits.overwrite(at, end, at === node.start ? ";" : " ");
      }
      at = gaps.after(end);
    }
  }

  exported(node, frame) {
    const { declaration } = node;
    if (frame.parent.node.type !== "TSModuleBlock") this.refuseModule("export", node);
    if (!declaration) {
      throw new Refusal("syntax", "a namespace exports what it declares (`export const x = …`), not a list of names", node.start);
    }
    if (declaration.declare || isType(declaration)) return this.blankStatement(node);
  }

  refuseModule(name, node) {
    throw new Refusal("modules", name, node.start);
  }
}

const isSafePlace = (frame) => {
  let place = frame.parent;
  while (place.node.type === "TSAsExpression" || place.node.type === "TSSatisfiesExpression") place = place.parent;
  return SAFE_PLACES.has(place.node.type) && place.node.start < frame.node.start;
};

const STRENGTH = new Map(
  [["**"], ["*", "/", "%"], ["+", "-"], ["<<", ">>", ">>>"], ["<", ">", "<=", ">=", "in", "instanceof"]].flatMap((operators, i) =>
    operators.map((operator) => [operator, 9 - i]),
  ),
);

// Whether the value of a cast would be taken apart by the operator behind it, once the cast is gone.
function bindsLooser(value, { parent: { node: parent }, key }) {
  if (key !== "left" || parent.type !== "BinaryExpression") return false;
  while (value.type === "TSAsExpression" || value.type === "TSSatisfiesExpression") value = value.expression;
  const outer = STRENGTH.get(parent.operator) ?? 0;
  if (value.type === "BinaryExpression") return outer > (STRENGTH.get(value.operator) ?? 0) || parent.operator === "**";
  return parent.operator === "**" && (value.type === "UnaryExpression" || value.type === "AwaitExpression");
}

// Whether a declaration leaves nothing behind at run time.
const isType = (node) =>
  node.type === "TSInterfaceDeclaration" ||
  node.type === "TSTypeAliasDeclaration" ||
  node.type === "TSDeclareFunction" ||
  (node.type === "TSModuleDeclaration" && !isInstantiated(node));

const { blank, blankStatement, cast, functionLike, classLike, member } = Eraser.prototype;
Eraser.rules = {
  __proto__: null,
  TSTypeAnnotation: blank,
  TSTypeParameterDeclaration: blank,
  TSTypeParameterInstantiation: blank,
  TSInterfaceDeclaration: blankStatement,
  TSTypeAliasDeclaration: blankStatement,
  TSDeclareFunction: blankStatement,
  TSDeclareMethod: blankStatement,
  TSIndexSignature: blankStatement,
  TSAsExpression: cast,
  TSSatisfiesExpression: cast,
  TSTypeAssertion: Eraser.prototype.assertion,
  ArrowFunctionExpression: Eraser.prototype.arrow,
  FunctionDeclaration: functionLike,
  FunctionExpression: functionLike,
  ObjectMethod: functionLike,
  VariableDeclaration: Eraser.prototype.variable,
  ClassDeclaration: classLike,
  ClassExpression: classLike,
  ClassProperty: member,
  ClassPrivateProperty: member,
  ClassMethod: member,
  ClassPrivateMethod: member,
  ExportNamedDeclaration: Eraser.prototype.exported,
  TSNonNullExpression(node) {
    this.edits.blank(node.end - 1, node.end);
  },
  TSParameterProperty(node) {
    this.edits.blank(node.start, node.parameter.start);
  },
  TSEnumDeclaration(node) {
    if (node.declare) return this.blankStatement(node);
    this.needsLowering = true;
  },
  TSModuleDeclaration(node, frame) {
    if (frame.parent.node.type === node.type) return; // a later part of a dotted name
    if (node.declare || !isInstantiated(node)) return this.blankStatement(node);
    this.needsLowering = true;
  },
  TSImportEqualsDeclaration(node, frame) {
    if (node.moduleReference.type === "TSExternalModuleReference") this.refuseModule("import", node);
    if (node.isExport && frame.parent.node.type !== "TSModuleBlock") this.refuseModule("export", node);
    this.needsLowering = true;
    return false;
  },
  Decorator(node) {
    throw new Refusal("unsupported", "Decorators are not supported: call the decorating function on the class or method yourself.", node.start);
  },
  ClassAccessorProperty(node) {
    const at = this.gaps.before(node.key.start - (node.computed ? 1 : 0)) + 1 - "accessor".length;
    throw new Refusal("unsupported", "Auto-accessors (`accessor x`) are not supported: write a field, or a getter and a setter.", at);
  },
};
for (const [type, word] of Object.entries(MODULE_STATEMENTS)) {
  Eraser.rules[type] = function (node) {
    this.refuseModule(word, node);
  };
}
