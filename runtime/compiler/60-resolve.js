// From a name and a scope to what it means.

// The object that a name is a property of, or "" where it is a variable as it stands; notes that an alias is wanted.
function qualifierOf(name, scope) {
  for (; scope; scope = scope.parent) {
    const kind = scope.names.get(name);
    if (kind === "variable" || kind === "alias") {
      want(scope.aliases.get(name));
      return `${scope.target}.`;
    }
    if (kind) {
      want(scope.aliases.get(name));
      return "";
    }
    if (scope.kind === "enum" && scope.merged.members.has(name)) return `${scope.target}.`;
    if (scope.kind === "namespace" && scope.merged.exports.has(name)) {
      want(scope.merged.aliases.get(name));
      return `${scope.target}.`;
    }
  }
  return "";
}

function want(alias) {
  if (alias) alias.wanted = true;
}

// Whether what an alias names exists at run time. What is not found may be a global, and counts as a value.
function isValue(alias, seen = new Set()) {
  if (alias.isType || seen.has(alias)) return false;
  seen.add(alias);
  const found = follow(alias, seen);
  return found === undefined || found === true || (found instanceof Merged && found.exists);
}

// The namespace that an alias names, or true for another value, false for a type, undefined for what is unknown.
function follow(alias, seen) {
  const [root, ...rest] = alias.path;
  let found = lookUp(root, alias, seen);
  for (const name of rest) {
    if (!(found instanceof Merged)) return found === false ? undefined : found;
    found = memberNamed(found, name, seen);
  }
  return found;
}

function lookUp(name, alias, seen) {
  for (let { scope } = alias; scope; scope = scope.parent) {
    const other = scope.aliases.get(name);
    if (other && other !== alias) return resolveAlias(other, seen);
    const namespace = scope.namespaces.get(name);
    if (namespace) return namespace.exists || !scope.names.has(name) ? namespace : valued(namespace);
    if (scope.kind === "namespace") {
      const found = memberNamed(scope.merged, name, seen);
      if (found !== undefined && !(other && found === other)) return found;
    }
    if (!other && scope.names.has(name)) return true;
    if (scope.types.has(name)) return false;
  }
  return undefined;
}

function memberNamed(merged, name, seen) {
  const alias = merged.aliases.get(name);
  if (alias) return seen.has(alias) ? undefined : resolveAlias(alias, seen);
  const child = merged.children.get(name);
  if (child) return child.exists || !merged.exports.has(name) ? child : valued(child);
  if (merged.exports.has(name)) return true;
  return merged.types.has(name) ? false : undefined;
}

function resolveAlias(alias, seen) {
  if (seen.has(alias)) return undefined;
  if (alias.isType) return false;
  seen.add(alias);
  return follow(alias, seen);
}

// A namespace of types that shares its name with a class, function or enum: a value all the same.
function valued(merged) {
  return Object.assign(new Merged(), merged, { exists: true });
}
