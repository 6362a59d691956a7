// The whole: a program in TypeScript becomes one in JavaScript, or is refused.

const OPTIONS = {
  sourceType: "script",
  strictMode: true,
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
  allowNewTargetOutsideFunction: true,
  allowImportExportEverywhere: true, // so that the refusal can say what it is
  createParenthesizedExpressions: true,
  attachComment: false,
  plugins: ["typescript", "decorators", "decoratorAutoAccessors"],
};

// What the parser finds wrong and TypeScript's parser does not: matters of types, or for the engine to judge.
const TOLERATED = new Set([
  "ConstInitializerMustBeStringOrNumericLiteralOrLiteralEnumReference",
  "InitializerNotAllowedInAmbientContext",
  "InvalidModifiersOrder",
  "NonAbstractClassHasAbstractMethod",
  "OptionalTypeBeforeRequired",
  "OverrideNotInSubClass",
  "PatternIsOptional",
  "UnexpectedUsingDeclaration",
  "VarRedeclaration",
]);

function compile(source) {
  try {
    const { program, comments } = parseTolerantly(source);
    const eraser = new Eraser(source, comments);
    walk(program, (frame) => eraser.enter(frame));
    if (eraser.needsLowering) new Lowering(program, source, eraser.edits, eraser.gaps).run();
    return { code: eraser.edits.finish() };
  } catch (error) {
    return { refused: refusalOf(error) };
  }
}

// The parser can go on after an error, but makes one of each further one, which may be many.
function parseTolerantly(source) {
  try {
    return parse(source, OPTIONS);
  } catch (error) {
    if (!TOLERATED.has(error.reasonCode)) throw error;
  }
  const tree = parse(source, { ...OPTIONS, errorRecovery: true });
  const error = tree.errors.find(({ reasonCode }) => !TOLERATED.has(reasonCode));
  if (error) throw error;
  return tree;
}

function refusalOf(error) {
  if (error instanceof Refusal) return { kind: error.kind, message: error.message, offset: error.offset };
  if (typeof error.pos === "number") {
    const place = ` (${error.loc.line}:${error.loc.column})`;
    const message = error.message.endsWith(place) ? error.message.slice(0, -place.length) : error.message;
    // of a number in a type with a letter behind it the parser says NaN
    return { kind: "syntax", message, offset: Number.isInteger(error.pos) ? error.pos : 0 };
  }
  if (error instanceof RangeError) {
    const message = "The TypeScript is too deeply nested to compile: write it with fewer levels.";
    return { kind: "unsupported", message, offset: 0 };
  }
  throw error;
}
