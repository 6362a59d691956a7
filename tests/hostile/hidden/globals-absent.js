// expect: completed []
const names = ["require", "module", "exports", "process", "global", "window", "self", "Deno", "Bun", "std", "os", "bjson", "fetch", "XMLHttpRequest", "WebSocket", "Worker", "importScripts", "WebAssembly", "print", "scriptArgs", "load", "navigator", "document", "setInterval", "setImmediate", "Buffer", "__dirname", "__filename", "internal", "__openclaw", "InternalError2"];
return names.filter((n) => n in globalThis);
