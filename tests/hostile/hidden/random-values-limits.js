// expect: completed ["QuotaExceededError", "TypeMismatchError", "TypeError"]
return [new Uint8Array(65537), new Float64Array(1), "x"].map((a) => { try { crypto.getRandomValues(a); return "ok"; } catch (e) { return e.name; } });
