// Reading the parser's tree: a walk that nesting cannot exhaust, and what stands between two nodes.

const NOT_CHILDREN = new Set(["loc", "extra", "comments", "errors", "tokens"]);

// Calls `enter` with a frame for each node, parents first; `false` leaves out what is inside.
function walk(root, enter) {
  const stack = [{ node: root, parent: null, key: "" }];
  while (stack.length) {
    const frame = stack.pop();
    if (enter(frame) === false) continue;
    const { node } = frame;
    const first = stack.length;
    for (const key in node) {
      const child = node[key];
      if (child === null || typeof child !== "object" || NOT_CHILDREN.has(key)) continue;
      if (Array.isArray(child)) {
        for (const item of child) if (item && typeof item.type === "string") stack.push({ node: item, parent: frame, key });
      } else if (typeof child.type === "string") stack.push({ node: child, parent: frame, key });
    }
    for (let low = first, high = stack.length - 1; low < high; low++, high--) {
      const held = stack[low];
      stack[low] = stack[high];
      stack[high] = held;
    }
  }
}

class Refusal extends Error {
  constructor(kind, message, offset) {
    super(message);
    this.kind = kind; // "syntax", "unsupported" or "modules"
    this.offset = offset;
  }
}

// The text between nodes: spaces and comments are no part of any.
class Gaps {
  constructor(source, comments) {
    this.source = source;
    this.starts = new Map(comments.map((comment) => [comment.start, comment.end]));
    this.ends = new Map(comments.map((comment) => [comment.end, comment.start]));
  }

  // Where the next token starts.
  after(offset) {
    for (;;) {
      const beyond = this.starts.get(offset);
      if (beyond !== undefined) offset = beyond;
      else if (offset < this.source.length && /\s/.test(this.source[offset])) offset++;
      else return offset;
    }
  }

  // Where the last character of the token before starts.
  before(offset) {
    for (;;) {
      const earlier = this.ends.get(offset);
      if (earlier !== undefined) offset = earlier;
      else if (offset > 0 && /\s/.test(this.source[offset - 1])) offset--;
      else return offset - 1;
    }
  }

  isBroken(start, end) {
    return LINE_BREAK.test(this.source.slice(start, end));
  }

  wordAt(offset) {
    const pattern = /[A-Za-z]+/y;
    pattern.lastIndex = offset;
    return pattern.exec(this.source)?.[0] ?? "";
  }
}

const isFunction = (node) =>
  node.type === "FunctionDeclaration" ||
  node.type === "FunctionExpression" ||
  node.type === "ArrowFunctionExpression" ||
  node.type === "ObjectMethod" ||
  node.type === "ClassMethod" ||
  node.type === "ClassPrivateMethod";

const isIdentifier = (node, name) => node.type === "Identifier" && node.name === name;

// The identifiers that a pattern binds, in order; `shorthand` where it is key and value in one.
function boundIn(pattern) {
  const found = [];
  const pending = [[pattern, false]];
  while (pending.length) {
    const [node, shorthand] = pending.pop();
    switch (node?.type) {
      case "Identifier":
        found.push({ node, shorthand });
        break;
      case "AssignmentPattern":
        pending.push([node.left, shorthand]);
        break;
      case "RestElement":
        pending.push([node.argument, false]);
        break;
      case "ArrayPattern":
        for (let i = node.elements.length - 1; i >= 0; i--) pending.push([node.elements[i], false]);
        break;
      case "ObjectPattern":
        for (let i = node.properties.length - 1; i >= 0; i--) {
          const property = node.properties[i];
          pending.push(property.type === "RestElement" ? [property, false] : [property.value, property.shorthand]);
        }
        break;
      case "TSParameterProperty":
        pending.push([node.parameter, false]);
        break;
    }
  }
  return found;
}
