// One text for any value, the same in both engines; JSON alone would hide -0, NaN, undefined and types.
const show = (value, seen = []) => {
  if (value === undefined) return "undefined";
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "bigint") return value + "n";
  if (typeof value === "symbol") return value.toString();
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "function " + value.name + "/" + value.length;
  if (typeof value !== "object" || value === null) return String(value);
  if (seen.includes(value)) return "circular";
  const inner = [...seen, value];
  const list = (items) => Array.from(items, (item) => show(item, inner)).join(", ");
  if (Array.isArray(value)) return "[" + list(value) + "]";
  if (value instanceof Map) return "Map(" + list([...value].map(([k, v]) => [k, v])) + ")";
  if (value instanceof Set) return "Set(" + list(value) + ")";
  if (value instanceof Date) return "Date(" + value.getTime() + ")";
  if (value instanceof RegExp) return String(value) + "@" + value.lastIndex;
  if (value instanceof Error) return value.name + ": " + value.message;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return value.constructor.name + "[" + list(value) + "]";
  const keys = Reflect.ownKeys(value);
  return "{" + keys.map((key) => String(key) + ": " + show(value[key], inner)).join(", ") + "}";
};
