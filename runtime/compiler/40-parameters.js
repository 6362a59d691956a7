// Parameter properties: `constructor(private x: number)` declares a field and assigns it. Fields have define semantics,
// as everywhere: the property is a field before all others of its class, and it is assigned first in the constructor,
// or right after `super()` in a derived class.

function lowerParameterProperties(owner, edits) {
  const constructor = owner.body.body.find((member) => member.type === "ClassMethod" && member.kind === "constructor");
  const properties = constructor?.params.filter((parameter) => parameter.type === "TSParameterProperty") ?? [];
  if (!properties.length) return;
  const names = properties.map(({ parameter }) => (parameter.left ?? parameter).name);
  edits.close(owner.body.start + 1, names.map((name) => `${name};`).join(""), owner.body.start);
  const assigned = names.map((name) => `this.${name}=${name}`);
  if (!owner.superClass) edits.close(constructor.body.start + 1, `${assigned.join(";")};`, constructor.start);
  else walk(constructor.body, (frame) => afterSuper(frame, assigned, edits));
}

// Assigns behind each call of `super`: as statements where the call is one, else inside of its expression.
function afterSuper({ node, parent }, assigned, edits) {
  if (node.type.startsWith("Class") || (isFunction(node) && node.type !== "ArrowFunctionExpression")) {
    return false; // has a `super` of its own, or none
  }
  if (node.type !== "CallExpression" || node.callee.type !== "Super") return;
  if (parent.node.type === "ExpressionStatement" && LISTS.has(parent.parent.node.type)) {
    edits.close(parent.node.end, `;${assigned.join(";")};`, parent.node.start);
  } else {
    edits.open(node.start, "(");
    edits.close(node.end, `,${assigned.join(",")},this)`, node.start);
  }
}

// What holds a list of statements, where one more finds its place.
const LISTS = new Set(["BlockStatement", "SwitchCase"]);
