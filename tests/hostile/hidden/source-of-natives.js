// expect: completed []
// why: what the engine adds to the language shows no source, be it written in C or in JavaScript
const all = [text, json, yield_control, setTimeout, structuredClone, URL, URLSearchParams, TextEncoder, atob, tools.call, tools.echo, API.list, URL.prototype.toString, URLSearchParams.prototype.get];
return all.map(String).filter((s) => !s.includes("[native code]"));
